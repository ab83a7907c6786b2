#include "prove/bound.h"

#include "ops/expect.h"
#include "prove/bound_operators.h"
#include "prove/terms.h"
#include "run/held.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace convoy {

double limit_of(Size terms) {
  const double k = static_cast<double>(terms);
  return std::min(4 * std::sqrt(k) + 16, 2 * (k + 1));
}

namespace {
template <class O>
Bounds bound_one(const O& op, const Declaring<Evaluation, Rounds>& at) {
  if constexpr (O::traits.contents == Contents::Ranked) return exact(at);
  else if constexpr (bound_by_traits<O>) return moved(at, op);
  else return bound(op, at);
}

constexpr double least_half = 0x1p-24;  // the distance between the smallest numbers of float16

void add_half(const Tensor& output, DType dtype, NodeBound& bound, std::optional<Tensor>& error) {
  const auto values = output.floats();
  auto errors = error ? error->floats() : std::vector<float>(values.size(), 0.0F);
  const double two = 2 * unit_rounding_of(dtype), least = dtype == DType::F16 ? least_half : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = static_cast<double>(errors[i]), size = std::abs(static_cast<double>(values[i]));
    errors[i] = static_cast<float>(off + (std::isfinite(size) ? two * (size + off) + least : 0));
  }
  error = Tensor::of(output.shape(), std::move(errors));
  bound.limit += two / unit_rounding;
}

// What moves or picks numbers rounds nothing in any type, and a Cast states its own rounding.
bool rounds_to_half(const Op& op, const NodeBound& bound) { return bound.limit > 0 && !holds_alternative<Cast>(op); }

// Sums and products of whole numbers are those of every runtime, as long as what comes in is.
bool computes_whole(const Evaluation& at) {
  return !is_off(at) &&
         std::ranges::none_of(at.outputs, [](const Tensor& tensor) { return is_floating(tensor.dtype()); });
}
}  // namespace

Result<NodeBound> bound_of(const Evaluation& evaluation) {
  if (computes_whole(evaluation)) return exact(evaluation);
  const Declaring<Evaluation, Rounds> declared(evaluation);
  auto bound = evaluation.node.op.visit([&](const auto& op) { return bound_one(op, declared); });
  if (!bound || !rounds_to_half(evaluation.node.op, *bound)) return bound;
  for (std::size_t i = 0; i < std::min(evaluation.types.size(), bound->errors.size()); ++i)
    if (is_half(evaluation.types[i])) add_half(evaluation.outputs[i], evaluation.types[i], *bound, bound->errors[i]);
  return bound;
}

// ---- shared ----------------------------------------------------------------------------------------------------------

Tensor singles(const Tensor& tensor) {
  return tensor.dtype() == DType::F32 ? tensor.realigned() : Tensor::of(tensor.shape(), tensor.floats());
}

Tensor magnitude(const Tensor& tensor, double scale, const Tensor* more) {
  const Tensor single = singles(tensor);
  const float* const from = single.raw<float>().data();
  const float* const added = more ? more->raw<float>().data() : nullptr;
  const auto count = static_cast<std::size_t>(single.count());
  const auto values = std::make_shared_for_overwrite<float[]>(count);
  const auto factor = static_cast<float>(scale);
  float* const to = values.get();
  if (added)
    for (std::size_t i = 0; i < count; ++i) to[i] = std::abs(from[i]) * factor + added[i];
  else
    for (std::size_t i = 0; i < count; ++i) to[i] = std::abs(from[i]) * factor;
  const auto all = std::as_bytes(std::span(values.get(), count));
  return *Tensor::view(DType::F32, tensor.shape(), all, values);
}

bool is_off(const Evaluation& at) {
  return std::ranges::any_of(at.errors, [](const Tensor* error) { return error != nullptr; });
}

Result<std::vector<Tensor>> rerun(const Evaluation& at, const std::vector<const Tensor*>& inputs) {
  return run_node(at.node, inputs, Precision::Single, at.threads);
}

Result<std::vector<Tensor>> rerun(const Evaluation& at, Op op, const std::vector<const Tensor*>& inputs) {
  Node node = at.node;
  node.op = std::move(op);
  node.inputs.resize(inputs.size());
  return run_node(node, inputs, Precision::Single, at.threads);
}

namespace {

NodeBound bounded(std::vector<Tensor> errors, Size terms, double limit) {
  NodeBound result{{}, terms, limit};
  for (Tensor& error : errors) result.errors.emplace_back(singles(error));
  return result;
}

Tensor zeros_like(const Tensor& tensor) {
  return Tensor::of(tensor.shape(), std::vector<float>(static_cast<std::size_t>(tensor.count()), 0.0F));
}

}  // namespace

Bounds moved(const Evaluation& at, Op op) {
  if (!is_off(at)) return exact(at);
  std::vector<Tensor> zeros;
  zeros.reserve(at.inputs.size());
  std::vector<const Tensor*> inputs;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    if (at.inputs[i] && !at.errors[i]) zeros.push_back(zeros_like(*at.inputs[i]));
    inputs.push_back(!at.inputs[i] ? nullptr : at.errors[i] ? at.errors[i] : &zeros.back());
  }
  auto errors = rerun(at, std::move(op), inputs);
  if (!errors) return pass(errors);
  return bounded(*std::move(errors), 0, 0);
}

std::vector<std::int32_t> index_along(const Sizes& shape, const Sizes& axes) {
  std::vector<Size> step(shape.size(), 0);
  Size running = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(positive_axis(axes[i], static_cast<Size>(shape.size())));
    step[axis] = running;
    running *= shape[axis];
  }
  std::vector<std::int32_t> index{0};
  index.reserve(static_cast<std::size_t>(checked_count(shape).value_or(0)));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {  // outermost first: each round refines every place
    std::vector<std::int32_t> finer;
    finer.reserve(index.size() * static_cast<std::size_t>(shape[axis]));
    for (const std::int32_t base : index) {
      for (Size i = 0; i < shape[axis]; ++i) finer.push_back(base + static_cast<std::int32_t>(i * step[axis]));
    }
    index = std::move(finer);
  }
  return index;
}

// ---- what moves or selects numbers -----------------------------------------------------------------------------------

Bounds bound(const Pad& op, const Evaluation& at) {
  Pad pad = op;
  pad.value = 0;
  return moved(at, pad);
}
Bounds bound(const PadToWindow& op, const Evaluation& at) {
  PadToWindow pad = op;
  pad.value = 0;
  return moved(at, pad);
}
Bounds bound(const SpaceToBatch& op, const Evaluation& at) { return moved(at, op); }
Bounds bound(const Unfold& op, const Evaluation& at) { return moved(at, op); }

namespace {

// The largest errors of each window; positions are whole numbers, and those of numbers that are off cannot be followed.
template <class Pool>
Bounds maxima(const Evaluation& at, Pool pool) {
  pool.positions = Positions::None;
  auto bounds = moved(at, pool);
  if (bounds) bounds->errors.resize(at.outputs.size());
  return bounds;
}

}  // namespace

Bounds bound(const MaxPool& op, const Evaluation& at) { return maxima(at, op); }
Bounds bound(const MaxUnpool&, const Evaluation& at) {
  if (!at.errors[0]) return exact(at);
  auto errors = rerun(at, {at.errors[0], at.inputs[1]});
  if (!errors) return pass(errors);
  return bounded(*std::move(errors), 0, 0);
}
// An index is a whole number; one that is off by a fraction cannot be followed.
Bounds bound(const Embedding&, const Evaluation& at) { return exact(at); }

// ---- what multiplies and sums ----------------------------------------------------------------------------------------

namespace {

// One evaluation on positive numbers gives the rounding bound and the propagated error together:
// op(c|x| + e, |W|, c|b|) = c (|W|*|x| + |b|) + |W|*e.
Bounds multiplied(const Evaluation& at, Size terms) {
  const double limit = limit_of(terms), c = limit * unit_rounding;
  const Tensor x = magnitude(*at.inputs[0], c, at.errors[0]);
  const Tensor kernel = magnitude(*at.inputs[1], 1, at.errors[1]);
  std::vector<const Tensor*> inputs{&x, &kernel};
  Tensor bias;
  if (at.inputs.size() > 2) {
    if (at.inputs[2]) bias = magnitude(*at.inputs[2], c, at.errors[2]);
    inputs.push_back(at.inputs[2] ? &bias : nullptr);
  }
  auto sum = rerun(at, inputs);
  if (!sum) return pass(sum);
  if (!at.errors[1]) return bounded(*std::move(sum), terms, limit);
  // The kernel is computed and off itself: |x|*e_W on top.
  const Tensor unscaled = magnitude(*at.inputs[0]);
  inputs[0] = &unscaled;
  inputs[1] = at.errors[1];
  if (inputs.size() > 2) inputs[2] = nullptr;
  auto more = rerun(at, inputs);
  if (!more) return pass(more);
  const Tensor first = singles(sum->at(0));
  return bounded({magnitude(more->at(0), 1, &first)}, terms, limit);
}

// A sum or mean of up to `terms` numbers: linear, without a kernel.
Bounds summed(const Evaluation& at, Op op, Size terms) {
  const double limit = limit_of(terms);
  const Tensor x = magnitude(*at.inputs[0], limit * unit_rounding, at.errors[0]);
  auto sum = rerun(at, std::move(op), {&x});
  if (!sum) return pass(sum);
  return bounded(*std::move(sum), terms, limit);
}

}  // namespace

Bounds bound(const Conv& op, const Evaluation& at) { return multiplied(at, terms_of(op, lengths_of(at.inputs))); }
Bounds bound(const ConvTranspose& op, const Evaluation& at) {
  return multiplied(at, terms_of(op, lengths_of(at.inputs)));
}
Bounds bound(const Linear& op, const Evaluation& at) { return multiplied(at, terms_of(op, lengths_of(at.inputs))); }
Bounds bound(const MatMul& op, const Evaluation& at) { return multiplied(at, terms_of(op, lengths_of(at.inputs))); }
Bounds bound(const Einsum& op, const Evaluation& at) { return multiplied(at, terms_of(op, lengths_of(at.inputs))); }

Bounds bound(const AveragePool& op, const Evaluation& at) {
  return summed(at, op, terms_of(op, lengths_of(at.inputs)));
}
Bounds bound(const Fold& op, const Evaluation& at) { return summed(at, op, terms_of(op, lengths_of(at.inputs))); }

// With S = |y|^p and A the sum of |x|^p, each as the rule counts cells: S is off by limit u A and by what the inputs'
// errors e add, (A + e)^p - A^p; y is the root of S.
Bounds bound(const LpPool& op, const Evaluation& at) {
  const Size terms = terms_of(op, lengths_of(at.inputs));
  const double limit = limit_of(terms) + 2 * std::abs(op.p) + 8;
  const Tensor x = magnitude(*at.inputs[0]), enlarged = magnitude(*at.inputs[0], 1, at.errors[0]);
  auto size = run_node(at.node, {&x}, Precision::Double, at.threads);
  if (!size) return pass(size);
  auto most = run_node(at.node, {&enlarged}, Precision::Double, at.threads);
  if (!most) return pass(most);
  const auto y = at.outputs[0].doubles(), a = size->at(0).doubles(), b = most->at(0).doubles();
  std::vector<float> errors(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double sum = std::pow(std::abs(y[i]), op.p), from = std::pow(a[i], op.p);
    const double off = limit * unit_rounding * from + std::abs(std::pow(b[i], op.p) - from);
    const double high = std::pow(sum + off, 1 / op.p), low = std::pow(std::max(sum - off, 0.0), 1 / op.p);
    errors[i] = static_cast<float>(std::max(std::abs(high - y[i]), std::abs(y[i] - low)) + 8 * unit_rounding * y[i]);
  }
  return bounded({Tensor::of(at.outputs[0].shape(), std::move(errors))}, terms, limit);
}

Bounds bound(const AdaptivePool& op, const Evaluation& at) {
  if (op.kind == Extreme::Maximum) return maxima(at, op);
  return summed(at, op, terms_of(op, lengths_of(at.inputs)));
}
Bounds bound(const Reduce& op, const Evaluation& at) {
  const Size terms = terms_of(op, lengths_of(at.inputs));
  Reduce largest = op;
  largest.reduction = Reduction::Maximum;
  switch (op.reduction) {
    case Reduction::Maximum:
    case Reduction::Minimum: return moved(at, largest);
    case Reduction::Mean:
    case Reduction::Sum: return summed(at, op, terms);
    case Reduction::Product: break;
  }
  // Each factor may be off by its error and one rounding: the product of the enlarged, less the product itself.
  const double limit = limit_of(terms);
  const Tensor plain = magnitude(*at.inputs[0]), enlarged = magnitude(plain, 1 + limit * unit_rounding, at.errors[0]);
  auto low = run_node(at.node, {&plain}, Precision::Double, at.threads);
  if (!low) return pass(low);
  auto high = run_node(at.node, {&enlarged}, Precision::Double, at.threads);
  if (!high) return pass(high);
  const auto from = low->at(0).doubles();
  auto to = high->at(0).doubles();
  std::vector<float> error(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    error[i] = static_cast<float>(to[i] - from[i] + limit * unit_rounding * std::abs(from[i]));
  }
  return bounded({Tensor::of(low->at(0).shape(), std::move(error))}, terms, limit);
}

namespace {

// Each number as large as the largest beside it along the axis.
Tensor with_neighbours(const Tensor& x, Size axis) {
  const auto from = x.floats();
  std::vector<float> to(from.begin(), from.end());
  const auto at = static_cast<std::size_t>(axis);
  std::size_t step = 1;
  for (std::size_t i = at + 1; i < x.shape().size(); ++i) step *= static_cast<std::size_t>(x.shape()[i]);
  const auto length = static_cast<std::size_t>(x.shape()[at]);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t place = i / step % length;
    if (place > 0) to[i] = std::max(to[i], from[i - step]);
    if (place + 1 < length) to[i] = std::max(to[i], from[i + step]);
  }
  return Tensor::of(x.shape(), std::move(to));
}

}  // namespace

Bounds bound(const Resize& op, const Evaluation& at) {
  Resize resize = op;
  resize.outside_value = 0;
  if (op.interpolation == Interpolation::Nearest) return moved(at, resize);
  Size longest = 1, taps = 1;
  for (const Size axis : op.axes) longest = std::max(longest, at.inputs[0]->shape()[static_cast<std::size_t>(axis)]);
  const double limit = 4 * (4 + static_cast<double>(longest));
  // Kernels with negative lobes: between them |taps| sum to less than 2.5 on each axis, so the linear stand-in with
  // the largest magnitude everywhere is above every sum of theirs.
  const bool positive = op.interpolation == Interpolation::Linear || op.interpolation == Interpolation::Area ||
                        op.interpolation == Interpolation::Gaussian;
  Tensor x = magnitude(*at.inputs[0], limit * unit_rounding, at.errors[0]);
  if (!positive) {
    for (std::size_t i = 0; i < op.axes.size(); ++i) taps *= 3;
    auto values = x.floats();
    const float most = values.empty() ? 0 : std::ranges::max(values) * static_cast<float>(taps);
    x = Tensor::of(x.shape(), std::vector<float>(values.size(), most));
  }
  // A place that is computed right upon a cell lies beside it elsewhere, and the cell next to it then weighs a rounding.
  if (positive)
    for (const Size axis : op.axes) x = with_neighbours(x, axis);
  auto sum = rerun(at, resize, {&x});
  if (!sum) return pass(sum);
  return bounded({magnitude(sum->at(0))}, 0, limit);
}

// ---- what walks along time -------------------------------------------------------------------------------------------

namespace {

float largest(const Tensor* tensor) {
  float most = 0;
  if (!tensor) return most;
  for (const float value : tensor->floats()) most = std::max(most, std::abs(value));
  return most;
}

// The largest sum of magnitudes that reaches one gate, for inputs of magnitude 1. `across`: kernel rows are gates.
double largest_sum(const Tensor& kernel, bool across) {
  const auto values = kernel.floats();
  const auto rows = static_cast<std::size_t>(kernel.shape()[0]), columns = static_cast<std::size_t>(kernel.shape()[1]);
  std::vector<double> sums(across ? rows : columns, 0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[across ? i / columns : i % columns] += std::abs(values[i]);
  return sums.empty() ? 0 : std::ranges::max(sums);
}

// How far off it is, at most, that steps of 16 bits round where they do not, or the other way around: four times what that makes
// on these very numbers, as frameworks round in unlike orders.
template <class O>
Result<float> moved_by_rounding(const O& op, const Evaluation& at) {
  if (at.types.empty() || !is_half(at.types.front())) return 0.0F;
  O other = op;
  other.rounds = is_half(op.rounds) ? DType::F32 : at.types.front();
  auto results = rerun(at, other, at.inputs);
  if (!results) return pass(results);
  float most = 0;
  for (std::size_t i = 0; i < results->size(); ++i) {
    const auto ours = at.outputs[i].floats(), theirs = (*results)[i].floats();
    for (std::size_t j = 0; j < ours.size(); ++j) most = std::max(most, std::abs(ours[j] - theirs[j]));
  }
  return 4 * most;
}

template <class O>
Bounds walked(const O& op, const Evaluation& at, bool state_is_bounded) {
  const bool across = op.gates == GateOrder::Torch;
  auto rounding = moved_by_rounding(op, at);
  if (!rounding) return pass(rounding);
  const Sizes& x = at.inputs[0]->shape();
  const Size steps = x[1], units = at.outputs[0].shape().back(), terms = x[2] + units;
  const double limit = limit_of(terms) * static_cast<double>(std::max<Size>(steps, 1));
  const auto input = [&](std::size_t i) { return i < at.inputs.size() ? at.inputs[i] : nullptr; };
  const double state = (state_is_bounded ? 1 : 1 + largest(&at.outputs[0])) + largest(input(5)) + largest(input(6));
  double size =
      1 + largest_sum(*at.inputs[1], across) * largest(at.inputs[0]) + largest_sum(*at.inputs[2], across) * state;
  for (std::size_t i = 3; i < at.inputs.size(); ++i) size += largest(at.inputs[i]);
  // The cell that a peephole sees grows by at most one a step.
  size += largest(input(7)) * (state + static_cast<double>(steps));
  double error = limit * unit_rounding * size + static_cast<double>(*rounding);
  if (at.errors[0]) error += largest(at.errors[0]) * largest_sum(*at.inputs[1], across) * static_cast<double>(steps);
  for (const std::size_t i : {5, 6})
    if (i < at.errors.size() && at.errors[i])
      error += largest(at.errors[i]) * (1 + largest_sum(*at.inputs[2], across)) * static_cast<double>(steps);
  std::vector<Tensor> errors;
  for (const Tensor& output : at.outputs) {
    errors.push_back(Tensor::of(
        output.shape(), std::vector<float>(static_cast<std::size_t>(output.count()), static_cast<float>(error))));
  }
  return bounded(std::move(errors), terms, limit);
}

bool is_bounded(CellFunction function) {
  return function == CellFunction::Tanh || function == CellFunction::Sigmoid || function == CellFunction::Softsign ||
         function == CellFunction::HardSigmoid5 || function == CellFunction::HardSigmoid6;
}

}  // namespace

Bounds bound(const Lstm& op, const Evaluation& at) { return walked(op, at, is_bounded(op.activation)); }
Bounds bound(const Gru& op, const Evaluation& at) { return walked(op, at, is_bounded(op.activation)); }
Bounds bound(const SimpleRnn& op, const Evaluation& at) { return walked(op, at, is_bounded(op.activation)); }

}  // namespace convoy
