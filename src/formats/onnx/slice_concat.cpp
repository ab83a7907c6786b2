// Parts taken out and put side by side: Concat, Slice, Split, Tile, Expand, Gather, GatherElements.
#include "formats/onnx/arguments.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

std::vector<ValueId> concat(FunctionCall& call) {
  const auto inputs = call.several("inputs");
  const Size said = call.attrs.integer("axis");
  if (inputs.empty()) call.refuse(Fault::Format, "there is nothing to put side by side");
  if (call.failed()) return {};
  return {call.add(Concat{axis_of(call, "axis", said, call.rank(inputs.front()))}, inputs)};
}

// Attributes until opset 9, inputs since. The ends of the standard reach beyond every size; they say "to the end".
std::vector<ValueId> slice(FunctionCall& call) {
  ValueId x = call.tensor("data");
  const auto starts = moved_integers(call, "starts", 10), ends = moved_integers(call, "ends", 10);
  auto axes = moved_integers(call, "axes", 10);
  const auto steps = call.opset >= 10 ? known_integers(call, "steps") : std::nullopt;
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
  auto sizes = moved_integers(call, "split", 13);
  auto parts = static_cast<Size>(call.results);
  if (call.opset >= 18 && call.attrs.has("num_outputs")) {
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
  for (Size& index : take.indices) {
    if (index < 0 && !size.known()) {
      call.refuse(Fault::Unsupported, "a place counted from the end of an axis of unknown size");
      return {};
    }
    if (index < 0) index += *size;
  }
  const ValueId taken = call.add(take, {x});
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
  return {call.add(GatherElements{axis}, {x, indices})};
}

constexpr std::array slice_concat_table{FunctionRow{"Concat", "inputs...", concat},
                                        FunctionRow{"Slice", "data starts ends axes steps", slice},
                                        FunctionRow{"Split", "input split", split},
                                        FunctionRow{"Tile", "input repeats", tile},
                                        FunctionRow{"Expand", "input shape", expand},
                                        FunctionRow{"Gather", "data indices", gather},
                                        FunctionRow{"GatherElements", "data indices", gather_elements}};

}  // namespace

std::span<const FunctionRow> slice_concat_functions() { return slice_concat_table; }

}  // namespace convoy::onnx
