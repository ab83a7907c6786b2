#include "formats/triangle.h"
#include "formats/free_reshape.h"

#include <utility>
#include <vector>

namespace convoy {

namespace {

// Which cells of a matrix are kept, of known sizes.
ValueId kept_cells(FunctionCall& call, Size rows, Size columns, Size diagonal, bool upper) {
  std::vector<std::byte> keeps;
  for (Size row = 0; row < rows; ++row)
    for (Size column = 0; column < columns; ++column)
      keeps.push_back(static_cast<std::byte>(upper ? column - row >= diagonal : column - row <= diagonal));
  return call.make_constant("triangle", *Tensor::owning(DType::Bool, {rows, columns}, std::move(keeps)));
}

// The same of sizes that come only when the model runs: places along one axis against those along the other.
ValueId kept_cells_of(FunctionCall& call, ValueId x, Size diagonal, bool upper) {
  const Size rank = call.rank(x);
  const ValueId columns = counted_along(call, x, rank - 1);
  ValueId rows = call.add(Unsqueeze{{1}}, {counted_along(call, x, rank - 2)});
  if (diagonal != 0)
    rows =
        call.add(Binary{BinaryFunction::Add}, {rows, call.make_constant("diagonal", Tensor::of({}, Sizes{diagonal}))});
  return call.add(Binary{upper ? BinaryFunction::GreaterOrEqual : BinaryFunction::LessOrEqual}, {columns, rows});
}

}  // namespace

ValueId triangle_mask(FunctionCall& call, ValueId x, Size diagonal, bool upper) {
  constexpr Size most = Size{1} << 24;
  const Size rank = call.rank(x);
  const Dim rows = call.dim(x, rank - 2), columns = call.dim(x, rank - 1);
  const bool is_known = rows.known() && columns.known();
  if (rank < 2 || (is_known && checked_multiply(*rows, *columns).value_or(most + 1) > most))
    call.refuse(Fault::Unsupported, "a triangle of what is no matrix, or a very large one");
  if (call.failed()) return {};
  return is_known ? kept_cells(call, *rows, *columns, diagonal, upper) : kept_cells_of(call, x, diagonal, upper);
}

ValueId triangle_of(FunctionCall& call, ValueId x, Size diagonal, bool upper) {
  const ValueId mask = triangle_mask(call, x, diagonal, upper);
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;  // zero bytes are zero in every type
  std::vector<std::byte> zero(static_cast<std::size_t>(bytes_of(dtype)));
  const ValueId nothing = call.make_constant("zero", *Tensor::owning(dtype, {}, std::move(zero)));
  return call.add(Where{}, {mask, x, nothing});
}

}  // namespace convoy
