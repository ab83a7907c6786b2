// Places that hold an index for several axes at once: GatherND, ScatterND; and ScatterElements. The axes become one, whose places
// are then taken or replaced.
#include "formats/onnx/arguments.h"
#include "formats/places.h"
#include "formats/put.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

std::vector<ValueId> gather_nd(FunctionCall& call) {
  const ValueId x = call.tensor("data"), at = call.tensor("indices");
  return {gathered(call, x, at, call.attrs.integer("batch_dims", 0), Negative::Counts)};
}

std::string reduction_of(FunctionCall& call) {
  const std::string reduction = call.attrs.word("reduction", "none");
  if (reduction != "none" && reduction != "add" && reduction != "mul" && reduction != "max" && reduction != "min")
    call.refuse(Fault::Format, "attribute 'reduction' is '" + reduction + "'");
  return reduction;
}

std::vector<ValueId> scatter_nd(FunctionCall& call) {
  const ValueId data = call.tensor("data"), at = call.tensor("indices");
  const ValueId updates = call.tensor("updates");
  return {scattered(call, data, at, updates, reduction_of(call), Negative::Counts)};
}

// Along one axis, at places that are computed.
ValueId put_along(FunctionCall& call, ValueId data, ValueId indices, ValueId updates, Size axis,
                  const std::string& reduction) {
  if (call.failed()) return {};
  const ValueId index = counted_from_front(call, indices, data, axis);
  const PutCells put = put_cells(call, data, index, updates, axis);
  if (reduction == "none") return replaced_cells(call, put);
  return folded_cells(call, put, function_of_reduction(reduction), true);
}

// y = data, but y[indices[i, j], j] = updates[i, j] (axis 0).
std::vector<ValueId> scatter_elements(FunctionCall& call) {
  const ValueId data = call.tensor("data"), at = call.tensor("indices");
  const ValueId updates = call.tensor("updates");
  const std::string reduction = reduction_of(call);
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", 0), std::max<Size>(call.rank(data), 1));
  const Tensor* known = call.constant(at);
  if (call.failed()) return {};
  bool fits = call.rank(at) == call.rank(updates);
  for (Size i = 0; i < call.rank(at) && fits; ++i) fits = agreed(call.dim(at, i), call.dim(updates, i)).has_value();
  if (!fits)
    call.refuse(Fault::Format, "updates of shape " + text_of(call.shape(updates)) + " for indices of shape " +
                                   text_of(call.shape(at)));
  if (!known || !sizes_of(call.shape(data))) return {put_along(call, data, at, updates, axis, reduction)};
  const auto sizes = first_sizes(call, data, call.rank(data));
  const auto cells = sizes ? count_of_cells(call, *sizes) : std::nullopt;
  if (!cells) return {};
  const Sizes shape = known->shape();
  if (shape.size() != sizes->size()) {
    call.refuse(Fault::Format, "indices of shape " + text_of(shape) + " do not fit data of shape " + text_of(*sizes));
    return {};
  }
  // Each entry's own place, with the index on the axis.
  auto numbers = known->integers();
  std::vector<std::int64_t> rows;
  Sizes place(shape.size(), 0);
  for (const std::int64_t index : numbers) {
    for (std::size_t i = 0; i < place.size(); ++i) rows.push_back(static_cast<Size>(i) == axis ? index : place[i]);
    for (std::size_t i = place.size(); i-- > 0 && ++place[i] == shape[i];) place[i] = 0;
  }
  const Size count = static_cast<Size>(numbers.size()), rank = static_cast<Size>(shape.size());
  const Sizes places = places_of(call, Tensor::of({count, rank}, std::move(rows)), *sizes, 0, Negative::Counts);
  if (call.failed()) return {};
  const ValueId flat = call.add(Reshape{{*cells}}, {data}), put = call.add(Reshape{{count}}, {updates});
  return {call.add(Reshape{*sizes}, {scattered_flat(call, flat, put, places, *cells, reduction)})};
}

// clang-format off
constexpr std::array scatter_table{
    Operator{"GatherND", {11}, "data indices", "batch_dims:i@12", gather_nd},
    Operator{"ScatterND", {11}, "data indices updates", "reduction:s@16", scatter_nd},
    Operator{"ScatterElements", {11}, "data indices updates", "axis:i reduction:s@16", scatter_elements},
    Operator{"Scatter", {9, 10}, "data indices updates", "axis:i", scatter_elements}};
// clang-format on

}  // namespace

std::span<const Operator> scatter_operators() { return scatter_table; }

}  // namespace convoy::onnx
