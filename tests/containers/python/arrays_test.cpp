// Arrays of NumPy that a program computes with: their types, and who shares whose numbers. Each row is what NumPy 2.4 gives.
#include "answer.h"

#include <gtest/gtest.h>

namespace convoy::python::arrays_test {
namespace {

using Rows = std::initializer_list<std::pair<const char*, const char*>>;

void expect(Rows rows) {
  for (const auto& [program, answered] : rows)
    EXPECT_EQ(answer("import numpy as np\n" + std::string(program)), answered) << program;
}

TEST(PythonArrays, AreOfTheTypeThatIsSaid) {
  expect({
      {"a = np.array([0.1, 0.2], dtype=np.float32)\nx = (a.tolist(), (a * 3).tolist(), (a * 0.1).tolist(), (a + "
       "np.array([0.1, 0.1])).tolist())",
       "([0.10000000149011612, 0.20000000298023224], [0.30000001192092896, 0.6000000238418579], [0.010000000707805157, "
       "0.020000001415610313], "
       "[0.20000000149011612, 0.3000000029802322])"},
      {"a = np.array([1, 2, 200], dtype=np.uint8)\nx = ((a - 2).tolist(), (a * 2).tolist(), (-a).tolist(), (a / "
       "2).tolist(), (a * 1.5).tolist())",
       "([255, 0, 198], [2, 4, 144], [255, 254, 56], [0.5, 1.0, 100.0], [1.5, 3.0, 300.0])"},
      {"a = np.array([True, False])\nx = ((a + a).tolist(), (a * 2).tolist(), (~a).tolist(), (a * 1.5).tolist())",
       "([True, False], [2, 0], [False, True], [1.5, 0.0])"},
      {"x = (np.array([1, 2.5]).tolist(), np.array([1.7, -1.7]).astype(int).tolist(), np.ones(2, int).tolist(), "
       "np.zeros((1, 2), dtype='int32').tolist(), "
       "np.full((2,), 3).tolist(), np.eye(2, dtype=int).tolist(), np.zeros_like(np.array([1, 2])).tolist())",
       "([1.0, 2.5], [1, -1], [1, 1], [[0, 0]], [3, 3], [[1, 0], [0, 1]], [0, 0])"},
      {"x = (np.arange(1, 2, 0.3).tolist(), np.arange(3, dtype=float).tolist(), np.arange(0, 1, 0.3, "
       "dtype=np.float32).tolist(), "
       "np.linspace(0, 10, 4, dtype=int).tolist(), np.linspace(-1, 1, 4, dtype=np.float32).tolist())",
       "([1.0, 1.3, 1.6, 1.9000000000000001], [0.0, 1.0, 2.0], [0.0, 0.30000001192092896, 0.6000000238418579, "
       "0.9000000357627869], [0, 3, 6, 10], "
       "[-1.0, -0.3333333432674408, 0.3333333432674408, 1.0])"},
      {"x = (np.round(4.35, 1), np.round(np.array([4.35, 2.567]), 1).tolist(), np.round(1234.567, -2), np.round([0.5, "
       "1.5]).tolist())",
       "(4.4, [4.4, 2.6], 1200.0, [0.0, 2.0])"},
      {"a = np.arange(6).reshape(2, 3)\nx = (a.sum(axis=0).tolist(), a.mean(1).tolist(), a.max(axis=-1).tolist(), "
       "a.sum(1, keepdims=True).tolist(), "
       "np.prod(a + 1, axis=0).tolist())",
       "([3, 5, 7], [1.0, 4.0], [2, 5], [[3], [12]], [4, 10, 18])"},
  });
}

TEST(PythonArrays, AreWrittenInPlace) {
  expect({
      {"a = np.array([1, 2, 3])\nb = a\na += 1\na[0] = 2.9\nx = b.tolist()", "[2, 3, 4]"},
      {"a = np.array([1, 2, 3])\na[1:] += 9\na[:1] = 7\nx = a.tolist()", "[7, 11, 12]"},
      {"a = np.zeros((2, 3))\na[0, 1] = 5\na[1] = 2\na[:, 0] = [7, 8]\na[0][2] += 0.1\nx = a.tolist()",
       "[[7.0, 5.0, 0.1], [8.0, 2.0, 2.0]]"},
      {"a = np.array([[1, 2], [3, 4]])\nr = a[0]\nr[0] = 7\nr += 1\nx = a.tolist()", "[[8, 3], [3, 4]]"},
      {"a = np.array([[1, 2], [3, 4]])\na[a > 2] = 0\nb = np.array([1, 2, 3])\nb[[0, 2]] = 4\nx = (a.tolist(), "
       "b.tolist())",
       "([[1, 2], [0, 0]], [4, 2, 4])"},
      {"a = np.array([[1, 2], [3, 4]])\nb = a.copy()\nb[0][1] = 9\nx = (a.tolist(), sum(a.tolist(), []))",
       "([[1, 2], [3, 4]], [1, 2, 3, 4])"},
      {"w = np.zeros((2, 2, 1, 2))\nw[range(2), range(2), :, :] = np.array([[1, 2]])\nx = w.tolist()",
       "[[[[1.0, 2.0]], [[0.0, 0.0]]], [[[0.0, 0.0]], [[1.0, 2.0]]]]"},
      {"a = np.arange(6.).reshape(2, 3)\na -= a.mean()\na[:, 1] = a[:, 1] * 2\nx = a.tolist()",
       "[[-2.5, -3.0, -0.5], [0.5, 3.0, 2.5]]"},
      {"a = np.arange(12).reshape(3, 4)\nx = (a[[0, 2], [1, 3]].tolist(), a[1:, [0, 3]].tolist(), a[:, ::-2].tolist(), "
       "a[..., None].shape)",
       "([1, 11], [[4, 7], [8, 11]], [[3, 1], [7, 5], [11, 9]], (3, 4, 1))"},
  });
}

TEST(PythonArrays, AreNotReadWhereTheyWereWrittenUnderAnotherName) {
  for (const char* program : {"a = np.array([1, 2, 3])\nb = a[1:]\nb[0] = 9\nx = a.tolist()",
                              "a = np.array([1, 2, 3])\nb = a[1:]\na[1] = 9\nx = b * 2",
                              "a = np.array([[1, 2], [3, 4]])\nb = a.T\nb[0] = 9\nx = a.sum()"})
    EXPECT_NE(answer("import numpy as np\n" + std::string(program)).find("written under another name"),
              std::string::npos)
        << program;
  EXPECT_NE(answer("import numpy as np\na = np.array([1, 2])\na += 0.5").find("cannot become floats in place"),
            std::string::npos);
}

}  // namespace
}  // namespace convoy::python::arrays_test
