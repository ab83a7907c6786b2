// Through what a program detaches, or computes where no gradients are kept, none comes back in the port either.
#include "formats/source.h"
#include "graph/text.h"

#include <gtest/gtest.h>

#include <string>

namespace convoy::stopped_gradient_test {
namespace {

// How many nodes stop a gradient.
int stops_in(const std::string& methods, const std::string& forward) {
  const std::string program =
      "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
      "        self.a = nn.Linear(5, 5)\n        with torch.no_grad():\n            self.a.weight.data.fill_(0.5)\n" +
      methods + "    def forward(self, x):\n        " + forward + "\n";
  LoadOptions options;
  options.shapes[""] = {Dim(3), Dim(5)};
  const auto graph = read_source_text(program, "Net", options);
  EXPECT_TRUE(graph) << message(graph.error());
  int count = 0;
  for (const Node& node : graph ? graph->nodes : std::vector<Node>())
    if (const auto* identity = get_if<Identity>(&node.op)) count += identity->stops_gradient;
  return count;
}

TEST(StoppedGradient, OfDetachAndData) {
  EXPECT_EQ(stops_in("", "return self.a(x) + self.a(x).detach()"), 1);
  EXPECT_EQ(stops_in("", "return self.a(x).data"), 1);
  EXPECT_EQ(stops_in("", "return self.a(x)"), 0);
  EXPECT_EQ(stops_in("", "return x + self.a.bias.detach() + torch.arange(5).detach()"), 0);  // known numbers
}

TEST(StoppedGradient, WhereNoneAreKept) {
  EXPECT_EQ(
      stops_in("", "with torch.no_grad():\n            y = self.a(x).relu()\n        return self.a(y) + self.a(y)"), 1);
  EXPECT_EQ(stops_in("", "with torch.inference_mode():\n            return self.a(x)"), 1);
  EXPECT_EQ(stops_in("", "with torch.set_grad_enabled(False):\n            y = self.a(x)\n        return self.a(y)"),
            1);
  EXPECT_EQ(stops_in("", "with torch.set_grad_enabled(True):\n            y = self.a(x)\n        return self.a(y)"), 0);
  EXPECT_EQ(stops_in("",
                     "y = self.a(x)\n        torch.set_grad_enabled(False)\n        y = self.a(y)\n        "
                     "torch.set_grad_enabled(True)\n        return self.a(y)"),
            1);
  EXPECT_EQ(
      stops_in("    @torch.no_grad()\n    def f(self, x):\n        return self.a(x)\n", "return self.a(self.f(x))"), 1);
  EXPECT_EQ(stops_in("    @torch.no_grad\n    def f(self, x):\n        return self.a(x)\n", "return self.a(self.f(x))"),
            1);
  EXPECT_EQ(
      stops_in("", "with torch.no_grad():\n            n = x.argmax(1)\n        return self.a(x) + n.unsqueeze(1)"), 0);
}

// What was detached lies in the same memory.
TEST(StoppedGradient, AChangeInPlaceIsSeenThroughIt) {
  EXPECT_EQ(stops_in("", "y = self.a(x)\n        z = y.detach()\n        z += 1\n        return y"), 1);
}

}  // namespace
}  // namespace convoy::stopped_gradient_test
