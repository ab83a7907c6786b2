// The same numbers under other axes: Reshape, Flatten, Transpose, Squeeze, Unsqueeze, DepthToSpace, SpaceToDepth.
#include "formats/free_reshape.h"
#include "formats/onnx/arguments.h"
#include "formats/onnx/write/sink.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <optional>

namespace convoy::onnx {
namespace {

// A size 0 copies the input's, unless allowzero (opset 14) says that it is one.
std::vector<ValueId> reshape(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const auto to = known_integers(call, "shape");
  const bool keeps_zero = takes(call, "allowzero") && call.attrs.truth("allowzero", false);
  if (!to) call.refuse(Fault::Format, "input 'shape' is missing");
  if (call.failed()) return {};
  if (call.attrs.has("kept")) return reshape_keeping(call, x, *to);
  if (keeps_zero && std::ranges::count(*to, 0) > 0)
    call.refuse(Fault::Unsupported, "attribute 'allowzero' with a size of 0, which is an empty tensor");
  return {call.add(Reshape{*to}, {x})};
}

// [d0, ..., dn] -> [d0 * ... * d(axis-1), d(axis) * ... * dn]
std::vector<ValueId> flatten(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size rank = call.rank(x), argument = call.attrs.integer("axis", 1);
  const bool from_end = argument < 0 && call.opset >= 11;
  const Size axis = from_end ? argument + rank : argument;
  if (axis < 0 || axis > rank)
    call.refuse(Fault::Format, "attribute 'axis' is " + std::to_string(argument) + " for rank " + std::to_string(rank));
  if (call.failed()) return {};
  if (axis == 1) return {call.add(Flatten{}, {x})};
  const auto front = product_of(std::span(call.shape(x)).first(static_cast<std::size_t>(axis)));
  if (!front) {
    call.refuse(front.error().fault, front.error().what);
    return {};
  }
  if (!front->known()) {
    const auto back = product_of(std::span(call.shape(x)).subspan(static_cast<std::size_t>(axis)));
    if (!back || !back->known() || **back < 1)
      call.refuse(Fault::Unsupported, "flattening " + text_of(call.shape(x)) + " before axis " + std::to_string(axis) +
                                          " needs more known sizes");
    if (call.failed()) return {};
    return {call.add(Reshape{{-1, **back}}, {x})};
  }
  return {call.add(Reshape{{**front, -1}}, {x})};
}

std::vector<ValueId> transpose(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  Sizes reversed = all_axes(call.rank(x));
  std::ranges::reverse(reversed);
  const Sizes permutation = call.attrs.list("perm", reversed);
  return {call.add(Transpose{permutation}, {x})};
}

std::vector<ValueId> unsqueeze(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const auto axes = moved_integers(call, "axes");
  if (!axes) call.refuse(Fault::Format, "'axes' is missing");
  if (call.failed()) return {};
  return {call.add(Unsqueeze{axes_of(call, "axes", *axes, call.rank(x) + static_cast<Size>(axes->size()))}, {x})};
}

std::vector<ValueId> squeeze(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const auto argument = moved_integers(call, "axes");
  if (call.failed()) return {};
  Sizes axes;
  if (argument) axes = axes_of(call, "axes", *argument, call.rank(x));
  for (Size i = 0; !argument && i < call.rank(x); ++i) {
    if (!call.dim(x, i).known())
      call.refuse(Fault::Unsupported, "without 'axes' the sizes must be known, but the input has shape " +
                                          text_of(call.shape(x)) + "; give them with --shape");
    if (call.dim(x, i) == Dim(1)) axes.push_back(i);
  }
  return {call.add(Squeeze{axes}, {x})};
}

// DCR unless mode says CRD.
bool depth_first(FunctionCall& call) {
  if (!takes(call, "mode")) return true;
  const std::string word = call.attrs.word("mode", "DCR");
  if (word != "DCR" && word != "CRD")
    call.refuse(Fault::Format, "attribute 'mode' is '" + word + "', expected DCR or CRD");
  return word != "CRD";
}

std::vector<ValueId> depth_to_space(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size block = call.attrs.integer("blocksize");
  const bool first = depth_first(call);
  return {call.add(DepthToSpace{Order::ChannelsFirst, block, first}, {x})};
}

std::vector<ValueId> space_to_depth(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size block = call.attrs.integer("blocksize");
  const bool first = depth_first(call);
  return {call.add(SpaceToDepth{Order::ChannelsFirst, block, first}, {x})};
}

// clang-format off
constexpr std::array reshape_table{
    Operator{"Reshape", {}, "data shape", "allowzero:i@14", reshape, Moved{}},
    Operator{"Flatten", {}, "input", "axis:i", flatten, Moved{}},
    Operator{"Transpose", {}, "data", "perm:I", transpose, Moved{}},
    Operator{"Unsqueeze", {}, "data axes@13", "axes:I@-12", unsqueeze, Moved{}},
    Operator{"Squeeze", {}, "data axes?@13", "axes:I@-12", squeeze, Moved{}},
    Operator{"DepthToSpace", {}, "input", "blocksize:i mode:s@11", depth_to_space},
    Operator{"SpaceToDepth", {}, "input", "blocksize:i mode:s@28", space_to_depth}};
// clang-format on

// ---- written ----------------------------------------------------------------------------------------------------------

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

Status write_unsqueeze(const Unsqueeze& op, Sink& sink) {
  return sink.last_with("Unsqueeze", sink.name(), "axes", op.axes), Status();
}
Status write_squeeze(const Squeeze& op, Sink& sink) {
  return sink.last_with("Squeeze", sink.name(), "axes", op.axes), Status();
}

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
  if (!sink.type().shape[1].known()) return sink.refused("space to depth over an unknown number of channels");
  const Size channels = *sink.type().shape[1], cells = op.block * op.block;
  Sizes from;
  for (Size c = 0; c < channels; ++c)
    for (Size cell = 0; cell < cells; ++cell) from.push_back(cell * channels + c);
  sink.last("Gather", {sink.step("SpaceToDepth", {sink.name()}, block), sink.numbers(from)}, {{"axis", Size{1}}});
  return {};
}

// The sizes of x along `axes`, where all of the tensor but the batch is known.
std::optional<Sizes> known_behind_batch(const Sink& sink) {
  Sizes sizes;
  for (std::size_t i = 1; i < sink.type().shape.size(); ++i) {
    if (!sink.type().shape[i].known()) return std::nullopt;
    sizes.push_back(*sink.type().shape[i]);
  }
  return sizes;
}

constexpr const char* unknown_size = "moving blocks between space and batch where a size is unknown";

// [N, cells * block...] -> the offsets in front of the batch.
Status write_space_to_batch(const SpaceToBatch& op, Sink& sink) {
  const auto sizes = known_behind_batch(sink);
  if (!sizes) return sink.refused(unknown_size);
  const auto rank = static_cast<std::size_t>(sink.rank());
  Sizes before(rank), after(rank), split{-1}, first, rest{0}, whole{-1};
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    before[static_cast<std::size_t>(op.axes[i])] = op.before[i];
    after[static_cast<std::size_t>(op.axes[i])] = op.after[i];
  }
  for (std::size_t axis = 1; axis < rank; ++axis) {
    const auto found = std::ranges::find(op.axes, static_cast<Size>(axis));
    const Size size = (*sizes)[axis - 1] + before[axis] + after[axis];
    const Size block = found == op.axes.end() ? 1 : op.block[static_cast<std::size_t>(found - op.axes.begin())];
    rest.push_back(static_cast<Size>(split.size()));
    split.push_back(size / block);
    whole.push_back(size / block);
    if (found == op.axes.end()) continue;
    first.push_back(static_cast<Size>(split.size()));
    split.push_back(block);
  }
  std::string x = sink.name();
  if (std::ranges::any_of(before, [](Size n) { return n != 0; }) ||
      std::ranges::any_of(after, [](Size n) { return n != 0; }))
    x = sink.step("Pad", {x, sink.numbers(begins_then_ends(before, after))});
  first.insert(first.end(), rest.begin(), rest.end());
  x = sink.step("Transpose", {sink.step("Reshape", {x, sink.numbers(split)})}, {{"perm", first}});
  sink.last("Reshape", {x, sink.numbers(whole)});
  return {};
}

// [offsets * N, cells...] -> every cell's block behind it, then the cut.
Status write_batch_to_space(const BatchToSpace& op, Sink& sink) {
  const auto sizes = known_behind_batch(sink);
  if (!sizes) return sink.refused(unknown_size);
  const auto blocks = static_cast<Size>(op.axes.size());
  Sizes split = op.block, order{blocks}, whole{-1}, starts, ends;
  split.push_back(-1);
  for (Size axis = 1; axis < sink.rank(); ++axis) {
    const Size size = (*sizes)[static_cast<std::size_t>(axis) - 1];
    const auto found = std::ranges::find(op.axes, axis);
    order.push_back(static_cast<Size>(split.size()));
    split.push_back(size);
    whole.push_back(size);
    if (found == op.axes.end()) continue;
    const auto i = found - op.axes.begin();
    order.push_back(i);
    whole.back() *= op.block[static_cast<std::size_t>(i)];
    starts.push_back(op.before[static_cast<std::size_t>(i)]);
    ends.push_back(whole.back() - op.after[static_cast<std::size_t>(i)]);
  }
  const auto x = sink.step("Transpose", {sink.step("Reshape", {sink.name(), sink.numbers(split)})}, {{"perm", order}});
  const bool cuts = std::ranges::any_of(op.before, [](Size n) { return n != 0; }) ||
                    std::ranges::any_of(op.after, [](Size n) { return n != 0; });
  if (!cuts) return sink.last("Reshape", {x, sink.numbers(whole)}), Status();
  const auto space = sink.step("Reshape", {x, sink.numbers(whole)});
  sink.last("Slice", {space, sink.numbers(starts), sink.numbers(ends), sink.numbers(op.axes)});
  return {};
}

constexpr std::array reshape_writers{
    writes<write_reshape>(),        writes<write_flatten>(),        writes<write_transpose>(),
    writes<write_unsqueeze>(),      writes<write_squeeze>(),        writes<write_depth_to_space>(),
    writes<write_space_to_depth>(), writes<write_space_to_batch>(), writes<write_batch_to_space>()};
static_assert(decides<ReshapeFamily>(reshape_writers));

}  // namespace

std::span<const Operator> reshape_operators() { return reshape_table; }

std::span<const Row> reshape_rows() { return reshape_writers; }

}  // namespace convoy::onnx
