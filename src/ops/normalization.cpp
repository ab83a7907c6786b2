#include "ops/normalization.h"

#include "ops/expect.h"

#include <cmath>
#include <string>

namespace convoy {

namespace {

constexpr std::string_view parameter_names[] = {"input", "gamma", "beta", "moving_mean", "moving_variance"};

Status check_epsilon(double epsilon) {
  if (std::isfinite(epsilon) && epsilon >= 0) return {};
  return fail(Fault::Format, "epsilon is " + std::to_string(epsilon));
}

Status check_parameters(const Inputs& in, const Shape& wanted) {
  for (std::size_t i = 1; i < in.count(); ++i)
    if (in.has(i))
      if (auto s = expect_shape(parameter_names[i], in[i], wanted); !s) return s;
  return {};
}

Result<TensorTypes> over_axes(const Sizes& axes, double epsilon, const Inputs& in) {
  if (auto s = check_epsilon(epsilon); !s) return pass(s);
  if (axes.empty()) return fail(Fault::Format, "axes is empty");
  if (auto s = expect_axes("axes", axes, in[0].rank()); !s) return pass(s);
  Shape wanted;
  for (const Size axis : axes) wanted.push_back(at(in[0].shape, axis));
  if (auto s = check_parameters(in, wanted); !s) return pass(s);
  return one_type(arithmetic(in[0].dtype), in[0].shape);
}

}  // namespace

Result<TensorTypes> infer(const BatchNorm& norm, const Inputs& in) {
  if (auto s = check_epsilon(norm.epsilon); !s) return pass(s);
  if (auto s = expect_axis(norm.axis, in[0].rank()); !s) return pass(s);
  const Shape wanted{at(in[0].shape, norm.axis)};
  for (std::size_t i = 1; i < in.count(); ++i) {
    if (!in.has(i)) continue;
    auto status = expect_shape(parameter_names[i], in[i], wanted);
    if (!status) {
      status.error().what += " (axis " + std::to_string(norm.axis) + " of " + text_of(in[0].shape) + ")";
      return pass(status);
    }
  }
  Shape shape = in[0].shape;
  at(shape, norm.axis) = in[3].shape[0].known() ? in[3].shape[0] : in[4].shape[0];
  return one_type(arithmetic(in[0].dtype), std::move(shape));
}

Result<TensorTypes> infer(const LayerNorm& norm, const Inputs& in) { return over_axes(norm.axes, norm.epsilon, in); }

Result<TensorTypes> infer(const GroupNorm& norm, const Inputs& in) {
  if (auto s = check_epsilon(norm.epsilon); !s) return pass(s);
  if (auto s = expect_axis(norm.axis, in[0].rank()); !s) return pass(s);
  if (norm.axis == 0) return fail(Fault::Format, "axis is 0, which is the batch");
  if (norm.groups < 1) return fail(Fault::Format, "groups is " + std::to_string(norm.groups));
  const Dim channels = at(in[0].shape, norm.axis);
  if (channels.known() && *channels % norm.groups != 0)
    return fail(Fault::Format, "groups is " + std::to_string(norm.groups) + ", which does not divide the " +
                                   std::to_string(*channels) + " channels");
  if (auto s = check_parameters(in, {channels}); !s) return pass(s);
  return one_type(arithmetic(in[0].dtype), in[0].shape);
}

Result<TensorTypes> infer(const RmsNorm& norm, const Inputs& in) { return over_axes(norm.axes, norm.epsilon, in); }
Result<TensorTypes> infer(const UnitNorm& norm, const Inputs& in) { return over_axes(norm.axes, norm.epsilon, in); }

Result<TensorTypes> infer(const LengthNorm& norm, const Inputs& in) {
  if (std::isnan(norm.p) || norm.p <= 0) return fail(Fault::Unsupported, "p is " + std::to_string(norm.p));
  return over_axes(norm.axes, norm.epsilon, in);
}

Result<TensorTypes> infer(const LocalResponseNorm& norm, const Inputs& in) {
  if (auto s = expect_axis(norm.axis, in[0].rank()); !s) return pass(s);
  constexpr Size most = Size{1} << 30;
  if (norm.before < 0 || norm.after < 0 || norm.before > most || norm.after > most)
    return fail(Fault::Format, "a window of " + std::to_string(norm.before) + " cells before and " +
                                   std::to_string(norm.after) + " behind");
  if (!std::isfinite(norm.alpha) || !std::isfinite(norm.beta) || !std::isfinite(norm.bias))
    return fail(Fault::Format, "alpha, beta or bias is no finite number");
  return one_type(arithmetic(in[0].dtype), in[0].shape);
}

}  // namespace convoy
