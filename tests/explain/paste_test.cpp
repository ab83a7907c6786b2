#include "explain/paste.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::explain::paste_test {
namespace {

std::vector<std::string> calls(const std::string& text) {
  const auto paste = calls_in(text);
  EXPECT_TRUE(paste) << (paste ? "" : message(paste.error()));
  std::vector<std::string> all;
  if (paste)
    for (const PastedCall& call : paste->calls) all.push_back(std::to_string(call.line) + " " + call.text);
  return all;
}
using Calls = std::vector<std::string>;

TEST(Paste, FindsCallsBetweenSentences) {
  EXPECT_EQ(
      calls("Why is `nn.Conv2d(3, 8, 5, padding=2)` not\n\nthe same as keras.layers.Conv2D(8, 5, padding='same')?\n"
            "I also tried MaxPool2d (see above) and relu(x)."),
      (Calls{"1 nn.Conv2d(3, 8, 5, padding=2)", "3 keras.layers.Conv2D(8, 5, padding='same')"}));
}

TEST(Paste, FindsCallsWithinCallsAndOverLines) {
  EXPECT_EQ(
      calls("model = nn.Sequential(\n    nn.Conv2d(3, 8,  # channels (in, out)\n              3),\n    nn.ReLU(),\n"
            "    nn.MaxPool2d(2))\n"),
      (Calls{"2 nn.Conv2d(3, 8,  # channels (in, out)\n              3)", "5 nn.MaxPool2d(2)"}));
}

TEST(Paste, PutsValuesInThePlaceOfNames) {
  EXPECT_EQ(calls("k = (4, 1)\nstride = 2   # both\nname = some_function(3)\n"
                  "y = F.avg_pool2d(x, k, stride=stride, padding=p.stride)\nz = Conv2D(name, k, name='k')"),
            (Calls{"4 F.avg_pool2d(x, (4, 1), stride=2, padding=p.stride)", "5 Conv2D(name, (4, 1), name='k')"}));
}

TEST(Paste, AValueIsTheNearestAboveInItsOwnBlock) {
  EXPECT_EQ(calls("k = 3\nk = 5\nnn.Conv2d(3, 8, k)\nk = 7\n"), (Calls{"3 nn.Conv2d(3, 8, 5)"}));
  EXPECT_EQ(calls("F.conv2d(x, w, stride=s)\ns = 3\n"), (Calls{"1 F.conv2d(x, w, stride=s)"}));
  EXPECT_EQ(calls("stride = 2\ndef f(x, w, stride):\n    return F.conv2d(x, w, stride=stride)\n\nF.conv2d(x, w, "
                  "stride=stride)"),
            (Calls{"3 F.conv2d(x, w, stride=stride)", "5 F.conv2d(x, w, stride=2)"}));
  EXPECT_EQ(calls("k = 5\ndef f(x):\n    k = 7\n    return nn.MaxPool2d(k)(x)\nnn.MaxPool2d(k)"),
            (Calls{"4 nn.MaxPool2d(7)", "5 nn.MaxPool2d(5)"}));
  for (const std::string open : {"k = 5\nk = other()\n", "k = 5\nfor k in (3, 5):\n  ", "k = 5\nk += 1\n",
                                 "a, k = 3, 5\n", "f(\n  a,\n  k = 3\n)\n", "k: int = 4\n", "k = 5\nk[0] = 4\n"})
    EXPECT_EQ(calls(open + "nn.MaxPool2d(k)").back().substr(2), "nn.MaxPool2d(k)") << open;
}

TEST(Paste, WhatDependsOnAConditionHasNoValue) {
  for (const std::string open :
       {"k = 5\nif a == 2:\n    k = 3\n", "k = 5\nwith b:\n  k = 3\n", "k = 5\nif a:\n  k = 3\nelse:\n  k = 7\n",
        "def f():\n  k = 5\n  if a:\n    k = 3\n  "})
    EXPECT_EQ(calls(open + "nn.MaxPool2d(k)").back().substr(2), "nn.MaxPool2d(k)") << open;
  // A comparison makes nothing of its names, and what a function's block holds is its own.
  for (const std::string open :
       {"k = 5\nif k % 2 == 0:\n    a = 3\n", "k = 5\nassert k <= 5\n",
        "k = 5\ndef f():\n  if a:\n    k = 3\n  return k\n", "To show this,\n\n>>> k = 5\n>>> "})
    EXPECT_EQ(calls(open + "nn.MaxPool2d(k)").back().substr(2), "nn.MaxPool2d(5)") << open;
}

TEST(Paste, AWeightSaysTheKernelOfAFunction) {
  const auto kernels = [](const std::string& text) {
    const auto paste = calls_in(text);
    EXPECT_TRUE(paste) << text;
    return paste ? paste->calls.back().kernel : Sizes{};
  };
  for (const std::string weight :
       {"torch.empty(8, 2, 3, 5)", "np.random.rand(8, 2, 3, 5)", "torch.zeros((8, 2, 3, 5), dtype=torch.float64)",
        "tf.random.normal(shape=[8, 2, 3, 5])", "torch.Tensor(np.ones([8, 2, 3, 5]))",
        "torch.randn(3, 5, 2, 8).permute(3, 2, 0, 1)",
        "torch.from_numpy(np.transpose(np.ones((3, 5, 2, 8)), (3, 2, 0, 1))).float()",
        "torch.ones(2, 8, 3, 5).transpose(0, 1)", "torch.tensor([[[[1, 2, 3, 4, 5]] * 3] * 2] * 8)"})
    EXPECT_EQ(kernels("w = " + weight + "\nF.conv2d(x, w, padding=1)"), (Sizes{3, 5})) << weight;
  EXPECT_EQ(kernels("F.conv1d(x, torch.rand(8, 2, 4))"), (Sizes{4}));
  EXPECT_EQ(kernels("f = tf.ones([3, 5, 2, 8])\ntf.nn.conv2d(x, filters=f, strides=1, padding='SAME')"), (Sizes{3, 5}));
  EXPECT_EQ(kernels("f = tf.constant(np.ones([5, 2, 8]))\ntf.nn.conv1d(x, f, 1, 'SAME')"), (Sizes{5}));
  for (const std::string unknown :
       {"w = torch.empty(n, 2, 3, 5)\n", "w = torch.empty(8, 2, 3, 5)\nw = other(w)\n", "w = torch.empty(3, 5)\n",
        "w = torch.ones(8, 2, 3, 5).permute(0, 0, 1, 2)\n", "if a:\n  w = torch.empty(8, 2, 3, 5)\n"})
    EXPECT_EQ(kernels(unknown + "F.conv2d(x, w)"), Sizes{}) << unknown;
  EXPECT_EQ(kernels("k = torch.ones(2, 3)\nnn.Conv2d(3, k, 5)"), Sizes{});
}

TEST(Paste, ReadsListsThatAreRepeatedAndBracketsThatStandApart) {
  EXPECT_EQ(calls("p = tf.constant([[0, 0], [1, 2]])\ntf.pad(x, p)\nF.pad (x, (2,) * 2)\nnn.Conv2d (3, 8, 5)\n"
                  "what conv2d (see above) and MaxPool2d (the pool) do\n"),
            (Calls{"2 tf.pad(x, [[0, 0], [1, 2]])", "3 F.pad (x, (2,) * 2)", "4 nn.Conv2d (3, 8, 5)"}));
}

TEST(Paste, ReadsWhatConsolesAndWebPagesMakeOfIt) {
  EXPECT_EQ(calls("Try this:\n>>> k = 3\n>>> nn.Conv2d(1, 2,\n...           k)\nConv2d(1, 2, kernel_size=(3, 3))\n"),
            (Calls{"3 nn.Conv2d(1, 2,\n          3)", "5 Conv2d(1, 2, kernel_size=(3, 3))"}));
  EXPECT_EQ(
      calls("Conv2D(8, 3, padding=\xE2\x80\x98same\xE2\x80\x99) and Conv2D(8,&nbsp;5, padding=&quot;valid&quot;)"),
      (Calls{"1 Conv2D(8, 3, padding='same')", "1 Conv2D(8, 5, padding=\"valid\")"}));
}

TEST(Paste, PassesOverDefinitionsAndSignatures) {
  EXPECT_EQ(calls("def conv2d(x, w):\n  pass\nclass Conv2D(Layer):\n  pass\nF.conv1d(input, ..., padding, ...) pads\n"
                  "nn.MaxPool2d() as well as nn.MaxPool2d(3)\n"),
            (Calls{"6 nn.MaxPool2d(3)"}));
}

TEST(Paste, SaysWhatIsCutOff) {
  EXPECT_EQ(calls("nn.MaxPool2d(\n    3,\n\n    stride=2)"), (Calls{"1 nn.MaxPool2d(\n    3,\n\n    stride=2)"}));
  for (const std::string cut :
       {"out = F.conv1d(x,\n\nnn.MaxPool1d(2)", "out = F.conv1d(x,\ndef f(a):\n  return nn.MaxPool1d(2)",
        "nn.MaxPool1d(2)\nout = F.conv1d(x, (1, 2", "F.conv1d(x, [1)\nnn.MaxPool1d(2)"}) {
    const auto paste = calls_in(cut);
    ASSERT_TRUE(paste) << cut;
    ASSERT_EQ(paste->calls.size(), 1U) << cut;
    EXPECT_EQ(paste->calls[0].text, "nn.MaxPool1d(2)");
    ASSERT_EQ(paste->cut_off.size(), 1U) << cut;
    EXPECT_NE(paste->cut_off[0].find("F.conv1d("), std::string::npos);
  }
}

TEST(Paste, RefusesWhatHoldsNothingOrTooMuch) {
  const auto none = calls_in("no code here, f(x) = 3 (really)");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().fault, Fault::Usage);
  std::string many;
  for (int i = 0; i < 501; ++i) many += "nn.MaxPool2d(2)\n";
  const auto over = calls_in(many);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().fault, Fault::Limit);
  const auto large = calls_in(std::string((1 << 20) + 1, 'x'));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().fault, Fault::Limit);
}

TEST(Paste, StaysQuickAndWholeWhateverTheBytesAre) {
  for (const std::string part : {"(", "Conv2D(", "F.pad([", "\xE2\x80", "&", "'", "\\", "x = '\\", ">>> ", "a."}) {
    std::string text;
    while (text.size() < 200'000) text += part;
    static_cast<void>(calls_in(text));
  }
}

}  // namespace
}  // namespace convoy::explain::paste_test
