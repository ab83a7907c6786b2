// Normalizations at inference: BatchNormalization, InstanceNormalization, GroupNormalization (parameters per group
// until opset 20, per channel since), LRN, LayerNormalization, RMSNormalization.
#include "formats/onnx/arguments.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

// Running statistics are used; batch statistics (training_mode, or more than one result before opset 14) are refused.
std::vector<ValueId> batch_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("X"), scale = call.tensor("scale"), bias = call.tensor("B");
  const ValueId mean = call.tensor("input_mean"), variance = call.tensor("input_var");
  const double epsilon = call.attrs.number("epsilon", 1e-5), momentum = call.attrs.number("momentum", 0.9);
  if (call.opset < 9 && !call.attrs.truth("spatial", true))
    call.refuse(Fault::Unsupported, "attribute 'spatial' is 0: statistics per cell");
  const bool training = call.opset >= 14 ? call.attrs.truth("training_mode", false) : call.results > 1;
  if (training) call.refuse(Fault::Unsupported, "normalizes by the batch's own statistics, as in training");
  return {call.add(BatchNorm{1, epsilon, momentum}, {x, scale, bias, mean, variance})};
}

std::vector<ValueId> instance_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("input"), scale = call.tensor("scale"), bias = call.tensor("B");
  const double epsilon = call.attrs.number("epsilon", 1e-5);
  space_of(call, x);
  const Dim channels = call.dim(x, 1).known() ? call.dim(x, 1) : call.dim(scale, 0);
  if (!channels.known()) call.refuse(Fault::Unsupported, "the number of channels is not known");
  if (call.failed()) return {};
  return {call.add(GroupNorm{1, std::max<Size>(*channels, 1), epsilon}, {x, scale, bias})};
}

// A parameter per group, repeated for each of its channels.
ValueId per_channel(FunctionCall& call, ValueId parameter, std::string_view word, Size groups, Size channels) {
  const Tensor* numbers = call.constant(parameter);
  if (!numbers) {
    call.refuse(Fault::Unsupported, "input '" + std::string(word) + "' is computed by the model");
    return parameter;
  }
  if (numbers->shape() != Sizes{groups}) {
    call.refuse(Fault::Format, "input '" + std::string(word) + "' has shape " + text_of(numbers->shape()) +
                                   ", expected [" + std::to_string(groups) + "] (one per group until opset 20)");
    return parameter;
  }
  std::vector<float> all;
  const auto each = numbers->floats();
  for (Size c = 0; c < channels; ++c) all.push_back(each[static_cast<std::size_t>(c / (channels / groups))]);
  return call.make_constant(word, Tensor::of({channels}, std::move(all)));
}

std::vector<ValueId> group_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  ValueId scale = call.tensor("scale"), bias = call.tensor("bias");
  const Size groups = call.attrs.integer("num_groups");
  const double epsilon = call.attrs.number("epsilon", 1e-5);
  if (call.opset >= 21) call.attrs.ignore({"stash_type"});
  const Dim channels = call.dim(x, 1);
  if (call.opset < 18) call.refuse(Fault::Unsupported, "is not known before opset 18");
  if (call.failed()) return {};
  if (call.opset < 21 && channels != Dim(groups)) {
    if (!channels.known() || groups < 1 || *channels % groups != 0)
      call.refuse(Fault::Format, std::to_string(groups) + " groups of an input of shape " + text_of(call.shape(x)));
    if (call.failed()) return {};
    scale = per_channel(call, scale, "scale", groups, *channels);
    bias = per_channel(call, bias, "bias", groups, *channels);
  }
  return {call.add(GroupNorm{1, groups, epsilon}, {x, scale, bias})};
}

// x / (bias + alpha / size * s)^beta; an even `size` reaches one channel further behind.
std::vector<ValueId> lrn(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  const Size size = call.attrs.integer("size");
  const double alpha = call.attrs.number("alpha", 1e-4), beta = call.attrs.number("beta", 0.75);
  const double bias = call.attrs.number("bias", 1);
  if (size < 1) call.refuse(Fault::Format, "attribute 'size' is " + std::to_string(size));
  if (call.failed()) return {};
  const Size behind = size / 2;
  return {
      call.add(LocalResponseNorm{1, size - 1 - behind, behind, alpha / static_cast<double>(size), beta, bias}, {x})};
}

Sizes from_axis(FunctionCall& call, ValueId x) {
  const Size rank = std::max<Size>(call.rank(x), 1);
  const Size first = axis_of(call, "axis", call.attrs.integer("axis", -1), rank);
  Sizes axes = all_axes(rank);
  axes.erase(axes.begin(), axes.begin() + first);
  return axes;
}

std::vector<ValueId> layer_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("X"), scale = call.tensor("Scale"), bias = call.optional("B");
  const Sizes axes = from_axis(call, x);
  const double epsilon = call.attrs.number("epsilon", 1e-5);
  call.attrs.ignore({"stash_type"});
  const ValueId y = call.add(LayerNorm{axes, epsilon, false}, {x, scale, bias});
  if (call.results == 1) return {y};
  // The mean, and what it is divided by the square root of: variance and epsilon.
  const ValueId mean = call.add(Reduce{Reduction::Mean, axes, true}, {x});
  const ValueId left = call.add(Binary{BinaryFunction::Subtract}, {x, mean});
  const ValueId variance = call.add(Reduce{Reduction::Mean, axes, true}, {call.add(Unary{Function::Square}, {left})});
  return {y, mean, call.add(Unary{Function::Rsqrt}, {call.add(Affine{1, epsilon}, {variance})})};
}

// (x - mean) / (deviation + 1e-9) over `axes`.
std::vector<ValueId> mean_variance_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  const Sizes axes = axes_of(call, "axes", call.attrs.list("axes", Sizes{0, 2, 3}), call.rank(x));
  const ValueId mean = call.add(Reduce{Reduction::Mean, axes, true}, {x});
  const ValueId left = call.add(Binary{BinaryFunction::Subtract}, {x, mean});
  const ValueId squares = call.add(Unary{Function::Square}, {left});
  const ValueId variance = call.add(Reduce{Reduction::Mean, axes, true}, {squares});
  const ValueId deviation = call.add(Affine{1, 1e-9}, {call.add(Unary{Function::Sqrt}, {variance})});
  return {call.add(Binary{BinaryFunction::Divide}, {left, deviation})};
}

std::vector<ValueId> rms_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("X"), scale = call.tensor("scale");
  const Sizes axes = from_axis(call, x);
  const double epsilon = call.attrs.number("epsilon", 1e-5);
  call.attrs.ignore({"stash_type"});
  return {call.add(RmsNorm{axes, epsilon}, {x, scale})};
}

constexpr std::array normalization_table{
    FunctionRow{"BatchNormalization", "X scale B input_mean input_var", batch_normalization},
    FunctionRow{"InstanceNormalization", "input scale B", instance_normalization},
    FunctionRow{"GroupNormalization", "X scale bias", group_normalization},
    FunctionRow{"LRN", "X", lrn},
    FunctionRow{"MeanVarianceNormalization", "X", mean_variance_normalization},
    FunctionRow{"LayerNormalization", "X Scale B", layer_normalization},
    FunctionRow{"RMSNormalization", "X scale", rms_normalization}};

}  // namespace

std::span<const FunctionRow> normalization_functions() { return normalization_table; }

}  // namespace convoy::onnx
