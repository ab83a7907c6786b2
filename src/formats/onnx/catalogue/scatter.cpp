// Places that hold an index for several axes at once, known beforehand: GatherND, ScatterND, ScatterElements. The axes become
// one, whose places are then taken or replaced.
#include "formats/onnx/arguments.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <limits>

namespace convoy::onnx {
namespace {

constexpr Size most_places = Size{1} << 22;  // that tables of places may have, all rounds together

// Sizes of the first `count` axes. Nothing, with a refusal: one of them is unknown, or there are too few.
std::optional<Sizes> first_sizes(FunctionCall& call, ValueId x, Size count) {
  Sizes sizes;
  for (Size i = 0; i < count; ++i) {
    const Dim size = call.dim(x, i);
    if (!size.known()) {
      call.refuse(Fault::Unsupported,
                  "places along axis " + std::to_string(i) + " of shape " + text_of(call.shape(x)) + " need its size");
      return std::nullopt;
    }
    sizes.push_back(*size);
  }
  return sizes;
}

// `front`, then the axes of x from `from` on: at most one of those may be unknown.
Sizes with_rest(FunctionCall& call, Sizes front, ValueId x, Size from) {
  Size unknown = 0;
  for (Size i = from; i < call.rank(x); ++i) {
    const Dim size = call.dim(x, i);
    unknown += !size.known();
    front.push_back(size.known() ? *size : -1);
  }
  if (unknown > 1) call.refuse(Fault::Unsupported, "two sizes of shape " + text_of(call.shape(x)) + " are unknown");
  return front;
}

// The place of each row of indices among sizes[0] * sizes[1] * ... cells; `leading` whole axes in front of the indices are
// counted along. Refuses places outside.
Sizes places_of(FunctionCall& call, const Tensor& indices, const Sizes& sizes, Size leading) {
  const auto numbers = indices.integers();
  const std::size_t depth = sizes.size() - static_cast<std::size_t>(leading);
  Size batch = 1;
  for (Size i = 0; i < leading; ++i) batch *= sizes[static_cast<std::size_t>(i)];
  Sizes places;
  const std::size_t rows = depth == 0 ? 0 : numbers.size() / depth;
  for (std::size_t row = 0; row < rows; ++row) {
    Size place = batch > 1 ? static_cast<Size>(row) / (static_cast<Size>(rows) / batch) : 0;
    for (std::size_t i = 0; i < depth; ++i) {
      const Size size = sizes[static_cast<std::size_t>(leading) + i];
      Size index = numbers[row * depth + i];
      if (index < -size || index >= size) {
        call.refuse(Fault::Format,
                    "input 'indices' holds " + std::to_string(index) + " for an axis of size " + std::to_string(size));
        return {};
      }
      if (index < 0) index += size;
      place = place * size + index;
    }
    places.push_back(place);
  }
  return places;
}

// The indices, which must be known. Null, with a refusal: they are not.
const Tensor* known_indices(FunctionCall& call, ValueId indices) {
  const Tensor* known = call.constant(indices);
  if (!known && !call.failed())
    call.refuse(Fault::Unsupported, "input 'indices' is known only when the model runs; it must be known beforehand");
  return known;
}

std::optional<Size> product(FunctionCall& call, const Sizes& sizes) {
  const auto count = checked_count(sizes);
  if (count && *count <= most_places) return *count;
  call.refuse(Fault::Limit, "places among " + text_of(sizes) + " cells");
  return std::nullopt;
}

std::vector<ValueId> gather_nd(FunctionCall& call) {
  const ValueId x = call.tensor("data"), at = call.tensor("indices");
  const Size leading = call.attrs.integer("batch_dims", 0);
  const Tensor* known = known_indices(call, at);
  if (!known || call.failed()) return {};
  const Tensor indices = *known;  // values move when the graph grows
  const Size depth = indices.rank() > 0 ? indices.shape().back() : 0, axes = leading + depth;
  if (depth < 1 || leading < 0 || axes > call.rank(x) || leading >= indices.rank()) {
    call.refuse(Fault::Format,
                "indices of shape " + text_of(indices.shape()) + " do not fit data of shape " + text_of(call.shape(x)));
    return {};
  }
  const auto sizes = first_sizes(call, x, axes);
  if (!sizes) return {};
  if (!std::equal(sizes->begin(), sizes->begin() + leading, indices.shape().begin()))
    call.refuse(Fault::Format, "'batch_dims' counts axes of different sizes");
  const auto cells = product(call, *sizes);
  if (!cells || call.failed()) return {};
  const Sizes places = places_of(call, indices, *sizes, leading);
  const ValueId flat = axes == 1 ? x : call.add(Reshape{with_rest(call, {*cells}, x, axes)}, {x});
  const ValueId taken = call.add(Take{0, places}, {flat});
  Sizes front = indices.shape();
  front.pop_back();
  if (front.size() == 1) return {taken};
  return {call.add(Reshape{with_rest(call, std::move(front), x, axes)}, {taken})};
}

// What a sum, a product or an extreme begins with.
std::optional<double> neutral(const std::string& reduction) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (reduction == "add") return 0;
  if (reduction == "mul") return 1;
  if (reduction == "max") return -infinite;
  if (reduction == "min") return infinite;
  return std::nullopt;
}

BinaryFunction function_of(const std::string& reduction) {
  return reduction == "add"   ? BinaryFunction::Add
         : reduction == "mul" ? BinaryFunction::Multiply
         : reduction == "max" ? BinaryFunction::Maximum
                              : BinaryFunction::Minimum;
}

// Which of `updates` goes to each of `cells`, in rounds: the first round has the first one for each, and so on.
std::vector<Sizes> rounds_of(const Sizes& places, Size cells, bool keeps_last) {
  std::vector<Sizes> rounds;
  Sizes count(static_cast<std::size_t>(cells), 0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    Size& round = count[static_cast<std::size_t>(places[i])];
    const auto at = keeps_last ? std::size_t{0} : static_cast<std::size_t>(round++);
    if (at >= rounds.size()) {
      rounds.emplace_back(static_cast<std::size_t>(cells), -1);
      if (static_cast<Size>(rounds.size()) * cells > most_places) break;
    }
    rounds[at][static_cast<std::size_t>(places[i])] = static_cast<Size>(i);
  }
  return rounds;
}

// data [cells, rest...] with updates [places, rest...] put in, the last of several for one place, or reduced into it.
ValueId scattered(FunctionCall& call, ValueId data, ValueId updates, const Sizes& places, Size cells,
                  const std::string& reduction) {
  const auto rounds = rounds_of(places, cells, reduction == "none");
  if (rounds.size() > 1 && static_cast<Size>(rounds.size()) * cells > most_places) {
    call.refuse(Fault::Limit, "updates of one place, again and again, among " + std::to_string(cells));
    return {};
  }
  if (reduction == "none") {
    if (rounds.empty()) return data;
    Take take{0, rounds.front()};
    for (Size i = 0; i < cells; ++i) {
      Size& from = take.indices[static_cast<std::size_t>(i)];
      from = from < 0 ? i : cells + from;
    }
    return call.add(take, {call.add(Concat{0}, {data, updates})});
  }
  Sizes row = with_rest(call, {1}, data, 1);
  if (!call.failed() && std::ranges::find(row, -1) != row.end())
    call.refuse(Fault::Unsupported, "'reduction' needs all sizes of shape " + text_of(call.shape(data)));
  const auto count = checked_count(row);
  if (!call.failed() && (!count || *count > most_places))
    call.refuse(Fault::Limit, "'reduction' over rows of " + text_of(row) + " cells");
  if (call.failed()) return {};
  const DType dtype = call.type(data).dtype;
  const Tensor numbers =
      Tensor::of(row, std::vector<double>(static_cast<std::size_t>(*count), *neutral(reduction))).converted(dtype);
  const ValueId with_neutral = call.add(Concat{0}, {call.make_constant("neutral", numbers), updates});
  for (const Sizes& round : rounds) {
    Take take{0, round};
    for (Size& from : take.indices) ++from;
    data = call.add(Binary{function_of(reduction)}, {data, call.add(take, {with_neutral})});
  }
  return data;
}

std::string reduction_of(FunctionCall& call) {
  const std::string reduction = call.attrs.word("reduction", "none");
  if (reduction != "none" && !neutral(reduction))
    call.refuse(Fault::Format, "attribute 'reduction' is '" + reduction + "'");
  if (const DType dtype = call.type(call.tensor("data")).dtype; reduction != "none" && !is_floating(dtype))
    call.refuse(Fault::Unsupported, "attribute 'reduction' is '" + reduction + "' on whole numbers");
  return reduction;
}

std::vector<ValueId> scatter_nd(FunctionCall& call) {
  const ValueId data = call.tensor("data"), at = call.tensor("indices");
  const ValueId updates = call.tensor("updates");
  const std::string reduction = reduction_of(call);
  const Tensor* known = known_indices(call, at);
  if (!known || call.failed()) return {};
  const Tensor indices = *known;
  const Size depth = indices.rank() > 0 ? indices.shape().back() : 0;
  if (depth < 1 || depth > call.rank(data)) {
    call.refuse(Fault::Format, "indices of shape " + text_of(indices.shape()) + " do not fit data of shape " +
                                   text_of(call.shape(data)));
    return {};
  }
  const auto sizes = first_sizes(call, data, depth);
  const auto cells = sizes ? product(call, *sizes) : std::nullopt;
  if (!cells) return {};
  const Sizes places = places_of(call, indices, *sizes, 0), whole = with_rest(call, *sizes, data, depth);
  if (call.failed()) return {};
  const Sizes flat = with_rest(call, {*cells}, data, depth);
  const ValueId in = depth == 1 ? data : call.add(Reshape{flat}, {data});
  const ValueId put = call.add(Reshape{with_rest(call, {static_cast<Size>(places.size())}, data, depth)}, {updates});
  const ValueId out = scattered(call, in, put, places, *cells, reduction);
  if (out == data) return {call.add(Identity{}, {data})};
  return {depth == 1 ? out : call.add(Reshape{whole}, {out})};
}

// y = data, but y[indices[i, j], j] = updates[i, j] (axis 0).
std::vector<ValueId> scatter_elements(FunctionCall& call) {
  const ValueId data = call.tensor("data"), at = call.tensor("indices");
  const ValueId updates = call.tensor("updates");
  const std::string reduction = reduction_of(call);
  const Size axis = axis_of(call, "axis", call.attrs.integer("axis", 0), std::max<Size>(call.rank(data), 1));
  const Tensor* known = known_indices(call, at);
  if (!known || call.failed()) return {};
  const auto sizes = first_sizes(call, data, call.rank(data));
  const auto cells = sizes ? product(call, *sizes) : std::nullopt;
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
  const Sizes places = places_of(call, Tensor::of({count, rank}, std::move(rows)), *sizes, 0);
  if (call.failed()) return {};
  const ValueId flat = call.add(Reshape{{*cells}}, {data}), put = call.add(Reshape{{count}}, {updates});
  return {call.add(Reshape{*sizes}, {scattered(call, flat, put, places, *cells, reduction)})};
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
