// Parts taken out and put side by side: Concat, Slice, Split, Tile, Expand, Gather, GatherElements.
#include "formats/onnx/arguments.h"
#include "formats/onnx/write/sink.h"
#include "formats/put.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <limits>

namespace convoy::onnx {
namespace {

std::vector<ValueId> concat(FunctionCall& call) {
  const auto inputs = call.several("inputs");
  const Size argument = call.attrs.integer("axis");
  if (inputs.empty()) call.refuse(Fault::Format, "there is nothing to put side by side");
  if (call.failed()) return {};
  return {call.add(Concat{axis_of(call, "axis", argument, call.rank(inputs.front()))}, inputs)};
}

// Attributes until opset 9, inputs since. The ends of the standard reach beyond every size; they say "to the end".
std::vector<ValueId> slice(FunctionCall& call) {
  ValueId x = call.tensor("data");
  const auto starts = moved_integers(call, "starts"), ends = moved_integers(call, "ends");
  auto axes = moved_integers(call, "axes");
  const auto steps = takes(call, "steps") ? known_integers(call, "steps") : std::nullopt;
  if (!starts || !ends) call.refuse(Fault::Format, "'starts' or 'ends' is missing");
  if (call.failed()) return {};
  if (!axes) axes = all_axes(static_cast<Size>(starts->size()));
  if (ends->size() != starts->size() || axes->size() != starts->size() || (steps && steps->size() != starts->size())) {
    call.refuse(Fault::Format, "'starts', 'ends', 'axes' and 'steps' have different lengths");
    return {};
  }
  for (Size& axis : *axes) axis = axis_of(call, "axes", axis, call.rank(x));
  axes_of(call, "axes", *axes, call.rank(x));
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const Size step = steps ? (*steps)[i] : 1;
    constexpr Size far = Size{1} << 31;  // INT_MAX and INT64_MAX are both in use
    Slice cut{(*axes)[i], (*starts)[i], (*ends)[i], step};
    if (step == 0) call.refuse(Fault::Format, "'steps' holds 0");
    if (step > 0 && *cut.stop >= far - 1) cut.stop.reset();
    if (step > 0 && (*cut.start == 0 || *cut.start <= -far)) cut.start.reset();
    if (step < 0 && *cut.stop <= -far) cut.stop.reset();
    if (step < 0 && *cut.start >= far - 1) cut.start.reset();
    if (call.failed()) return {};
    if (!cut.start && !cut.stop && step == 1) continue;
    x = call.add(cut, {x});
  }
  return {x};
}

// Sizes by attribute until 12 and by input since; without them equal parts, the last one shorter (opset 18).
std::vector<ValueId> split(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", 0), std::max<Size>(call.rank(x), 1));
  auto sizes = moved_integers(call, "split");
  auto parts = static_cast<Size>(call.results);
  if (takes(call, "num_outputs") && call.attrs.has("num_outputs")) {
    parts = call.attrs.integer("num_outputs");
    if (sizes) call.refuse(Fault::Format, "both 'split' and 'num_outputs' are given");
  }
  if (call.failed()) return {};
  if (!sizes) {
    const Dim size = call.dim(x, axis);
    if (!size.known()) call.refuse(Fault::Unsupported, "splitting axis " + std::to_string(axis) + " needs its size");
    constexpr Size most = 65536;
    if (parts < 1 || parts > most) call.refuse(Fault::Format, "a split into " + std::to_string(parts) + " parts");
    if (call.failed()) return {};
    if (call.opset < 18 && *size % parts != 0)
      call.refuse(Fault::Format, "axis " + std::to_string(axis) + " of size " + std::to_string(*size) + " has no " +
                                     std::to_string(parts) + " equal parts");
    const Size each = ceil_div(*size, parts);
    sizes = Sizes(static_cast<std::size_t>(parts), each);
    sizes->back() = *size - each * (parts - 1);
    if (parts > *size || sizes->back() < 0)
      call.refuse(Fault::Format, "axis " + std::to_string(axis) + " of size " + std::to_string(*size) + " has no " +
                                     std::to_string(parts) + " parts of " + std::to_string(each));
    if (call.failed()) return {};
  }
  return call.add_all(Split{axis, *sizes}, {x});
}

std::vector<ValueId> tile(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const auto repeats = known_integers(call, "repeats");
  if (!repeats) call.refuse(Fault::Format, "input 'repeats' is missing");
  if (call.failed()) return {};
  if (static_cast<Size>(repeats->size()) != call.rank(x)) {
    call.refuse(Fault::Format, "input 'repeats' has " + std::to_string(repeats->size()) + " numbers for rank " +
                                   std::to_string(call.rank(x)));
    return {};
  }
  for (std::size_t i = 0; i < repeats->size(); ++i)
    if ((*repeats)[i] != 1) x = call.add(Tile{static_cast<Size>(i), (*repeats)[i]}, {x});
  return {x};
}

// x stretched to the meeting of its shape and `shape`; 1 leaves an axis as it is.
std::vector<ValueId> expand(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const auto to = known_integers(call, "shape");
  if (!to) call.refuse(Fault::Format, "input 'shape' is missing");
  if (call.failed()) return {};
  const Size missing = static_cast<Size>(to->size()) - call.rank(x);
  if (missing > 0) x = call.add(Unsqueeze{all_axes(missing)}, {x});
  const Size skip = std::max<Size>(-missing, 0);
  for (std::size_t i = 0; i < to->size() && !call.failed(); ++i) {
    const Size axis = static_cast<Size>(i) + skip, wanted = (*to)[i];
    const Dim size = call.dim(x, axis);
    if (wanted == 1 || size == Dim(wanted)) continue;
    if (!size.known())
      call.refuse(Fault::Unsupported, "expanding an axis of unknown size to " + std::to_string(wanted));
    else if (*size != 1 || wanted < 0)
      call.refuse(Fault::Format, "input of shape " + text_of(call.shape(x)) + " does not stretch to " + text_of(*to));
    if (!call.failed()) x = call.add(Tile{axis, wanted}, {x});
  }
  return {x};
}

// Places of an axis of unknown size, of which some are counted from its end: each is cut out by itself.
ValueId taken_one_by_one(FunctionCall& call, ValueId x, Size axis, const Sizes& places) {
  constexpr std::size_t most = 64;
  if (places.size() > most)
    call.refuse(Fault::Unsupported, "takes " + std::to_string(places.size()) +
                                        " places, some counted from the end, of an axis of unknown size");
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < places.size() && !call.failed(); ++i) {
    const Size at = places[i];
    parts.push_back(call.add(Slice{axis, at, at == -1 ? std::nullopt : std::optional<Size>(at + 1), 1}, {x}));
  }
  if (call.failed()) return {};
  return parts.size() == 1 ? parts.front() : call.add(Concat{axis}, parts);
}

// Places that the model computes look up rows of a known table; known places take parts of anything.
std::vector<ValueId> gather(FunctionCall& call) {
  const ValueId x = call.tensor("data"), indices = call.tensor("indices");
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", 0), std::max<Size>(call.rank(x), 1));
  const Tensor* known = call.constant(indices);
  if (call.failed()) return {};
  if (!known) {
    if (axis == 0 && call.rank(x) == 2 && call.constant(x)) return {call.add(Embedding{}, {indices, x})};
    return {call.add(Gather{axis}, {x, indices})};
  }
  const Tensor places = *known;  // values move when the graph grows
  const Dim size = call.dim(x, axis);
  Take take{axis, places.integers()};
  const bool from_the_end = std::ranges::any_of(take.indices, [](Size index) { return index < 0; });
  if (size.known())
    for (Size& index : take.indices)
      if (index < 0) index += *size;
  const ValueId taken =
      from_the_end && !size.known() ? taken_one_by_one(call, x, axis, take.indices) : call.add(take, {x});
  if (call.failed()) return {};
  if (places.rank() == 1) return {taken};
  if (places.rank() == 0) return {call.add(Squeeze{{axis}}, {taken})};
  Sizes to;
  for (Size i = 0; i < call.rank(x); ++i) {
    if (i == axis) to.insert(to.end(), places.shape().begin(), places.shape().end());
    else if (call.dim(x, i).known()) to.push_back(*call.dim(x, i));
    else if (i < axis) to.push_back(0);
    else to.push_back(-1);
  }
  return {call.add(Reshape{to}, {taken})};
}

std::vector<ValueId> gather_elements(FunctionCall& call) {
  const ValueId x = call.tensor("data"), indices = call.tensor("indices");
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", 0), std::max<Size>(call.rank(x), 1));
  return {call.add(GatherElements{axis}, {reached_by(call, x, indices, axis), indices})};
}

// clang-format off
constexpr std::array slice_concat_table{
    Operator{"Concat", {}, "inputs...", "axis:i", concat, Moved{}},
    Operator{"Slice", {}, "data starts@10 ends@10 axes?@10 steps?@10", "axes:I@-9 ends:I@-9 starts:I@-9", slice, Moved{}},
    Operator{"Split", {}, "input split?@13", "axis:i num_outputs:i@18 split:I@-12", split, Moved{}, {1, any_number}},
    Operator{"Tile", {}, "input repeats", "", tile, Moved{}},
    Operator{"Expand", {8}, "input shape", "", expand, Moved{}},
    Operator{"Gather", {}, "data indices", "axis:i", gather, Moved{}},
    Operator{"GatherElements", {11}, "data indices", "axis:i", gather_elements}};
// clang-format on

// ---- written ----------------------------------------------------------------------------------------------------------

Status write_concat(const Concat& op, Sink& sink) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < sink.node().inputs.size(); ++i) parts.push_back(sink.typed(i, sink.result_type().dtype));
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
  if (sink.takes_input("Split", "split"))
    sink.last_of_many("Split", {sink.name(), sink.numbers(op.sizes)}, {{"axis", op.axis}});
  else sink.last_of_many("Split", {sink.name()}, {{"axis", op.axis}, {"split", op.sizes}});
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
  const DType dtype = sink.type(1).dtype;
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

Status write_slice_behind(const SliceBehind&, Sink& sink) {
  if (!sink.takes_input("Slice", "starts"))
    return sink.refused("a part that begins at a computed place, which Slice takes since operator set 10,");
  sink.last("Slice", {sink.name(), sink.step("Shape", {sink.name(1)}), sink.numbers({std::numeric_limits<Size>::max()}),
                      sink.numbers({0})});
  return {};
}

constexpr std::array slice_concat_writers{
    writes<write_concat>(),      writes<write_slice>(),  writes<write_split>(),           writes<write_tile>(),
    writes<write_take>(),        writes<write_gather>(), writes<write_gather_elements>(), writes<write_expand_like>(),
    writes<write_slice_behind>()};
static_assert(decides<SliceConcat>(slice_concat_writers));

}  // namespace

std::span<const Operator> slice_concat_operators() { return slice_concat_table; }

std::span<const Row> slice_concat_rows() { return slice_concat_writers; }

}  // namespace convoy::onnx
