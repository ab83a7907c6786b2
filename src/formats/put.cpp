#include "formats/put.h"

#include "base/whole_tensor.h"
#include "formats/free_reshape.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace convoy {
namespace {

constexpr Size most_pairs = Size{1} << 22;  // of an entry of the index and a cell of the result

ValueId number_of_type(FunctionCall& call, const char* word, double number, DType dtype) {
  if (is_floating(dtype)) return call.make_constant(word, Tensor::of({}, std::vector<double>{number}).converted(dtype));
  return call.make_constant(word, whole_tensor(dtype, {}, {static_cast<std::int64_t>(number)}));
}

ValueId with_axis_last(FunctionCall& call, ValueId x, Size axis) {
  const Size rank = call.rank(x);
  if (axis == rank - 1 || rank == 0 || call.failed()) return x;
  Sizes order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), Size{0});
  order.erase(order.begin() + axis);
  order.push_back(axis);
  return call.add(Transpose{order}, {x});
}

ValueId with_axis_back(FunctionCall& call, ValueId x, Size axis) {
  const Size rank = call.rank(x);
  if (axis == rank - 1 || rank == 0 || call.failed()) return x;
  Sizes order(static_cast<std::size_t>(rank - 1));
  std::iota(order.begin(), order.end(), Size{0});
  order.insert(order.begin() + axis, rank - 1);
  return call.add(Transpose{order}, {x});
}

// The places along the last axis of x, [n]; with `rows` [n, 1].
ValueId places_along(FunctionCall& call, ValueId x, bool rows) {
  const Size last = call.failed() ? 0 : call.rank(x) - 1;
  const Dim size = call.dim(x, last);
  if (!size.known()) {
    const ValueId places = counted_along(call, x, last);
    return rows ? call.add(Unsqueeze{{1}}, {places}) : places;
  }
  const Size count = *size;
  Sizes shape = rows ? Sizes{count, 1} : Sizes{count};
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return call.make_constant("places", Tensor::of(std::move(shape), std::move(numbers)));
}

// x and more cells of one number behind it along an axis, `size` in all.
ValueId lengthened(FunctionCall& call, ValueId x, Size axis, Size size, double number) {
  if (call.failed()) return x;
  Sizes behind(call.shape(x).size(), 0);
  behind[static_cast<std::size_t>(axis)] = size - *call.dim(x, axis);
  Pad pad{.before = Sizes(behind.size(), 0), .after = behind};
  pad.value = number;
  return call.add(std::move(pad), {x});
}

// What lies behind as many cells as `like` has along an axis.
ValueId rest_behind(FunctionCall& call, ValueId x, ValueId like, Size axis) {
  const ValueId all = counted_along(call, x, axis), reached = counted_along(call, like, axis);
  return call.add(Gather{axis}, {x, call.add(SliceBehind{}, {all, reached})});
}

// The result with its axes in order, and with what the index does not reach.
ValueId completed(FunctionCall& call, const PutCells& put, ValueId cells) {
  ValueId whole = with_axis_back(call, cells, put.axis);
  for (std::size_t i = put.beyond.size(); i-- > 0;)
    whole = call.add(Concat{put.beyond[i].first}, {whole, put.beyond[i].second});
  return whole;
}

}  // namespace

ValueId cut_to(FunctionCall& call, ValueId x, ValueId like, Size axis) {
  if (call.failed()) return x;
  return call.add(Gather{axis}, {x, counted_along(call, like, axis)});
}

ValueId reached_by(FunctionCall& call, ValueId x, ValueId index, Size axis) {
  if (call.failed() || call.rank(x) != call.rank(index)) return x;
  for (Size i = 0; i < call.rank(x); ++i)
    if (i != axis && (!call.dim(x, i).known() || !call.dim(index, i).known()) && !call.is_as_long(x, i, index, i))
      x = cut_to(call, x, index, i);
  return x;
}

PutCells put_cells(FunctionCall& call, ValueId into, ValueId index, ValueId from, Size axis) {
  const Size rank = call.rank(into);
  const bool is_list = rank > 1 && call.rank(index) == 1;
  if (!call.failed() && rank == 0) call.refuse(Fault::Unsupported, "puts into a number without axes");
  if (!call.failed() && !is_list && call.rank(index) != rank)
    call.refuse(Fault::Format,
                "the index has " + std::to_string(call.rank(index)) + " axes, the tensor " + std::to_string(rank));
  if (call.failed()) return {};
  std::vector<std::pair<Size, ValueId>> beyond;
  for (Size i = 0; i < rank; ++i) {
    if (i == axis || is_list || call.is_as_long(index, i, into, i)) continue;
    const Dim has = call.dim(index, i), whole = call.dim(into, i);
    if (!has.known() || !whole.known()) {
      beyond.emplace_back(i, rest_behind(call, into, index, i));
      into = cut_to(call, into, index, i);
      continue;
    }
    if (*has > *whole)
      call.refuse(Fault::Format,
                  "the index has shape " + text_of(call.shape(index)) + ", the tensor " + text_of(call.shape(into)));
    if (call.failed()) return {};
    if (call.rank(from) == rank) {
      if (const Dim given = call.dim(from, i); !given.known() || *given < *has)
        call.refuse(Fault::Format, "a source of shape " + text_of(call.shape(from)) + " for an index of shape " +
                                       text_of(call.shape(index)));
      from = lengthened(call, call.add(Slice{.axis = i, .start = {}, .stop = *has}, {from}), i, *whole, 0);
    }
    index = lengthened(call, index, i, *whole, -1);
    if (call.failed()) return {};
  }
  PutCells put{.axis = axis,
               .entries = call.dim(index, is_list ? 0 : axis),
               .cells = call.dim(into, axis),
               .beyond = std::move(beyond)};
  if (put.entries.known() && put.cells.known() &&
      checked_multiply(*put.entries, *put.cells).value_or(most_pairs + 1) > most_pairs)
    call.refuse(Fault::Limit,
                "puts " + std::to_string(*put.entries) + " entries into " + std::to_string(*put.cells) + " cells");
  for (Size i = 0; i < call.rank(from) && !call.failed(); ++i) {  // what the index does not reach is not read
    const ValueId reads = is_list && i != axis ? into : index;
    const Size along = is_list && i == axis ? 0 : i;
    const Dim wanted = call.dim(reads, along), has = call.dim(from, i);
    if (call.is_as_long(from, i, reads, along)) continue;
    if (!is_list && (!has.known() || !wanted.known())) from = cut_to(call, from, index, i);
    else if (has.known() != wanted.known() || (has.known() && *has < *wanted) || (is_list && has.known()))
      call.refuse(Fault::Format, "a source of shape " + text_of(call.shape(from)) + " for an index of shape " +
                                     text_of(call.shape(index)));
    else if (has.known()) from = call.add(Slice{.axis = i, .start = {}, .stop = *wanted}, {from});
  }
  if (call.failed()) return {};
  put.into = with_axis_last(call, into, axis);
  put.index = is_list ? index : with_axis_last(call, index, axis);
  put.from = with_axis_last(call, from, axis);
  if (call.type(put.index).dtype != DType::I64) put.index = call.add(Cast{DType::I64}, {put.index});
  return put;
}

namespace {

// [..., K, cells]: whether this entry means that cell.
ValueId meant(FunctionCall& call, const PutCells& put) {
  const ValueId entries = call.add(Unsqueeze{{call.rank(put.index)}}, {put.index});
  return call.add(Binary{BinaryFunction::Equal}, {entries, places_along(call, put.into, false)});
}

// The last entry that means each cell, -1 where none does: [..., cells].
ValueId last_entry(FunctionCall& call, const PutCells& put, ValueId means) {
  const ValueId entry = places_along(call, put.index, true);
  const ValueId none = number_of_type(call, "none", -1, DType::I64);
  const ValueId each = call.add(Where{}, {means, entry, none});
  if (call.failed()) return {};
  return call.add(Reduce{Reduction::Maximum, {call.rank(each) - 2}, false}, {each});
}

ValueId is_reached(FunctionCall& call, ValueId last) {
  return call.add(Binary{BinaryFunction::GreaterOrEqual}, {last, number_of_type(call, "zero", 0, DType::I64)});
}

}  // namespace

ValueId replaced_cells(FunctionCall& call, const PutCells& put) {
  const ValueId last = last_entry(call, put, meant(call, put));
  if (call.failed()) return {};
  ValueId taken = put.from;
  if (call.rank(put.from) > 0) {
    const ValueId place =
        call.add(Binary{BinaryFunction::Maximum}, {last, number_of_type(call, "zero", 0, DType::I64)});
    const Size axis = call.rank(put.from) - 1;
    taken = call.rank(last) == 1 ? call.add(Gather{axis}, {put.from, place})
                                 : call.add(GatherElements{axis}, {put.from, place});
  }
  return completed(call, put, call.add(Where{}, {is_reached(call, last), taken, put.into}));
}

namespace {

struct Neutral {
  BinaryFunction function;
  Reduction reduction;
  double number;
};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::array neutrals{Neutral{BinaryFunction::Add, Reduction::Sum, 0},
                              Neutral{BinaryFunction::Multiply, Reduction::Product, 1},
                              Neutral{BinaryFunction::Maximum, Reduction::Maximum, -infinity},
                              Neutral{BinaryFunction::Minimum, Reduction::Minimum, infinity}};

}  // namespace

ValueId folded_cells(FunctionCall& call, const PutCells& put, BinaryFunction function, bool includes_self) {
  const auto* found = std::ranges::find(neutrals, function, &Neutral::function);
  if (found == neutrals.end()) {
    call.refuse(Fault::Internal, "folds cells by a function that has no neutral number");
    return {};
  }
  const DType dtype = call.failed() ? DType::F32 : call.type(put.into).dtype;
  if (!is_floating(dtype) && std::isinf(found->number))
    call.refuse(Fault::Unsupported, "keeps the largest or smallest whole number of each place, which is not carried");
  const ValueId means = meant(call, put);
  ValueId from = put.from;
  if (!call.failed() && call.rank(from) > 0) from = call.add(Unsqueeze{{call.rank(from)}}, {from});
  const ValueId each = call.add(Where{}, {means, from, number_of_type(call, "neutral", found->number, dtype)});
  if (call.failed()) return {};
  ValueId all = call.add(Reduce{found->reduction, {call.rank(each) - 2}, false}, {each});
  if (includes_self) all = call.add(Binary{found->function}, {put.into, all});
  else all = call.add(Where{}, {is_reached(call, last_entry(call, put, means)), all, put.into});
  return completed(call, put, all);
}

ValueId averaged_cells(FunctionCall& call, const PutCells& put, bool includes_self) {
  const DType dtype = call.failed() ? DType::F32 : call.type(put.into).dtype;
  if (!is_floating(dtype)) call.refuse(Fault::Unsupported, "takes the mean of whole numbers, which is not carried");
  const ValueId means = meant(call, put);
  ValueId from = put.from;
  if (!call.failed() && call.rank(from) > 0) from = call.add(Unsqueeze{{call.rank(from)}}, {from});
  const ValueId zero = number_of_type(call, "neutral", 0, dtype), one = number_of_type(call, "one", 1, dtype);
  const auto summed = [&](ValueId each) {
    return call.failed() ? ValueId{} : call.add(Reduce{Reduction::Sum, {call.rank(each) - 2}, false}, {each});
  };
  ValueId sum = summed(call.add(Where{}, {means, from, zero}));
  ValueId count = summed(call.add(Where{}, {means, one, zero}));
  if (call.failed()) return {};
  if (includes_self) {
    sum = call.add(Binary{BinaryFunction::Add}, {put.into, sum});
    count = call.add(Binary{BinaryFunction::Add}, {count, one});
    return completed(call, put, call.add(Binary{BinaryFunction::Divide}, {sum, count}));
  }
  const ValueId at_least_one = call.add(Binary{BinaryFunction::Maximum}, {count, one});
  const ValueId mean = call.add(Binary{BinaryFunction::Divide}, {sum, at_least_one});
  const ValueId reached = call.add(Binary{BinaryFunction::Greater}, {count, zero});
  return completed(call, put, call.add(Where{}, {reached, mean, put.into}));
}

ValueId counted_from_front(FunctionCall& call, ValueId index, ValueId x, Size axis) {
  if (call.failed()) return index;
  if (call.type(index).dtype != DType::I64) index = call.add(Cast{DType::I64}, {index});
  const Dim cells = call.rank(x) == 0 ? Dim(1) : call.dim(x, axis);
  const ValueId count = cells.known() ? number_of_type(call, "cells", static_cast<double>(*cells), DType::I64)
                                      : length_along(call, x, axis);
  const ValueId zero = number_of_type(call, "zero", 0, DType::I64);
  const ValueId is_behind = call.add(Binary{BinaryFunction::Less}, {index, zero});
  const ValueId counted_up = call.add(Binary{BinaryFunction::Add}, {index, count});
  return call.add(Where{}, {is_behind, counted_up, index});
}

ValueId put_rows(FunctionCall& call, ValueId into, ValueId index, ValueId from, std::optional<BinaryFunction> function,
                 bool from_end) {
  const Size rank = call.failed() ? 0 : call.rank(into), rows = call.failed() ? 0 : call.rank(index);
  const Dim last = rows > 0 ? call.dim(index, rows - 1) : Dim();
  if (!call.failed() && (!last.known() || *last < 1 || *last > rank || call.rank(from) != rows - 1 + rank - *last))
    call.refuse(last.known() ? Fault::Format : Fault::Unsupported,
                "indices of shape " + text_of(call.shape(index)) + " and updates of shape " +
                    text_of(call.shape(from)) + " do not fit data of shape " + text_of(call.shape(into)));
  if (call.failed()) return {};
  const Size depth = *last;
  bool fits = true;
  for (Size i = 0; i < call.rank(from); ++i) {
    const Dim wanted = i < rows - 1 ? call.dim(index, i) : call.dim(into, i - (rows - 1) + depth);
    fits = fits && agreed(call.dim(from, i), wanted);
  }
  if (!fits)
    call.refuse(Fault::Format, "updates of shape " + text_of(call.shape(from)) + " for indices of shape " +
                                   text_of(call.shape(index)) + " and data of shape " + text_of(call.shape(into)));
  if (call.failed()) return {};
  if (rows == 1) index = call.add(Unsqueeze{{0}}, {index}), from = call.add(Unsqueeze{{0}}, {from});
  for (Size i = 2; i < rows; ++i) index = merged_axes(call, index, 0), from = merged_axes(call, from, 0);
  if (call.failed()) return {};
  std::optional<Size> pairs = call.dim(index, 0).size();
  for (Size i = 0; i < (function ? rank : depth) && pairs; ++i) {
    const auto size = call.dim(into, i).size();
    pairs = size ? checked_multiply(*pairs, *size).value_or(most_pairs + 1) : size;
  }
  if (pairs.value_or(0) > most_pairs)
    call.refuse(Fault::Limit, "puts rows of shape " + text_of(call.shape(from)) + " into " + text_of(call.shape(into)));
  // [entries, the indexed axes]: whether the entry means the cell.
  ValueId means;
  for (Size i = 0; i < depth && !call.failed(); ++i) {
    ValueId place = call.add(Squeeze{{1}}, {call.add(Slice{1, i, i + 1, 1}, {index})});
    if (from_end) place = counted_from_front(call, place, into, i);
    else if (call.type(place).dtype != DType::I64) place = call.add(Cast{DType::I64}, {place});
    Sizes behind(static_cast<std::size_t>(depth)), others{0};
    std::iota(behind.begin(), behind.end(), Size{1});
    for (Size k = 0; k < depth; ++k)
      if (k != i) others.push_back(k + 1);
    const ValueId cells = call.add(Unsqueeze{others}, {counted_along(call, into, i)});
    const ValueId here = call.add(Binary{BinaryFunction::Equal}, {call.add(Unsqueeze{behind}, {place}), cells});
    means = means ? call.add(Binary{BinaryFunction::And}, {means, here}) : here;
  }
  if (call.failed()) return {};
  Sizes rest(static_cast<std::size_t>(rank - depth));
  std::iota(rest.begin(), rest.end(), depth);
  const auto beside_rest = [&](ValueId x, Size more) {
    Sizes axes = rest;
    for (Size& axis : axes) axis += more;
    return axes.empty() ? x : call.add(Unsqueeze{axes}, {x});
  };
  if (!function) {
    Sizes behind(static_cast<std::size_t>(depth));
    std::iota(behind.begin(), behind.end(), Size{1});
    const ValueId entry = call.add(Unsqueeze{behind}, {counted_along(call, index, 0)});
    const ValueId each = call.add(Where{}, {means, entry, number_of_type(call, "none", -1, DType::I64)});
    const ValueId found = call.add(Reduce{Reduction::Maximum, {0}, false}, {each});
    const ValueId place =
        call.add(Binary{BinaryFunction::Maximum}, {found, number_of_type(call, "zero", 0, DType::I64)});
    const ValueId taken = call.add(Gather{0}, {from, place});
    return call.add(Where{}, {beside_rest(is_reached(call, found), 0), taken, into});
  }
  const auto* folds = std::ranges::find(neutrals, *function, &Neutral::function);
  const DType dtype = call.type(into).dtype;
  if (folds == neutrals.end() || (!is_floating(dtype) && std::isinf(folds->number))) {
    call.refuse(Fault::Unsupported, "keeps the largest or smallest whole number of each place, which is not carried");
    return {};
  }
  Sizes between(static_cast<std::size_t>(depth));
  std::iota(between.begin(), between.end(), Size{1});
  const ValueId rows_of = call.add(Unsqueeze{between}, {from});
  const ValueId each =
      call.add(Where{}, {beside_rest(means, 1), rows_of, number_of_type(call, "neutral", folds->number, dtype)});
  return call.add(Binary{folds->function}, {into, call.add(Reduce{folds->reduction, {0}, false}, {each})});
}

}  // namespace convoy
