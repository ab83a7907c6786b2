// Tensors with a part written anew, as programs say it that change tensors in place, and tensors that are yet to be written.
#include "formats/put.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <limits>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// `x` with the type and the shape of `like`, repeated where it is one cell long.
ValueId stretched_to(FunctionCall& call, ValueId x, ValueId like) {
  if (call.failed()) return x;
  if (call.type(x).dtype != call.type(like).dtype) x = call.add(Cast{call.type(like).dtype}, {x});
  const Size rank = call.rank(like);
  x = with_axes_in_front(call, x, rank);
  for (Size axis = 0; axis < rank && !call.failed(); ++axis) {
    const Dim from = call.dim(x, axis), to = call.dim(like, axis);
    if (from != Dim(1) || to == Dim(1)) continue;
    x = to == Dim(0) ? call.add(Slice{.axis = axis, .start = 0, .stop = 0}, {x})
        : to.known() ? call.add(Tile{axis, *to}, {x})
                     : call.add(ExpandLike{axis, axis}, {x, like});
  }
  return x;
}

// x with `part` in place of x[range] along its axis.
ValueId with_part(FunctionCall& call, ValueId x, ValueId part, const Slice& range) {
  const Dim length = call.dim(x, range.axis);
  std::optional<Size> start = range.start, stop = range.stop;
  if (length.known()) {
    const auto [first, count] = resolve(range, *length);
    if (count == 0) return x;
    if (range.step != 1) {  // cell by cell, from x or from the part
      if (constexpr Size most = Size{1} << 24; *length > most) {
        call.refuse(Fault::Limit, "writes every few cells of an axis of " + std::to_string(*length));
        return x;
      }
      Take take{range.axis, {}};
      for (Size i = 0; i < *length; ++i) take.indices.push_back(i);
      for (Size i = 0; i < count; ++i) take.indices[static_cast<std::size_t>(first + i * range.step)] = *length + i;
      return call.add(take, {call.add(Concat{range.axis}, {x, part})});
    }
    start = first;
    stop = first + count == *length ? std::nullopt : std::optional(first + count);
  } else if (range.step != 1) {
    call.refuse(Fault::Unsupported, "writes every few cells of an axis whose size is free");
  }
  std::vector<ValueId> pieces;
  if (start.value_or(0) != 0) pieces.push_back(call.add(Slice{.axis = range.axis, .start = {}, .stop = start}, {x}));
  pieces.push_back(part);
  if (stop && *stop != std::numeric_limits<Size>::max())
    pieces.push_back(call.add(Slice{.axis = range.axis, .start = stop, .stop = {}}, {x}));
  return pieces.size() == 1 ? part : call.add(Concat{range.axis}, std::move(pieces));
}

Results copy(FunctionCall& call) {
  const ValueId x = call.tensor("input"), from = call.tensor("src");
  call.attrs.ignore({"non_blocking"});
  return {stretched_to(call, from, x)};
}

Results slice_scatter(FunctionCall& call) {
  const ValueId x = call.tensor("input"), part = call.tensor("src");
  const Size rank = call.rank(x), axis = axis_of(call, integer_or_default(call, "dim"), rank);
  Slice range{.axis = axis, .start = {}, .stop = {}, .step = integer_or_default(call, "step")};
  if (call.attrs.has("start")) range.start = call.attrs.integer("start");
  if (call.attrs.has("end")) range.stop = call.attrs.integer("end");
  if (range.step < 1) call.refuse(Fault::Format, "argument 'step' is not above 0");
  if (call.failed()) return {};
  return {with_part(call, x, part, range)};
}

Results select_scatter(FunctionCall& call) {
  const ValueId x = call.tensor("input"), part = call.tensor("src");
  const Size axis = axis_of(call, call.attrs.integer("dim"), call.rank(x)), index = call.attrs.integer("index");
  if (const Dim n = call.dim(x, axis); n.known() && (index < -*n || index >= *n))
    call.refuse(Fault::Format, "argument 'index' is " + std::to_string(index) + " of " + std::to_string(*n));
  if (call.failed()) return {};
  return {with_part(call, x, call.add(Unsqueeze{{axis}}, {part}), cell_at(axis, index))};
}

// Every cell the same number.
Results filled_with(FunctionCall& call, ValueId x, double number) {
  return {stretched_to(call, number_constant(call, "value", number, call.type(x).dtype), x)};
}

Results zero(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (call.failed()) return {};
  return filled_with(call, x, 0);
}

Results fill(FunctionCall& call) {
  const ValueId x = call.tensor("input"), value = call.optional("value");
  if (call.failed()) return {};
  if (value) return {stretched_to(call, value, x)};
  return filled_with(call, x, number_or_truth(call, "value"));
}

// x[list, list] = values: one list of places in the axes laid out as one.
Results put_by_lists(FunctionCall& call, ValueId x, Size first, std::vector<ValueId> lists, ValueId values, bool adds) {
  const auto sizes = sizes_of(call.shape(x));
  Size entries = 1;
  for (const ValueId list : lists)
    if (const Dim n = call.dim(list, 0); n != Dim(1)) entries = n.known() ? *n : -1;
  if (!sizes || entries < 0) {
    call.refuse(Fault::Unsupported, "writes by several lists where a size is free; give the input a size");
    return {};
  }
  ValueId place;
  Size cells = 1;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const Size size = (*sizes)[static_cast<std::size_t>(first) + i];
    ValueId list = counted_from_front(call, lists[i], x, first + static_cast<Size>(i));
    if (place) {
      const ValueId steps = number_constant(call, "steps", static_cast<double>(size), DType::I64);
      list = call.add(Binary{BinaryFunction::Add}, {call.add(Binary{BinaryFunction::Multiply}, {place, steps}), list});
    }
    place = list;
    cells *= size;
  }
  if (call.dim(place, 0) != Dim(entries)) place = call.add(Tile{0, entries}, {place});
  Sizes flat(sizes->begin(), sizes->begin() + first);
  flat.push_back(cells);
  flat.insert(flat.end(), sizes->begin() + first + static_cast<Size>(lists.size()), sizes->end());
  if (call.failed()) return {};
  const ValueId put = put_by_list(call, call.add(Reshape{flat}, {x}), first, place, values, adds);
  return {call.add(Reshape{*sizes}, {put})};
}

// x[mask] = number, x[:, list] = values, x[list, list] = values
Results index_put(FunctionCall& call) {
  const ValueId x = call.tensor("input"), values = call.tensor("values");
  const bool adds = truth_or_default(call, "accumulate");
  std::vector<ValueId> indices, places;
  Size axis = 0;
  for (Size at = 0; at < call.rank(x); ++at) {
    places.push_back(call.optional("indices." + std::to_string(at)));
    if (!places.back()) continue;
    indices.push_back(places.back());
    axis = at;
  }
  if (call.failed()) return {};
  const bool lists = !indices.empty() && std::ranges::all_of(indices, [&](ValueId given) {
    return !is_mask(call, given) && call.rank(given) == 1;
  });
  if (lists && indices.size() == 1) return {put_by_list(call, x, axis, indices[0], values, adds)};
  const Size first = axis + 1 - static_cast<Size>(indices.size());
  bool are_neighbours = true;
  for (Size at = first; at <= axis; ++at) are_neighbours = are_neighbours && places[static_cast<std::size_t>(at)];
  if (lists && are_neighbours) return put_by_lists(call, x, first, std::move(indices), values, adds);
  const bool masks = indices.size() == 1 && is_mask(call, indices[0]) && !adds;
  const auto one = sizes_of(call.shape(values));
  if (!masks || !one || checked_count(*one) != Size{1}) {
    call.refuse(Fault::Unsupported,
                "writes other than one number where a mask of truths says, or by lists of neighbouring axes");
    return {};
  }
  ValueId mask = indices[0], number = values;
  for (Size i = 0; i < call.rank(mask); ++i)
    if (const Dim own = call.dim(mask, i), of_x = call.dim(x, axis + i); own.known() && of_x.known() && own != of_x)
      call.refuse(Fault::Format, "writes by a mask of " + text_of(call.shape(mask)) + " from axis " +
                                     std::to_string(axis) + " of " + text_of(call.shape(x)) + " on");
  if (call.failed()) return {};
  if (call.type(mask).dtype != DType::Bool) mask = call.add(Cast{DType::Bool}, {mask});
  Sizes behind, all;  // axes of x behind those that the mask lies along
  for (Size i = axis + call.rank(mask); i < call.rank(x); ++i) behind.push_back(i - axis);
  if (!behind.empty()) mask = call.add(Unsqueeze{behind}, {mask});
  for (Size i = 0; i < call.rank(number); ++i) all.push_back(i);
  if (!all.empty()) number = call.add(Squeeze{all}, {number});
  if (call.type(number).dtype != call.type(x).dtype) number = call.add(Cast{call.type(x).dtype}, {number});
  return {call.add(Where{}, {mask, number, x})};
}

constexpr std::array rows_of_writes{
    CatalogueRow{"aten.copy", "input:T src:T non_blocking:b=False", copy},
    CatalogueRow{"aten.slice_scatter", "input:T src:T dim:i=0 start:i?=None end:i?=None step:i=1", slice_scatter},
    CatalogueRow{"aten.select_scatter", "input:T src:T dim:i index:i", select_scatter},
    CatalogueRow{"aten.zero", "input:T", zero},
    CatalogueRow{"aten.fill", "Tensor(input:T value:T) Scalar(input:T value:n)", fill},
    CatalogueRow{"torch.index_put", "input:T indices:L values:T accumulate:b=False", index_put},
};

}  // namespace

std::span<const CatalogueRow> write_operators() { return rows_of_writes; }

}  // namespace convoy::torch
