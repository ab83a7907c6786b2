// Programs as trees: what is read, where each part stands, and what is refused with its line and column.
#include "containers/python/syntax.h"
#include "support/refusal.h"

#include <gtest/gtest.h>

namespace convoy::python::syntax_test {
namespace {

TEST(PythonSyntax, ReadsBlocksByTheirIndentation) {
  const auto tree = parse_program(
      "class A(B):\n  def f(self, x: int = 3, *rest, k=None) -> int:\n\n    # a comment\n    return x\ny = 1\n");
  ASSERT_TRUE(tree) << message(tree.error());
  ASSERT_EQ(tree->parts.size(), 2U);
  const Syntax& type = tree->parts[0];
  EXPECT_EQ(type.kind, SyntaxKind::Class);
  const Syntax& function = type.parts[0].parts.at(0);
  EXPECT_EQ(function.kind, SyntaxKind::Def);
  EXPECT_EQ(function.text, "f");
  ASSERT_EQ(function.parts[0].parts.size(), 4U);
  EXPECT_EQ(function.parts[0].parts[2].integer, static_cast<std::int64_t>(ParameterKind::Rest));
  EXPECT_EQ(function.parts[0].parts[3].integer, static_cast<std::int64_t>(ParameterKind::NameOnly));
}

TEST(PythonSyntax, BindsOperatorsAsPythonDoes) {
  const auto tree = parse_program("-a ** 2 + b * c\n");
  ASSERT_TRUE(tree);
  const Syntax& sum = tree->parts[0].parts[0];
  EXPECT_EQ(sum.text, "+");
  EXPECT_EQ(sum.parts[0].kind, SyntaxKind::Unary);
  EXPECT_EQ(sum.parts[0].parts[0].text, "**");
  EXPECT_EQ(sum.parts[1].text, "*");
}

TEST(PythonSyntax, ReadsWhatProgramsAreWrittenWith) {
  for (const char* text :
       {"a, *b = c = f(x, *y, k=1, **z)\n", "x = [i for i in r if i if j for k in l]\n", "x = {**a, 'b': 1}\n",
        "f = lambda x, *y, k=1: (x, y)\n", "x: List[int] = []\n", "if a: pass\nelif b:\n\tc\nelse: d; e\n",
        "for i, (a, b) in enumerate(x):\n  continue\nelse:\n  pass\n", "with a as b, c:\n  pass\n",
        "x = y if z else w\n", "try:\n  import a\nexcept (B, C) as e:\n  raise\nfinally:\n  pass\n",
        "from .a.b import (c as d,\n  e,)\n", "@a.b(c)\ndef f(): ...\n", "x = f'{a!r:>{b}}' 'c' f\"{d['e']}\"\n",
        "if (n := len(a)) > 1: pass\n", "x[1:, ..., None] += 2\n", "assert x, 'y'\ndel a[0]\nglobal z\n",
        "x = not a in b is not c\n", "while x:\r\n    y\r\n"})
    EXPECT_EQ(refusal(parse_program(text)), "") << text;
}

TEST(PythonSyntax, ReadsCharactersThatAreWrittenByTheirNumbers) {
  for (const auto& [text, read] : {std::pair{"'z/\\u00e9 b'\n", "z/\u00e9 b"},
                                   {"'\\x41\\u000a'\n", "A\n"},
                                   {"'\\U0001f600'\n", "\U0001f600"},
                                   {"r'\\u00e9'\n", "\\u00e9"},
                                   {"b'\\xe9'\n", "\\xe9"},
                                   {"'\\ud800'\n", "\\ud800"},
                                   {"'\\u00e'\n", "\\u00e"}}) {
    const auto tree = parse_program(text);
    ASSERT_TRUE(tree) << text;
    EXPECT_EQ(tree->parts[0].parts.at(0).text, read) << text;
  }
}

TEST(PythonSyntax, RefusesWithThePlace) {
  EXPECT_EQ(refusal(parse_program("x = (1,\n")), "line 2, column 1: the line ends where a value is expected");
  EXPECT_EQ(refusal(parse_program("if x:\ny = 1\n")),
            "line 2, column 1: there is 'y' where an indented block is expected");
  EXPECT_EQ(refusal(parse_program("x = 1\n  y = 2\n")),
            "line 2, column 1: the line is indented, but no block begins here");
  EXPECT_EQ(refusal(parse_program("if x:\n    a\n  b\n")),
            "line 3, column 3: the line is indented like no block around it");
  EXPECT_EQ(refusal(parse_program("f(a=1, 2)\n")), "line 1, column 8: an argument without its name stands behind 'a='");
}

TEST(PythonSyntax, IsBoundedInDepth) {
  EXPECT_NE(refusal(parse_program(std::string(5000, '('))), "");
  EXPECT_NE(refusal(parse_program("x = " + std::string(5000, '-') + "1")), "");
  std::string sum = "x = 1", dots = "x = a";
  for (int i = 0; i < 5000; ++i) sum += " + 1", dots += ".b";
  EXPECT_NE(refusal(parse_program(sum)), "");
  EXPECT_NE(refusal(parse_program(dots)), "");
}

}  // namespace
}  // namespace convoy::python::syntax_test
