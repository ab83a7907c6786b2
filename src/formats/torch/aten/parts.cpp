// Parts taken out of tensors and tensors put side by side.
#include "formats/torch/aten/aten.h"
#include "formats/torch/functions/arguments.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

Size axis(FunctionCall& call, ValueId x) { return axis_of(call, call.attrs.integer("dim", 0), call.rank(x)); }

Results cat(FunctionCall& call) {
  const auto parts = call.several("tensors");
  if (parts.empty()) {
    call.refuse(Fault::Format, "argument 'tensors' is empty");
    return {};
  }
  const Size at = axis(call, parts[0]);
  if (parts.size() == 1) return {parts[0]};
  return {call.add(Concat{at}, parts)};
}

Results stack(FunctionCall& call) {
  auto parts = call.several("tensors");
  if (parts.empty()) {
    call.refuse(Fault::Format, "argument 'tensors' is empty");
    return {};
  }
  const Size at = axis_of(call, call.attrs.integer("dim", 0), call.rank(parts[0]) + 1);
  for (ValueId& part : parts) part = call.add(Unsqueeze{{at}}, {part});
  if (parts.size() == 1) return {parts[0]};
  return {call.add(Concat{at}, parts)};
}

// Parts of `size`, the last one shorter.
Results in_parts_of(FunctionCall& call, ValueId x, Size at, Size size) {
  const Size whole = known_size(call, x, at);
  if (size < 1) call.refuse(Fault::Format, "parts of size " + std::to_string(size));
  if (call.failed()) return {};
  Sizes sizes;
  for (Size first = 0; first < whole; first += size) sizes.push_back(std::min(size, whole - first));
  if (sizes.size() == 1) return {x};
  return call.add_all(Split{at, sizes}, {x});
}

Results chunk(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size at = axis(call, x), count = call.attrs.integer("chunks");
  if (count < 1) call.refuse(Fault::Format, "argument 'chunks' is " + std::to_string(count));
  if (call.failed()) return {};
  return in_parts_of(call, x, at, ceil_div(known_size(call, x, at), count));
}

Results split(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return in_parts_of(call, x, axis(call, x), call.attrs.integer("split_size"));
}

Results split_with_sizes(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes sizes = call.attrs.list("split_sizes");
  return call.add_all(Split{axis(call, x), sizes}, {x});
}

Results slice(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (const ValueId like = call.optional("like.0")) {  // as far as another tensor is long
    const Sizes from = call.attrs.list("from");
    if (call.attrs.integer("start", 0) != 0 || call.attrs.integer("step", 1) != 1 || from.size() != 1)
      call.refuse(Fault::Unsupported, "argument 'end': is computed from a size that is free; give the input a size");
    if (call.failed()) return {};
    return {call.add(Gather{axis(call, x)}, {x, counted_along(call, like, from[0])})};
  }
  Slice part{.axis = axis(call, x), .start = {}, .stop = {}, .step = call.attrs.integer("step", 1)};
  if (call.attrs.has("start")) part.start = call.attrs.integer("start");
  if (call.attrs.has("end")) part.stop = call.attrs.integer("end");
  if (part.start == 0) part.start.reset();
  if (part.stop == std::numeric_limits<Size>::max()) part.stop.reset();
  if (part.step < 1) call.refuse(Fault::Format, "argument 'step' is " + std::to_string(part.step));
  if (!part.start && !part.stop && part.step == 1) return {x};
  return {call.add(part, {x})};
}

Results narrow(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size start = call.attrs.integer("start"), length = call.attrs.integer("length");
  return {call.add(Slice{.axis = axis(call, x), .start = start, .stop = start + length}, {x})};
}

ValueId selected(FunctionCall& call, ValueId x, Size at, Size index) {
  return call.add(Squeeze{{at}}, {call.add(cell_at(at, index), {x})});
}

Results select(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {selected(call, x, axis(call, x), call.attrs.integer("index"))};
}

Results unbind(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size at = axis(call, x), count = known_size(call, x, at);
  if (count > 65536) call.refuse(Fault::Limit, "takes " + std::to_string(count) + " tensors apart");
  Results parts;
  for (Size i = 0; i < count && !call.failed(); ++i) parts.push_back(selected(call, x, at, i));
  return parts;
}

Results flip(FunctionCall& call) {
  ValueId x = call.tensor("input");
  for (const Size said : call.attrs.list("dims"))
    x = call.add(Slice{.axis = axis_of(call, said, call.rank(x)), .start = {}, .stop = {}, .step = -1}, {x});
  return {x};
}

// By one cell, at any size.
ValueId rolled_by_one(FunctionCall& call, ValueId x, Size at, bool forward) {
  const Size cut = forward ? -1 : 1;
  const ValueId behind = call.add(Slice{.axis = at, .start = cut, .stop = {}}, {x});
  const ValueId before = call.add(Slice{.axis = at, .start = {}, .stop = cut}, {x});
  return call.add(Concat{at}, {behind, before});
}

// The last `shift` cells come first.
Results roll(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes shifts = call.attrs.list("shifts"), dims = call.attrs.list("dims", Sizes{});
  if (dims.empty() || shifts.size() != dims.size()) call.refuse(Fault::Unsupported, "rolls the whole as one row");
  for (std::size_t i = 0; i < dims.size() && !call.failed(); ++i) {
    const Size at = axis_of(call, dims[i], call.rank(x));
    constexpr Size most_steps = 8;  // as the size may be smaller than the shift
    if (!call.dim(x, at).known() && shifts[i] >= -most_steps && shifts[i] <= most_steps) {
      for (Size k = std::abs(shifts[i]); k > 0; --k) x = rolled_by_one(call, x, at, shifts[i] > 0);
      continue;
    }
    const Size size = known_size(call, x, at);
    if (call.failed() || size == 0) return {x};
    const Size shift = ((shifts[i] % size) + size) % size;
    if (shift == 0) continue;
    const ValueId last = call.add(Slice{.axis = at, .start = size - shift, .stop = {}}, {x});
    const ValueId first = call.add(Slice{.axis = at, .start = {}, .stop = size - shift}, {x});
    x = call.add(Concat{at}, {last, first});
  }
  return {x};
}

// The whole again and again along each axis; new axes come in front.
Results repeat(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes times = call.attrs.list("repeats");
  x = with_axes_in_front(call, x, static_cast<Size>(times.size()));
  if (call.failed()) return {};
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i] != 1) x = call.add(Tile{static_cast<Size>(i), times[i]}, {x});
  const Sizes from = call.attrs.list("from", Sizes{});
  for (std::size_t i = 0; i < from.size() && i < times.size() && !call.failed(); ++i) {
    const ValueId like = call.optional("like." + std::to_string(i));
    const auto at = static_cast<Size>(i);
    if (!like) continue;
    if (call.dim(x, at) == Dim(1)) {
      x = call.add(ExpandLike{at, from[i]}, {x, like});
      continue;
    }
    Sizes to(i, 0);  // an axis in front is repeated and merged
    to.push_back(-1);
    for (Size behind = at + 1; behind < call.rank(x); ++behind) to.push_back(known_size(call, x, behind));
    x = call.add(Reshape{to}, {call.add(ExpandLike{at, from[i]}, {call.add(Unsqueeze{{at}}, {x}), like})});
  }
  return {x};
}

// Each cell `repeats` times in a row.
Results repeat_interleaved(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size at = axis(call, x), size = known_size(call, x, at), times = call.attrs.integer("repeats");
  constexpr Size most = Size{1} << 24;
  if (times < 0 || checked_multiply(size, times).value_or(most + 1) > most)
    call.refuse(Fault::Limit, "repeats every cell " + std::to_string(times) + " times");
  if (call.failed()) return {};
  Take take{at, {}};
  for (Size i = 0; i < size * times; ++i) take.indices.push_back(i / times);
  return {call.add(take, {x})};
}

constexpr std::array parts_table{
    FunctionRow{"cat", "tensors... dim", cat},
    FunctionRow{"concat", "tensors... dim", cat},
    FunctionRow{"stack", "tensors... dim", stack},
    FunctionRow{"chunk", "input chunks dim", chunk},
    FunctionRow{"split.Tensor", "input split_size dim", split},
    FunctionRow{"split_with_sizes", "input split_sizes dim", split_with_sizes},
    FunctionRow{"slice.Tensor", "input dim start end step from like...", slice},
    FunctionRow{"narrow", "input dim start length", narrow},
    FunctionRow{"select.int", "input dim index", select},
    FunctionRow{"unbind", "input dim", unbind},
    FunctionRow{"flip", "input dims", flip},
    FunctionRow{"roll", "input shifts dims", roll},
    FunctionRow{"repeat", "input repeats from like...", repeat},
    FunctionRow{"repeat_interleave.self_int", "input repeats dim", repeat_interleaved},
};

}  // namespace

std::span<const FunctionRow> aten_parts() { return parts_table; }

}  // namespace convoy::torch
