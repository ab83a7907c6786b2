// Parts taken out of tensors and tensors put side by side; written as Python's own slices.
#include "formats/free_length.h"
#include "formats/free_reshape.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

Size asked_axis(FunctionCall& call, ValueId x) { return axis_of(call, call.attrs.integer("dim", 0), call.rank(x)); }

// Parts of one axis without cells, as torch.empty(0) makes them, are left out beside others.
Results cat(FunctionCall& call) {
  auto parts = call.several("tensors");
  const auto is_nothing = [&](ValueId part) { return call.rank(part) == 1 && call.dim(part, 0) == Dim(0); };
  if (!call.failed() && !std::ranges::all_of(parts, is_nothing)) std::erase_if(parts, is_nothing);
  if (parts.empty()) {
    call.refuse(Fault::Format, "argument 'tensors' is empty");
    return {};
  }
  const Size at = asked_axis(call, parts[0]);
  if (parts.size() == 1) return {parts[0]};
  return {call.add(Concat{at}, parts)};
}

Results stack(FunctionCall& call) {
  auto parts = call.several("tensors");
  if (parts.empty()) {
    call.refuse(Fault::Format, "argument 'tensors' is empty");
    return {};
  }
  const Size at = axis_of(call, integer_or_default(call, "dim"), call.rank(parts[0]) + 1);
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
  const Size at = asked_axis(call, x), count = call.attrs.integer("chunks");
  if (count < 1) call.refuse(Fault::Format, "argument 'chunks' is " + std::to_string(count));
  if (call.failed()) return {};
  if (!call.dim(x, at).known() && count == 2) {  // of more parts the last ones may be left out
    const auto none = [](Size) { return std::optional<Size>(0); };
    const auto first = [](Size n) { return std::optional(ceil_div(n, 2)); };
    const auto second = [](Size n) { return n < 2 ? std::nullopt : std::optional(n / 2); };
    return {part_along(call, x, at, none, first), part_along(call, x, at, first, second)};
  }
  return in_parts_of(call, x, at, ceil_div(known_size(call, x, at), count));
}

// Parts of one size, or the size of each.
Results split(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const bool says_each = call.attrs.has("split_sizes");
  const char* word = says_each ? "split_sizes" : "split_size";
  const Json* argument = call.attrs.raw(word);
  if (says_each || (argument && argument->is_array()))
    return call.add_all(Split{asked_axis(call, x), call.attrs.list(word)}, {x});
  return in_parts_of(call, x, asked_axis(call, x), call.attrs.integer(word));
}

Results slice(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (const ValueId like = call.optional("like.0")) {  // as far as another tensor is long
    const Sizes from = call.attrs.list("from");
    if (call.attrs.integer("start", 0) != 0 || integer_or_default(call, "step") != 1 || from.size() != 1)
      call.refuse(Fault::Unsupported, "argument 'end': is computed from a size that is free; give the input a size");
    if (call.failed()) return {};
    return {call.add(Gather{asked_axis(call, x)}, {x, counted_along(call, like, from[0])})};
  }
  Slice part{.axis = asked_axis(call, x), .start = {}, .stop = {}, .step = integer_or_default(call, "step")};
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
  Slice part{.axis = asked_axis(call, x), .start = start, .stop = start + length};
  if (start < 0 && start + length == 0) part.stop.reset();  // the end, where counting from it ends
  return {call.add(part, {x})};
}

ValueId selected(FunctionCall& call, ValueId x, Size at, Size index) {
  return call.add(Squeeze{{at}}, {call.add(cell_at(at, index), {x})});
}

Results select(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {selected(call, x, asked_axis(call, x), call.attrs.integer("index"))};
}

Results unbind(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size at = asked_axis(call, x), count = known_size(call, x, at);
  if (count > 65536) call.refuse(Fault::Limit, "takes " + std::to_string(count) + " tensors apart");
  Results parts;
  for (Size i = 0; i < count && !call.failed(); ++i) parts.push_back(selected(call, x, at, i));
  return parts;
}

Results flip(FunctionCall& call) {
  ValueId x = call.tensor("input");
  for (const Size argument : call.attrs.list("dims"))
    x = call.add(Slice{.axis = axis_of(call, argument, call.rank(x)), .start = {}, .stop = {}, .step = -1}, {x});
  return {x};
}

// By one cell, at any size.
ValueId rolled_by_one(FunctionCall& call, ValueId x, Size at, bool forward) {
  const Size cut = forward ? -1 : 1;
  const ValueId behind = call.add(Slice{.axis = at, .start = cut, .stop = {}}, {x});
  const ValueId before = call.add(Slice{.axis = at, .start = {}, .stop = cut}, {x});
  return call.add(Concat{at}, {behind, before});
}

ValueId rolled_as_one_row(FunctionCall& call, ValueId x, Size by) {
  const auto sizes = sizes_of(call.shape(x));
  const auto count = sizes ? checked_count(*sizes) : std::nullopt;
  if (!count) call.refuse(Fault::Unsupported, "rolls the whole as one row, whose size is free; give the input a size");
  if (call.failed() || *count == 0) return x;
  const Size cut = *count - ((by % *count) + *count) % *count;
  const ValueId row = call.add(Reshape{{*count}}, {x});
  const ValueId last = call.add(Slice{.axis = 0, .start = cut, .stop = {}}, {row});
  const ValueId first = call.add(Slice{.axis = 0, .start = {}, .stop = cut}, {row});
  return call.add(Reshape{*sizes}, {call.add(Concat{0}, {last, first})});
}

// The last `shift` cells come first.
Results roll(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const Sizes shifts = call.attrs.list("shifts"), dims = call.attrs.list("dims", Sizes{});
  if (dims.empty() && shifts.size() == 1 && !call.failed()) return {rolled_as_one_row(call, x, shifts[0])};
  if (shifts.size() != dims.size()) call.refuse(Fault::Format, "as many shifts as axes are wanted");
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

// Each of a free number of cells `times` in a row: a new axis behind theirs, and both as one.
ValueId repeated_of_free(FunctionCall& call, ValueId x, Size axis, Size times) {
  return merged_axes(call, call.add(Tile{axis + 1, times}, {call.add(Unsqueeze{{axis + 1}}, {x})}), axis);
}

// Each cell `repeats` times in a row.
Results repeat_interleaved(FunctionCall& call) {
  ValueId x = call.tensor("input");
  if (!call.attrs.has("dim")) x = call.add(Reshape{{-1}}, {x});
  const Size at = asked_axis(call, x), times = call.attrs.integer("repeats");
  if (!call.failed() && !call.dim(x, at).known() && times > 0) return {repeated_of_free(call, x, at, times)};
  const Size size = known_size(call, x, at);
  constexpr Size most = Size{1} << 24;
  if (times < 0 || checked_multiply(size, times).value_or(most + 1) > most)
    call.refuse(Fault::Limit, "repeats every cell " + std::to_string(times) + " times");
  if (call.failed()) return {};
  Take take{at, {}};
  for (Size i = 0; i < size * times; ++i) take.indices.push_back(i / times);
  return {call.add(take, {x})};
}

// "[:, :, 1:3]": everything along the axes before `axis`.
std::string along(Size axis, const std::string& what) {
  std::string text = "[";
  for (Size i = 0; i < axis; ++i) text += ":, ";
  return text + what + "]";
}

Status write_concat(const Concat& op, Call& c) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < c.node().inputs.size(); ++i) parts.push_back(c.begin(i).text);
  c.result({fmt::format("torch.cat([{}], dim={})", joined(parts), op.axis), Binds::Atom, 1, false, {}});
  return {};
}

std::string range(std::optional<Size> start, std::optional<Size> stop, Size step) {
  return fmt::format("{}:{}{}", start && *start != 0 ? std::to_string(*start) : "", stop ? std::to_string(*stop) : "",
                     step == 1 ? "" : fmt::format(":{}", step));
}

Status write_slice(const Slice& op, Call& c) {
  if (op.step > 0) {
    apply_method(c, along(op.axis, range(op.start, op.stop, op.step)));
    return {};
  }
  if (op.step == -1 && !op.start && !op.stop) {
    apply_method(c, fmt::format(".flip({})", op.axis));
    return {};
  }
  const Dim n = c.type(0).shape[static_cast<std::size_t>(op.axis)];
  if (!n.known()) return c.refused("a slice that walks backwards over an unknown size");
  // Flipped first, the same elements stand in rising order: torch slices forward only.
  const SliceRange at = resolve(op, *n);
  const Size first = *n - 1 - at.first, last = first + (at.count - 1) * -op.step;
  apply_method(c, fmt::format(".flip({}){}", op.axis, along(op.axis, range(first, last + 1, -op.step))));
  return {};
}

Status write_split(const Split& op, Call& c) {
  const bool even = std::ranges::all_of(op.sizes, [&](Size n) { return n == op.sizes[0]; });
  const Expression x = c.begin(0);
  c.results(
      fmt::format("{}.split({}, dim={})", postfix(x), even ? std::to_string(op.sizes[0]) : tuple(op.sizes), op.axis));
  return {};
}

Status write_tile(const Tile& op, Call& c) {
  Sizes times(c.type(0).shape.size(), 1);
  times[static_cast<std::size_t>(op.axis)] = op.times;
  apply_method(c, fmt::format(".repeat({})", fmt::join(times, ", ")));
  return {};
}

// How often each index 0, 1, 2, ... stands in a row, if it does so equally often.
std::optional<Size> repeats(const Sizes& indices, Dim n) {
  if (!n.known() || *n == 0 || indices.size() % static_cast<std::size_t>(*n) != 0) return std::nullopt;
  const Size times = static_cast<Size>(indices.size()) / *n;
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (times == 0 || indices[i] != static_cast<Size>(i) / times) return std::nullopt;
  return times;
}

Status write_take(const Take& op, Call& c) {
  if (const auto times = repeats(op.indices, c.type(0).shape[static_cast<std::size_t>(op.axis)])) {
    apply_method(c, fmt::format(".repeat_interleave({}, dim={})", *times, op.axis));
  } else if (op.indices.size() <= 16) {
    apply_method(c, along(op.axis, fmt::format("[{}]", fmt::join(op.indices, ", "))));
  } else {
    const Tensor indices = Tensor::of({static_cast<Size>(op.indices.size())}, op.indices);
    const std::string table = c.tensor({"indices", indices, {}, true});
    apply_method(c, fmt::format(".index_select({}, {})", op.axis, table));
  }
  return {};
}

std::string whole(const Expression& indices, DType dtype) {
  return dtype == DType::I64 ? indices.text : postfix(indices) + ".long()";
}

Status write_gather(const Gather& op, Call& c) {
  const Expression x = c.begin(0), indices = c.follow(1);
  c.result({postfix(x) + along(op.axis, whole(indices, c.type(1).dtype)),
            Binds::Atom,
            x.calls + indices.calls + 1,
            false,
            {}});
  return {};
}

// torch.gather counts from the front only.
Status write_gather_elements(const GatherElements& op, Call& c) {
  const ValueId v = c.node().inputs[1];
  const Tensor* known = c.constant(1);
  const NodeId maker = c.graph()[v].producer;
  const bool from_front = known ? std::ranges::all_of(known->integers(), [](Size i) { return i >= 0; })
                                : maker && (holds_alternative<ArgExtreme>(c.graph()[maker].op) ||
                                            holds_alternative<TopK>(c.graph()[maker].op));
  const std::string x = c.name(0);
  std::string indices = whole(c.follow(1), c.type(1).dtype);
  if (!from_front) indices = fmt::format("({}) % {}.shape[{}]", indices, x, op.axis);
  c.result({fmt::format("torch.gather({}, {}, {})", x, op.axis, indices), Binds::Atom, 2, false, {}});
  return {};
}

Status write_expand_like(const ExpandLike& op, Call& c) {
  const Expression x = c.begin(0);
  const std::string other = c.name(1);
  std::vector<std::string> sizes(c.type(0).shape.size(), "-1");
  sizes[static_cast<std::size_t>(op.axis)] = fmt::format("{}.shape[{}]", other, op.from);
  c.result({fmt::format("{}.expand({})", postfix(x), joined(sizes)), Binds::Atom, x.calls + 1, false, {}});
  return {};
}

Status write_slice_behind(const SliceBehind&, Call& c) {
  const Expression x = c.begin(0);
  c.result({fmt::format("{}[{}.shape[0]:]", postfix(x), c.name(1)), Binds::Atom, x.calls + 1, false, {}});
  return {};
}

constexpr std::array slice_concat_table{
    writes<write_concat>(),      writes<write_slice>(),  writes<write_split>(),           writes<write_tile>(),
    writes<write_take>(),        writes<write_gather>(), writes<write_gather_elements>(), writes<write_expand_like>(),
    writes<write_slice_behind>()};
static_assert(decides<SliceConcat>(slice_concat_table), "every slice needs one row: writes<> or lacks<>");

constexpr std::array rows_of_parts{
    CatalogueRow{"torch.cat torch.concat torch.concatenate", "tensors:L dim:i=0", cat},
    CatalogueRow{"torch.stack", "tensors:L dim:i=0", stack},
    CatalogueRow{"torch.chunk aten.unsafe_chunk", "input:T chunks:i dim:i=0 -> L", chunk},
    CatalogueRow{"aten.split",
                 "Tensor(input:T split_size:i dim:i=0 -> L) sizes(input:T split_size:I dim:i=0 -> L) "
                 "default(input:T split_sizes:I dim:i=0 -> L)",
                 split},
    CatalogueRow{"aten.unsafe_split aten.split_copy", "Tensor(input:T split_size:i dim:i=0 -> L)", split},
    CatalogueRow{"aten.split_with_sizes aten.split_with_sizes_copy aten.unsafe_split_with_sizes",
                 "input:T split_sizes:I dim:i=0 -> L", split},
    CatalogueRow{"aten.slice aten.slice_copy", "Tensor(input:T dim:i=0 start:i?=None end:i?=None step:i=1)", slice},
    CatalogueRow{"torch.narrow aten.narrow_copy", "input:T dim:i start:i length:i", narrow},
    CatalogueRow{"torch.select aten.select_copy", "int(input:T dim:i index:i)", select},
    CatalogueRow{"torch.unbind aten.unbind_copy", "int(input:T dim:i=0 -> L)", unbind},
    CatalogueRow{"torch.flip", "input:T dims:I...", flip},
    CatalogueRow{"torch.roll", "input:T shifts:I dims:I=", roll},
    CatalogueRow{"aten.repeat", "input:T repeats:I", repeat},
    CatalogueRow{"torch.repeat_interleave", "self_int(input:T repeats:i dim:i?=None * aten/output_size:i?=None)",
                 repeat_interleaved},
};

}  // namespace

std::span<const CatalogueRow> part_operators() { return rows_of_parts; }

std::span<const Row> slice_concat_rows() { return slice_concat_table; }

}  // namespace convoy::torch
