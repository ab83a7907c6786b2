// Rounding of functions of one number or two. The factors come from measurements against float64 of what runtimes do;
// each is at least twice the largest one seen.
#include "prove/bound_operators.h"

#include "base/whole_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace convoy {

namespace {

// Whether the function has a pole between the ends of where an input may be: what it makes there is bounded by nothing.
bool may_divide_by_zero(const Evaluation& at, std::size_t input) {
  if (const auto* op = get_if<Unary>(&at.node.op))
    return op->function == Function::Reciprocal || op->function == Function::Rsqrt || op->function == Function::Log;
  const auto* op = get_if<Binary>(&at.node.op);
  return op && op->function == BinaryFunction::Divide && input == 1;
}

// A root ends at 0: a number that is only off lies on the side where there is one.
bool ends_at_zero(const Evaluation& at) {
  const auto* op = get_if<Unary>(&at.node.op);
  return op && op->function == Function::Sqrt;
}

// `values` in the tensor's own type where that is one of whole numbers or truths, which kernels may take alone.
Tensor typed_like(const Tensor& own, std::vector<double> values, double sign) {
  constexpr double most = 0x1p62;
  const bool is_whole = own.dtype() > DType::F64;
  if (!is_whole || std::ranges::any_of(values, [](double x) { return std::isnan(x); }))
    return Tensor::of(own.shape(), std::move(values));
  std::vector<std::int64_t> whole(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double outward = std::clamp(sign > 0 ? std::ceil(values[i]) : std::floor(values[i]), -most, most);
    whole[i] = static_cast<std::int64_t>(own.dtype() == DType::Bool ? std::clamp(outward, 0.0, 1.0) : outward);
  }
  return whole_tensor(own.dtype(), own.shape(), std::move(whole));
}

// The largest change of the output when every input that is off moves to either end of where it may be.
Result<std::vector<double>> followed(const Evaluation& at) {
  std::vector<std::size_t> off;
  for (std::size_t i = 0; i < at.errors.size(); ++i) {
    if (at.errors[i]) off.push_back(i);
  }
  auto centre = run_node(at.node, at.inputs, Precision::Double, at.threads);
  if (!centre) return pass(centre);
  const auto middle = centre->at(0).doubles();
  std::vector<double> change(middle.size(), 0);
  for (std::size_t corner = 0; corner < (std::size_t{1} << off.size()); ++corner) {
    std::vector<Tensor> ends(off.size());
    auto inputs = at.inputs;
    for (std::size_t j = 0; j < off.size(); ++j) {
      const Tensor& own = *at.inputs[off[j]];
      auto values = own.doubles();
      const auto error = at.errors[off[j]]->raw<float>();
      const double sign = (corner >> j & 1) != 0 ? -1 : 1;
      const bool has_pole = may_divide_by_zero(at, off[j]), is_root = ends_at_zero(at);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double e = static_cast<double>(error[i]);
        if (has_pole && e > 0 && std::abs(values[i]) <= e) values[i] = std::numeric_limits<double>::quiet_NaN();
        else if (is_root && values[i] >= 0) values[i] = std::max(values[i] + sign * e, 0.0);
        else values[i] += sign * e;
      }
      ends[j] = typed_like(own, std::move(values), sign);
      inputs[off[j]] = &ends[j];
    }
    auto end = run_node(at.node, inputs, Precision::Double, at.threads);
    if (!end) return pass(end);
    const auto values = end->at(0).doubles();
    for (std::size_t i = 0; i < change.size(); ++i) {
      const double apart = std::abs(values[i] - middle[i]);
      const bool is_alike = values[i] == middle[i] || (std::isnan(values[i]) && std::isnan(middle[i]));
      if (!std::isfinite(apart)) change[i] = is_alike ? change[i] : std::numeric_limits<double>::infinity();
      else change[i] = std::max(change[i], apart);
    }
  }
  // Twice: a function may rise and fall again between the ends, by less than it does across them.
  for (double& value : change) value *= 2;
  return change;
}

// For element-wise functions: local(i) is the rounding error at output element i in absolute terms; the inputs' errors
// are followed by evaluating the node in float64 at both ends of what each input may be.
template <class Local>
Bounds pointwise(const Evaluation& at, double limit, const Local& local) {
  NodeBound result{std::vector<std::optional<Tensor>>(1), 0, limit};
  if (!is_off(at) && limit == 0) return result;
  std::vector<double> change;
  if (is_off(at)) {
    auto values = followed(at);
    if (!values) return pass(values);
    change = *std::move(values);
  }
  std::vector<float> error(static_cast<std::size_t>(at.outputs[0].count()));
  float* const to = error.data();
  for (std::size_t i = 0; i < error.size(); ++i) to[i] = static_cast<float>(local(i));
  for (std::size_t i = 0; i < change.size(); ++i) to[i] = static_cast<float>(local(i) + change[i]);
  result.errors[0] = Tensor::of(at.outputs[0].shape(), std::move(error));
  return result;
}

// limit * u * size(x) for a function of one input
template <class Measured>
Bounds sized(const Evaluation& at, double limit, const Measured& size) {
  const Tensor x = singles(*at.inputs[0]);
  const float* const values = x.raw<float>().data();
  return pointwise(at, limit,
                   [&](std::size_t i) { return limit * unit_rounding * size(static_cast<double>(values[i])); });
}

// limit * u * |y|
Bounds relative(const Evaluation& at, double limit) {
  const Tensor y = singles(at.outputs[0]);
  const float* const values = y.raw<float>().data();
  return pointwise(at, limit,
                   [&](std::size_t i) { return limit * unit_rounding * std::abs(static_cast<double>(values[i])); });
}

Bounds exactly(const Evaluation& at) {
  return pointwise(at, 0, [](std::size_t) { return 0.0; });
}

// Sums of whole numbers are not rounded: what is behind a rounding to steps is cut off to whole numbers, where the least rounding
// on the way would be one more or less.
bool are_whole(const Tensor& tensor) {
  const auto is_whole = [](double x) { return std::isfinite(x) && x == std::nearbyint(x); };
  return tensor.dtype() == DType::F32 && tensor.aligned() ? std::ranges::all_of(tensor.raw<float>(), is_whole)
                                                          : std::ranges::all_of(tensor.doubles(), is_whole);
}
bool are_held_exactly(const Tensor& sizes) {
  return std::ranges::all_of(sizes.raw<float>(), [](float size) { return size < 0x1p24F; });
}

// A number beside another one may have every bit otherwise: where one is further off, all that the larger number has.
Bounds by_bits(const Evaluation& at) {
  double furthest = 0, largest = 0;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    for (const double x : at.inputs[i]->doubles()) largest = std::max(largest, std::abs(x));
    if (!at.errors[i]) continue;
    for (const float e : at.errors[i]->raw<float>()) furthest = std::max(furthest, static_cast<double>(e));
  }
  const double all = furthest > 1 ? std::exp2(std::ceil(std::log2(largest + furthest + 1)) + 1) : 0;
  return pointwise(at, 0, [all](std::size_t) { return all; });
}

double one(double) { return 1; }
double size_of(double x) { return std::abs(x); }
double one_more(double x) { return 1 + std::abs(x); }

}  // namespace

Bounds bound(const Unary& op, const Evaluation& at) {
  switch (op.function) {
    case Function::Abs:
    case Function::Negate:
    case Function::Sign:
    case Function::Floor:
    case Function::Ceil:
    case Function::Round:
    case Function::Truncate:
    case Function::Not: return exactly(at);
    case Function::Square:
    case Function::Sqrt:
    case Function::Rsqrt:
    case Function::Reciprocal: return relative(at, 4);
    case Function::Exp:
    case Function::Softsign: return relative(at, 8);
    case Function::Sigmoid:
    case Function::Tanh:
    case Function::Erf:
    case Function::Sin:
    case Function::Cos:
    case Function::Asin:
    case Function::Acos:
    case Function::Atan:
    case Function::SparseSigmoid: return sized(at, 8, one);
    case Function::Asinh:
    case Function::Acosh:
    case Function::Atanh:
    case Function::Expm1:
    case Function::Sinh:
    case Function::Cosh:
    case Function::Log1p: {
      const Tensor y = singles(at.outputs[0]);
      const auto values = y.raw<float>();
      return pointwise(
          at, 8, [&](std::size_t i) { return 8 * unit_rounding * (1 + std::abs(static_cast<double>(values[i]))); });
    }
    // The slope of the tangent is 1 + y^2.
    case Function::Tan: {
      const Tensor y = singles(at.outputs[0]);
      const auto values = y.raw<float>();
      return pointwise(at, 8, [&](std::size_t i) {
        const auto value = static_cast<double>(values[i]);
        return 8 * unit_rounding * (1 + value * value);
      });
    }
    case Function::Silu:
    case Function::Gelu:
    case Function::GeluTanh:
    case Function::HardSwish: return sized(at, 8, size_of);
    case Function::Softplus:
    case Function::Selu:
    case Function::Mish:
    case Function::LogSigmoid:
    case Function::TanhShrink:
    case Function::SparsePlus: return sized(at, 8, one_more);
    case Function::Log: return sized(at, 8, [](double x) { return 1 + (x > 0 ? std::abs(std::log(x)) : 0); });
  }
  return fail(Fault::Internal, "a function without a rounding bound");
}

// A bound or threshold that float32 cannot hold is rounded once, which the comparison of exact values allows.
Bounds bound(const Relu& op, const Evaluation& at) {
  if (op.negative_slope == 0) return exactly(at);
  const double slope = std::abs(op.negative_slope), threshold = std::abs(op.threshold);
  return sized(at, 4, [&](double x) {
    return x >= op.threshold ? (op.max_value && x >= *op.max_value ? std::abs(*op.max_value) : 0.0)
                             : slope * (std::abs(x) + threshold);
  });
}
Bounds bound(const Clip&, const Evaluation& at) { return exactly(at); }
Bounds bound(const Elu& op, const Evaluation& at) {
  return sized(at, 8, [&](double x) { return x > 0 ? 0.0 : std::abs(op.alpha); });
}
Bounds bound(const Celu& op, const Evaluation& at) {
  return sized(at, 8, [&](double x) { return x > 0 ? 0.0 : std::abs(op.alpha) + std::abs(x); });
}
Bounds bound(const HardSigmoid& op, const Evaluation& at) {
  return sized(at, 4, [&](double x) { return std::min(std::abs(op.alpha * x) + std::abs(op.beta), 2.0); });
}
Bounds bound(const Shrink& op, const Evaluation& at) {
  if (!op.soft) return exactly(at);
  return sized(at, 2, [&](double x) { return std::abs(x) + std::abs(op.lambda); });
}
Bounds bound(const Squareplus& op, const Evaluation& at) {
  return sized(at, 8, [&](double x) { return std::abs(x) + std::sqrt(std::abs(op.b)); });
}
Bounds bound(const Softplus& op, const Evaluation& at) {
  return sized(at, 8, [&](double x) { return std::abs(x) + 1 / std::abs(op.beta); });
}
Bounds bound(const Threshold&, const Evaluation& at) { return exactly(at); }
Bounds bound(const Affine& op, const Evaluation& at) {
  return sized(at, 4, [&](double x) { return std::abs(x * op.scale) + std::abs(op.offset); });
}

// To 11 bits: 2^-10 of the number, for one rounding and one before it, or what lies between the smallest numbers.
Bounds to_float16(const Evaluation& at) {
  constexpr double limit = 0x1p14, between_smallest = 0x1p-24;
  const Tensor y = singles(at.outputs[0]);
  const float* const values = y.raw<float>().data();
  return pointwise(at, limit, [&](std::size_t i) {
    return limit * unit_rounding * std::abs(static_cast<double>(values[i])) + between_smallest;
  });
}

Bounds bound(const Cast& op, const Evaluation& at) {
  switch (op.to) {
    case DType::F16: return to_float16(at);
    case DType::BF16: return relative(at, 0x1p17);  // 2^-7
    default: return exactly(at);
  }
}

Bounds bound(const PRelu&, const Evaluation& at) { return relative(at, 2); }

// first half * sigmoid(second half); the result never exceeds the first half.
Bounds bound(const Glu& op, const Evaluation& at) {
  const Sizes& shape = at.inputs[0]->shape();
  const Size axis = positive_axis(op.axis, static_cast<Size>(shape.size()));
  const Size half = shape[static_cast<std::size_t>(axis)] / 2;
  const auto halves_of = [&](const Tensor& tensor) { return rerun(at, Split{axis, {half, half}}, {&tensor}); };
  auto values = halves_of(*at.inputs[0]);
  if (!values) return pass(values);
  std::vector<Tensor> errors;
  if (at.errors[0]) {
    auto halves = halves_of(*at.errors[0]);
    if (!halves) return pass(halves);
    errors = *std::move(halves);
  }
  auto bounds = values->at(0).floats();
  constexpr double limit = 10;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    double error = limit * unit_rounding * std::abs(bounds[i]);
    if (at.errors[0]) error += errors[0].raw<float>()[i] + std::abs(bounds[i]) * errors[1].raw<float>()[i];
    bounds[i] = static_cast<float>(error);
  }
  return NodeBound{{Tensor::of(at.outputs[0].shape(), std::move(bounds))}, 0, limit};
}

Bounds bound(const Where&, const Evaluation& at) { return exactly(at); }

Bounds bound(const Binary& op, const Evaluation& at) {
  switch (op.function) {
    case BinaryFunction::Maximum:
    case BinaryFunction::Minimum:
    case BinaryFunction::Remainder:
    case BinaryFunction::Equal:
    case BinaryFunction::NotEqual:
    case BinaryFunction::Less:
    case BinaryFunction::LessOrEqual:
    case BinaryFunction::Greater:
    case BinaryFunction::GreaterOrEqual:
    case BinaryFunction::And:
    case BinaryFunction::Or:
    case BinaryFunction::Xor: return exactly(at);
    case BinaryFunction::BitAnd:
    case BinaryFunction::BitOr:
    case BinaryFunction::BitXor: return by_bits(at);
    case BinaryFunction::Multiply:
    case BinaryFunction::Modulo:
    case BinaryFunction::FloorDivide:
    case BinaryFunction::TruncateDivide:
    case BinaryFunction::Divide: return relative(at, 2);
    case BinaryFunction::Power: return relative(at, 16);
    case BinaryFunction::Add:
    case BinaryFunction::Subtract: break;
  }
  // The magnitudes that were added, broadcast as the operator does.
  const Tensor a = magnitude(*at.inputs[0]), b = magnitude(*at.inputs[1]);
  auto sum = rerun(at, Binary{BinaryFunction::Add}, {&a, &b});
  if (!sum) return pass(sum);
  const Tensor size = singles(sum->at(0));
  if (are_whole(*at.inputs[0]) && are_whole(*at.inputs[1]) && are_held_exactly(size)) return exactly(at);
  const float* const values = size.raw<float>().data();
  return pointwise(at, 2, [&](std::size_t i) { return 2 * unit_rounding * static_cast<double>(values[i]); });
}

}  // namespace convoy
