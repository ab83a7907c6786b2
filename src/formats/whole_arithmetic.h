// Powers and means of whole numbers that stay whole, as TensorFlow, TFLite and ONNX Runtime compute them.
#pragma once
#include "base/whole_tensor.h"
#include "formats/function.h"
#include "ops/expect.h"

#include <vector>

namespace convoy {

// x^n for n >= 1 by products, which wrap around in the type as the frameworks' do.
template <class Call>
ValueId power_by_products(Call& call, ValueId x, int n) {
  ValueId y{};
  for (; n > 0 && !call.failed(); n /= 2) {
    if (n % 2 == 1) y = y ? call.add(Binary{BinaryFunction::Multiply}, {y, x}) : x;
    if (n > 1) x = call.add(Binary{BinaryFunction::Multiply}, {x, x});
  }
  return y;
}

// a^b in a's type, in float64, which holds 53 bits.
template <class Call>
ValueId power_in_float64(Call& call, ValueId a, ValueId b) {
  const ValueId y =
      call.add(Binary{BinaryFunction::Power}, {call.add(Cast{DType::F64}, {a}), call.add(Cast{DType::F64}, {b})});
  return call.failed() ? y : call.add(Cast{call.type(a).dtype}, {y});
}

// a / b rounded down: fractions as their quotient is (1 // 0.1 is 10, unlike Python's 9), whole numbers as Python's.
template <class Call>
ValueId floor_of_quotient(Call& call, ValueId a, ValueId b) {
  if (call.failed()) return {};
  if (!is_floating(meeting(call.type(a).dtype, call.type(b).dtype)))
    return call.add(Binary{BinaryFunction::FloorDivide}, {a, b});
  return call.add(Unary{Function::Floor}, {call.add(Binary{BinaryFunction::Divide}, {a, b})});
}

// a^b in a's type. A known power is a product, a computed one float64's.
ValueId power_of_whole(FunctionCall& call, ValueId a, ValueId b);

// Their sum, in their own type, divided toward zero. Fails: axes of free sizes.
template <class Call>
ValueId mean_of_whole(Call& call, ValueId x, const Sizes& axes, bool keeps_axes) {
  std::vector<Dim> sizes;
  for (const Size axis : axes) sizes.push_back(call.dim(x, axis));
  const auto count = product_of(sizes);
  if (!count || !count->known() || **count < 1)
    call.refuse(Fault::Unsupported, "a mean of whole numbers along axes whose sizes are free");
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;
  const ValueId exact = call.add(Reduce{Reduction::Sum, axes, keeps_axes}, {x});
  const ValueId sum = call.failed() || call.type(exact).dtype == dtype ? exact : call.add(Cast{dtype}, {exact});
  const ValueId whole = call.make_constant("count", whole_tensor(dtype, {}, {**count}));
  return call.add(Binary{BinaryFunction::TruncateDivide}, {sum, whole});
}

}  // namespace convoy
