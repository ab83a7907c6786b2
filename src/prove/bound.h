// How far a float32 evaluation of one operator may be from the exact one, by rounding alone. u = 2^-24, y the result,
// e what the inputs may already be off by:
//
//   pad, reshape, slice, concat, max pool, ReLU, clip, ...   nothing; e moves with the numbers
//   convolution, dense, products of matrices, sums, means    limit(K) u (|W|*|x| + |b|), and |W|*e
//   linear resize                                            4 (4 + n) u (|taps|*|x|), n the longest axis
//   batch norm, a = gamma / sqrt(variance + epsilon)         8 u (|a| (|x| + |mean|) + |beta|), and |a| e
//   layer, group, instance norm over K numbers               (2 sqrt(K) + 16) u |g| (|x| + |m|) / s (1 + (m^2 + v) / s^2)
//                                                            + u |beta|, s^2 = v + epsilon; and |g| / s (2 + |x - m| / s) e
//   softmax                                                  4 u y (|x - max| + 8 + sqrt(K)), and y (exp(2 e) - 1), 1 at most
//   other functions                                          a few u of what they add up; e by evaluating at x - e, x + e;
//                                                            without end where a pole lies between these
//   recurrent cells                                          per step limit(K) u (1 + |W| |x| + |U| |h| + |b|), largest
//                                                            magnitudes, summed over the steps; of 16 bits 4 times what
//                                                            rounding within the steps moves
//
// All but the last line bound every order of summation in practice: limit(K) lies between the observed 2 sqrt(K) and the
// theorem's K + 1 (twice, for two float32 results). Recurrent errors may grow from step to step; the last line takes them
// to add up, which contracting cells obey.
#pragma once
#include "graph/graph.h"

#include <optional>
#include <vector>

namespace convoy {

//
// A value of float16 or bfloat16 is rounded once more behind a sum in float32: 2 u y more, u = 2^-11 or 2^-8, for two graphs that
// round it. float64 is held to u = 2^-24 too, in which the numbers that both graphs go on from are made.
inline constexpr double unit_rounding = 0x1p-24;
// Half of the distance from 1 to the next number of a type of real numbers, as far as proofs tell them apart.
constexpr double unit_rounding_of(DType dtype) {
  return dtype == DType::F16 ? 0x1p-11 : dtype == DType::BF16 ? 0x1p-8 : unit_rounding;
}

// min(4 sqrt(K) + 16, 2 (K + 1))
double limit_of(Size terms);

// A node of the target as it was evaluated in float32.
struct Evaluation {
  const Node& node;
  std::vector<const Tensor*> inputs;  // null: absent
  std::vector<const Tensor*> errors;  // per input: float32, its shape; null: the input is exact
  const std::vector<Tensor>& outputs;
  int threads = 0;
  std::vector<DType> types{};  // of the outputs; none: float32
};

struct NodeBound {
  std::vector<std::optional<Tensor>> errors;  // per output, float32; none: exact
  Size terms = 0;  // products per output
  double limit = 0;  // the factor in front of u
};

Result<NodeBound> bound_of(const Evaluation& evaluation);

}  // namespace convoy
