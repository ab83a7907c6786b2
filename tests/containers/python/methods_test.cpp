// Methods of texts, sets and dictionaries, and functions of itertools: each row is what Python 3.11 computes.
#include "answer.h"

#include <gtest/gtest.h>

namespace convoy::python::methods_test {
namespace {

using Rows = std::initializer_list<std::pair<const char*, const char*>>;

void expect(Rows rows) {
  for (const auto& [program, answered] : rows) EXPECT_EQ(answer(program), answered) << program;
}

TEST(PythonMethods, OfTexts) {
  expect({
      {"s = 'block3_conv12'\nx = (s.rsplit('_', 1), s.partition('_'), s.rpartition('x'), s.rfind('c'), s.find('c', "
       "-3), s.find('', 1, 0), s.count('', 20))",
       "(['block3', 'conv12'], ('block3', '_', 'conv12'), ('', '', 'block3_conv12'), 7, -1, -1, 0)"},
      {"x = ('a b  c'.rsplit(None), 'a,b,c'.rsplit(',', 0), 'aXbX'.replace('X', '-', 1), 'hello world'.title(), "
       "'hELLO'.capitalize(), 'aB'.swapcase())",
       "(['a', 'b', 'c'], ['a,b,c'], 'a-bX', 'Hello World', 'Hello', 'Ab')"},
      {"x = ('7'.zfill(3), '-7'.zfill(4), 'ab'.center(5, '*'), 'ab'.center(7), 'ab'.ljust(4, '.'), 'ab'.rjust(4), ' "
       "a\t'.strip(None))",
       "('007', '-007', '**ab*', '   ab  ', 'ab..', '  ab', 'a')"},
      {"x = ('ab'.isalpha(), 'a1'.isalpha(), ''.isalpha(), 'a1'.isalnum(), ' \\t'.isspace(), 'aB'.islower(), "
       "'a1'.islower(), 'A1'.isupper(), '1'.isupper())",
       "(True, False, False, True, True, False, True, True, False)"},
      {"x = ('a\\nb\\r\\nc'.splitlines(), 'abc'.startswith('b', 1), 'abc'.endswith('b', 0, -1), 'abab'.index('b', 2), "
       "'abab'.rindex('a'), int('0b101', 2) if 0 else 5)",
       "(['a', 'b', 'c'], True, True, 3, 2, 5)"},
  });
}

TEST(PythonMethods, OfSetsAndDictionaries) {
  expect({
      {"s = {1, 2, 3}\ns.discard(9)\ns.discard(1)\ns.remove(2)\nt = s\ns.clear()\nx = (t, {1}.isdisjoint({2}), "
       "{1}.isdisjoint([1]))",
       "(set(), True, False)"},
      {"d = {'a': 1, 'b': 2}\ny = d.popitem()\nd['c'] = 3\nx = (y, d)", "(('b', 2), {'a': 1, 'c': 3})"},
      {"from collections import OrderedDict\nd = OrderedDict(a=1, b=2)\nx = (d.popitem(last=False), list(d))",
       "(('a', 1), ['b'])"},
  });
  EXPECT_NE(answer("f = frozenset([1])\nf.discard(1)").find("has no attribute 'discard'"), std::string::npos);
}

TEST(PythonMethods, OfItertools) {
  expect({
      {"from itertools import *\nx = (list(combinations('abc', 2)), list(permutations([1, 2])), list(zip_longest([1], "
       "[2, 3], fillvalue=0)))",
       "([('a', 'b'), ('a', 'c'), ('b', 'c')], [(1, 2), (2, 1)], [(1, 2), (0, 3)])"},
      {"from itertools import *\nx = (list(islice(count(3, 2), 3)), list(islice(cycle('ab'), 3)), "
       "list(chain.from_iterable([[1], [2, 3]])))",
       "([3, 5, 7], ['a', 'b', 'a'], [1, 2, 3])"},
      {"from itertools import *\nx = (list(takewhile(lambda v: v < 3, [1, 3, 1])), list(dropwhile(lambda v: v < 3, [1, "
       "3, 1])), list(starmap(pow, [(2, 3)])))",
       "([1], [3, 1], [8])"},
      {"import numpy as np\nx = (float(np.float32(0.1)), np.int64(3) // 2, np.uint8(255), np.float64('2.5'), "
       "np.int32(2.9), "
       "np.float32([1, 2]).tolist())",
       "(0.10000000149011612, 1, 255, 2.5, 2, [1.0, 2.0])"},
  });
  EXPECT_NE(answer("import numpy as np\nx = np.uint8(300)").find("a number that no uint8 is"), std::string::npos);
}

}  // namespace
}  // namespace convoy::python::methods_test
