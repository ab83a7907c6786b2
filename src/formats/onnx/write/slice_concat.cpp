// Parts taken out of tensors and tensors put side by side.
#include "formats/onnx/write/sink.h"

#include <array>
#include <limits>

namespace convoy::onnx {
namespace {

Status write_concat(const Concat& op, Sink& sink) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < sink.node().inputs.size(); ++i) parts.push_back(sink.name(i));
  sink.last("Concat", std::move(parts), {{"axis", op.axis}});
  return {};
}

// An end that is not given lies beyond all cells.
Status write_slice(const Slice& op, Sink& sink) {
  constexpr Size beyond = std::numeric_limits<Size>::max();
  const Size start = op.start.value_or(op.step > 0 ? 0 : beyond);
  const Size stop = op.stop.value_or(op.step > 0 ? beyond : -beyond);
  std::vector<std::string> inputs{sink.name(), sink.numbers({start}), sink.numbers({stop}), sink.numbers({op.axis})};
  if (op.step != 1) inputs.push_back(sink.numbers({op.step}));
  sink.last("Slice", std::move(inputs));
  return {};
}

Status write_split(const Split& op, Sink& sink) {
  if (sink.opset() < 13) sink.last_of_many("Split", {sink.name()}, {{"axis", op.axis}, {"split", op.sizes}});
  else sink.last_of_many("Split", {sink.name(), sink.numbers(op.sizes)}, {{"axis", op.axis}});
  return {};
}

Status write_tile(const Tile& op, Sink& sink) {
  Sizes repeats(static_cast<std::size_t>(sink.rank()), 1);
  repeats[static_cast<std::size_t>(op.axis)] = op.times;
  sink.last("Tile", {sink.name(), sink.numbers(repeats)});
  return {};
}

Status write_take(const Take& op, Sink& sink) {
  sink.last("Gather", {sink.name(), sink.numbers(op.indices)}, {{"axis", op.axis}});
  return {};
}

// Indices are of int32 or int64.
std::string indices(Sink& sink) {
  const DType dtype = sink.fact(1).dtype;
  if (dtype == DType::I64 || dtype == DType::I32) return sink.name(1);
  return sink.step("Cast", {sink.name(1)}, {{"to", data_type_of(DType::I64)}});
}

Status write_gather(const Gather& op, Sink& sink) {
  sink.last("Gather", {sink.name(), indices(sink)}, {{"axis", op.axis}});
  return {};
}

Status write_gather_elements(const GatherElements& op, Sink& sink) {
  sink.last("GatherElements", {sink.name(), indices(sink)}, {{"axis", op.axis}});
  return {};
}

// To the shape 1, ..., the other's size, 1, ...
Status write_expand_like(const ExpandLike& op, Sink& sink) {
  const auto size =
      sink.step("Gather", {sink.step("Shape", {sink.name(1)}), sink.numbers({op.from})}, {{"axis", Size{0}}});
  std::vector<std::string> parts;
  if (op.axis > 0) parts.push_back(sink.numbers(Sizes(static_cast<std::size_t>(op.axis), 1)));
  parts.push_back(size);
  if (op.axis + 1 < sink.rank())
    parts.push_back(sink.numbers(Sizes(static_cast<std::size_t>(sink.rank() - op.axis - 1), 1)));
  const auto shape = parts.size() == 1 ? size : sink.step("Concat", std::move(parts), {{"axis", Size{0}}});
  sink.last("Expand", {sink.name(), shape});
  return {};
}

constexpr std::array slice_concat_table{
    writes<write_concat>(), writes<write_slice>(),  writes<write_split>(),           writes<write_tile>(),
    writes<write_take>(),   writes<write_gather>(), writes<write_gather_elements>(), writes<write_expand_like>()};
static_assert(decides<SliceConcat>(slice_concat_table));

}  // namespace

std::span<const Row> slice_concat_rows() { return slice_concat_table; }

}  // namespace convoy::onnx
