// Programs followed on known values: each row is what Python 3.11 computes.
#include "containers/python/interpreter.h"

#include <gtest/gtest.h>

namespace convoy::python {
namespace {

std::string answer(const std::string& program, Limits limits = {}) {
  Interpreter in({}, {}, limits);
  const auto scope = in.run({"p.py", program});
  if (!scope) return message(scope.error());
  const Value* x = (*scope)->names.find("x");
  return x ? repr(in, *x) : "no x";
}

TEST(PythonInterpreter, ComputesAsPythonDoes) {
  const std::pair<const char*, const char*> rows[] = {
      {"x = (-7 // 2, -7 % 3, 7 / 2, 2 ** -1, 2 ** 10, -7.5 // 2)", "(-4, 2, 3.5, 0.5, 1024, -4.0)"},
      {"x = [i * j for i in range(3) for j in (1, 10) if i]", "[1, 10, 2, 20]"},
      {"a, *b, (c, d) = [1, 2, 3, (4, 5)]\nx = (a, b, c, d)", "(1, [2, 3], 4, 5)"},
      {"x = [1, 2, 3, 4, 5][::-2] + list(range(10, 0, -4))", "[5, 3, 1, 10, 6, 2]"},
      {"def f(a, b=2, *c, d, **e): return (a, b, c, d, e)\nx = f(1, 5, 6, d=7, g=8)", "(1, 5, (6,), 7, {'g': 8})"},
      {"def f():\n  n = 0\n  def g():\n    nonlocal n\n    n += 1\n    return n\n  return g\ng = f()\ng()\nx = g()",
       "2"},
      {"class A:\n  k = 1\n  def f(self): return 'A'\nclass B(A):\n  def f(self): return 'B' + super().f()\nclass "
       "C(A):\n  def f(self): return 'C' + super().f()\n"
       "class D(B, C): pass\nx = (D().f(), D.k, isinstance(D(), C))",
       "('BCA', 1, True)"},
      {"class A:\n  @staticmethod\n  def s(n): return n + 1\n  @property\n  def p(self): return self.s(3)\nx = A().p",
       "4"},
      {"import math\nx = (math.ceil(7 / 2), math.floor(-0.5), max(3, 1), min([4, 2]), sum((1, 2)), abs(-3))",
       "(4, -1, 3, 2, 3, 3)"},
      {"from functools import reduce\nimport operator\nx = reduce(operator.__add__, [(k // 2 + (k - 2 * (k // 2)) - 1, "
       "k // 2) for k in (3, 4)])",
       "(1, 1, 1, 2)"},
      {"x = f'{3:>4}|{2.5:.2f}|{\"a\"}{1!r}'", "'   3|2.50|a1'"},
      {"x = '-'.join(str(i) for i in sorted({3, 1, 2}, reverse=True))", "'3-2-1'"},
      {"d = {'a': 1}\nd.update(b=2)\nx = [k + str(v) for k, v in d.items()]", "['a1', 'b2']"},
      {"x = []\nfor i in range(5):\n  if i == 1: continue\n  if i == 3: break\n  x.append(i)\nelse:\n  x = None",
       "[0, 2]"},
      {"x = 1 if 2 < 3 <= 3 != 4 and not [] else 0", "1"},
      {"x = [*map(lambda a, b: a + b, [1, 2], [3, 4])], [*zip('ab', (1, 2))]", "([4, 6], [('a', 1), ('b', 2)])"},
      {"a = b = [1]\nb += [2]\nx = a is b, a", "(True, [1, 2])"},
      {"try:\n  raise ValueError('n')\nexcept (KeyError, ValueError) as e:\n  x = str(e)[-1]\nelse:\n  x = 0", "'n'"},
      {"try:\n  import no_such_module as m\nexcept ImportError:\n  m = None\nfinally:\n  y = 3\nx = (m, y)",
       "(None, 3)"},
      {"try:\n  y = 1\nexcept Exception:\n  y = 2\nelse:\n  y += 5\nx = y", "6"},
      {"import os\nx = os.path.join('a', 'b/', 'c')", "'a/b/c'"},
      {"import copy\na = [{'k': [1]}]\nb = copy.deepcopy(a)\nb[0]['k'].append(2)\nx = (a, b)",
       "([{'k': [1]}], [{'k': [1, 2]}])"},
      {"x = list[int]((1, 2))", "[1, 2]"},
      {"x = (chr(3 + 97), ord('d'))", "('d', 100)"},
  };
  for (const auto& [program, want] : rows) EXPECT_EQ(answer(program), want) << program;
}

TEST(PythonInterpreter, ReadsWhatIsCopiedFromConsolesAndNotebooks) {
  EXPECT_EQ(answer(">>> def f(n):\n...     return n + 1\n...\n>>> f(2)\n3\n>>> x = f(4)\n"), "5");
  EXPECT_EQ(
      answer("In [1]: y = 2\n\nIn [2]: for i in range(3):\n   ...:     y += i\n   ...: \nOut[2]: 7\n\nIn [3]: x = y\n"),
      "5");
  EXPECT_EQ(answer("!pip install torch\n%matplotlib inline\nx = 7\nprint x, 'and', x\n"), "7");
  // An expression that merely goes on with '%' or dots is none of a notebook's.
  EXPECT_EQ(answer("x = (17\n% 5, ...)\n"), "(2, Ellipsis)");
  EXPECT_EQ(answer("!ls\ny = z\n").substr(0, 8), "p.py:2:5");
}

TEST(PythonInterpreter, CatchesOnlyWhatTheProgramItselfRaises) {
  EXPECT_NE(answer("try:\n  open('x')\nexcept Exception:\n  x = 1").find("nothing is run or opened"),
            std::string::npos);
  EXPECT_NE(answer("try:\n  raise KeyError('k')\nexcept ValueError:\n  x = 1").find("raises KeyError"),
            std::string::npos);
}

TEST(PythonInterpreter, RefusesWithThePlaceAndTheLine) {
  EXPECT_EQ(answer("y = 1\nx = [y,\n     foo(y)]\n").substr(0, 34), "p.py:3:6: 'foo' is not defined; kn");
  EXPECT_NE(answer("y = 1\nx = foo(y)\n").find("\n    x = foo(y)"), std::string::npos);
  EXPECT_NE(answer("raise ValueError('no')").find("the program raises ValueError: no"), std::string::npos);
  EXPECT_NE(answer("def f(a): pass\nf()").find("argument 'a' is missing"), std::string::npos);
}

TEST(PythonInterpreter, ReachesNothingOutsideOfItself) {
  for (const char* program : {"__import__('os')", "eval('1')", "exec('1')", "open('/etc/passwd')",
                              "().__class__.__bases__", "(lambda: 0).__globals__", "getattr(print, '__self__')",
                              "import os\nos.system('true')", "import subprocess", "globals()", "from ..a import b"})
    EXPECT_EQ(answer(program).substr(0, 5), "p.py:") << program;
}

TEST(PythonInterpreter, IsBoundedInStepsMemoryAndDepth) {
  const Limits small{.steps = 20000, .memory = Size{4} << 20, .depth = 300};
  for (const char* program :
       {"while True: pass", "for i in range(10 ** 18): pass", "x = [0] * 10 ** 12", "x = 'a'\nwhile True: x += x",
        "x = []\nwhile True: x = [x, x]", "def f(): return f()\nf()", "x = 10 ** 100", "x = 1 << 100",
        "x = list(range(10 ** 9))", "x = [1]\nfor i in x: x.append(i)"})
    EXPECT_EQ(answer(program, small).substr(0, 5), "p.py:") << program;
}

}  // namespace
}  // namespace convoy::python
