#include "formats/numbered_text.h"

#include <gtest/gtest.h>

namespace convoy::python::numbered_text_test {
namespace {

using Words = std::vector<std::string>;

TEST(NumberedText, TakesWholeNumbersThatStandByThemselves) {
  const Numbered text = numbered("Conv2d(3, 16, stride=2, eps=1e-05, p=0.5)\"a 7\"x_4");
  EXPECT_EQ(text.numbers, (Words{"3", "16", "2"}));
  EXPECT_EQ(text.words.back(), ", eps=1e-05, p=0.5)\"a 7\"x_4");
}

TEST(NumberedText, CountsInNamesAndTakesRealsWhereAsked) {
  const Numbered text = numbered("f(0.25, mode=\"same1\", name=f\"{name}_2_conv03\")", "name=", true);
  EXPECT_EQ(text.numbers, (Words{"0.25", "2"}));  // 03 is no number's text
  EXPECT_EQ(text.skeleton(),
            numbered("f(1e-05, mode=\"same1\", name=f\"{name}_17_conv03\")", "name=", true).skeleton());
  EXPECT_NE(text.skeleton(), numbered("f(0.25, mode=\"same2\", name=f\"{name}_2_conv03\")", "name=", true).skeleton());
}

TEST(NumberedText, ATupleIsOneNumberWhereRealsAre) {
  const Numbered text = numbered("f(8, (1, 7), pads=((0, 1), 3), range(2, 5))", {}, true);
  EXPECT_EQ(text.numbers, (Words{"8", "(1, 7)", "(0, 1)", "3", "2", "5"}));
  EXPECT_EQ(text.skeleton(), numbered("f(8, 3, pads=((1, 2), 3), range(2, 6))", {}, true).skeleton());
  EXPECT_EQ(numbered("f(8, (1, 7))").numbers, (Words{"8", "1", "7"}));
}

TEST(NumberedText, NumbersThatVaryAlikeAreOneParameter) {
  const Variation found = variation({numbered("f(3, 8, 1, 8)"), numbered("f(3, 6, 2, 6)")});
  EXPECT_EQ(found.parameters, (std::vector<Words>{{"8", "6"}, {"1", "2"}}));
  EXPECT_EQ(found.places, (std::vector<std::optional<std::size_t>>{std::nullopt, 0, 1, 0}));
}

TEST(NumberedText, SaysWhatANumberIsAnArgumentOf) {
  EXPECT_EQ(argument_behind("x = f(1, stride=").keyword, "stride");
  EXPECT_EQ(argument_behind("x = f(1, kernel_size=(3, ").keyword, "kernel_size");
  const ArgumentPlace place = argument_behind("x = layers.Conv2D(g(1, 2), ");
  EXPECT_EQ(place.function, "layers.Conv2D");
  EXPECT_EQ(place.place, 1U);
}

}  // namespace
}  // namespace convoy::python::numbered_text_test
