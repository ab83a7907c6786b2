// What a model keeps from one call to the next is said: a graph has no second call.
#include "formats/source.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::kept_state_test {
namespace {

std::vector<std::string> remarks_of(const std::string& init, const std::string& forward) {
  const std::string program =
      "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
      "        self.register_buffer('t', torch.ones(5))\n        " +
      init + "\n    def forward(self, x):\n        " + forward + "\n";
  std::vector<std::string> remarks;
  LoadOptions options;
  options.remarks = &remarks;
  options.shapes[""] = {Dim(3), Dim(5)};
  const auto graph = read_source_text(program, "Net", options);
  EXPECT_TRUE(graph) << message(graph.error());
  std::erase_if(remarks, [](const std::string& one) { return one.find("changes each time") == one.npos; });
  for (std::string& one : remarks) one = one.substr(0, one.find(" changes"));
  return remarks;
}

using Names = std::vector<std::string>;

TEST(KeptState, ABufferThatIsWrittenIntoIsNamed) {
  EXPECT_EQ(remarks_of("pass", "self.t.add_(x.sum(0)); return x + self.t"), Names{"'t'"});
  EXPECT_EQ(remarks_of("pass", "y = x + self.t; self.t[1:3] = x[0, 1:3]; return y"), Names{"'t'"});
}

TEST(KeptState, AnAttributeThatBecomesAnotherIsNamed) {
  EXPECT_EQ(remarks_of("self.calls = 0", "self.calls += 1; return x * self.calls"), Names{"'calls'"});
  EXPECT_EQ(remarks_of("pass", "self.t = self.t * 0.5; return x + self.t"), Names{"'t'"});
}

TEST(KeptState, WhatIsFilledOnceOrOnlyReadIsNone) {
  EXPECT_EQ(remarks_of("self.cache = None", "self.cache = x * 2; return self.cache + self.t"), Names{});
  EXPECT_EQ(remarks_of("pass", "y = self.t.clone(); y.add_(1); return x + y"), Names{});
}

}  // namespace
}  // namespace convoy::kept_state_test
