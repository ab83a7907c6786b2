// The rounding bound of each operator, and what the files that hold them share.
#pragma once
#include "ops/declared.h"
#include "prove/bound.h"
#include "run/run.h"

#include <span>

namespace convoy {

using Bounds = Result<NodeBound>;

// The operator rounds nothing, and its inputs are exact.
inline NodeBound exact(const Evaluation& at) { return {std::vector<std::optional<Tensor>>(at.outputs.size()), 0, 0}; }

// Whether the traits say it all: errors move as the numbers do, or there are none.
template <class O>
constexpr bool bound_by_traits = O::traits.contents == Contents::Kept || O::traits.contents == Contents::Moved ||
                                 O::traits.contents == Contents::Ranked;

// Of every other operator there is one in bound.cpp (what moves numbers, multiplies and sums, or walks along time),
// bound_chosen.cpp (what is found or looked up by numbers, and sums that run), bound_pointwise.cpp (functions of one number
// or two) or bound_normalize.cpp (numbers brought to a common scale).
template <class O>
struct Rounds {};
template <class O>
  requires(!bound_by_traits<O>)
struct Rounds<O> {
  friend Bounds bound(const O& op, const Evaluation& at);
};

// ---- shared
// The numbers as float32 under the same shape: a view where they are that already.
Tensor singles(const Tensor& tensor);
// |x| * scale, plus `more` where given.
Tensor magnitude(const Tensor& tensor, double scale = 1, const Tensor* more = nullptr);
bool is_off(const Evaluation& at);  // whether some input carries an error

// Runs the node, with another operator if one is given, on these inputs in float32.
Result<std::vector<Tensor>> rerun(const Evaluation& at, const std::vector<const Tensor*>& inputs);
Result<std::vector<Tensor>> rerun(const Evaluation& at, Op op, const std::vector<const Tensor*>& inputs);

// The operator's outputs are exact, and errors go through `op` as the numbers do.
Bounds moved(const Evaluation& at, Op op);

// For every element of a tensor of `shape`, its place within the sub-tensor spanned by `axes`, row-major.
std::vector<std::int32_t> index_along(const Sizes& shape, const Sizes& axes);

}  // namespace convoy
