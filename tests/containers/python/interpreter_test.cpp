// Programs followed on known values: each row is what Python 3.11 computes.
#include "answer.h"

#include <gtest/gtest.h>

namespace convoy::python::interpreter_test {
namespace {

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
      {"shape = (None, 7)\nx = (shape[0].value, shape[-1].value * 2)", "(None, 14)"},
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
      {"def f(n):\n  for i in range(n):\n    yield i * i\n  yield from 'ab'\nx = list(f(3))", "[0, 1, 4, 'a', 'b']"},
      {"def f():\n  def g():\n    yield 1\n  return 5\nx = f()", "5"},
      // A generator makes each value when it is asked for.
      {"x = [1, 2]\nx.extend(n + x[-1] for n in (10, 20))", "[1, 2, 12, 32]"},
      {"x = [1]\nx += (x[-1] * n for n in (2, 3) if x[-1] < 9)", "[1, 2, 6]"},
      {"a = [0]\nx = []\nfor n in (a[0] for _ in range(3)):\n  a[0] += 5\n  x.append(n)", "[0, 5, 10]"},
      {"g = (1 // n for n in (2, 1, 0))\nx = (next(g), any(g), next((i for i in ()), 7))", "(0, True, 7)"},
      {"n = 3\ng = (n * i for i in range(n))\nn = 10\nx = list(g) + list(g)", "[0, 10, 20]"},
      {"import functools\nf = functools.partial(functools.partial(max, 4), 7, key=abs)\n"
       "x = (f(-9, key=lambda v: v), f.func is max, f.args, type(f) == functools.partial, callable(f))",
       "(7, True, (4, 7), True, True)"},
      {"from types import SimpleNamespace\na = SimpleNamespace(k=3)\na.s = a.k + 1\nx = a.s * 2", "8"},
      {"class A: pass\na = A()\na.__setattr__('k', 5)\nx = a.k", "5"},
      {"import numpy as np\na = np.array([1, 2, 3])\nx = (a[:, None] * a[None, :2]).tolist()",
       "[[1, 2], [2, 4], [3, 6]]"},
      {"import numpy as np\na = np.array([[1, 2, 3], [4, 5, 6]])\nx = (a[:, 1].tolist(), a[..., 0:1].shape if False "
       "else "
       "a[:, 1:].T.tolist(), (a + np.array([10, 20, 30]))[1].tolist(), np.stack([a, a]).shape)",
       "([2, 5], [[2, 5], [3, 6]], [14, 25, 36], (2, 2, 3))"},
      {"def f():\n  yield 1\n  return\n  yield 2\nx = [*f()]", "[1]"},
      {"from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass A:\n  a: int\n  b: list = "
       "field(default_factory=list)\n@dataclass\nclass B(A):\n  c: int = 7\nx = (B(1).b, B(1, c=2).c, B(3, [4]).b, "
       "A(a=5).a)",
       "([], 2, [4], 5)"},
      {"from enum import Enum\nclass E(Enum):\n  A = 1\n  B = 2\n  C = 1\n  def double(self): return self.value * 2\n"
       "x = (E.C is E.A, E(2) is E.B, E['B'].name, [e.name for e in E], len(E), E.B.double(), isinstance(E.A, E))",
       "(True, True, 'B', ['A', 'B'], 2, 4, True)"},
      {"n = 3\nx = f'{n=} {n + 1 = } {n!r} {n == 3}'", "'n=3 n + 1 = 4 3 True'"},
      {"from collections import defaultdict\nd = defaultdict(list)\nd['a'].append(1)\nd['a'].append(2)\nx = d['a'], "
       "len(d)",
       "([1, 2], 1)"},
      {"import inspect\ndef f(a, *, b=2): pass\np = inspect.signature(f).parameters\nx = [(k, v.kind == "
       "v.KEYWORD_ONLY) "
       "for k, v in p.items()], p['b'].default",
       "([('a', False), ('b', True)], 2)"},
      {"import numpy as np\nx = [float(v) for v in np.linspace(0, 1, 5)], list(np.arange(1, 8, 3)), "
       "list(np.linspace(0, 1, 2, "
       "endpoint=False))",
       "([0.0, 0.25, 0.5, 0.75, 1.0], [1, 4, 7], [0.0, 0.5])"},
      {"import numpy as np\na = np.array([[1, 2, 3], [4, 5, 6]])\nx = list((a * 2)[1]), a.shape, a[1, 2], "
       "int(a.sum()), "
       "list(np.cumsum([1, 2, 3])), list(np.ceil(np.array([0.5, 2.0])))",
       "([8, 10, 12], (2, 3), 6, 21, [1, 3, 6], [1.0, 2.0])"},
      {"import weird, other.part as part\nfrom ..up import x as y\nfrom . import z\nx = 3", "3"},
      {"import functools, inspect\ndef known(a, *, b=2): return a + b\n@functools.wraps(known)\n"
       "def plain(*args): return known(*args)\n"
       "x = plain(1), plain.__name__, list(inspect.signature(plain).parameters), plain.__class__.__name__",
       "(3, 'known', ['a', 'b'], 'function')"},
      {"import functools\ndef f(): return 1\ndef g(): return 2\nfunctools.wraps(f)(g)\nx = functools.wraps(g)(f)()",
       "1"},
      {"import copy\nclass A:\n  n = 1\na = A()\na.all = [1]\nb = copy.copy(a)\nb.n = 2\nb.all.append(3)\nx = a.n, "
       "b.n, a.all",
       "(1, 2, [1, 3])"},
      {"class A: pass\nA.__annotations__ = {'a': 1}\nx = 1", "1"},
  };
  for (const auto& [program, want] : rows) EXPECT_EQ(answer(program), want) << program;
}

TEST(PythonInterpreter, TakesTextsTuplesAndCasesApartAsPythonDoes) {
  const std::pair<const char*, const char*> rows[] = {
      {"import re\nx = (re.split(r'(\\d.*)', 's22'), re.match('a(b)?', 'ac').groups(), re.sub('_+', '-', 'a__b_c'))",
       "(['s', '22', ''], (None,), 'a-b-c')"},
      {"import re\np = re.compile(r'[a-z]+(\\d)')\nx = (p.findall('ab1 c2'), p.search('..d3').group(1), "
       "p.fullmatch('x'))",
       "(['1', '2'], '3', None)"},
      {"from collections import namedtuple\nA = namedtuple('A', 'k s', defaults=[1])\nb = A(4).s\n"
       "A.__new__.__defaults__ = (3, 5)\na = A(k=2)\nx = (b, a.s, a._replace(s=9)[1], len(A._fields), list(A()))",
       "(1, 5, 9, 2, [3, 5])"},
      {"def f(n, most=9):\n  match n:\n    case 1 | -2:\n      return 'a'\n    case 'k' if most > 9:\n      return "
       "'b'\n"
       "    case None:\n      return 'c'\n    case other:\n      return other\n"
       "x = [f(1), f(-2), f('k'), f('k', 10), f(None), f(0)]",
       "['a', 'a', 'k', 'b', 'c', 0]"},
      {"match = [3]\nmatch[0] += 1\nx = match", "[4]"},
      {"x = (float('0.25'), float(' -1e3') if False else float('-1e3'))", "(0.25, -1000.0)"},
  };
  for (const auto& [program, want] : rows) EXPECT_EQ(answer(program), want) << program;
  EXPECT_NE(answer("import re\nre.match('(a{9}){9}', 'a')").find("holds counts"), std::string::npos);
}

// What x is at the end of a program that is read as far as it is understood.
std::string as_far(const std::string& program) {
  Interpreter in({}, {});
  const auto scope = in.run_as_far({"p.py", program});
  if (!scope) return message(scope.error());
  const Value* x = (*scope)->names.find("x");
  if (!x) return "no x";
  const auto used =
      in.call(Value::of(in.make<Bound>(*x, in.native("f",
                                                     [](Interpreter& with, Arguments& a) -> Result<Value> {
                                                       const auto holds = with.truth(a.placed[0]);
                                                       if (!holds) return std::unexpected(holds.error());
                                                       return a.placed[0];
                                                     }))),
              ValueList{});
  return used ? repr(in, *used) : message(used.error());
}

TEST(PythonInterpreter, ReadsOverWhatIsNotUnderstoodAndMissesItWhereItIsUsed) {
  EXPECT_EQ(as_far("import weird\nx = 5\nfor i in weird.loader():\n  y = x\n"), "5");
  EXPECT_EQ(as_far("import weird\nx = 5\nx = weird.f(x)\n").substr(0, 30), "p.py:3:11: 'weird' is not read");
  EXPECT_EQ(as_far("import weird\ny = weird.f()\nx = y\n").substr(0, 23), "p.py:2:11: 'weird' is n");
  EXPECT_EQ(as_far("import weird\nx = [1]\nx.append(weird.f())\n").substr(0, 23), "p.py:3:16: 'weird' is n");
  EXPECT_EQ(as_far("import weird\ndef f(a): a.append(weird.f())\nx = [1]\nf(x)\n").substr(0, 23),
            "p.py:2:26: 'weird' is n");
  EXPECT_EQ(as_far("import weird\ndef f(a): weird.f(a)\nx = [1]\nprint(weird.f(x))\n"), "[1]");
  EXPECT_EQ(as_far("try:\n  import weird\nexcept ImportError:\n  weird = 4\nx = weird"), "4");
  EXPECT_EQ(as_far("from weird import *\nx = unknown\n").substr(0, 34), "p.py:2:5: 'unknown' is not defined");
  EXPECT_EQ(as_far("x = 5\nz = 6.28J\nw = [1e-3j * x]\ndef f(): return 2j\n"), "5");
  EXPECT_EQ(as_far("z = 6.28J\nx = z\n").substr(0, 61),
            "p.py:1:5: '6.28J' is a complex number, which is not carried\n ");
  // What leads out of the program ends it, and so does what Python refuses.
  EXPECT_EQ(as_far("x = 5\nexec('f')\n").substr(0, 26), "p.py:2:5: 'exec' is not re");
  // Nothing is opened, and nobody knows what a file holds.
  EXPECT_EQ(as_far("x = 5\nwith open('f', 'w') as f:\n  f.write(str(x))\n"), "5");
  EXPECT_EQ(as_far("x = len(open('f').read())\n").substr(0, 8), "p.py:1:8");
  EXPECT_EQ(as_far("x = 5\ny = x.__bases__\n").substr(0, 31), "p.py:2:7: attribute '__bases__'");
  EXPECT_EQ(as_far("x = 5\nraise ValueError('n')\n").substr(0, 23), "p.py:2:1: the program r");
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
  EXPECT_NE(answer("try:\n  exec('x')\nexcept Exception:\n  x = 1").find("nothing is run or opened"),
            std::string::npos);
  EXPECT_NE(answer("try:\n  raise KeyError('k')\nexcept ValueError:\n  x = 1").find("raises KeyError"),
            std::string::npos);
}

TEST(PythonInterpreter, AsksTextsKeysOrdersAndBases) {
  EXPECT_EQ(answer("x = '--a-b'.lstrip('-') + 'c  '.rstrip() + str('abcab'.count('ab')) + str('abc'.index('c'))"),
            "'a-bc22'");
  EXPECT_EQ(answer("x = 'a.b.a'.removeprefix('a.') + ' a.b.a'.removesuffix('.a') + 'ab'.removeprefix('b') + "
                   "'ab'.removesuffix('a')"),
            "'b.a a.babab'");
  EXPECT_EQ(answer("x = sorted({'a': 1, 'b': 2}.keys() & {'b', 'c'})"), "['b']");
  EXPECT_EQ(answer("class A:\n  def __init__(self, n): self.n = n\n  def __lt__(self, o): return self.n > o.n\n"
                   "x = (A(1) < A(2), A(1) > A(2))"),
            "(False, True)");
  EXPECT_EQ(answer("import math\nx = ('sqrt' in dir(math), 'weird' in dir(math))"), "(True, False)");
  EXPECT_EQ(answer("class B: pass\nclass A(B):\n  def __init__(self): B.__init__(self); self.n = 4\nx = A().n"), "4");
  EXPECT_EQ(answer("from typing import Sequence\nx = (isinstance([1], Sequence), isinstance(1, Sequence))"),
            "(True, False)");
}

TEST(PythonInterpreter, TellsTypesByWhatTypingCallsThem) {
  EXPECT_EQ(answer("from typing import *\n"
                   "x = [isinstance((1,), t) for t in (Tuple, List, Sequence, Iterable, Dict, Union[int, Tuple])]"),
            "[True, False, True, True, False, True]");
  EXPECT_EQ(answer("from typing import *\nx = [isinstance({}, t) for t in (Dict, Mapping, Sequence, Iterable)]"),
            "[True, True, False, True]");
  EXPECT_EQ(answer("from typing import Optional\nx = [isinstance(v, Optional[int]) for v in (None, 3, 'a')]"),
            "[True, True, False]");
  EXPECT_EQ(answer("class A: pass\nx = [isinstance(v, int | A | None) for v in (3, A(), None, 'a', 2.5)]"),
            "[True, True, True, False, False]");
  EXPECT_EQ(answer("from types import FunctionType\nx = [isinstance(v, FunctionType) for v in (lambda: 0, print)]"),
            "[True, False]");
  EXPECT_EQ(answer("from collections.abc import Mapping\nx = isinstance({}, Mapping)"), "True");
  EXPECT_NE(answer("from typing import List\nx = isinstance([1], List[int])").find("isinstance() of the type hint"),
            std::string::npos);
}

TEST(PythonInterpreter, ComputesByTheMethodsOfAProgramsOwnClasses) {
  const std::string number =
      "class N:\n  def __init__(s, n): s.n = n\n  def __add__(s, o): return ('add', s.n, o)\n"
      "  def __rsub__(s, o): return ('rsub', s.n, o)\n  def __neg__(s): return ('neg', s.n)\n"
      "  def __imul__(s, o):\n    s.n *= o\n    return s\n";
  EXPECT_EQ(answer(number + "x = (N(3) + 4, 5 - N(6), -N(7))"), "(('add', 3, 4), ('rsub', 6, 5), ('neg', 7))");
  EXPECT_EQ(answer(number + "a = b = N(3)\na *= 4\nx = (b.n, a is b)"), "(12, True)");
  EXPECT_EQ(answer("class A:\n  def __add__(s, o): return 'A'\nclass B(A):\n  def __radd__(s, o): return 'B'\n"
                   "x = (A() + A(), A() + B(), B() + A())"),
            "('A', 'B', 'A')");
  EXPECT_NE(answer(number + "x = N(3) * 4").find("'*' of a N and a int"), std::string::npos);
}

TEST(PythonInterpreter, FindsTheClassOfAMethodUnderADecorator) {
  EXPECT_EQ(answer("import functools\ndef kept(f):\n  @functools.wraps(f)\n  def g(self, *a):\n    self.a = a\n"
                   "    f(self, *a)\n  return g\nclass B:\n  def __init__(self, n): self.n = n\n"
                   "class C(B):\n  @kept\n  def __init__(self, n): super().__init__(n + 1)\n"
                   "x = (C(3).n, C(3).a)"),
            "(4, (3,))");
  EXPECT_NE(answer("def f(s): return super().g()\nclass A: pass\nx = f(A())").find("'super' outside of a method"),
            std::string::npos);
}

TEST(PythonInterpreter, RaisesAndCountsAsNumPyDoes) {
  EXPECT_EQ(answer("import numpy as np\nx = (np.power(2.0, np.arange(3)).tolist(), np.power([1, 2], [3, 4]).tolist(), "
                   "np.pow(2, 3), np.multiply(0.1, 3), np.floor_divide([7, -7], 2).tolist())"),
            "([1.0, 2.0, 4.0], [1, 16], 8, 0.30000000000000004, [3, -4])");
  EXPECT_EQ(answer("import numpy as np\na, n = np.unique([[3, 1], [3, 2]], return_counts=True)\n"
                   "x = (a.tolist(), n.tolist(), len(np.unique(np.array([2, 2]))))"),
            "([1, 2, 3], [1, 1, 2], 1)");
  EXPECT_NE(answer("import numpy as np\nx = np.power(2, [1, -1])").find("negative whole"), std::string::npos);
  EXPECT_NE(answer("import math\nx = math.pow([1], 2)").find("no number"), std::string::npos);
  EXPECT_EQ(answer("import numpy as np\nx = np.arange(6).reshape(2, -1).tolist()"), "[[0, 1, 2], [3, 4, 5]]");
  for (const char* shape : {"2**40, 2**40, -1", "2**32, 2**32", "-1, -1", "0, -1", "4, -1"})
    EXPECT_NE(answer("import numpy as np\nx = np.arange(6).reshape(" + std::string(shape) + ")").find("does not hold"),
              std::string::npos)
        << shape;
}

TEST(PythonInterpreter, RefusesWithThePlaceAndTheLine) {
  EXPECT_EQ(answer("y = 1\nx = [y,\n     foo(y)]\n").substr(0, 34), "p.py:3:6: 'foo' is not defined; kn");
  EXPECT_NE(answer("y = 1\nx = foo(y)\n").find("\n    x = foo(y)"), std::string::npos);
  EXPECT_NE(answer("raise ValueError('no')").find("the program raises ValueError: no"), std::string::npos);
  EXPECT_NE(answer("def f(a): pass\nf()").find("argument 'a' is missing"), std::string::npos);
}

TEST(PythonInterpreter, ReachesNothingOutsideOfItself) {
  for (const char* program :
       {"__import__('os')", "eval('1')", "exec('1')", "list(open('/etc/passwd'))", "().__class__.__bases__",
        "(lambda: 0).__globals__", "getattr(print, '__self__')", "import os\nos.system('true')",
        "import subprocess\nsubprocess.run('true')", "globals()", "from ..a import b\nb()"})
    EXPECT_EQ(answer(program).substr(0, 5), "p.py:") << program;
}

// Methods that answer with the object they are asked of, or lead round in a ring, and values that hold themselves: under
// everything that asks an object something.
TEST(PythonInterpreter, EndsWhatAsksItselfWithASentence) {
  const char* methods[] = {"__iter__", "__len__", "__bool__", "__contains__", "__getitem__",
                           "__call__", "__eq__",  "__add__",  "__radd__",     "__neg__"};
  const char* answers[] = {"s",      "A()",     "list(s)", "len(s)", "bool(s)", "s in s", "s[0]",
                           "not s",  "iter(s)", "max(s)",  "sum(s)", "-5",      "[*s]",   "(y for y in s)",
                           "[s, s]", "2 ** 62", "s + s",   "-s",     "1 + s"};
  const char* asked[] = {"list(a)",
                         "tuple(a)",
                         "set(a)",
                         "dict(a)",
                         "len(a)",
                         "bool(a)",
                         "max(a)",
                         "min([a, a])",
                         "sum(a)",
                         "any(a)",
                         "all([a])",
                         "sorted(a)",
                         "sorted([a, a])",
                         "list(zip(a, a))",
                         "list(map(a, a))",
                         "list(filter(a, [1]))",
                         "next(iter(a))",
                         "a in a",
                         "1 in a",
                         "a == a",
                         "a[0]",
                         "a()",
                         "[*a]",
                         "{**{}, 'x': a}",
                         "not a",
                         "a + a",
                         "1 + a",
                         "-a",
                         "enumerate(a)",
                         "reversed(a)",
                         "range(len(a))",
                         "str(a)"};
  for (const std::string method : methods)
    for (const char* answered : answers)
      for (const char* question : asked) {
        const std::string program =
            "class A:\n  def " + method + "(s, *more): return " + answered + "\na = A()\nx = " + question;
        EXPECT_FALSE(answer(program, {.steps = 20000, .memory = Size{8} << 20, .depth = 300}).empty()) << program;
      }
  EXPECT_NE(answer("class A:\n  def __iter__(s): return s\nx = list(A())").find("which has no __next__"),
            std::string::npos);
  EXPECT_NE(answer("class A:\n  def __iter__(s): return A()\nx = list(A())").find("nested too deep"),
            std::string::npos);
  EXPECT_NE(answer("class A:\n  def __bool__(s): return s\nx = not A()").find("gives a A, no truth"),
            std::string::npos);
  EXPECT_NE(answer("class A:\n  def __len__(s): return -5\nx = list(range(len(A())))").find("__len__() gives -5"),
            std::string::npos);
  EXPECT_EQ(answer("l = []\nl.append(l)\nx = isinstance(3, (l, float))"), "False");
  EXPECT_NE(answer("x = isinstance(3, (1, float))").find("isinstance() of a int, which is no class"),
            std::string::npos);
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
}  // namespace convoy::python::interpreter_test
