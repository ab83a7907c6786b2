// Pasted calls as data: what is read, what stays text, and what is refused with its column.
#include "containers/python/expression.h"
#include "support/refusal.h"

#include <gtest/gtest.h>

namespace convoy::python::expression_test {
namespace {

// Read or refused with a sentence.
bool answered(std::string_view text) {
  const auto e = parse_expression(text);
  return e || !e.error().what.empty();
}

TEST(PythonExpression, ReadsACallWithArgumentsByPlaceAndByName) {
  const auto e = parse_expression("self.conv = nn.Conv2d(3, c, (4, 1), stride=-2, padding='same', bias=False,)");
  ASSERT_TRUE(e) << message(e.error());
  ASSERT_EQ(e->kind, Kind::Call);
  EXPECT_EQ(e->base[0].text, "nn.Conv2d");
  ASSERT_EQ(e->arguments.size(), 6U);
  EXPECT_EQ(e->arguments[0].value.integer, 3);
  EXPECT_TRUE(e->arguments[1].value.is_name("c"));
  ASSERT_EQ(e->arguments[2].value.kind, Kind::Tuple);
  EXPECT_EQ(e->arguments[2].value.items[0].integer, 4);
  EXPECT_EQ(e->arguments[3].keyword, "stride");
  EXPECT_EQ(e->arguments[3].value.integer, -2);
  EXPECT_EQ(e->arguments[4].value.text, "same");
  EXPECT_EQ(e->arguments[5].value.kind, Kind::Truth);
  EXPECT_FALSE(e->arguments[5].value.truth);
}

TEST(PythonExpression, ComputesWithNumbersAsPythonDoes) {
  const auto number = [](std::string_view text) {
    const auto e = parse_expression(text);
    return e && e->kind == Kind::Integer ? e->integer : -999;
  };
  EXPECT_EQ(number("3//2"), 1);
  EXPECT_EQ(number("-3//2"), -2);
  EXPECT_EQ(number("-7 % 3"), 2);
  EXPECT_EQ(number("-2**2"), -4);
  EXPECT_EQ(number("2**-1 if x else 1"), -999);
  EXPECT_EQ(number("(3 - 1) * 2 + 1"), 5);
  EXPECT_EQ(number("2 ** 3 ** 2"), 512);
  EXPECT_EQ(number("0x10 + 1_000"), 1016);
  EXPECT_EQ(number("(-1) ** 9223372036854775807"), -1);
}

TEST(PythonExpression, KeepsWhatItDoesNotEvaluateAsText) {
  const auto e =
      parse_expression("f(k // 2, lambda t: g(t, 1), a if b else c, x[:, 1:], [*xs], {'a': 1}, \"it's\" 'ok')");
  ASSERT_TRUE(e) << message(e.error());
  EXPECT_EQ(e->arguments[0].value.kind, Kind::Opaque);
  EXPECT_EQ(e->arguments[0].value.text, "k // 2");
  EXPECT_EQ(e->arguments[1].value.text, "lambda t: g(t, 1)");
  EXPECT_EQ(e->arguments[2].value.text, "a if b else c");
  EXPECT_EQ(e->arguments[3].value.kind, Kind::Subscript);
  EXPECT_EQ(e->arguments[5].value.kind, Kind::Dict);
  EXPECT_EQ(e->arguments[6].value.text, "it'sok");
}

TEST(PythonExpression, ReadsSeveralLinesAndComments) {
  const auto e = parse_expression("x = Conv2D(8,  # filters\n  kernel_size=3,\n  padding=r'same')(x)");
  ASSERT_TRUE(e) << message(e.error());
  EXPECT_EQ(e->base[0].kind, Kind::Call);
  EXPECT_EQ(e->base[0].arguments[2].value.text, "same");
}

TEST(PythonExpression, RefusesWithTheColumn) {
  EXPECT_EQ(refusal(parse_expression("")), "column 1: the text ends where a layer or a call of a function is expected");
  EXPECT_EQ(refusal(parse_expression("Conv2D(8, ,3)")), "column 11: there is ',' where a value is expected");
  EXPECT_EQ(refusal(parse_expression("Conv2D(8 3)")), "column 10: there is '3' where a comma or a bracket is expected");
  EXPECT_EQ(refusal(parse_expression("Conv2D(8, 3")), "column 12: the text ends where ',' or ')' is expected");
  EXPECT_EQ(refusal(parse_expression("Conv2D(8, 'same)")), "column 11: a string without its closing '");
  EXPECT_EQ(refusal(parse_expression("f(a=1, a=2)")), "column 8: 'a' is given twice");
  EXPECT_EQ(refusal(parse_expression("f(a=1, 2)")), "column 8: an argument without its name stands behind 'a='");
  EXPECT_EQ(refusal(parse_expression("f(9223372036854775808)")),
            "column 3: 9223372036854775808 is beyond 2^63 - 1, the largest whole number");
  EXPECT_EQ(refusal(parse_expression("f(2, 1.5j)")), "column 6: '1.5j' is a complex number, which is not carried");
  EXPECT_EQ(refusal(parse_expression("f(0x1j)")), "column 3: '0x1j' is not a number");
  EXPECT_EQ(refusal(parse_expression("f(2**63)")), "column 3: the result is beyond 2^63 - 1, the largest whole number");
  EXPECT_EQ(refusal(parse_expression("f(2^63)")), "column 4: '^' is no power in Python; write **");
  EXPECT_EQ(refusal(parse_expression("f(1//0)")), "column 3: divides by zero");
  EXPECT_EQ(refusal(parse_expression("f(padding=\xE2\x80\x98same\xE2\x80\x99)")),
            "column 11: a typographic quote; write '");
  EXPECT_EQ(refusal(parse_expression("f(f'{x}')")), "column 3: an f-string is computed by a program; write the word");
  EXPECT_EQ(refusal(parse_expression("f(\n 1,\n 2 $)")), "line 3, column 4: '$' has no meaning here");
}

TEST(PythonExpression, HostileTextIsRefusedAndNothingBreaks) {
  const std::string deep(100'000, '(');
  EXPECT_NE(refusal(parse_expression(deep)).find("nested over 64 deep"), std::string::npos);
  EXPECT_NE(refusal(parse_expression("f" + std::string(100'000, '-') + "1")).find("nested over 64 deep"),
            std::string::npos);
  std::string calls = "f";
  for (int i = 0; i < 100'000; ++i) calls += "()";
  EXPECT_NE(refusal(parse_expression(calls)).find("nested over 64 deep"), std::string::npos);
  std::string dots = "a";
  for (int i = 0; i < 100'000; ++i) dots += ".a";
  EXPECT_EQ(refusal(parse_expression(dots)), "");
  EXPECT_EQ(refusal(parse_expression(std::string((1 << 20) + 1, 'a'))), "the text is longer than 1 MiB");
  EXPECT_NE(refusal(parse_expression(std::string("f(\0)", 4))), "");
  // Every beginning of a call is a sentence or a call, never a crash.
  const std::string whole = "y = tf.nn.conv2d(x, w, [1, 2, 2, 1], \"SAME\", dilations={'a': -1}, n=x[:, 1:-1])";
  for (std::size_t n = 0; n <= whole.size(); ++n) EXPECT_TRUE(answered(whole.substr(0, n)));
  for (std::size_t n = 0; n < whole.size(); ++n)
    for (const char c : {'(', ')', '\'', ',', '\0', '\xFF', '9'}) {
      std::string broken = whole;
      broken[n] = c;
      EXPECT_TRUE(answered(broken));
    }
}

}  // namespace
}  // namespace convoy::python::expression_test
