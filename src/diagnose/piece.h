// A stretch of a network cut out of it: from values that both models have to one value that both have.
#pragma once
#include "graph/graph.h"
#include "prove/compare.h"

#include <map>
#include <string>
#include <vector>

namespace convoy::diagnose {

// A graph of its own whose inputs stand for `from`; one output.
struct Piece {
  Graph graph;
  std::vector<ValueId> from;  // values of the model it was cut from, one per input
};
Piece cut(const Graph& graph, ValueId to, const std::vector<ValueId>& boundary);

// Of all its values that have sizes.
Size numbers_in(const Graph& graph);

// All values of a piece, in float64. Fails: as the kernels do, for instance where shapes no longer fit.
Result<std::vector<Tensor>> values_of(const Graph& piece, const std::vector<Tensor>& inputs, int threads);
// The same, but that constants, what is made of them alone, and what operators make that are steered by numbers which float32
// has not, are moved by up to `by` of their size, to random sides: how much the piece hangs on the rounding of its numbers.
Result<std::vector<Tensor>> shaken_values_of(const Graph& piece, const std::vector<Tensor>& inputs, double by,
                                             std::uint64_t seed, int threads);
bool all_finite(const Tensor& tensor);
// The output alone, in float64.
Result<Tensor> evaluate(const Graph& piece, const std::vector<Tensor>& inputs, int threads);

// In float32, with what rounding may have added on the way.
struct Rounded {
  Tensor value;
  std::optional<Tensor> error;  // none: exact
  Size terms = 0;
  double limit = 0;
};
Result<Rounded> evaluate_rounded(const Graph& piece, const std::vector<Tensor>& inputs, int threads);
// A bound of float32's rounding as far as it tells anything: one beyond the largest number is that number. Behind norms of
// recurrent cells it may have no end.
std::vector<float> telling(const Tensor& error, const Tensor& value);
// With `sharpness` below 1 the numbers are of float64, and of the error of float32 only that share is left: for
// differences that float32's own rounding would cover.
Result<Rounded> evaluate_sharply(const Graph& piece, const std::vector<Tensor>& inputs, double sharpness, int threads);

// Float64 rounds by 2^-29 of what float32 does; eight times that.
inline constexpr double exact_share = 0x1p-26;

// Adds what the numbers of a may be off by in float64: a difference of two large numbers.
Status allow_for_float64(Rounded& got, const Graph& a, const std::vector<Tensor>& inputs, const Sizes& permutation,
                         int threads);

// Adds what b may be off by because it holds computed what the stretch of a computes from constants alone.
Status allow_for_known(Rounded& got, const Graph& a, const std::vector<Tensor>& inputs, const Sizes& permutation,
                       int threads);

// The same for scales and offsets that b holds folded into other numbers: those are rounded by what they were made of, as a's
// own numbers are when it computes.
Status allow_for_folded(Rounded& got, const Graph& a, const Graph& b, const std::vector<Tensor>& inputs,
                        const Sizes& permutation, int threads);

// How far `got` of b is from `wanted` of a, brought into b's order of axes.
struct Gap {
  double r = 0, limit = 0, largest = 0;
  double share = 0;  // of the numbers that are beyond the bound
  Size terms = 0;
  bool same = true;
  bool other_shape = false;
};
// The same for numbers that may agree, but under a shape that is not theirs.
Gap of_another_shape(const Gap& gap);
Gap gap_between(const Rounded& got, const Tensor& wanted, const Sizes& permutation);

}  // namespace convoy::diagnose
