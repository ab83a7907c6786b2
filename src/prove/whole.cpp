#include "prove/whole.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

namespace convoy {

namespace {

template <class T, class... All>
concept OneOf = (std::is_same_v<T, All> || ...);

// What places or selects numbers keeps them bit for bit, whatever they are.
template <class O>
concept Moves = O::traits.moves_numbers();
template <class O>
concept Products = O::traits.is_product();

// All numbers are multiples of `unit`, a power of two, and none is larger than `most`; unit 0: they are not.
struct Measure {
  double unit = 1, most = 0;
};

constexpr double finest = 0x1p-8;

double unit_of(double number) {
  if (number == std::trunc(number)) return 1;
  return number / finest == std::trunc(number / finest) ? finest : 0;
}
// Without a branch.
bool is_whole(float x) {
  const bool is_small = std::abs(x) < 0x1p31F;
  const float small = is_small ? x : 0.0F;
  return is_small & (static_cast<float>(static_cast<std::int32_t>(small)) == small);
}

Measure measured(const Tensor* tensor) {
  Measure found;
  if (!tensor) return found;
  if (tensor->dtype() == DType::F32 && tensor->aligned()) {
    // Without a way out in between, and in lanes that do not wait for each other: vectors of them.
    constexpr std::size_t lanes = 16;
    std::array<float, lanes> most{};
    std::array<std::int32_t, lanes> are_whole;
    are_whole.fill(1);
    const auto numbers = tensor->raw<float>();
    std::size_t i = 0;
    for (; i + lanes <= numbers.size(); i += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const float x = numbers[i + lane];
        most[lane] = std::abs(x) > most[lane] ? std::abs(x) : most[lane];
        are_whole[lane] &= is_whole(x);
      }
    for (; i < numbers.size(); ++i) {
      most[0] = std::max(most[0], std::abs(numbers[i]));
      are_whole[0] &= is_whole(numbers[i]);
    }
    found.most = static_cast<double>(std::ranges::max(most));
    if (std::ranges::min(are_whole) == 1) return found;
  }
  for (const double x : tensor->doubles()) {
    if (!std::isfinite(x)) return {0, std::numeric_limits<double>::infinity()};
    found.unit = std::min(found.unit, unit_of(x));
    found.most = std::max(found.most, std::abs(x));
  }
  return found;
}

// Whether sums up to `most` of multiples of `unit` are float32 numbers.
bool fits(double most, double unit) { return unit > 0 && most / unit <= most_exact; }
bool is_single(double number) { return static_cast<double>(static_cast<float>(number)) == number; }
bool is_single(const std::optional<double>& number) { return !number || is_single(*number); }

struct At {
  const std::vector<const Tensor*>& inputs;
  const Sizes& output;
  Lengths lengths() const { return lengths_of(inputs); }
};

bool product_fits(Measure x, Measure w, Measure b, double terms) {
  return fits(terms * x.most * w.most + b.most, std::min(x.unit * w.unit, b.unit));
}

bool are_multiples(const Tensor& tensor, Size of) {
  for (const double x : tensor.doubles())
    if (std::fmod(x, static_cast<double>(of)) != 0) return false;
  return true;
}

Size least_multiple(Size a, Size b) {
  constexpr Size most = Size{1} << 24;
  const Size step = b / std::gcd(a, b);
  return a > most / step ? most : a * step;  // beyond: no float32 sum of such numbers is exact anyway
}
Size least_multiple_up_to(Size n) {
  Size all = 1;
  for (Size i = 2; i <= n; ++i) all = least_multiple(all, i);
  return all;
}

// What the averages of this operator divide by: windows at the border may stand on fewer cells.
Size divided_by(const AveragePool& op, const Lengths&) {
  if (op.divisor) return *op.divisor;
  Size all = 1;
  for (std::size_t i = 0; i < op.windows.size(); ++i) {
    const Padding& padding = op.paddings[i];
    const bool all_inside = padding.spelling == Spelling::Valid && padding.leftover == Leftover::Drop;
    const Size cells = op.windows[i].kernel;
    all = std::min(all * (all_inside ? cells : least_multiple_up_to(cells)), Size{1} << 24);
  }
  return std::max<Size>(all, 1);
}
Size divided_by(const AdaptivePool& op, const Lengths& inputs) {
  Size all = 1;
  for (std::size_t i = 0; i < op.out.size(); ++i) {
    const Size in = (*inputs[0])[static_cast<std::size_t>(op.axes.spatial(static_cast<Size>(i)))];
    const Size out = std::max<Size>(op.out[i], 1);
    const Size least =
        std::max<Size>(in / out, 1);  // cells of one average; up to two more where they do not come out even
    const Size cells = in % out == 0 ? least : least_multiple(least_multiple(least, least + 1), least + 2);
    all = std::min(all * cells, Size{1} << 24);
  }
  return all;
}
Size divided_by(const Reduce& op, const Lengths& inputs) {
  return op.reduction == Reduction::Mean ? std::max<Size>(terms_of(op, inputs), 1) : 1;
}

template <class O>
bool average_fits(const O& op, const At& at) {
  const Measure x = measured(at.inputs[0]);
  if (!fits(static_cast<double>(terms_of(op, at.lengths())) * x.most, x.unit)) return false;
  const Size divisor = divided_by(op, at.lengths());
  return divisor == 1 || are_multiples(*at.inputs[0], divisor);
}

// ---- one operator ----------------------------------------------------------------------------------------------------

bool exact(const Relu& op, const At& at) {
  if (!is_single(op.max_value) || !is_single(op.threshold)) return false;
  if (op.negative_slope == 0) return true;
  const Measure x = measured(at.inputs[0]);
  const double unit = std::min(x.unit, unit_of(op.threshold)) * unit_of(op.negative_slope);
  return fits((x.most + std::abs(op.threshold)) * std::max(1.0, std::abs(op.negative_slope)), unit);
}
bool exact(const Clip& op, const At&) { return is_single(op.least) && is_single(op.most); }
bool exact(const Threshold& op, const At&) { return is_single(op.threshold) && is_single(op.value); }
bool exact(const Unary& op, const At& at) {
  if (op.function == Function::Not) return true;
  if (!keeps_whole(op.function)) return false;
  const Measure x = measured(at.inputs[0]);
  return op.function != Function::Square || fits(x.most * x.most, x.unit * x.unit);
}
bool exact(const Binary& op, const At& at) {
  using enum BinaryFunction;
  if (op.function == Maximum || op.function == Minimum || gives_truth(op.function)) return true;
  if (op.function != Add && op.function != Subtract && op.function != Multiply) return false;
  const Measure a = measured(at.inputs[0]), b = measured(at.inputs[1]);
  return op.function == Multiply ? fits(a.most * b.most, a.unit * b.unit)
                                 : fits(a.most + b.most, std::min(a.unit, b.unit));
}
bool exact(const Affine& op, const At& at) {
  const Measure x = measured(at.inputs[0]);
  return fits(x.most * std::abs(op.scale) + std::abs(op.offset),
              std::min(x.unit * unit_of(op.scale), unit_of(op.offset)));
}
bool exact(const PRelu&, const At& at) { return product_fits(measured(at.inputs[0]), measured(at.inputs[1]), {}, 1); }
bool exact(const Cast& op, const At& at) {
  const bool is_wide = op.to == DType::F32 || op.to == DType::F64 || op.to == DType::I32 || op.to == DType::I64;
  return is_wide && fits(measured(at.inputs[0]).most, 1);
}
// Variances whose roots are powers of two, and nothing added to them.
bool exact(const BatchNorm& op, const At& at) {
  if (op.epsilon != 0) return false;
  for (const double variance : at.inputs[4]->doubles())
    if (variance != 1 && variance != 4 && variance != 16) return false;
  const Measure x = measured(at.inputs[0]), mean = measured(at.inputs[3]), beta = measured(at.inputs[2]);
  const Measure gamma = at.inputs[1] ? measured(at.inputs[1]) : Measure{1, 1};
  return fits((x.most + mean.most) * gamma.most + beta.most,
              std::min(std::min(x.unit, mean.unit) * gamma.unit / 4, beta.unit));
}
bool exact(const MaxPool& op, const At&) { return op.positions == Positions::None; }
bool exact(const AveragePool& op, const At& at) { return average_fits(op, at); }
bool exact(const AdaptivePool& op, const At& at) {
  if (op.kind == Extreme::Maximum) return op.positions == Positions::None;
  return average_fits(op, at);
}
bool exact(const Reduce& op, const At& at) {
  if (op.reduction == Reduction::Maximum || op.reduction == Reduction::Minimum) return true;
  return op.reduction != Reduction::Product && average_fits(op, at);
}
bool exact(const Fold& op, const At& at) {
  const Measure x = measured(at.inputs[0]);
  return fits(static_cast<double>(terms_of(op, at.lengths())) * x.most, x.unit);
}
bool exact(const Accumulate& op, const At& at) {
  const Measure x = measured(at.inputs[0]);
  return op.reduction == Reduction::Sum && fits(static_cast<double>(terms_of(op, at.lengths())) * x.most, x.unit);
}
// Nearest copies; other kernels are exact where all their weights are multiples of 2^-8, as those of doubling are.
bool exact(const Resize& op, const At& at) {
  if (op.interpolation == Interpolation::Nearest) return true;
  Measure all = measured(at.inputs[0]);
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(op.axes[i]);
    double unit = 1, most = 0;
    for (const Taps& taps : taps_of(op, i, at.inputs[0]->shape()[axis], at.output[axis])) {
      double sum = 0;
      for (const double weight : taps.weights) unit = std::min(unit, unit_of(weight)), sum += std::abs(weight);
      most = std::max(most, sum);
    }
    all.unit *= unit;
    all.most *= most;
  }
  return is_single(op.outside_value) && fits(all.most, all.unit);
}

template <class O>
bool exact(const O& op, const At& at) {
  if constexpr (Moves<O>) return true;
  else if constexpr (Products<O>) {
    const Measure bias = at.inputs.size() > 2 ? measured(at.inputs[2]) : Measure{};
    return product_fits(measured(at.inputs[0]), measured(at.inputs[1]), bias,
                        static_cast<double>(terms_of(op, at.lengths())));
  } else {
    return false;
  }
}

}  // namespace

bool is_exact(const Node& node, const std::vector<const Tensor*>& inputs, const Sizes& output) {
  return node.op.visit([&](const auto& op) { return exact(op, At{inputs, output}); });
}

Demand demand_of(const Node& node, const Lengths& inputs) {
  constexpr double square_root = 0x1p12;  // two numbers up to this have a product that is exact
  return node.op.visit([&]<class O>(const O& op) -> Demand {
    if constexpr (OneOf<O, MatMul, Einsum>) {
      return {square_root * std::sqrt(static_cast<double>(terms_of(op, inputs))), 1};
    } else if constexpr (Products<O>) {
      return {static_cast<double>(largest_kernel_number * terms_of(op, inputs)), 1};
    } else if constexpr (OneOf<O, AveragePool, AdaptivePool, Reduce>) {
      if constexpr (std::is_same_v<O, AdaptivePool>)
        if (op.kind == Extreme::Maximum) return {};
      if constexpr (std::is_same_v<O, Reduce>)
        if (op.reduction == Reduction::Maximum || op.reduction == Reduction::Minimum) return {};
      return {static_cast<double>(terms_of(op, inputs)), divided_by(op, inputs)};
    } else if constexpr (OneOf<O, Fold, Accumulate>) {
      return {static_cast<double>(terms_of(op, inputs)), 1};
    } else if constexpr (std::is_same_v<O, BatchNorm>) {
      return {8, 1};  // by 2, in quarters
    } else if constexpr (std::is_same_v<O, PRelu>) {
      return {static_cast<double>(largest_kernel_number), 1};
    } else if constexpr (std::is_same_v<O, Relu>) {
      return {std::max(1.0, std::abs(op.negative_slope)), 1};
    } else if constexpr (std::is_same_v<O, Binary>) {
      return {op.function == BinaryFunction::Multiply ? square_root : 2, 1};
    } else if constexpr (std::is_same_v<O, Unary>) {
      return {op.function == Function::Square ? square_root : 1, 1};
    } else if constexpr (std::is_same_v<O, Affine>) {
      return {std::max(1.0, std::abs(op.scale)) / std::max(unit_of(op.scale), finest) + 1, 1};
    } else if constexpr (std::is_same_v<O, Resize>) {
      const bool copies = op.interpolation == Interpolation::Nearest;
      return {copies ? 1 : std::pow(512.0, static_cast<double>(op.axes.size())), 1};
    } else {
      return {};
    }
  });
}

}  // namespace convoy
