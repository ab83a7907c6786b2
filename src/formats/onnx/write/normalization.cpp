// Normalisations: ONNX's own word where it says the same, means and quotients otherwise.
#include "formats/onnx/write/sink.h"

#include <array>

namespace convoy::onnx {
namespace {

Tensor filled(Size count, double value, DType dtype) {
  return Tensor::of({count}, std::vector<double>(static_cast<std::size_t>(count), value)).converted(dtype);
}

Status write_batch_norm(const BatchNorm& op, Sink& sink) {
  if (op.axis != 1) return sink.broken("a batch normalisation along another axis");
  const Dim channels = sink.fact(3).shape[0];
  if (!channels.known()) return sink.refused("a batch normalisation of an unknown number of channels");
  const DType dtype = sink.fact().dtype;
  const auto scale = sink.has(1) ? sink.name(1) : sink.stored("ones", filled(*channels, 1, dtype));
  const auto offset = sink.has(2) ? sink.name(2) : sink.stored("zeros", filled(*channels, 0, dtype));
  sink.last("BatchNormalization", {sink.name(), scale, offset, sink.name(3), sink.name(4)},
            {{"epsilon", op.epsilon}, {"momentum", op.momentum}});
  return {};
}

std::string mean(Sink& sink, const std::string& x, const Sizes& axes) {
  const DocumentAttribute keeps{"keepdims", Size{1}};
  if (sink.opset() < 18) return sink.step("ReduceMean", {x}, {{"axes", axes}, keeps});
  return sink.step("ReduceMean", {x, sink.numbers(axes)}, {keeps});
}

std::string sum_of_squares(Sink& sink, const std::string& x, const Sizes& axes) {
  const DocumentAttribute keeps{"keepdims", Size{1}};
  if (sink.opset() < 18) return sink.step("ReduceSumSquare", {x}, {{"axes", axes}, keeps});
  return sink.step("ReduceSumSquare", {x, sink.numbers(axes)}, {keeps});
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
  const Shape& sizes = sink.fact(input).shape;
  for (const Size one : between) to.push_back(one == 1 ? 1 : sizes[at++].size().value_or(-1));
  if (sink.constant(input)) return sink.reshaped(input, to);
  return sink.step("Reshape", {sink.name(input), sink.numbers(to)});
}

Status write_layer_norm(const LayerNorm& op, Sink& sink) {
  const std::string x = sink.name();
  if (sink.opset() >= 17 && !op.keras_rms_scaling && sink.has(1) && trailing(op.axes, sink.rank())) {
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
  const Dim channels = sink.fact().shape[1];
  if (!channels.known()) return sink.refused("a group normalisation of an unknown number of channels");
  const std::string x = sink.name();
  const DType dtype = sink.fact().dtype;
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
  const DocumentAttribute keeps{"keepdims", Size{1}};
  const auto length = sink.opset() < 18 ? sink.step(word, {x}, {{"axes", op.axes}, keeps})
                                        : sink.step(word, {x, sink.numbers(op.axes)}, {keeps});
  sink.last("Div", {x, sink.step("Max", {length, sink.number(op.epsilon)})});
  return {};
}

// ONNX divides alpha by the size and counts (size - 1) / 2 cells before, the rest behind.
Status write_local_response_norm(const LocalResponseNorm& op, Sink& sink) {
  const Size size = op.before + op.after + 1;
  if (op.axis != 1) return sink.broken("a local response along another axis than the channels");
  if (op.before != (size - 1) / 2) return sink.refused("a local response whose odd cell lies in front");
  sink.last("LRN", {sink.name()},
            {{"alpha", op.alpha * static_cast<double>(size)}, {"beta", op.beta}, {"bias", op.bias}, {"size", size}});
  return {};
}

constexpr std::array normalization_table{writes<write_batch_norm>(),         writes<write_layer_norm>(),
                                         writes<write_group_norm>(),         writes<write_rms_norm>(),
                                         writes<write_unit_norm>(),          writes<write_length_norm>(),
                                         writes<write_local_response_norm>()};
static_assert(decides<Normalization>(normalization_table));

}  // namespace

std::span<const Row> normalization_rows() { return normalization_table; }

}  // namespace convoy::onnx
