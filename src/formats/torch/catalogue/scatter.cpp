// Cells put, added or folded in at places that an index tells, known beforehand or computed: each cell of the result looks
// which of the index's entries mean it.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

constexpr Size most_pairs = Size{1} << 22;  // of an entry of the index and a cell of the result

// What is put where: the axis is the last one of all of them.
struct Put {
  ValueId into, index, from;  // from [..., K], or of no axes
  Size axis = 0, entries = 0, cells = 0;
};

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

ValueId counted(FunctionCall& call, Size count, Sizes shape) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return call.make_constant("places", Tensor::of(std::move(shape), std::move(numbers)));
}

// The tensor `word`, or a number of that name, in the type of what it is put into.
ValueId source_of(FunctionCall& call, const char* word, const char* number, ValueId x) {
  ValueId from = call.optional(word);
  if (!from && call.attrs.has(number))
    return number_constant(call, number, call.attrs.number(number), call.type(x).dtype);
  if (!from && call.attrs.has(word)) return number_constant(call, word, call.attrs.number(word), call.type(x).dtype);
  if (!from) from = call.tensor(word);
  if (!call.failed() && call.type(from).dtype != call.type(x).dtype)
    call.refuse(Fault::Format,
                "argument '" + std::string(word) + "' has another element type than the tensor it is put into");
  return from;
}

// x and more cells of one number behind it along an axis, `size` in all.
ValueId lengthened(FunctionCall& call, ValueId x, Size axis, Size size, double number, const char* word) {
  auto shape = sizes_of(call.shape(x));
  if (call.failed() || !shape) return x;
  auto& more = (*shape)[static_cast<std::size_t>(axis)];
  more = size - more;
  const DType dtype = call.type(x).dtype;
  const auto count = checked_count(*shape);
  if (count.value_or(most_pairs + 1) > most_pairs) {
    call.refuse(Fault::Limit, "puts into a part of " + std::to_string(size) + " cells");
    return x;
  }
  const auto cells = static_cast<std::size_t>(*count);
  const std::string name = word + ("_" + std::to_string(axis));
  if (is_floating(dtype)) {
    const Tensor rest = Tensor::of(*shape, std::vector<double>(cells, number)).converted(dtype);
    return call.add(Concat{axis}, {x, call.make_constant(name, rest)});
  }
  ValueId rest = call.make_constant(name, Tensor::of(*shape, std::vector(cells, static_cast<std::int64_t>(number))));
  if (dtype != DType::I64) rest = call.add(Cast{dtype}, {rest});
  return call.add(Concat{axis}, {x, rest});
}

// index has the axes of `into` (scatter), or the scattered one alone (index_add). Cells that a smaller index does not reach are
// those that its entries of -1 mean: none.
Put put_of(FunctionCall& call, ValueId into, ValueId index, ValueId from, Size axis) {
  const Size rank = call.rank(into);
  const bool is_list = rank > 1 && call.rank(index) == 1;
  if (!call.failed() && !is_list && call.rank(index) != rank)
    call.refuse(Fault::Format, "argument 'index' has " + std::to_string(call.rank(index)) + " axes, the tensor " +
                                   std::to_string(rank));
  if (call.failed()) return {};
  for (Size i = 0; i < rank; ++i) {
    if (i == axis || is_list || call.dim(index, i) == call.dim(into, i)) continue;
    const Dim has = call.dim(index, i), whole = call.dim(into, i);
    if (!has.known() || !whole.known() || *has > *whole)
      call.refuse(
          has.known() && whole.known() ? Fault::Format : Fault::Unsupported,
          "argument 'index' has shape " + text_of(call.shape(index)) + ", the tensor " + text_of(call.shape(into)));
    if (call.failed()) return {};
    if (call.rank(from) == rank) {
      if (const Dim given = call.dim(from, i); !given.known() || *given < *has)
        call.refuse(Fault::Format, "a source of shape " + text_of(call.shape(from)) + " for an index of shape " +
                                       text_of(call.shape(index)));
      from = lengthened(call, call.add(Slice{.axis = i, .start = {}, .stop = *has}, {from}), i, *whole, 0, "no_source");
    }
    index = lengthened(call, index, i, *whole, -1, "no_entry");
    if (call.failed()) return {};
  }
  Put put{.axis = axis, .entries = known_size(call, index, is_list ? 0 : axis), .cells = known_size(call, into, axis)};
  if (checked_multiply(put.entries, put.cells).value_or(most_pairs + 1) > most_pairs)
    call.refuse(Fault::Limit,
                "puts " + std::to_string(put.entries) + " entries into " + std::to_string(put.cells) + " cells");
  for (Size i = 0; i < call.rank(from) && !call.failed(); ++i) {  // what the index does not reach is not read
    const Dim wanted = i == axis ? Dim(put.entries) : call.dim(is_list ? into : index, i), has = call.dim(from, i);
    if (has == wanted) continue;
    if (!has.known() || !wanted.known() || *has < *wanted || is_list)
      call.refuse(Fault::Format, "a source of shape " + text_of(call.shape(from)) + " for an index of shape " +
                                     text_of(call.shape(index)));
    else from = call.add(Slice{.axis = i, .start = {}, .stop = *wanted}, {from});
  }
  if (call.failed()) return {};
  put.into = with_axis_last(call, into, axis);
  put.index = is_list ? index : with_axis_last(call, index, axis);
  put.from = with_axis_last(call, from, axis);
  if (call.type(put.index).dtype != DType::I64) put.index = call.add(Cast{DType::I64}, {put.index});
  return put;
}

// [..., K, cells]: whether this entry means that cell.
ValueId meant(FunctionCall& call, const Put& put) {
  const ValueId entries = call.add(Unsqueeze{{call.rank(put.index)}}, {put.index});
  return call.add(Binary{BinaryFunction::Equal}, {entries, counted(call, put.cells, {put.cells})});
}

// The last entry that means each cell, -1 where none does: [..., cells].
ValueId last_entry(FunctionCall& call, const Put& put, ValueId means) {
  const ValueId entry = counted(call, put.entries, {put.entries, 1});
  const ValueId none = number_constant(call, "none", -1, DType::I64);
  const ValueId each = call.add(Where{}, {means, entry, none});
  if (call.failed()) return {};
  return call.add(Reduce{Reduction::Maximum, {call.rank(each) - 2}, false}, {each});
}

ValueId is_reached(FunctionCall& call, ValueId last) {
  return call.add(Binary{BinaryFunction::GreaterOrEqual}, {last, number_constant(call, "zero", 0, DType::I64)});
}

// Of several entries for one cell the last one is taken.
ValueId replaced(FunctionCall& call, const Put& put) {
  const ValueId last = last_entry(call, put, meant(call, put));
  if (call.failed()) return {};
  ValueId taken = put.from;
  if (call.rank(put.from) > 0) {
    const ValueId place =
        call.add(Binary{BinaryFunction::Maximum}, {last, number_constant(call, "zero", 0, DType::I64)});
    const Size axis = call.rank(put.from) - 1;
    taken = call.rank(last) == 1 ? call.add(Gather{axis}, {put.from, place})
                                 : call.add(GatherElements{axis}, {put.from, place});
  }
  return with_axis_back(call, call.add(Where{}, {is_reached(call, last), taken, put.into}), put.axis);
}

struct Folding {
  std::string_view word;
  Reduction reduction;
  BinaryFunction function;
  double neutral;
};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::array foldings{Folding{"add", Reduction::Sum, BinaryFunction::Add, 0},
                              Folding{"sum", Reduction::Sum, BinaryFunction::Add, 0},
                              Folding{"multiply", Reduction::Product, BinaryFunction::Multiply, 1},
                              Folding{"prod", Reduction::Product, BinaryFunction::Multiply, 1},
                              Folding{"amax", Reduction::Maximum, BinaryFunction::Maximum, -infinity},
                              Folding{"amin", Reduction::Minimum, BinaryFunction::Minimum, infinity}};

// The mean of all entries of a cell, and of what stood there.
ValueId averaged(FunctionCall& call, const Put& put, bool includes_self) {
  const DType dtype = call.failed() ? DType::F32 : call.type(put.into).dtype;
  if (!is_floating(dtype)) call.refuse(Fault::Unsupported, "argument 'reduce' is 'mean' of whole numbers");
  const ValueId means = meant(call, put);
  ValueId from = put.from;
  if (!call.failed() && call.rank(from) > 0) from = call.add(Unsqueeze{{call.rank(from)}}, {from});
  const ValueId zero = number_constant(call, "neutral", 0, dtype), one = number_constant(call, "one", 1, dtype);
  const auto summed = [&](ValueId each) {
    return call.failed() ? ValueId{} : call.add(Reduce{Reduction::Sum, {call.rank(each) - 2}, false}, {each});
  };
  ValueId sum = summed(call.add(Where{}, {means, from, zero}));
  ValueId count = summed(call.add(Where{}, {means, one, zero}));
  if (call.failed()) return {};
  if (includes_self) {
    sum = call.add(Binary{BinaryFunction::Add}, {put.into, sum});
    count = call.add(Binary{BinaryFunction::Add}, {count, one});
    return with_axis_back(call, call.add(Binary{BinaryFunction::Divide}, {sum, count}), put.axis);
  }
  const ValueId at_least_one = call.add(Binary{BinaryFunction::Maximum}, {count, one});
  const ValueId mean = call.add(Binary{BinaryFunction::Divide}, {sum, at_least_one});
  const ValueId reached = call.add(Binary{BinaryFunction::Greater}, {count, zero});
  return with_axis_back(call, call.add(Where{}, {reached, mean, put.into}), put.axis);
}

// All entries of a cell, and what stood there, become one number.
ValueId folded(FunctionCall& call, const Put& put, const std::string& word, bool includes_self) {
  if (word == "mean") return averaged(call, put, includes_self);
  const auto* found = std::ranges::find(foldings, word, &Folding::word);
  if (found == foldings.end()) {
    call.refuse(Fault::Unsupported, "argument 'reduce' is '" + word + "'");
    return {};
  }
  const DType dtype = call.failed() ? DType::F32 : call.type(put.into).dtype;
  if (!is_floating(dtype) && std::isinf(found->neutral))
    call.refuse(Fault::Unsupported, "argument 'reduce' is '" + word + "' of whole numbers");
  const ValueId means = meant(call, put);
  ValueId from = put.from;
  if (!call.failed() && call.rank(from) > 0) from = call.add(Unsqueeze{{call.rank(from)}}, {from});
  const ValueId each = call.add(Where{}, {means, from, number_constant(call, "neutral", found->neutral, dtype)});
  if (call.failed()) return {};
  ValueId all = call.add(Reduce{found->reduction, {call.rank(each) - 2}, false}, {each});
  if (includes_self) all = call.add(Binary{found->function}, {put.into, all});
  else all = call.add(Where{}, {is_reached(call, last_entry(call, put, means)), all, put.into});
  return with_axis_back(call, all, put.axis);
}

Size asked_place(FunctionCall& call, ValueId x) {
  return axis_of(call, call.attrs.integer("dim"), std::max<Size>(call.rank(x), 1));
}

// x[index[i, j], j] = src[i, j] (dim 0); `reduce` folds instead.
Results scatter(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  const ValueId from = source_of(call, "src", "value", x);
  const std::string word = call.attrs.word("reduce", "");
  const Put put = put_of(call, x, index, from, asked_place(call, x));
  return {word.empty() ? replaced(call, put) : folded(call, put, word, true)};
}

Results scatter_add(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  return {folded(call, put_of(call, x, index, source_of(call, "src", "src", x), asked_place(call, x)), "sum", true)};
}

Results scatter_reduce(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  const std::string word = call.attrs.word("reduce");
  const bool includes_self = truth_or_default(call, "include_self");
  return {folded(call, put_of(call, x, index, source_of(call, "src", "src", x), asked_place(call, x)), word,
                 includes_self)};
}

Results index_add(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  ValueId from = source_of(call, "source", "source", x);
  if (const double alpha = number_or_truth(call, "alpha", 1.0); alpha != 1 && !call.failed())
    from = call.add(Binary{BinaryFunction::Multiply},
                    {from, number_constant(call, "alpha", alpha, call.type(from).dtype)});
  return {folded(call, put_of(call, x, index, from, asked_place(call, x)), "sum", true)};
}

Results index_copy(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  return {replaced(call, put_of(call, x, index, source_of(call, "source", "source", x), asked_place(call, x)))};
}

// Places below 0 count from the end here, as they do in an index and in no other function of these.
Results index_fill(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = asked_place(call, x);
  const Size cells = call.failed() || call.rank(x) == 0 ? 1 : known_size(call, x, axis);
  const ValueId index = counted_from_front(call, call.tensor("index"), cells);
  return {replaced(call, put_of(call, x, index, source_of(call, "value", "value", x), axis))};
}

constexpr std::array rows_of_scatter{
    CatalogueRow{
        "torch.scatter",
        "src(input:T dim:i index:T src:T) value(input:T dim:i index:T value:n) "
        "reduce(input:T dim:i index:T src:T * reduce:s) value_reduce(input:T dim:i index:T value:n * reduce:s)",
        scatter},
    CatalogueRow{"torch.scatter_add", "input:T dim:i index:T src:T", scatter_add},
    CatalogueRow{"torch.scatter_reduce", "two(input:T dim:i index:T src:T reduce:s * include_self:b=True)",
                 scatter_reduce},
    CatalogueRow{"torch.index_add", "input:T dim:i index:T source:T * alpha:n=1", index_add},
    CatalogueRow{"torch.index_copy", "input:T dim:i index:T source:T", index_copy},
    CatalogueRow{"torch.index_fill",
                 "int_Scalar(input:T dim:i index:T value:n) int_Tensor(input:T dim:i index:T value:T)", index_fill},
};

}  // namespace

ValueId counted_from_front(FunctionCall& call, ValueId index, Size cells) {
  if (call.failed()) return index;
  if (call.type(index).dtype != DType::I64) index = call.add(Cast{DType::I64}, {index});
  const ValueId count = number_constant(call, "cells", static_cast<double>(cells), DType::I64);
  const ValueId zero = number_constant(call, "zero", 0, DType::I64);
  const ValueId is_behind = call.add(Binary{BinaryFunction::Less}, {index, zero});
  const ValueId counted_up = call.add(Binary{BinaryFunction::Add}, {index, count});
  return call.add(Where{}, {is_behind, counted_up, index});
}

ValueId put_by_list(FunctionCall& call, ValueId x, Size axis, ValueId index, ValueId values, bool adds) {
  values = with_axes_in_front(call, values, call.rank(x));
  for (Size i = 0; i < call.rank(x) && !call.failed(); ++i) {
    const Dim size = i == axis ? call.dim(index, 0) : call.dim(x, i);
    if (call.dim(values, i) == size || call.dim(values, i) != Dim(1)) continue;
    values = size.known() ? call.add(Tile{i, *size}, {values})
             : i == axis  ? call.add(ExpandLike{i, 0}, {values, index})
                          : call.add(ExpandLike{i, i}, {values, x});
  }
  if (call.failed()) return x;
  const Put put = put_of(call, x, counted_from_front(call, index, known_size(call, x, axis)), values, axis);
  return adds ? folded(call, put, "sum", true) : replaced(call, put);
}

std::span<const CatalogueRow> scatter_operators() { return rows_of_scatter; }

}  // namespace convoy::torch
