// The same numbers under other axes.
#include "formats/onnx/write/sink.h"

#include <array>

namespace convoy::onnx {
namespace {

Status write_reshape(const Reshape& op, Sink& sink) {
  sink.last("Reshape", {sink.name(), sink.numbers(op.to)});
  return {};
}

Status write_flatten(const Flatten&, Sink& sink) {
  sink.last("Flatten", {sink.name()}, {{"axis", Size{1}}});
  return {};
}

Status write_transpose(const Transpose& op, Sink& sink) {
  sink.last("Transpose", {sink.name()}, {{"perm", op.permutation}});
  return {};
}

void with_axes(const char* word, const Sizes& axes, Sink& sink) {
  if (sink.opset() < 13) sink.last(word, {sink.name()}, {{"axes", axes}});
  else sink.last(word, {sink.name(), sink.numbers(axes)});
}
Status write_unsqueeze(const Unsqueeze& op, Sink& sink) { return with_axes("Unsqueeze", op.axes, sink), Status(); }
Status write_squeeze(const Squeeze& op, Sink& sink) { return with_axes("Squeeze", op.axes, sink), Status(); }

Status write_depth_to_space(const DepthToSpace& op, Sink& sink) {
  if (op.order != Order::ChannelsFirst) return sink.broken("depth to space with channels last");
  if (sink.rank() != 4) return sink.refused("depth to space over other than two axes");
  sink.last("DepthToSpace", {sink.name()},
            {{"blocksize", op.block}, {"mode", std::string(op.depth_first ? "DCR" : "CRD")}});
  return {};
}

// ONNX puts the block in front of the channels; behind them, the channels are taken in another order.
Status write_space_to_depth(const SpaceToDepth& op, Sink& sink) {
  if (op.order != Order::ChannelsFirst) return sink.broken("space to depth with channels last");
  if (sink.rank() != 4) return sink.refused("space to depth over other than two axes");
  const Attributes block{{"blocksize", op.block}};
  if (op.depth_first) return sink.last("SpaceToDepth", {sink.name()}, block), Status();
  if (!sink.fact().shape[1].known()) return sink.refused("space to depth over an unknown number of channels");
  const Size channels = *sink.fact().shape[1], cells = op.block * op.block;
  Sizes from;
  for (Size c = 0; c < channels; ++c)
    for (Size cell = 0; cell < cells; ++cell) from.push_back(cell * channels + c);
  sink.last("Gather", {sink.step("SpaceToDepth", {sink.name()}, block), sink.numbers(from)}, {{"axis", Size{1}}});
  return {};
}

constexpr std::array rows{writes<write_reshape>(),
                          writes<write_flatten>(),
                          writes<write_transpose>(),
                          writes<write_unsqueeze>(),
                          writes<write_squeeze>(),
                          writes<write_depth_to_space>(),
                          writes<write_space_to_depth>(),
                          lacks<SpaceToBatch, Sink>("moving space into the batch is not written to ONNX yet"),
                          lacks<BatchToSpace, Sink>("moving the batch into space is not written to ONNX yet")};
static_assert(decides<ReshapeFamily>(rows));

}  // namespace

std::span<const Row> reshape_rows() { return rows; }

}  // namespace convoy::onnx
