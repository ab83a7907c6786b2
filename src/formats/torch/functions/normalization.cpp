// Values brought to a common mean and scale: batch_norm, instance_norm, group_norm, layer_norm, rms_norm,
// local_response_norm, normalize, and the layers as they compute in eval mode. Source: nn/functional.py,
// ATen/native/Normalization.cpp, layer_norm.cpp, group_norm.cpp.
#include "formats/torch/functions/arguments.h"
#include "formats/torch/functions/functions.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace convoy::torch {
namespace {

// A weight or bias: one number per channel.
ValueId per_channel(FunctionCall& call, std::string_view argument, ValueId x) {
  const ValueId value = call.optional(argument);
  if (value && !call.failed() && call.shape(value) != Shape{call.dim(x, 1)} && call.dim(x, 1).known())
    call.refuse(Fault::Format, std::string(argument) + " has shape " + text_of(call.shape(value)) + ", expected " +
                                   text_of(Shape{call.dim(x, 1)}));
  return value;
}

// Statistics of one number are none.
void expect_several(FunctionCall& call, ValueId x, Size first, Size times) {
  Size product = times;
  for (Size i = first; i < call.rank(x); ++i) {
    const Dim n = call.dim(x, i);
    if (!n.known()) return;
    product *= std::min<Size>(*n, 2);  // only whether it is 1 counts
  }
  if (product == 1)
    call.refuse(Fault::Unsupported,
                "input has shape " + text_of(call.shape(x)) + ", which holds one number per mean and variance");
}

// [C] -> [C, 1...], which stretches over an input [N, C, n...].
ValueId along_channels(FunctionCall& call, ValueId value, Size rank) {
  if (!value || rank == 2) return value;
  Sizes axes;
  for (Size i = 1; i < rank - 1; ++i) axes.push_back(i);
  return call.add(Unsqueeze{axes}, {value});
}

// Running statistics that are not used must still make sense.
void expect_both_running(FunctionCall& call, ValueId x) {
  const ValueId mean = per_channel(call, "running_mean", x), variance = per_channel(call, "running_var", x);
  if (static_cast<bool>(mean) != static_cast<bool>(variance))
    call.refuse(Fault::Format, "running_mean and running_var go together");
}

// With the statistics of this very batch.
ValueId batch_statistics(FunctionCall& call, ValueId x, double epsilon) {
  const Size rank = call.rank(x);
  const ValueId weight = per_channel(call, "weight", x), bias = per_channel(call, "bias", x);
  const Dim batch = call.dim(x, 0);
  expect_several(call, x, 2, batch.known() ? *batch : 2);
  LayerNorm norm{{0}, epsilon};
  for (Size i = 2; i < rank; ++i) norm.axes.push_back(i);
  ValueId y = call.add(norm, {x});
  if (weight) y = call.add(Binary{BinaryFunction::Multiply}, {y, along_channels(call, weight, rank)});
  if (bias) y = call.add(Binary{BinaryFunction::Add}, {y, along_channels(call, bias, rank)});
  return y;
}

// With the statistics that are given. They stay as they are: this is one call, not a training step.
ValueId running_statistics(FunctionCall& call, ValueId x, double epsilon, double momentum) {
  const ValueId weight = per_channel(call, "weight", x), bias = per_channel(call, "bias", x);
  const ValueId mean = per_channel(call, "running_mean", x), variance = per_channel(call, "running_var", x);
  if (!mean || !variance)
    call.refuse(Fault::Format, "running_mean and running_var are wanted where the input's own statistics are not used");
  return call.add(BatchNorm{1, epsilon, 1 - momentum}, {x, weight, bias, mean, variance});
}

void expect_rank_from(FunctionCall& call, ValueId x, Size least) {
  if (!call.failed() && call.rank(x) < least)
    call.refuse(Fault::Format,
                "input has shape " + text_of(call.shape(x)) + ", expected rank " + std::to_string(least) + " or more");
}

double epsilon_of(FunctionCall& call, double otherwise) {
  const double epsilon = call.attrs.number("eps", otherwise);
  if (!(epsilon >= 0)) call.refuse(Fault::Format, "argument 'eps' is " + Json(epsilon).dump());
  return epsilon;
}

std::vector<ValueId> batch_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const bool training = call.attrs.truth("training", false);
  const double momentum = call.attrs.number("momentum", 0.1), epsilon = epsilon_of(call, 1e-5);
  expect_rank_from(call, x, 2);
  if (!training) return {running_statistics(call, x, epsilon, momentum)};
  if (epsilon == 0) call.refuse(Fault::Format, "argument 'eps' is 0 in training");
  expect_both_running(call, x);
  return {batch_statistics(call, x, epsilon)};
}

// Of the input's own statistics, every channel of every example by itself.
ValueId own_statistics(FunctionCall& call, ValueId x, double epsilon) {
  const ValueId weight = per_channel(call, "weight", x), bias = per_channel(call, "bias", x);
  expect_both_running(call, x);
  expect_several(call, x, 2, 1);
  const Dim channels = call.dim(x, 1);
  if (!channels.known()) call.refuse(Fault::Unsupported, "instance_norm needs a known number of channels");
  return call.add(GroupNorm{1, channels.known() ? *channels : 1, epsilon}, {x, weight, bias});
}

std::vector<ValueId> instance_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const bool own = call.attrs.truth("use_input_stats", true);
  const double momentum = call.attrs.number("momentum", 0.1), epsilon = epsilon_of(call, 1e-5);
  expect_rank_from(call, x, own ? 3 : 2);
  return {own ? own_statistics(call, x, epsilon) : running_statistics(call, x, epsilon, momentum)};
}

std::vector<ValueId> group_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size groups = whole_number(call, "num_groups");
  const double epsilon = epsilon_of(call, 1e-5);
  expect_least(call, "num_groups", {groups}, 1);
  expect_rank_from(call, x, 2);
  const ValueId weight = per_channel(call, "weight", x), bias = per_channel(call, "bias", x);
  if (call.failed()) return {};
  const Dim batch = call.dim(x, 0), channels = call.dim(x, 1);
  if (batch.known() && channels.known()) expect_several(call, x, 2, *batch * *channels / groups);
  return {call.add(GroupNorm{1, groups, epsilon}, {x, weight, bias})};
}

// The last axes, whose sizes are repeated in normalized_shape.
Sizes normalized_axes(FunctionCall& call, ValueId x, const Sizes& shape) {
  if (call.failed()) return {};
  const Size rank = call.rank(x), count = static_cast<Size>(shape.size());
  bool fits = count >= 1 && count <= rank;
  Sizes axes;
  for (Size i = 0; fits && i < count; ++i) {
    axes.push_back(rank - count + i);
    fits = agreed(call.dim(x, axes.back()), at(shape, i)).has_value();
  }
  if (!fits)
    call.refuse(Fault::Format,
                "input has shape " + text_of(call.shape(x)) + ", which does not end with " + text_of(shape));
  return axes;
}

std::vector<ValueId> layer_norm_over(FunctionCall& call, const Sizes& shape) {
  const ValueId x = call.tensor("input"), weight = call.optional("weight"), bias = call.optional("bias");
  const double epsilon = epsilon_of(call, 1e-5);
  return {call.add(LayerNorm{normalized_axes(call, x, shape), epsilon}, {x, weight, bias})};
}

std::vector<ValueId> rms_norm_over(FunctionCall& call, const Sizes& shape) {
  const ValueId x = call.tensor("input"), weight = call.optional("weight");
  const bool wide = !call.failed() && call.fact(x).dtype == DType::F64;
  const double least = wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const double epsilon = epsilon_of(call, least);
  return {call.add(RmsNorm{normalized_axes(call, x, shape), epsilon}, {x, weight})};
}

// The functions want a list.
Sizes normalized_shape(FunctionCall& call) {
  const Json* said = call.attrs.raw("normalized_shape");
  if (said && !said->is_array())
    call.refuse(Fault::Format, "argument 'normalized_shape' is " + said->dump() + ", expected a list");
  return whole_numbers(call, "normalized_shape");
}

std::vector<ValueId> layer_norm(FunctionCall& call) { return layer_norm_over(call, normalized_shape(call)); }
std::vector<ValueId> rms_norm(FunctionCall& call) { return rms_norm_over(call, normalized_shape(call)); }

// alpha is shared by the cells of the window; `size` channels around each, the odd one before it.
std::vector<ValueId> local_response_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size size = whole_number(call, "size");
  const double alpha = call.attrs.number("alpha", 1e-4), beta = call.attrs.number("beta", 0.75);
  const double k = call.attrs.number("k", 1);
  expect_least(call, "size", {size}, 1);
  expect_rank_from(call, x, 3);
  // The window slides by one, so that its place does not depend on the number of channels.
  const auto around = place({Spelling::SameLower}, {size, 1, 1}, std::max<Size>(size, 1)).value_or(Placement{});
  return {call.add(LocalResponseNorm{1, around.before, around.after, alpha / static_cast<double>(size), beta, k}, {x})};
}

std::vector<ValueId> normalize(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const double p = call.attrs.number("p", 2), epsilon = call.attrs.number("eps", 1e-12);
  const Sizes dims = call.attrs.has("dim") ? whole_numbers(call, "dim") : Sizes{1};
  Sizes axes;
  for (const Size dim : dims) axes.push_back(axis_of(call, dim, call.rank(x)));
  std::ranges::sort(axes);
  return {call.add(LengthNorm{axes, p, epsilon}, {x})};
}

// ---- layers, in eval mode

// affine says whether weight and bias are there.
void expect_affine(FunctionCall& call, bool affine) {
  call.attrs.ignore({"device", "dtype"});
  if (affine != static_cast<bool>(call.optional("weight")))
    call.refuse(Fault::Format, affine ? "the weight is missing" : "a weight is given, but the layer has none");
}

void expect_features(FunctionCall& call, ValueId x, std::string_view key) {
  const Size features = whole_number(call, key);
  if (!call.failed() && !agreed(call.dim(x, 1), features))
    call.refuse(Fault::Format,
                "input has shape " + text_of(call.shape(x)) + ", expected " + std::to_string(features) + " channels");
}

std::vector<ValueId> batch_norm_layer(FunctionCall& call) {
  const Size space = space_of(call.name);
  const ValueId x = call.tensor("input");
  const double momentum = call.attrs.number("momentum", 0.1), epsilon = epsilon_of(call, 1e-5);
  const bool tracked = call.attrs.truth("track_running_stats", true);
  expect_affine(call, call.attrs.truth("affine", true));
  call.attrs.ignore({"bias"});
  if (!call.failed() && call.rank(x) != space + 2 && !(space == 1 && call.rank(x) == 2))
    call.refuse(Fault::Format, "input has shape " + text_of(call.shape(x)) + ", expected rank " +
                                   (space == 1 ? "2 or 3" : std::to_string(space + 2)));
  expect_features(call, x, "num_features");
  return {tracked ? running_statistics(call, x, epsilon, momentum) : batch_statistics(call, x, epsilon)};
}

std::vector<ValueId> instance_norm_layer(FunctionCall& call) {
  const Batched input = with_batch(call, call.tensor("input"), space_of(call.name));
  const double momentum = call.attrs.number("momentum", 0.1), epsilon = epsilon_of(call, 1e-5);
  const bool tracked = call.attrs.truth("track_running_stats", false), affine = call.attrs.truth("affine", false);
  expect_affine(call, affine);
  call.attrs.ignore({"bias"});
  if (affine || tracked) expect_features(call, input.value, "num_features");
  else whole_number(call, "num_features");
  const ValueId y =
      tracked ? running_statistics(call, input.value, epsilon, momentum) : own_statistics(call, input.value, epsilon);
  return {without_batch(call, input, y)};
}

std::vector<ValueId> group_norm_layer(FunctionCall& call) {
  expect_affine(call, call.attrs.truth("affine", true));
  expect_features(call, call.tensor("input"), "num_channels");
  call.attrs.ignore({"bias"});
  return group_norm(call);
}

std::vector<ValueId> layer_norm_layer(FunctionCall& call) {
  expect_affine(call, call.attrs.truth("elementwise_affine", true));
  call.attrs.ignore({"bias"});
  return layer_norm_over(call, whole_numbers(call, "normalized_shape"));
}

std::vector<ValueId> rms_norm_layer(FunctionCall& call) {
  expect_affine(call, call.attrs.truth("elementwise_affine", true));
  return rms_norm_over(call, whole_numbers(call, "normalized_shape"));
}

constexpr std::string_view norm_layer_words = "num_features eps momentum affine track_running_stats device dtype bias";
constexpr std::array normalization_table{
    FunctionRow{"batch_norm", "input running_mean running_var weight bias training momentum eps", batch_norm},
    FunctionRow{"instance_norm", "input running_mean running_var weight bias use_input_stats momentum eps",
                instance_norm},
    FunctionRow{"group_norm", "input num_groups weight bias eps", group_norm},
    FunctionRow{"layer_norm", "input normalized_shape weight bias eps", layer_norm},
    FunctionRow{"rms_norm", "input normalized_shape weight eps", rms_norm},
    FunctionRow{"local_response_norm", "input size alpha beta k", local_response_norm},
    FunctionRow{"normalize", "input p dim eps out", normalize},
    FunctionRow{"BatchNorm1d", norm_layer_words, batch_norm_layer},
    FunctionRow{"BatchNorm2d", norm_layer_words, batch_norm_layer},
    FunctionRow{"BatchNorm3d", norm_layer_words, batch_norm_layer},
    FunctionRow{"InstanceNorm1d", norm_layer_words, instance_norm_layer},
    FunctionRow{"InstanceNorm2d", norm_layer_words, instance_norm_layer},
    FunctionRow{"InstanceNorm3d", norm_layer_words, instance_norm_layer},
    FunctionRow{"GroupNorm", "num_groups num_channels eps affine device dtype bias", group_norm_layer},
    FunctionRow{"LayerNorm", "normalized_shape eps elementwise_affine bias device dtype", layer_norm_layer},
    FunctionRow{"RMSNorm", "normalized_shape eps elementwise_affine device dtype", rms_norm_layer},
    FunctionRow{"LocalResponseNorm", "size alpha beta k", local_response_norm}};

}  // namespace

std::span<const FunctionRow> normalization_functions() { return normalization_table; }

}  // namespace convoy::torch
