// Normalizations at inference: BatchNormalization, InstanceNormalization, GroupNormalization (parameters per group
// until opset 20, per channel since), LRN, LayerNormalization, RMSNormalization.
#include "formats/onnx/arguments.h"
#include "formats/onnx/write/sink.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace convoy::onnx {
namespace {

// Running statistics are used; batch statistics (training_mode, or more than one result before opset 14) are refused.
std::vector<ValueId> batch_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("X"), scale = call.tensor("scale"), bias = call.tensor("B");
  const ValueId mean = call.tensor("input_mean"), variance = call.tensor("input_var");
  const double epsilon = call.attrs.number("epsilon", 1e-5), momentum = call.attrs.number("momentum", 0.9);
  if (takes(call, "spatial") && !call.attrs.truth("spatial", true))
    call.refuse(Fault::Unsupported, "attribute 'spatial' is 0: statistics per cell");
  const bool training = takes(call, "training_mode") ? call.attrs.truth("training_mode", false) : call.results > 1;
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
    call.refuse(Fault::Unsupported, "input '" + std::string(word) + "' is known only when the model runs");
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
  if (takes(call, "stash_type")) call.attrs.ignore({"stash_type"});
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

// Whether a scale or bias has the sizes of these axes as they are; others broadcast to x, and stand behind the layer.
bool is_normalized_shape(FunctionCall& call, ValueId parameter, ValueId x, const Sizes& axes) {
  if (call.failed() || call.rank(parameter) != static_cast<Size>(axes.size())) return false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim own = call.dim(parameter, static_cast<Size>(i)), size = call.dim(x, axes[i]);
    if (own.known() == size.known() && !call.is_as_long(parameter, static_cast<Size>(i), x, axes[i])) return false;
  }
  return true;
}

std::vector<ValueId> layer_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("X"), scale = call.tensor("Scale"), bias = call.optional("B");
  const Sizes axes = from_axis(call, x);
  const double epsilon = call.attrs.number("epsilon", 1e-5);
  call.attrs.ignore({"stash_type"});
  const bool own = is_normalized_shape(call, scale, x, axes) && (!bias || is_normalized_shape(call, bias, x, axes));
  ValueId y = call.add(LayerNorm{axes, epsilon, false}, own ? std::vector{x, scale, bias} : std::vector{x});
  if (!own) expect_stretch(call, "input 'Scale'", scale, y);
  if (!own) y = call.add(Binary{BinaryFunction::Multiply}, {y, scale});
  if (!own && bias) expect_stretch(call, "input 'B'", bias, y);
  if (!own && bias) y = call.add(Binary{BinaryFunction::Add}, {y, bias});
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
  if (is_normalized_shape(call, scale, x, axes)) return {call.add(RmsNorm{axes, epsilon}, {x, scale})};
  return {call.add(Binary{BinaryFunction::Multiply}, {call.add(RmsNorm{axes, epsilon}, {x}), scale})};
}

// Divided by its length along one axis; what has none stays 0.
std::vector<ValueId> lp_normalization(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", -1), std::max<Size>(call.rank(x), 1));
  const Size p = call.attrs.integer("p", 2);
  if (p != 1 && p != 2) call.refuse(Fault::Format, "attribute 'p' is " + std::to_string(p) + ", expected 1 or 2");
  // The least number of the type that has all its digits: any length below it is as good as none.
  const double least = call.type(x).dtype == DType::F16 ? 0x1p-14 : 0x1p-126;
  return {call.add(LengthNorm{{axis}, static_cast<double>(p), least}, {x})};
}

// clang-format off
constexpr std::array normalization_table{
    Operator{"BatchNormalization", {}, "X scale B input_mean input_var", "epsilon:f momentum:f spatial:i@-8 training_mode:i@14", batch_normalization, {}, {1, 5}},
    Operator{"InstanceNormalization", {}, "input scale B", "epsilon:f", instance_normalization},
    Operator{"GroupNormalization", {18}, "X scale bias", "epsilon:f num_groups:i stash_type:i", group_normalization},
    Operator{"LpNormalization", {}, "input", "axis:i p:i", lp_normalization},
    Operator{"LRN", {}, "X", "alpha:f beta:f bias:f size:i", lrn},
    Operator{"MeanVarianceNormalization", {9}, "X", "axes:I", mean_variance_normalization},
    Operator{"LayerNormalization", {17}, "X Scale B?", "axis:i epsilon:f stash_type:i", layer_normalization, {}, {1, 3}},
    Operator{"RMSNormalization", {23}, "X scale", "axis:i epsilon:f stash_type:i", rms_normalization}};
// clang-format on

// ---- written ----------------------------------------------------------------------------------------------------------

Tensor filled(Size count, double value, DType dtype) {
  return Tensor::of({count}, std::vector<double>(static_cast<std::size_t>(count), value)).converted(dtype);
}

Status write_batch_norm(const BatchNorm& op, Sink& sink) {
  if (op.axis != 1) return sink.broken("a batch normalisation along another axis");
  const Dim channels = sink.type(3).shape[0];
  if (!channels.known()) return sink.refused("a batch normalisation of an unknown number of channels");
  const DType dtype = sink.type().dtype;
  const auto scale = sink.has(1) ? sink.name(1) : sink.stored("ones", filled(*channels, 1, dtype));
  const auto offset = sink.has(2) ? sink.name(2) : sink.stored("zeros", filled(*channels, 0, dtype));
  sink.last("BatchNormalization", {sink.name(), scale, offset, sink.name(3), sink.name(4)},
            {{"epsilon", op.epsilon}, {"momentum", op.momentum}});
  return {};
}

std::string mean(Sink& sink, const std::string& x, const Sizes& axes) {
  return sink.step_with("ReduceMean", x, "axes", axes, {{"keepdims", Size{1}}});
}

std::string sum_of_squares(Sink& sink, const std::string& x, const Sizes& axes) {
  return sink.step_with("ReduceSumSquare", x, "axes", axes, {{"keepdims", Size{1}}});
}

// sqrt(x + epsilon)
std::string root(Sink& sink, const std::string& x, double epsilon) {
  return sink.step("Sqrt", {sink.step("Add", {x, sink.number(epsilon)})});
}

// y * gamma + beta, for parameters that broadcast as they are; the last of these steps is the node's result.
void scaled(Sink& sink, const std::string& op, std::vector<std::string> inputs, const std::string& gamma,
            const std::string& beta) {
  if (gamma.empty() && beta.empty()) return sink.last(op, std::move(inputs));
  std::string y = sink.step(op, std::move(inputs));
  if (beta.empty()) return sink.last("Mul", {y, gamma});
  if (!gamma.empty()) y = sink.step("Mul", {y, gamma});
  sink.last("Add", {y, beta});
}

bool trailing(const Sizes& axes, Size rank) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != rank - static_cast<Size>(axes.size()) + static_cast<Size>(i)) return false;
  return true;
}

// Parameters [sizes of the axes], with sizes 1 in between so that they broadcast.
std::string broadcasting(Sink& sink, std::size_t input, const Sizes& axes) {
  if (!sink.has(input)) return {};
  const Size rank = sink.rank();
  if (trailing(axes, rank)) return sink.name(input);
  Sizes between;
  for (Size axis = axes.front(); axis < rank; ++axis)
    between.push_back(std::ranges::find(axes, axis) == axes.end() ? 1 : 0);
  Sizes to;
  std::size_t at = 0;
  const Shape& sizes = sink.type(input).shape;
  for (const Size one : between) to.push_back(one == 1 ? 1 : sizes[at++].size().value_or(-1));
  if (sink.constant(input)) return sink.reshaped(input, to);
  return sink.step("Reshape", {sink.name(input), sink.numbers(to)});
}

Status write_layer_norm(const LayerNorm& op, Sink& sink) {
  const std::string x = sink.name();
  if (sink.knows("LayerNormalization") && !op.keras_rms_scaling && sink.has(1) && trailing(op.axes, sink.rank())) {
    sink.last("LayerNormalization", {x, sink.name(1), sink.name(2)},
              {{"axis", op.axes.front()}, {"epsilon", op.epsilon}});
    return {};
  }
  const auto centred = sink.step("Sub", {x, mean(sink, x, op.axes)});
  const auto variance = mean(sink, sink.step("Mul", {centred, centred}), op.axes);
  scaled(sink, "Div", {op.keras_rms_scaling ? x : centred, root(sink, variance, op.epsilon)},
         broadcasting(sink, 1, op.axes), broadcasting(sink, 2, op.axes));
  return {};
}

// [C] -> [C, 1, 1...]
std::string per_channel(Sink& sink, std::size_t input) {
  if (!sink.has(input)) return {};
  Sizes to(static_cast<std::size_t>(sink.rank()) - 1, 1);
  if (const Tensor* constant = sink.constant(input)) {
    to[0] = constant->count();
    return sink.reshaped(input, to);
  }
  to[0] = -1;
  return sink.step("Reshape", {sink.name(input), sink.numbers(to)});
}

// The mean of each group: of its channels' means over space, which are of equally many cells. [N, C, 1, 1...]
std::string group_mean(Sink& sink, const std::string& x, Size groups, Size channels) {
  Sizes space, back(static_cast<std::size_t>(sink.rank()), 1);
  for (Size axis = 2; axis < sink.rank(); ++axis) space.push_back(axis);
  const std::string each = space.empty() ? x : mean(sink, x, space);
  const auto grouped = sink.step("Reshape", {each, sink.numbers({0, groups, channels / groups})});
  const auto wide = sink.step("Tile", {mean(sink, grouped, {2}), sink.numbers({1, 1, channels / groups})});
  back[0] = 0;
  back[1] = channels;
  return sink.step("Reshape", {wide, sink.numbers(back)});
}

Status write_group_norm(const GroupNorm& op, Sink& sink) {
  if (op.axis != 1) return sink.broken("a group normalisation along another axis");
  const Dim channels = sink.type().shape[1];
  if (!channels.known()) return sink.refused("a group normalisation of an unknown number of channels");
  const std::string x = sink.name();
  const DType dtype = sink.type().dtype;
  if (op.groups == *channels && sink.rank() > 2) {
    const auto scale = sink.has(1) ? sink.name(1) : sink.stored("ones", filled(*channels, 1, dtype));
    const auto offset = sink.has(2) ? sink.name(2) : sink.stored("zeros", filled(*channels, 0, dtype));
    sink.last("InstanceNormalization", {x, scale, offset}, {{"epsilon", op.epsilon}});
    return {};
  }
  const auto centred = sink.step("Sub", {x, group_mean(sink, x, op.groups, *channels)});
  const auto variance = group_mean(sink, sink.step("Mul", {centred, centred}), op.groups, *channels);
  scaled(sink, "Div", {centred, root(sink, variance, op.epsilon)}, per_channel(sink, 1), per_channel(sink, 2));
  return {};
}

Status write_rms_norm(const RmsNorm& op, Sink& sink) {
  const std::string x = sink.name();
  const auto square = mean(sink, sink.step("Mul", {x, x}), op.axes);
  scaled(sink, "Div", {x, root(sink, square, op.epsilon)}, broadcasting(sink, 1, op.axes), {});
  return {};
}

Status write_unit_norm(const UnitNorm& op, Sink& sink) {
  const std::string x = sink.name();
  const auto squares = sum_of_squares(sink, x, op.axes);
  sink.last("Div", {x, sink.step("Sqrt", {sink.step("Max", {squares, sink.number(op.epsilon)})})});
  return {};
}

// x / max((sum |x|^p)^(1/p), epsilon)
Status write_length_norm(const LengthNorm& op, Sink& sink) {
  if (op.p != 1 && op.p != 2) return sink.refused("a norm with p = " + std::to_string(op.p));
  const std::string x = sink.name(), word = op.p == 1 ? "ReduceL1" : "ReduceL2";
  const auto length = sink.step_with(word, x, "axes", op.axes, {{"keepdims", Size{1}}});
  sink.last("Div", {x, sink.step("Max", {length, sink.number(op.epsilon)})});
  return {};
}

// ONNX divides alpha by the size and counts (size - 1) / 2 cells before, the rest behind.
Status write_local_response_norm(const LocalResponseNorm& op, Sink& sink) {
  const Size size = op.before + op.after + 1;
  if (op.before != (size - 1) / 2) return sink.refused("a local response whose odd cell lies in front");
  const Attributes words{
      {"alpha", op.alpha * static_cast<double>(size)}, {"beta", op.beta}, {"bias", op.bias}, {"size", size}};
  if (sink.rank() != 4) return sink.refused("a local response over other than images, which ONNX Runtime does not run");
  if (op.axis == 1) {
    sink.last("LRN", {sink.name()}, words);
    return {};
  }
  Sizes swapped(static_cast<std::size_t>(sink.rank()));  // ONNX's channels are the second axis
  std::iota(swapped.begin(), swapped.end(), Size{0});
  std::swap(swapped[1], swapped[static_cast<std::size_t>(op.axis)]);
  const auto turned = sink.step("Transpose", {sink.name()}, {{"perm", swapped}});
  sink.last("Transpose", {sink.step("LRN", {turned}, words)}, {{"perm", swapped}});
  return {};
}

constexpr std::array normalization_writers{writes<write_batch_norm>(),         writes<write_layer_norm>(),
                                           writes<write_group_norm>(),         writes<write_rms_norm>(),
                                           writes<write_unit_norm>(),          writes<write_length_norm>(),
                                           writes<write_local_response_norm>()};
static_assert(decides<Normalization>(normalization_writers));

}  // namespace

std::span<const Operator> normalization_operators() { return normalization_table; }

std::span<const Row> normalization_rows() { return normalization_writers; }

}  // namespace convoy::onnx
