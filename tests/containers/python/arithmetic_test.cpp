// Numbers of programs to the last bit, and the texts that they become: each row is what Python 3.11 computes.
#include "answer.h"

#include <gtest/gtest.h>

namespace convoy::python::arithmetic_test {
namespace {

using Rows = std::initializer_list<std::pair<const char*, const char*>>;

void expect(Rows rows) {
  for (const auto& [program, answered] : rows) EXPECT_EQ(answer(program), answered) << program;
}

TEST(PythonArithmetic, DividesToTheLastBit) {
  expect({
      {"x = (1.0 // 0.1, 1.0 % 0.1, -7.5 // 2, -7.5 % 2, 7.5 % -2, 5 // 0.2)",
       "(9.0, 0.09999999999999995, -4.0, 0.5, -0.5, 24.0)"},
      {"x = (0.0 % -1, -0.0 % 1, -0.0 // 1, 6.0 % -3, divmod(-1e-20, 3))", "(-0.0, 0.0, -0.0, -0.0, (-1.0, 3.0))"},
      {"x = (9007199254740993 / 3, 7 / 9, -5 / 3, 0 / -5, 2**62 / 3, 9223372036854775807 / 9223372036854775806, 1 / "
       "(2**62 + 1))",
       "(3002399751580331.0, 0.7777777777777778, -1.6666666666666667, -0.0, 1.5372286728091292e+18, 1.0, "
       "2.168404344971009e-19)"},
      {"x = (abs(True), round(True), round(False, 2), +True, round(-1250, -2), round(2.675, 2))",
       "(1, 1, 0, 1, -1200, 2.67)"},
  });
}

TEST(PythonArithmetic, ComparesWholeNumbersWithFloatsExactly) {
  expect({
      {"n = 2**53 + 1\nf = float(n)\nx = (n == f, n > f, n >= f, n < f, f < n, f != n, n - 1 == f)",
       "(False, True, True, False, True, True, True)"},
      {"i = float('inf')\nx = (2**62 < i, -2**62 > -i, 2**62 == i, 1 < float('nan'), 1 >= float('nan'))",
       "(True, True, False, False, False)"},
      {"x = (max(2**53 + 1, 2.0**53), sorted([2**53 + 1, 2.0**53]), 9223372036854775807 < 2.0**63)",
       "(9007199254740993, [9007199254740992.0, 9007199254740993], True)"},
  });
}

TEST(PythonArithmetic, TakesFunctionsOfMathAsPythonRoundsThem) {
  expect({
      {"import math\nx = (math.log(8, 2), math.log(2**29, 2), math.log(125, 5), math.ceil(math.log(2**29, 2)))",
       "(3.0, 29.000000000000004, 3.0000000000000004, 30)"},
      {"import math\nx = []\nfor f in (lambda: math.sqrt(-1), lambda: math.log(0), lambda: math.exp(1000)):\n"
       "  try: x.append(f())\n  except ValueError: x.append('V')\n  except OverflowError: x.append('O')",
       "['V', 'V', 'O']"},
      {"import math\nx = (math.isclose(1, 1 + 1e-10), math.comb(5, 2), math.perm(5, 2), math.factorial(20), "
       "math.isqrt(2**62 - 1), "
       "math.lcm(4, 6), math.copysign(1, -0.0), math.fmod(-7, 3), math.degrees(math.pi), math.isnan(math.nan))",
       "(True, 10, 20, 2432902008176640000, 2147483647, 12, -1.0, -1.0, 180.0, True)"},
      {"import numpy as np\nx = (np.ceil(1.5), np.floor(-1.5), np.floor(7 / 2) // 2, isinstance(np.ceil(0.5), float))",
       "(2.0, -2.0, 1.0, True)"},
      {"from itertools import accumulate\nx = (list(accumulate([1, 2, 3], initial=5)), list(accumulate([1, 2, 3], "
       "func=max)))",
       "([5, 6, 8, 11], [1, 2, 3])"},
  });
  EXPECT_NE(answer("x = 0.0 ** -1").find("divides by zero"), std::string::npos);
  EXPECT_NE(answer("x = 10.0 ** 400").find("larger than a float"), std::string::npos);
}

TEST(PythonArithmetic, WritesPrefixesAndFillsAsPythonDoes) {
  expect({
      {"x = f'{255:#06x}|{-5:#b}|{5:<06}|{5:*^06}|{-1.5:06}|' + '%#x|%#o|%05d' % (255, 8, -3)",
       "'0x00ff|-0b101|500000|**5***|-001.5|0xff|0o10|-0003'"},
      {"x = ('a  b c '.split(None, 1), 'a b c'.split(maxsplit=1), 'a\\x0bb'.split())",
       "(['a', 'b c '], ['a', 'b c'], ['a', 'b'])"},
  });
}

TEST(PythonArithmetic, ChangesInPlaceWhatOthersHold) {
  expect({
      {"a = [1]\nb = a\na *= 3\nx = b", "[1, 1, 1]"},
      {"a = {'k': 1}\nb = a\na |= {'l': 2}\nx = b", "{'k': 1, 'l': 2}"},
      {"a = {1, 2}\nb = a\na |= {3}\na -= {1}\na &= {3, 4}\nx = b", "{3}"},
      {"a = frozenset([1])\nb = a\na |= {2}\nx = (b, len(a))", "(frozenset({1}), 2)"},
      {"a = list(range(7))\ndel a[::3]\nb = list(range(5))\ndel b[::-2]\nx = (a, b)", "([1, 2, 4, 5], [1, 3])"},
  });
}

TEST(PythonArithmetic, KnowsKindsOfContainers) {
  expect({
      {"from collections import OrderedDict\no = OrderedDict(a=1, b=2)\np = OrderedDict(b=2, a=1)\n"
       "x = (o == p, o == dict(p), isinstance(o, OrderedDict), isinstance({}, OrderedDict), isinstance(o, dict), "
       "isinstance(o.copy(), OrderedDict))",
       "(False, True, True, False, True, True)"},
      {"f = frozenset([1, 2])\nx = (isinstance(f, frozenset), isinstance(f, set), isinstance({1}, frozenset), f == {2, "
       "1}, "
       "{f: 3}[frozenset([2, 1])], str(frozenset()))",
       "(True, False, False, True, 3, 'frozenset()')"},
      {"x = (isinstance(None, type(None)), isinstance(3, type(None)), slice(1, 2) == slice(1, 2), slice(1) == "
       "slice(2))",
       "(True, False, True, False)"},
  });
}

TEST(PythonArithmetic, RaisesWhatAProgramMayCatch) {
  expect({
      {"x = []\nfor f in (lambda: 1 / 0, lambda: 2.5 % 0, lambda: 0 ** -1, lambda: [].pop(), lambda: [1].index(2), "
       "lambda: 'a'.index('b'), lambda: "
       "{}.pop('k'), lambda: max([]), lambda: int('no')):\n  try: f()\n  except Exception as e: "
       "x.append(type(e).__name__)",
       "['ZeroDivisionError', 'ZeroDivisionError', 'ZeroDivisionError', 'IndexError', 'ValueError', 'ValueError', "
       "'KeyError', "
       "'ValueError', 'ValueError']"},
      {"class A:\n  def f(s): return s.k\ntry: x = A().f()\nexcept AttributeError: x = 'none'", "'none'"},
      {"class A:\n  def __abs__(s): return 3\n  def __int__(s): return 4\n  def __float__(s): return 5.0\n  def "
       "__round__(s): return 6\n"
       "a = A()\nx = (abs(a), int(a), float(a), round(a))",
       "(3, 4, 5.0, 6)"},
  });
}

TEST(PythonArithmetic, FollowsFinallyBehindWhatIsRaised) {
  expect({
      {"x = []\ntry:\n  try: raise KeyError('a')\n  finally: x.append(1)\nexcept LookupError: x.append(2)", "[1, 2]"},
      {"def f():\n  try: raise KeyError('a')\n  finally: return 3\nx = f()", "3"},
      {"x = []\nfor i in range(3):\n  try:\n    try: x.append(1 // i)\n    finally: x.append('f')\n  except "
       "ZeroDivisionError: x.append('z')",
       "['f', 'z', 1, 'f', 0, 'f']"},
      {"x = []\ntry:\n  try: raise KeyError('a')\n  except KeyError: raise ValueError('b')\n  finally: "
       "x.append('f')\nexcept ValueError: x.append('v')",
       "['f', 'v']"},
  });
}

TEST(PythonArithmetic, KnowsTheFieldsOfADataclass) {
  const std::string head = "from dataclasses import dataclass\nfrom typing import ClassVar\n";
  EXPECT_EQ(answer(head + "class B:\n  p: int = 5\n@dataclass\nclass C(B):\n  a: int = 1\nx = (C(3).a, C().p)"),
            "(3, 5)");
  EXPECT_EQ(answer(head + "@dataclass\nclass C:\n  k: ClassVar[int] = 9\n  a: int = 1\nx = (C(3).a, C.k)"), "(3, 9)");
  EXPECT_NE(answer("from dataclasses import *\n@dataclass\nclass C:\n  k: InitVar[int] = 9\nx = C(3)")
                .find("of type InitVar is not read"),
            std::string::npos);
}

}  // namespace
}  // namespace convoy::python::arithmetic_test
