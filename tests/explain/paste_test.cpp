#include "explain/paste.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convoy::explain {
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
}  // namespace convoy::explain
