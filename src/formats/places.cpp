#include "formats/places.h"

#include "base/whole_tensor.h"
#include "formats/free_reshape.h"
#include "formats/put.h"
#include "ops/expect.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace convoy {
namespace {

// Numbers in a type, whole ones exactly.
Tensor numbers_of(DType dtype, Sizes shape, Size count, double number) {
  const auto all = static_cast<std::size_t>(count);
  if (is_floating(dtype)) return Tensor::of(std::move(shape), std::vector<double>(all, number)).converted(dtype);
  return whole_tensor(dtype, std::move(shape), std::vector<std::int64_t>(all, static_cast<std::int64_t>(number)));
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

// The indices, which must be known. Null, with a refusal: they are not.
const Tensor* known_indices(FunctionCall& call, ValueId indices) {
  const Tensor* known = call.constant(indices);
  if (!known && !call.failed())
    call.refuse(Fault::Unsupported, "its indices are known only when the model runs; they must be known beforehand");
  return known;
}

// The places that computed rows name, counted cell by cell.
ValueId counted(FunctionCall& call, ValueId indices, const Sizes& sizes, Size leading, Negative negative) {
  if (call.failed()) return {};
  const Size last = call.rank(indices) - 1;
  if (call.type(indices).dtype != DType::I64) indices = call.add(Cast{DType::I64}, {indices});
  const auto whole = [&](Size n) { return call.make_constant("size", whole_tensor(DType::I64, {}, {n})); };
  ValueId places{};
  Size step = 1;
  for (auto i = static_cast<Size>(sizes.size()) - 1; i >= 0; --i) {
    ValueId part{};
    if (i >= leading) {
      const Size at = i - leading;
      part = call.add(Squeeze{{last}}, {call.add(Slice{last, at, at + 1, 1}, {indices})});
      if (negative == Negative::Counts) {
        const ValueId below = call.add(Binary{BinaryFunction::Less}, {part, whole(0)});
        const ValueId from_end =
            call.add(Binary{BinaryFunction::Add}, {part, whole(sizes[static_cast<std::size_t>(i)])});
        part = call.add(Where{}, {below, from_end, part});
      }
      if (step != 1) part = call.add(Binary{BinaryFunction::Multiply}, {part, whole(step)});
    } else {
      Sizes shape(static_cast<std::size_t>(last), 1);
      shape[static_cast<std::size_t>(i)] = sizes[static_cast<std::size_t>(i)];
      std::vector<std::int64_t> own;
      for (Size n = 0; n < sizes[static_cast<std::size_t>(i)]; ++n) own.push_back(n * step);
      part = call.make_constant("places", Tensor::of(std::move(shape), std::move(own)));
    }
    places = places ? call.add(Binary{BinaryFunction::Add}, {places, part}) : part;
    step *= sizes[static_cast<std::size_t>(i)];
  }
  return places;
}

// Truths of a matrix: where its main diagonal is.
ValueId main_diagonal(FunctionCall& call, Dim rows, Dim columns) {
  if (!rows.known() || !columns.known() || *rows > most_places / std::max<Size>(*columns, 1))
    call.refuse(Fault::Unsupported, "diagonals of matrices whose sizes are free or very large");
  if (call.failed()) return {};
  std::vector<std::int64_t> truths;
  for (Size i = 0; i < *rows; ++i)
    for (Size j = 0; j < *columns; ++j) truths.push_back(i == j);
  return call.make_constant("diagonal", whole_tensor(DType::Bool, {*rows, *columns}, std::move(truths)));
}

}  // namespace

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

Sizes places_of(FunctionCall& call, const Tensor& indices, const Sizes& sizes, Size leading, Negative negative) {
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
      if (index < (negative == Negative::Counts ? -size : 0) || index >= size) {
        call.refuse(Fault::Format,
                    "its indices hold " + std::to_string(index) + " for an axis of size " + std::to_string(size));
        return {};
      }
      if (index < 0) index += size;
      place = place * size + index;
    }
    places.push_back(place);
  }
  return places;
}

std::optional<Size> count_of_cells(FunctionCall& call, const Sizes& sizes) {
  const auto count = checked_count(sizes);
  if (count && *count <= most_places) return *count;
  call.refuse(Fault::Limit, "places among " + text_of(sizes) + " cells");
  return std::nullopt;
}

ValueId gathered(FunctionCall& call, ValueId x, ValueId at, Size leading, Negative negative) {
  if (call.failed()) return {};
  const Shape rows = call.shape(at);
  const Dim last = rows.empty() ? Dim(0) : rows.back();
  const Size depth = last.size().value_or(0), axes = leading + depth;
  if (!last.known()) call.refuse(Fault::Unsupported, "indices of shape " + text_of(rows) + " need their last size");
  else if (depth < 1 || leading < 0 || axes > call.rank(x) || leading >= static_cast<Size>(rows.size()))
    call.refuse(Fault::Format,
                "indices of shape " + text_of(rows) + " do not fit data of shape " + text_of(call.shape(x)));
  if (call.failed()) return {};
  const bool by_rows = axes == 1 && !call.constant(at);
  const auto sizes = by_rows ? std::optional(Sizes{1}) : first_sizes(call, x, axes);
  if (!sizes) return {};
  for (Size i = 0; i < leading; ++i)
    if (rows[static_cast<std::size_t>(i)] != Dim((*sizes)[static_cast<std::size_t>(i)]))
      call.refuse(Fault::Format, "'batch_dims' counts axes of different sizes");
  const auto cells = count_of_cells(call, *sizes);
  if (!cells || call.failed()) return {};
  if (by_rows) return call.add(Gather{0}, {x, call.add(Squeeze{{call.rank(at) - 1}}, {at})});
  const Tensor* known = call.constant(at);
  if (!known) {
    const ValueId places = counted(call, at, *sizes, leading, negative);
    return call.add(Gather{0}, {call.add(Reshape{with_rest(call, {*cells}, x, axes)}, {x}), places});
  }
  const Tensor indices = *known;  // values move when the graph grows
  const Sizes places = places_of(call, indices, *sizes, leading, negative);
  const ValueId flat = axes == 1 ? x : call.add(Reshape{with_rest(call, {*cells}, x, axes)}, {x});
  const ValueId taken = call.add(Take{0, places}, {flat});
  Sizes front = indices.shape();
  front.pop_back();
  if (front.size() == 1) return taken;
  return call.add(Reshape{with_rest(call, std::move(front), x, axes)}, {taken});
}

namespace {

// The same places for all that stand along another axis of x.
ValueId repeated_along(FunctionCall& call, ValueId places, ValueId x, Size axis) {
  const Dim size = call.dim(x, axis);
  if (!size.known())
    call.refuse(Fault::Unsupported, "takes places of each example (batch_dims) of " + text_of(call.shape(x)) +
                                        ", which needs the sizes behind the examples");
  if (call.failed()) return {};
  places = call.add(Unsqueeze{{axis}}, {places});
  return *size == 1 ? places : call.add(Tile{axis, *size}, {places});
}

}  // namespace

ValueId gathered_by_example(FunctionCall& call, ValueId x, ValueId indices, Size batches, Size axis) {
  if (call.failed()) return {};
  const Size rank = call.rank(indices), rows = rank - batches, last = call.rank(x) - 1;
  if (batches < 0 || rows < 0 || axis < batches || axis > last) {
    call.refuse(Fault::Format, "'batch_dims' is " + std::to_string(batches) + " and 'axis' " + std::to_string(axis) +
                                   " for shapes " + text_of(call.shape(x)) + " and " + text_of(call.shape(indices)));
    return {};
  }
  const bool elements = rows == 1 && batches == last;
  if (batches == axis && !elements && (rows > 1 || sizes_of(call.shape(x))))
    return gathered(call, x, call.add(Unsqueeze{{rank}}, {indices}), axis, Negative::Fails);
  if (rows > 1)
    call.refuse(Fault::Unsupported,
                "takes several axes of places of each example (batch_dims) along an axis further behind");
  ValueId places = rows == 0 ? call.add(Unsqueeze{{batches}}, {indices}) : indices;
  for (Size i = batches; i <= last; ++i)
    if (i != axis) places = repeated_along(call, places, x, i);
  const ValueId taken = call.add(GatherElements{axis}, {x, places});
  return rows == 0 ? call.add(Squeeze{{axis}}, {taken}) : taken;
}

BinaryFunction function_of_reduction(const std::string& reduction) {
  return reduction == "add"   ? BinaryFunction::Add
         : reduction == "mul" ? BinaryFunction::Multiply
         : reduction == "max" ? BinaryFunction::Maximum
                              : BinaryFunction::Minimum;
}

namespace {

// What a sum, a product or an extreme begins with.
std::optional<double> neutral(const std::string& reduction) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (reduction == "add") return 0;
  if (reduction == "mul") return 1;
  if (reduction == "max") return -infinite;
  if (reduction == "min") return infinite;
  return std::nullopt;
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

}  // namespace

ValueId scattered_flat(FunctionCall& call, ValueId data, ValueId updates, const Sizes& places, Size cells,
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
  if (!is_floating(dtype) && reduction != "add") {
    call.refuse(Fault::Unsupported, "several whole numbers for one place meet by '" + reduction + "'");
    return {};
  }
  const Tensor numbers = numbers_of(dtype, row, *count, *neutral(reduction));
  const ValueId with_neutral = call.add(Concat{0}, {call.make_constant("neutral", numbers), updates});
  for (const Sizes& round : rounds) {
    Take take{0, round};
    for (Size& from : take.indices) ++from;
    data = call.add(Binary{function_of_reduction(reduction)}, {data, call.add(take, {with_neutral})});
  }
  return data;
}

ValueId scattered(FunctionCall& call, ValueId data, ValueId at, ValueId updates, const std::string& reduction,
                  Negative negative) {
  if (call.failed()) return {};
  const Tensor* known = call.constant(at);
  const Size reached = call.rank(at) > 0 ? call.dim(at, call.rank(at) - 1).size().value_or(0) : 0;
  bool is_free = !known;
  for (Size i = 0; i < std::min(reached, call.rank(data)); ++i) is_free = is_free || !call.dim(data, i).known();
  if (is_free) {
    const auto function = reduction == "none" ? std::nullopt : std::optional(function_of_reduction(reduction));
    return put_rows(call, data, at, updates, function, negative == Negative::Counts);
  }
  const Tensor indices = *known;
  const Size depth = reached;
  if (depth < 1 || depth > call.rank(data)) {
    call.refuse(Fault::Format, "indices of shape " + text_of(indices.shape()) + " do not fit data of shape " +
                                   text_of(call.shape(data)));
    return {};
  }
  const auto sizes = first_sizes(call, data, depth);
  const auto cells = sizes ? count_of_cells(call, *sizes) : std::nullopt;
  if (!cells) return {};
  const Sizes places = places_of(call, indices, *sizes, 0, negative), whole = with_rest(call, *sizes, data, depth);
  if (call.failed()) return {};
  const Sizes flat = with_rest(call, {*cells}, data, depth);
  const ValueId in = depth == 1 ? data : call.add(Reshape{flat}, {data});
  const ValueId put = call.add(Reshape{with_rest(call, {static_cast<Size>(places.size())}, data, depth)}, {updates});
  const ValueId out = scattered_flat(call, in, put, places, *cells, reduction);
  if (out == data) return call.add(Identity{}, {data});
  return depth == 1 ? out : call.add(Reshape{whole}, {out});
}

ValueId scattered_in_zeros(FunctionCall& call, ValueId indices, ValueId updates, const Sizes& shape) {
  if (call.failed()) return {};
  const auto count = count_of_cells(call, shape);
  if (!count) return {};
  const ValueId zeros = call.make_constant("zeros", numbers_of(call.type(updates).dtype, shape, *count, 0));
  return scattered(call, zeros, indices, updates, "add", Negative::Fails);
}

ValueId summed_by_segments(FunctionCall& call, ValueId x, ValueId at, std::optional<Size> count) {
  const Tensor* known = call.failed() ? nullptr : known_indices(call, at);
  if (!known || call.failed()) return {};
  const Sizes ids = known->integers();
  const Size all = count ? *count : ids.empty() ? 0 : std::max<Size>(*std::ranges::max_element(ids) + 1, 0);
  const auto rest = known->rank() == 1 ? first_sizes(call, x, call.rank(x)) : std::nullopt;
  if (!rest || rest->empty() || static_cast<Size>(ids.size()) != rest->front())
    call.refuse(Fault::Unsupported, "sums of " + text_of(call.shape(x)) + " by " + std::to_string(ids.size()) +
                                        " numbers; one for each row is carried");
  if (call.failed()) return {};
  Take rows{0, {}};
  Sizes places, shape = *rest;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 && count) continue;
    if (ids[i] < 0 || ids[i] >= all) {
      call.refuse(Fault::Format, "its numbers hold " + std::to_string(ids[i]) + " of " + std::to_string(all));
      return {};
    }
    rows.indices.push_back(static_cast<Size>(i));
    places.push_back(ids[i]);
  }
  shape.front() = all;
  const auto cells = count_of_cells(call, shape);
  if (!cells) return {};
  if (rows.indices.size() != ids.size()) x = call.add(rows, {x});
  const ValueId zeros = call.make_constant("zeros", numbers_of(call.type(x).dtype, shape, *cells, 0));
  const ValueId sums = scattered_flat(call, zeros, x, places, all, "add");
  return sums == zeros ? call.add(Identity{}, {zeros}) : sums;
}

ValueId one_hot_of(FunctionCall& call, ValueId indices, Size depth, Size axis, ValueId on, ValueId off) {
  constexpr Size most = 1 << 20;
  const Size rank = call.failed() ? 1 : call.rank(indices) + 1, place = positive_axis(axis, rank);
  if (!call.failed() && (depth < 1 || depth > most || place < 0 || place >= rank))
    call.refuse(Fault::Format, "'depth' is " + std::to_string(depth) + " along axis " + std::to_string(axis) + " of " +
                                   std::to_string(rank));
  if (call.failed()) return {};
  std::vector<std::int64_t> places(static_cast<std::size_t>(depth));
  std::iota(places.begin(), places.end(), 0);
  Sizes shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(place)] = depth;
  const DType own = call.type(indices).dtype;  // bytes may be too narrow for the depth
  if (own != DType::I32 && own != DType::I64) indices = call.add(Cast{DType::I64}, {indices});
  const ValueId all =
      call.make_constant("places", whole_tensor(own == DType::I32 ? own : DType::I64, shape, std::move(places)));
  indices = call.add(Unsqueeze{{place}}, {indices});
  return call.add(Where{}, {call.add(Binary{BinaryFunction::Equal}, {indices, all}), on, off});
}

namespace {

// Where each cell along `time` is taken from, for lengths that the model computes.
ValueId by_computed_lengths(FunctionCall& call, ValueId x, ValueId lengths, Size time, Size batch) {
  const Dim steps = call.dim(x, time);
  if (call.failed()) return {};
  const Size rank = call.rank(x);
  if (call.type(lengths).dtype != DType::I64) lengths = call.add(Cast{DType::I64}, {lengths});
  Sizes along(static_cast<std::size_t>(rank), 1), gone;
  for (Size i = 0; i < rank; ++i)
    if (i != batch) gone.push_back(i);
  lengths = call.add(Unsqueeze{gone}, {lengths});
  ValueId own, turned;
  if (steps.known()) {
    along[static_cast<std::size_t>(time)] = *steps;
    std::vector<std::int64_t> all(static_cast<std::size_t>(*steps));
    std::iota(all.begin(), all.end(), 0);
    own = call.make_constant("steps", Tensor::of(along, all));
    for (std::int64_t& n : all) n = -1 - n;
    turned = call.make_constant("turned", Tensor::of(along, std::move(all)));
  } else {
    Sizes others;
    for (Size i = 0; i < rank; ++i)
      if (i != time) others.push_back(i);
    own = call.add(Unsqueeze{others}, {counted_along(call, x, time)});
    turned = call.add(Binary{BinaryFunction::Subtract},
                      {call.make_constant("last", whole_tensor(DType::I64, {}, {-1})), own});
  }
  const ValueId mirrored = call.add(Binary{BinaryFunction::Add}, {lengths, turned});
  const ValueId within = call.add(Binary{BinaryFunction::Less}, {own, lengths});
  ValueId places = call.add(Where{}, {within, mirrored, own});
  const ValueId zero =
      call.make_constant("zero", whole_tensor(DType::I64, Sizes(static_cast<std::size_t>(rank), 1), {0}));
  places = call.add(Binary{BinaryFunction::Add}, {places, call.filled_like(zero, x)});
  return call.add(GatherElements{time}, {x, places});
}

}  // namespace

ValueId reversed_sequences(FunctionCall& call, ValueId x, ValueId at, Size time, Size batch) {
  if (call.failed()) return {};
  const Size rank = call.rank(x);
  if (batch == time || batch < 0 || time < 0 || batch >= rank || time >= rank || call.rank(at) != 1)
    call.refuse(Fault::Format, "sequences along axis " + std::to_string(time) + " of examples along axis " +
                                   std::to_string(batch) + " of shape " + text_of(call.shape(x)));
  if (call.failed()) return {};
  const Tensor* known = call.constant(at);
  const Dim steps = call.dim(x, time);
  if (!known || !steps.known()) return by_computed_lengths(call, x, at, time, batch);
  const Sizes lengths = known->integers();
  if (std::ranges::all_of(lengths, [&](Size n) { return n == *steps; })) return call.add(Slice{time, {}, {}, -1}, {x});
  const auto count = static_cast<Size>(lengths.size());
  if (*steps < 1 || count > most_places / *steps)
    call.refuse(Fault::Limit, "takes " + std::to_string(count) + " sequences of " + std::to_string(*steps) + " steps");
  if (call.dim(x, batch).known() && call.dim(x, batch) != Dim(count))
    call.refuse(Fault::Format, "lengths of " + std::to_string(count) + " examples for shape " + text_of(call.shape(x)));
  // Examples, steps, the rest.
  Sizes order{batch, time}, back(static_cast<std::size_t>(rank));
  for (Size i = 0; i < rank; ++i)
    if (i != batch && i != time) order.push_back(i);
  Sizes whole{count, steps.size().value_or(1)}, flat{count * steps.size().value_or(1)};
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<Size>(i);
    if (i < 2) continue;
    const Dim size = call.dim(x, order[i]);
    if (!size.known()) call.refuse(Fault::Unsupported, "sizes of " + text_of(call.shape(x)) + " are unknown");
    whole.push_back(size.size().value_or(-1));
    flat.push_back(whole.back());
  }
  Take take{0, {}};
  for (Size n = 0; n < count && !call.failed(); ++n) {
    const Size length = lengths[static_cast<std::size_t>(n)];
    if (length < 0 || length > *steps) call.refuse(Fault::Format, "a sequence of " + std::to_string(length) + " steps");
    for (Size t = 0; t < *steps; ++t) take.indices.push_back(n * *steps + (t < length ? length - 1 - t : t));
  }
  if (call.failed()) return {};
  const bool turns = !std::ranges::is_sorted(order);
  if (turns) x = call.add(Transpose{order}, {x});
  const ValueId y = call.add(Reshape{whole}, {call.add(take, {call.add(Reshape{flat}, {x})})});
  return turns ? call.add(Transpose{back}, {y}) : y;
}

ValueId diagonal_matrices(FunctionCall& call, ValueId x) {
  if (!call.failed() && call.rank(x) < 1) call.refuse(Fault::Format, "takes vectors, and is given one number");
  if (call.failed()) return {};
  const Size rank = call.rank(x);
  const ValueId at = main_diagonal(call, call.dim(x, rank - 1), call.dim(x, rank - 1));
  const ValueId zero = call.make_constant("zero", numbers_of(call.type(x).dtype, {}, 1, 0));
  return call.add(Where{}, {at, call.add(Unsqueeze{{rank - 1}}, {x}), zero});
}

ValueId with_diagonal(FunctionCall& call, ValueId x, ValueId diagonal) {
  const Size rank = call.failed() ? 0 : call.rank(x);
  if (!call.failed() && (rank < 2 || call.rank(diagonal) != rank - 1))
    call.refuse(Fault::Format, "a diagonal of shape " + text_of(call.shape(diagonal)) + " for matrices of shape " +
                                   text_of(call.shape(x)));
  if (call.failed()) return {};
  const Dim rows = call.dim(x, rank - 2), columns = call.dim(x, rank - 1);
  const ValueId at = main_diagonal(call, rows, columns);
  if (call.failed()) return {};
  const bool is_wide = *rows < *columns;
  return call.add(Where{}, {at, call.add(Unsqueeze{{is_wide ? rank - 1 : rank - 2}}, {diagonal}), x});
}

ValueId diagonal_of(FunctionCall& call, ValueId x) {
  const Size rank = call.failed() ? 0 : call.rank(x);
  const Dim rows = rank < 2 ? Dim::unknown() : call.dim(x, rank - 2),
            columns = rank < 2 ? Dim::unknown() : call.dim(x, rank - 1);
  if (!call.failed() && (!rows.known() || !columns.known()))
    call.refuse(Fault::Unsupported, "diagonals of shape " + text_of(call.shape(x)));
  if (call.failed()) return {};
  Sizes joined(static_cast<std::size_t>(rank - 2), 0);
  joined.push_back(*rows * *columns);
  Take take{rank - 2, {}};
  for (Size i = 0; i < std::min(*rows, *columns); ++i) take.indices.push_back(i * (*columns + 1));
  return call.add(take, {call.add(Reshape{joined}, {x})});
}

}  // namespace convoy
