// Rounding of what brings numbers to a common scale: statistics over groups of elements, then one formula per element.
#include "prove/bound_operators.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy {

namespace {

// Which group each element belongs to, and what is known of each group.
struct Groups {
  std::vector<std::int32_t> of;
  Size size = 0;  // elements in each
  std::vector<double> mean, variance, square, largest, error;
};

Sizes other_axes(std::size_t rank, const Sizes& axes) {
  std::vector<bool> taken(rank, false);
  for (const Size axis : axes) taken[static_cast<std::size_t>(positive_axis(axis, static_cast<Size>(rank)))] = true;
  Sizes others;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!taken[i]) others.push_back(static_cast<Size>(i));
  }
  return others;
}

void measure(Groups& groups, const Tensor& x, const Tensor* errors) {
  const auto values = x.floats();
  const std::int32_t last = groups.of.empty() ? -1 : std::ranges::max(groups.of);
  const auto count = static_cast<std::size_t>(last + 1);
  groups.size = count == 0 ? 0 : static_cast<Size>(values.size() / count);
  groups.mean.assign(count, 0);
  groups.variance.assign(count, 0);
  groups.square.assign(count, 0);
  groups.error.assign(count, 0);
  groups.largest.assign(count, -std::numeric_limits<double>::infinity());
  const double share = groups.size == 0 ? 0 : 1 / static_cast<double>(groups.size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto g = static_cast<std::size_t>(groups.of[i]);
    const auto value = static_cast<double>(values[i]);
    groups.mean[g] += value * share;
    groups.square[g] += value * value * share;
    groups.largest[g] = std::max(groups.largest[g], value);
    if (errors) groups.error[g] = std::max(groups.error[g], static_cast<double>(errors->raw<float>()[i]));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto g = static_cast<std::size_t>(groups.of[i]);
    const double apart = static_cast<double>(values[i]) - groups.mean[g];
    groups.variance[g] += apart * apart * share;
  }
}

Groups grouped(const Evaluation& at, const Sizes& axes) {
  const Sizes& shape = at.inputs[0]->shape();
  Groups groups;
  groups.of = index_along(shape, other_axes(shape.size(), axes));
  measure(groups, *at.inputs[0], at.errors[0]);
  return groups;
}

// |parameter| for each element, found by its place along the parameter's axes; `usual` where the parameter is absent.
class Magnitudes {
 public:
  Magnitudes(const std::vector<const Tensor*>& tensors, std::size_t input, const std::vector<std::int32_t>& index,
             double usual = 0)
      : index_(index),
        usual_(usual) {
    if (input < tensors.size() && tensors[input]) values_ = tensors[input]->doubles();
    for (double& value : values_) value = std::abs(value);
  }
  Magnitudes(const Evaluation& at, std::size_t input, const std::vector<std::int32_t>& index, double usual)
      : Magnitudes(at.inputs, input, index, usual) {}
  double operator[](std::size_t i) const {
    return values_.empty() ? usual_ : values_[static_cast<std::size_t>(index_[i])];
  }

 private:
  const std::vector<std::int32_t>& index_;
  std::vector<double> values_;
  double usual_;
};

template <class Error>
NodeBound by_element(const Evaluation& at, double limit, Size terms, Error error) {
  std::vector<float> errors(static_cast<std::size_t>(at.outputs[0].count()));
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = static_cast<float>(error(i));
  return {{Tensor::of(at.outputs[0].shape(), std::move(errors))}, terms, limit};
}

// Normalized to mean 0 and variance 1 within groups, then scaled by gamma and moved by beta along `axes`.
Bounds normalized(const Evaluation& at, const Groups& groups, const Sizes& axes, double epsilon, bool keeps_mean) {
  const auto index = index_along(at.inputs[0]->shape(), axes);
  const Magnitudes gamma(at, 1, index, 1), beta(at, 2, index, 0);
  const Magnitudes off_gamma(at.errors, 1, index), off_beta(at.errors, 2, index);
  const auto x = at.inputs[0]->floats();
  const double limit = 2 * std::sqrt(static_cast<double>(groups.size)) + 16;
  return by_element(at, limit, groups.size, [&](std::size_t i) {
    const auto g = static_cast<std::size_t>(groups.of[i]);
    const double mean = groups.mean[g], square = groups.variance[g] + epsilon, deviation = std::sqrt(square);
    const double value = static_cast<double>(x[i]), scale = gamma[i] / deviation;
    const double size = scale * (std::abs(value) + std::abs(mean)) * (1 + (mean * mean + groups.variance[g]) / square);
    const double distance = std::abs(keeps_mean ? value : value - mean) / deviation;
    const double carried = (2 + distance) / deviation * groups.error[g];
    return limit * unit_rounding * (size + beta[i]) + (gamma[i] + off_gamma[i]) * carried + off_gamma[i] * distance +
           off_beta[i];
  });
}

}  // namespace

namespace {

// How much a share of a softmax may move where every exponent is off by up to e: by a factor of exp(2 e), and no share is
// above 1. One too small for float32 is at most exp(-apart).
double moved_share(double share, double e, double apart) {
  if (e <= 0) return 0;
  const double exponent = 2 * e + (share > 0 ? std::log(share) : -apart);
  if (exponent >= 0) return 1;
  return share > 0 && e < 1 ? share * std::expm1(2 * e) : std::exp(exponent);
}

}  // namespace

Bounds bound(const Softmax& op, const Evaluation& at) {
  const Groups groups = grouped(at, op.axes);
  const auto x = at.inputs[0]->floats(), y = at.outputs[0].floats();
  const double root = std::sqrt(static_cast<double>(groups.size));
  return by_element(at, 4, groups.size, [&](std::size_t i) {
    const auto g = static_cast<std::size_t>(groups.of[i]);
    const double apart = std::abs(static_cast<double>(x[i]) - groups.largest[g]), size = apart + 8 + root;
    const auto result = std::abs(static_cast<double>(y[i]));
    if (op.logarithm) return 4 * unit_rounding * (size + result) + 2 * groups.error[g];
    return result * 4 * unit_rounding * size + 1e-38 + moved_share(result, groups.error[g], apart);
  });
}

Bounds bound(const BatchNorm& op, const Evaluation& at) {
  // One factor and one offset per channel: 8u (|a| (|x| + |mean|) + |beta|) = (8u |a|) |x| + 8u (|a| |mean| + |beta|).
  const auto index = index_along(at.inputs[0]->shape(), {op.axis});
  const auto parameter = [&](std::size_t i) { return at.inputs[i] ? at.inputs[i]->doubles() : std::vector<double>(); };
  const auto gamma = parameter(1), beta = parameter(2), mean = parameter(3), variance = parameter(4);
  std::vector<double> scale(variance.size()), offset(variance.size());
  for (std::size_t c = 0; c < variance.size(); ++c) {
    scale[c] = std::abs(gamma.empty() ? 1 : gamma[c]) / std::sqrt(variance[c] + op.epsilon);
    offset[c] = scale[c] * std::abs(mean[c]) + std::abs(beta.empty() ? 0 : beta[c]);
  }
  const Tensor input = singles(*at.inputs[0]);
  const auto x = input.raw<float>();
  const float* errors = at.errors[0] ? at.errors[0]->raw<float>().data() : nullptr;
  const auto off = [&](std::size_t i, std::size_t c) {
    return at.errors[i] ? static_cast<double>(at.errors[i]->raw<float>()[c]) : 0.0;
  };
  // Parameters that are off themselves: what they add at x, by the factor at the smallest variance it may be.
  const bool moves = is_off(at);
  return by_element(at, 8, 0, [&](std::size_t i) {
    const auto c = static_cast<std::size_t>(index[i]);
    const auto value = static_cast<double>(x[i]);
    const double size = scale[c] * std::abs(value) + offset[c];
    if (!moves) return 8 * unit_rounding * size;
    const double carried = (errors ? static_cast<double>(errors[i]) : 0.0) + off(3, c);
    const double distance = std::abs(value - mean[c]) + carried, g = std::abs(gamma.empty() ? 1 : gamma[c]) + off(1, c);
    const double root = std::sqrt(variance[c] + op.epsilon);
    const double least = std::sqrt(std::max(variance[c] - off(4, c), 0.0) + op.epsilon);
    return 8 * unit_rounding * size + g / root * carried + off(1, c) / root * distance + off(2, c) +
           g * distance * (1 / least - 1 / root);
  });
}

Bounds bound(const LayerNorm& op, const Evaluation& at) {
  return normalized(at, grouped(at, op.axes), op.axes, op.epsilon, op.keras_rms_scaling);
}

Bounds bound(const GroupNorm& op, const Evaluation& at) {
  const Sizes& shape = at.inputs[0]->shape();
  const Size axis = positive_axis(op.axis, static_cast<Size>(shape.size()));
  const Size members = std::max<Size>(shape[static_cast<std::size_t>(axis)] / std::max<Size>(op.groups, 1), 1);
  Groups groups;
  groups.of = index_along(shape, {0});
  const auto channel = index_along(shape, {axis});
  for (std::size_t i = 0; i < groups.of.size(); ++i) {
    groups.of[i] =
        groups.of[i] * static_cast<std::int32_t>(op.groups) + channel[i] / static_cast<std::int32_t>(members);
  }
  measure(groups, *at.inputs[0], at.errors[0]);
  return normalized(at, groups, {axis}, op.epsilon, false);
}

Bounds bound(const RmsNorm& op, const Evaluation& at) {
  const Groups groups = grouped(at, op.axes);
  const auto index = index_along(at.inputs[0]->shape(), op.axes);
  const Magnitudes gamma(at, 1, index, 1), off_gamma(at.errors, 1, index);
  const auto x = at.inputs[0]->floats();
  const double limit = 2 * std::sqrt(static_cast<double>(groups.size)) + 16;
  return by_element(at, limit, groups.size, [&](std::size_t i) {
    const auto g = static_cast<std::size_t>(groups.of[i]);
    const double root = std::sqrt(groups.square[g] + op.epsilon), share = std::abs(static_cast<double>(x[i])) / root;
    const double carried = (1 + share) / root * groups.error[g];
    return gamma[i] * limit * unit_rounding * share + (gamma[i] + off_gamma[i]) * carried + off_gamma[i] * share;
  });
}

Bounds bound(const LengthNorm& op, const Evaluation& at) {
  const Groups groups = grouped(at, op.axes);
  const auto x = at.inputs[0]->floats(), y = at.outputs[0].floats();
  const double count = static_cast<double>(groups.size), limit = 2 * std::sqrt(count) + 16 + 2 * std::min(op.p, 64.0);
  return by_element(at, limit, groups.size, [&](std::size_t i) {
    const auto g = static_cast<std::size_t>(groups.of[i]);
    const double share = std::abs(static_cast<double>(y[i])), value = std::abs(static_cast<double>(x[i]));
    // y = x / length; where x says nothing of the length, no length of the group is below epsilon.
    const double length = share > 0 ? value / share : op.epsilon;
    const double carried = groups.error[g] > 0 ? (1 + share * count) / length * groups.error[g] : 0;
    return limit * unit_rounding * share + carried;
  });
}

// y = x / d^beta: d's own rounding is multiplied by beta; an input's error moves x itself and every d that holds it.
Bounds bound(const LocalResponseNorm& op, const Evaluation& at) {
  const double beta = std::abs(op.beta);
  const double limit = 16 + 2 * beta * limit_of(op.before + op.after + 1);
  const auto x = at.inputs[0]->floats(), y = at.outputs[0].floats();
  const Sizes& shape = at.inputs[0]->shape();
  Size inner = 1;
  for (auto axis = static_cast<std::size_t>(op.axis) + 1; axis < shape.size(); ++axis) inner *= shape[axis];
  const Size size = shape[static_cast<std::size_t>(op.axis)];
  const float* errors = at.errors[0] ? at.errors[0]->raw<float>().data() : nullptr;
  return by_element(at, limit, op.before + op.after + 1, [&](std::size_t i) {
    const auto result = std::abs(static_cast<double>(y[i])), value = std::abs(static_cast<double>(x[i]));
    double sum = 0, moved = 0;  // of the squares, and what the inputs' errors add to it
    const Size place = static_cast<Size>(i), c = place / inner % size;
    for (Size j = std::max<Size>(c - op.before, 0); j <= std::min(c + op.after, size - 1); ++j) {
      const auto at_j = static_cast<std::size_t>(place + (j - c) * inner);
      const double square = static_cast<double>(x[at_j]) * static_cast<double>(x[at_j]);
      sum += square;
      if (errors)
        moved += static_cast<double>(errors[at_j]) * (2 * std::sqrt(square) + static_cast<double>(errors[at_j]));
    }
    const double divisor = std::abs(op.bias + op.alpha * sum),
                 size_of_it = std::abs(op.bias) + std::abs(op.alpha) * sum;
    const double cancelled = divisor > 0 ? size_of_it / divisor : 1;
    double error = limit * unit_rounding * result * cancelled;
    if (errors && value > 0) error += result / value * static_cast<double>(errors[i]);
    else if (errors) error += static_cast<double>(errors[i]) / std::pow(divisor, op.beta);
    if (divisor > 0) error += result * beta * std::abs(op.alpha) * moved / divisor;
    return error;
  });
}

Bounds bound(const UnitNorm& op, const Evaluation& at) {
  const Groups groups = grouped(at, op.axes);
  const auto x = at.inputs[0]->floats();
  const double count = static_cast<double>(groups.size), limit = 2 * std::sqrt(count) + 16;
  return by_element(at, limit, groups.size, [&](std::size_t i) {
    const auto g = static_cast<std::size_t>(groups.of[i]);
    const double root = std::sqrt(std::max(groups.square[g] * count, op.epsilon));
    const double share = std::abs(static_cast<double>(x[i])) / root;
    return limit * unit_rounding * share + (1 + share * std::sqrt(count)) / root * groups.error[g];
  });
}

}  // namespace convoy
