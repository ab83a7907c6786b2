// Diagonals taken out of tensors, and tensors that have one.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

constexpr Size most_of_matrix = Size{1} << 22;

// The other axes in their order, then the diagonal: `offset` cells right of the main one.
ValueId diagonal_of(FunctionCall& call, ValueId x, Size offset, Size first, Size second) {
  const Size rank = call.rank(x), a = axis_of(call, first, rank), b = axis_of(call, second, rank);
  if (!call.failed() && a == b) call.refuse(Fault::Format, "the diagonal of an axis with itself");
  if (call.failed()) return {};
  const Size rows = known_size(call, x, a), columns = known_size(call, x, b);
  if (checked_multiply(rows, columns).value_or(most_of_matrix + 1) > most_of_matrix)
    call.refuse(Fault::Limit, "the diagonal of " + std::to_string(rows) + " by " + std::to_string(columns) + " cells");
  if (call.failed()) return {};
  Sizes order, to;
  for (Size i = 0; i < rank; ++i)
    if (i != a && i != b) order.push_back(i);
  for (const Size i : order) to.push_back(call.dim(x, i).size().value_or(-1));
  if (std::ranges::count(to, Size{-1}) > 1)
    call.refuse(Fault::Unsupported, "several sizes beside the diagonal are free; give the input a size");
  order.insert(order.end(), {a, b});
  to.push_back(rows * columns);
  if (!std::ranges::is_sorted(order)) x = call.add(Transpose{order}, {x});
  Take take{rank - 2, {}};
  for (Size i = 0; i < rows; ++i)
    if (const Size k = i + offset; k >= 0 && k < columns) take.indices.push_back(i * columns + k);
  return call.add(take, {call.add(Reshape{to}, {x})});
}

// The last axis becomes a diagonal of two new last axes, zeros around it.
ValueId matrix_with(FunctionCall& call, ValueId x, Size offset) {
  const Size axis = call.rank(x) - 1;
  if (axis < 0) call.refuse(Fault::Format, "the diagonal of a number");
  const Size length = known_size(call, x, axis), wide = length + std::abs(offset);
  if (checked_multiply(wide, wide).value_or(most_of_matrix + 1) > most_of_matrix)
    call.refuse(Fault::Limit, "a matrix of " + std::to_string(wide) + " by " + std::to_string(wide) + " cells");
  if (call.failed()) return {};
  const ValueId with_zero = call.add(Pad{.before = Sizes(static_cast<std::size_t>(axis + 1), 0),
                                         .after =
                                             [&] {
                                               Sizes after(static_cast<std::size_t>(axis), 0);
                                               after.push_back(1);
                                               return after;
                                             }()},
                                     {x});
  Take take{axis, {}};
  for (Size i = 0; i < wide; ++i)
    for (Size k = 0; k < wide; ++k) {
      const Size cell = offset < 0 ? k : i;
      take.indices.push_back(k - i == offset && cell < length ? cell : length);
    }
  Sizes to;
  for (Size i = 0; i < axis; ++i) to.push_back(i == 0 ? 0 : call.dim(x, i).size().value_or(-1));
  if (std::ranges::count(to, Size{-1}) > 1)
    call.refuse(Fault::Unsupported, "several sizes beside the diagonal are free; give the input a size");
  to.insert(to.end(), {wide, wide});
  return call.add(Reshape{to}, {call.add(take, {with_zero})});
}

Results diagonal(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {diagonal_of(call, x, integer_or_default(call, "offset"), integer_or_default(call, "dim1"),
                      integer_or_default(call, "dim2"))};
}

Results linalg_diagonal(FunctionCall& call) {
  const ValueId x = call.tensor("A");
  return {diagonal_of(call, x, integer_or_default(call, "offset"), integer_or_default(call, "dim1"),
                      integer_or_default(call, "dim2"))};
}
Results flat_diagonal(FunctionCall& call) {
  const ValueId row = call.add(Reshape{{-1}}, {call.tensor("input")});
  return {matrix_with(call, row, integer_or_default(call, "offset"))};
}

Results diag_embed(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size rank = call.rank(x) + 1;
  const Size a = axis_of(call, integer_or_default(call, "dim1"), rank),
             b = axis_of(call, integer_or_default(call, "dim2"), rank);
  if (a == b) call.refuse(Fault::Format, "a diagonal of an axis with itself");
  const ValueId y = matrix_with(call, x, integer_or_default(call, "offset"));
  if (call.failed() || (a == rank - 2 && b == rank - 1)) return {y};
  Sizes order;
  Size next = 0;
  for (Size i = 0; i < rank; ++i) order.push_back(i == a ? rank - 2 : i == b ? rank - 1 : next++);
  return {call.add(Transpose{order}, {y})};
}

// Of a list the matrix, of a matrix the list.
Results diag(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size offset = integer_or_default(call, "diagonal");
  if (!call.failed() && call.rank(x) > 2) call.refuse(Fault::Format, "takes lists and matrices alone");
  if (call.failed()) return {};
  return {call.rank(x) == 1 ? matrix_with(call, x, offset) : diagonal_of(call, x, offset, 0, 1)};
}

Results trace(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (!call.failed() && call.rank(x) != 2) call.refuse(Fault::Format, "takes matrices alone");
  ValueId y = diagonal_of(call, x, 0, 0, 1);
  if (!call.failed() && !is_floating(call.type(y).dtype))
    y = call.add(Cast{DType::I64}, {y});  // as torch.sum adds them up
  return {call.add(Reduce{Reduction::Sum, {0}, false}, {y})};
}

constexpr std::array rows_of_diagonals{
    CatalogueRow{"torch.diagonal", "input:T offset:i=0 dim1:i=0 dim2:i=1", diagonal},
    CatalogueRow{"aten.diagonal_copy", "input:T offset:i=0 dim1:i=0 dim2:i=1", diagonal},
    CatalogueRow{"aten.linalg_diagonal", "A:T * offset:i=0 dim1:i=-2 dim2:i=-1", linalg_diagonal},
    CatalogueRow{"torch.diagflat", "input:T offset:i=0", flat_diagonal},
    CatalogueRow{"torch.diag_embed", "input:T offset:i=0 dim1:i=-2 dim2:i=-1", diag_embed},
    CatalogueRow{"torch.diag", "input:T diagonal:i=0", diag},
    CatalogueRow{"torch.trace", "input:T", trace},
};

}  // namespace

std::span<const CatalogueRow> diagonal_operators() { return rows_of_diagonals; }

}  // namespace convoy::torch
