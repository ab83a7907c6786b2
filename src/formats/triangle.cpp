#include "formats/triangle.h"

#include <utility>
#include <vector>

namespace convoy {

ValueId triangle_of(FunctionCall& call, ValueId x, Size diagonal, bool upper) {
  constexpr Size most = Size{1} << 24;
  const Size rank = call.rank(x);
  const Dim rows = call.dim(x, rank - 2), columns = call.dim(x, rank - 1);
  if (rank < 2 || !rows.known() || !columns.known() || checked_multiply(*rows, *columns).value_or(most + 1) > most)
    call.refuse(Fault::Unsupported, "a triangle of a matrix whose sizes are free, or very large");
  if (call.failed()) return {};
  std::vector<std::byte> keeps;
  for (Size row = 0; row < *rows; ++row)
    for (Size column = 0; column < *columns; ++column)
      keeps.push_back(static_cast<std::byte>(upper ? column - row >= diagonal : column - row <= diagonal));
  const ValueId mask =
      call.make_constant("triangle", *Tensor::owning(DType::Bool, {*rows, *columns}, std::move(keeps)));
  const DType dtype = call.type(x).dtype;  // zero bytes are zero in every type
  std::vector<std::byte> zero(static_cast<std::size_t>(bytes_of(dtype)));
  const ValueId nothing = call.make_constant("zero", *Tensor::owning(dtype, {}, std::move(zero)));
  return call.add(Where{}, {mask, x, nothing});
}

}  // namespace convoy
