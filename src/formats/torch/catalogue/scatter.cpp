// Cells put, added or folded in at places that an index tells, known beforehand or computed: each cell of the result looks
// which of the index's entries mean it.
#include "formats/put.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

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

struct NamedFolding {
  std::string_view word;
  BinaryFunction function;
};
constexpr std::array foldings{
    NamedFolding{"add", BinaryFunction::Add},           NamedFolding{"sum", BinaryFunction::Add},
    NamedFolding{"multiply", BinaryFunction::Multiply}, NamedFolding{"prod", BinaryFunction::Multiply},
    NamedFolding{"amax", BinaryFunction::Maximum},      NamedFolding{"amin", BinaryFunction::Minimum}};

ValueId folded(FunctionCall& call, const PutCells& put, const std::string& word, bool includes_self) {
  if (word == "mean") return averaged_cells(call, put, includes_self);
  const auto* found = std::ranges::find(foldings, word, &NamedFolding::word);
  if (found != foldings.end()) return folded_cells(call, put, found->function, includes_self);
  call.refuse(Fault::Unsupported, "argument 'reduce' is '" + word + "'");
  return {};
}

Size asked_place(FunctionCall& call, ValueId x) {
  return axis_of(call, call.attrs.integer("dim"), std::max<Size>(call.rank(x), 1));
}

// x[index[i, j], j] = src[i, j] (dim 0); `reduce` folds instead.
Results scatter(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  const ValueId from = source_of(call, "src", "value", x);
  const std::string word = call.attrs.word("reduce", "");
  const PutCells put = put_cells(call, x, index, from, asked_place(call, x));
  return {word.empty() ? replaced_cells(call, put) : folded(call, put, word, true)};
}

Results scatter_add(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  return {folded(call, put_cells(call, x, index, source_of(call, "src", "src", x), asked_place(call, x)), "sum", true)};
}

Results scatter_reduce(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  const std::string word = call.attrs.word("reduce");
  const bool includes_self = truth_or_default(call, "include_self");
  return {folded(call, put_cells(call, x, index, source_of(call, "src", "src", x), asked_place(call, x)), word,
                 includes_self)};
}

Results index_add(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  ValueId from = source_of(call, "source", "source", x);
  if (const double alpha = number_or_truth(call, "alpha", 1.0); alpha != 1 && !call.failed())
    from = call.add(Binary{BinaryFunction::Multiply},
                    {from, number_constant(call, "alpha", alpha, call.type(from).dtype)});
  return {folded(call, put_cells(call, x, index, from, asked_place(call, x)), "sum", true)};
}

Results index_copy(FunctionCall& call) {
  const ValueId x = call.tensor("input"), index = call.tensor("index");
  return {
      replaced_cells(call, put_cells(call, x, index, source_of(call, "source", "source", x), asked_place(call, x)))};
}

// Places below 0 count from the end here, as they do in an index and in no other function of these.
Results index_fill(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size axis = asked_place(call, x);
  const ValueId index = counted_from_front(call, call.tensor("index"), x, axis);
  return {replaced_cells(call, put_cells(call, x, index, source_of(call, "value", "value", x), axis))};
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
  const PutCells put = put_cells(call, x, counted_from_front(call, index, x, axis), values, axis);
  return adds ? folded(call, put, "sum", true) : replaced_cells(call, put);
}

std::span<const CatalogueRow> scatter_operators() { return rows_of_scatter; }

}  // namespace convoy::torch
