// Batch normalization, fused and not, and the norm of a vector.
#include "formats/tf/arguments.h"
#include "formats/tf/functions.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::tf {
namespace {

// The least epsilon of TensorFlow's fused kernel (a limit of cuDNN): smaller ones are raised to it.
constexpr double least_epsilon = 1.001e-5;

std::vector<ValueId> fused_batch_norm(FunctionCall& call) {
  const ValueId x = call.tensor("x"), scale = call.tensor("scale"), offset = call.tensor("offset"),
                mean = call.optional("mean"), variance = call.optional("variance");
  ignore_name(call);
  call.attrs.ignore({"exponential_avg_factor"});
  const Size space = call.rank(x) - 2;
  if (!call.failed() && space != 2 && space != 3)
    call.refuse(Fault::Format, "x has shape " + text_of(call.shape(x)) + ", expected 4 or 5 axes");
  if (call.failed()) return {};
  const Axes axes = axes_of(call, space);
  const double epsilon = std::max(call.attrs.number("epsilon", 1e-3), least_epsilon);
  if (call.attrs.truth("is_training", true))
    call.refuse(Fault::Unsupported, "is_training normalizes by the statistics of the batch; give is_training=False");
  if (!mean || !variance) call.refuse(Fault::Format, "mean and variance are needed where is_training is False");
  const ValueId y = call.add(BatchNorm{axes.channel(), epsilon, 0.99}, {x, scale, offset, mean, variance});
  return {y, call.add(Identity{}, {mean}), call.add(Identity{}, {variance})};
}

// Statistics that broadcast against x, in the order of TensorFlow's own formula.
std::vector<ValueId> spelled_out(FunctionCall& call, ValueId x, ValueId mean, ValueId variance, ValueId offset,
                                 ValueId scale, double epsilon) {
  const auto binary = [&](BinaryFunction function, ValueId a, ValueId b) { return call.add(Binary{function}, {a, b}); };
  ValueId inverse = call.add(Unary{Function::Rsqrt}, {call.add(Affine{1, epsilon}, {variance})});
  if (scale) inverse = binary(BinaryFunction::Multiply, inverse, scale);
  const ValueId shift = binary(BinaryFunction::Multiply, mean, inverse);
  const ValueId scaled = binary(BinaryFunction::Multiply, x, inverse);
  if (!offset) return {binary(BinaryFunction::Subtract, scaled, shift)};
  return {binary(BinaryFunction::Add, scaled, binary(BinaryFunction::Subtract, offset, shift))};
}

std::vector<ValueId> batch_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("x"), mean = call.tensor("mean"), variance = call.tensor("variance"),
                offset = call.optional("offset"), scale = call.optional("scale");
  ignore_name(call);
  call.attrs.ignore({"offset", "scale"});
  const double epsilon = call.attrs.number("variance_epsilon");
  if (call.failed()) return {};
  const Shape channels{call.dim(x, call.rank(x) - 1)};
  const bool per_channel = std::ranges::all_of(std::array{mean, variance, offset, scale},
                                               [&](ValueId v) { return !v || call.shape(v) == channels; });
  if (!per_channel || call.rank(x) < 2) return spelled_out(call, x, mean, variance, offset, scale, epsilon);
  return {call.add(BatchNorm{call.rank(x) - 1, epsilon, 0.99}, {x, scale, offset, mean, variance})};
}

std::vector<ValueId> l2_normalize(FunctionCall& call) {
  const ValueId x = call.tensor("x");
  ignore_name(call);
  const double epsilon = call.attrs.number("epsilon", 1e-12);
  Sizes axes;
  for (Size i = 0; i < call.rank(x); ++i) axes.push_back(i);
  axes = call.attrs.list("axis", axes);
  for (Size& axis : axes) axis = positive_axis(axis, call.rank(x));
  std::ranges::sort(axes);
  return {call.add(UnitNorm{axes, epsilon}, {x})};
}

// Along the channels of [N, H, W, C], `depth_radius` on either side.
std::vector<ValueId> local_response_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  ignore_name(call);
  const Size radius = call.attrs.integer("depth_radius", 5);
  const double bias = call.attrs.number("bias", 1), alpha = call.attrs.number("alpha", 1),
               beta = call.attrs.number("beta", 0.5);
  if (!call.failed() && call.rank(x) != 4)
    call.refuse(Fault::Format, "input has shape " + text_of(call.shape(x)) + ", expected 4 axes");
  if (radius < 0) call.refuse(Fault::Format, "argument 'depth_radius' is " + std::to_string(radius));
  return {call.add(LocalResponseNorm{3, radius, radius, alpha, beta, bias}, {x})};
}

constexpr std::string_view response_parameters = "input depth_radius bias alpha beta name";
constexpr std::array normalization_table{
    FunctionRow{"nn.local_response_normalization", response_parameters, local_response_normalization},
    FunctionRow{"nn.lrn", response_parameters, local_response_normalization},
    FunctionRow{"compat.v1.nn.fused_batch_norm",
                "x scale offset mean variance epsilon data_format is_training name exponential_avg_factor",
                fused_batch_norm},
    FunctionRow{"nn.batch_normalization", "x mean variance offset scale variance_epsilon name", batch_normalization},
    FunctionRow{"nn.l2_normalize", "x axis epsilon name", l2_normalize},
};

}  // namespace

std::span<const FunctionRow> normalization_functions() { return normalization_table; }

}  // namespace convoy::tf
