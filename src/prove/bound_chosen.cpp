// Rounding of what is found, ordered or looked up by numbers, and of sums that run along an axis. Places are whole
// numbers: those of numbers that are off cannot be followed.
#include "prove/bound_operators.h"
#include "prove/terms.h"

#include <algorithm>
#include <cmath>

namespace convoy {

namespace {

float largest_of(const Tensor* tensor) {
  float most = 0;
  if (tensor)
    for (const float value : tensor->floats()) most = std::max(most, std::abs(value));
  return most;
}

// The errors of input 0 at the places that input 1 says.
Bounds looked_up(const Evaluation& at) {
  if (!at.errors[0]) return exact(at);
  auto errors = rerun(at, {at.errors[0], at.inputs[1]});
  if (!errors) return pass(errors);
  return NodeBound{{singles(errors->front())}, 0, 0};
}

}  // namespace

Bounds bound(const Gather&, const Evaluation& at) { return looked_up(at); }
Bounds bound(const GatherElements&, const Evaluation& at) { return looked_up(at); }
Bounds bound(const ExpandLike&, const Evaluation& at) { return looked_up(at); }
Bounds bound(const SliceBehind&, const Evaluation& at) { return looked_up(at); }

// The k-th largest of a row moves by the row's largest error at most.
Bounds bound(const TopK& op, const Evaluation& at) {
  if (!at.errors[0]) return exact(at);
  auto rows = rerun(at, Reduce{Reduction::Maximum, {op.axis}, true}, {at.errors[0]});
  if (!rows) return pass(rows);
  auto errors = rerun(at, Tile{op.axis, std::max<Size>(op.count, 1)}, {&rows->front()});
  if (!errors) return pass(errors);
  if (op.count == 0) return exact(at);
  return NodeBound{{singles(errors->front()), std::nullopt}, 0, 0};
}

// As a sum of so many terms, or a product: each factor may be off by its error and one rounding.
Bounds bound(const Accumulate& op, const Evaluation& at) {
  const Size terms = terms_of(op, lengths_of(at.inputs));
  const double limit = limit_of(terms);
  if (op.reduction == Reduction::Sum) {
    const Tensor x = magnitude(*at.inputs[0], limit * unit_rounding, at.errors[0]);
    auto sum = rerun(at, {&x});
    if (!sum) return pass(sum);
    return NodeBound{{singles(sum->front())}, terms, limit};
  }
  const Tensor plain = magnitude(*at.inputs[0]), more = magnitude(plain, 1 + limit * unit_rounding, at.errors[0]);
  auto low = run_node(at.node, {&plain}, Precision::Double, at.threads);
  if (!low) return pass(low);
  auto high = run_node(at.node, {&more}, Precision::Double, at.threads);
  if (!high) return pass(high);
  const auto from = low->front().doubles(), to = high->front().doubles();
  std::vector<float> errors(to.size());
  for (std::size_t i = 0; i < to.size(); ++i)
    errors[i] = static_cast<float>(to[i] - from[i] + limit * unit_rounding * std::abs(from[i]));
  return NodeBound{{Tensor::of(low->front().shape(), std::move(errors))}, terms, limit};
}

// A coordinate is off by a few roundings of the axis' length, or by half the length times the grid's own error; each cell
// then weighs that much more or less. Three cells' worth of weight bound the kernel with negative lobes on each axis.
Bounds bound(const GridSample& op, const Evaluation& at) {
  const Sizes& x = at.inputs[0]->shape();
  Size longest = 1, taps = 1;
  for (std::size_t i = 2; i < x.size(); ++i) {
    longest = std::max(longest, x[i]);
    taps *= op.interpolation == Interpolation::Nearest ? 1 : 3;
  }
  const bool is_copied = op.interpolation == Interpolation::Nearest && !at.errors[1];
  if (is_copied) return looked_up(at);
  const double limit = 4 * (4 + static_cast<double>(longest));
  const double off =
      limit * unit_rounding + static_cast<double>(largest_of(at.errors[1]) * static_cast<float>(longest));
  const auto most = static_cast<double>(largest_of(at.inputs[0])) * static_cast<double>(taps);
  const double error = off * most + static_cast<double>(largest_of(at.errors[0])) * static_cast<double>(taps);
  std::vector<float> errors(static_cast<std::size_t>(at.outputs[0].count()), static_cast<float>(error));
  return NodeBound{{Tensor::of(at.outputs[0].shape(), std::move(errors))}, taps, limit};
}

}  // namespace convoy
