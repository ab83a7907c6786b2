// Products of matrices and norms of keras.ops.
#include "formats/keras/operation.h"

#include "ops/expect.h"

#include <array>

namespace convoy::keras {
namespace {

// Whole numbers are multiplied as fractions; those of 8 bits as what they are, and added up in 32.
Values matmul(Call& call) {
  ValueId a = operand(call, "x1", 0), b = operand(call, "x2", 1);
  if (call.failed()) return {};
  const DType left = call.type(a).dtype, right = call.type(b).dtype, dtype = meeting(left, right);
  if (is_floating(dtype)) return {call.add(MatMul{}, {a, b})};
  if (left == DType::I8 && right == DType::I8)
    return {call.add(MatMul{}, {call.add(Cast{DType::I32}, {a}), call.add(Cast{DType::I32}, {b})})};
  a = call.add(Cast{DType::F32}, {a});
  b = call.add(Cast{DType::F32}, {b});
  return {call.add(Cast{dtype}, {call.add(MatMul{}, {a, b})})};
}

// Divides by max(length, epsilon).
Values normalize(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* axis = option(call, "axis", 1);
  const double order = call.attrs.number_of(option(call, "order", 2), "order", 2),
               epsilon = call.attrs.number_of(option(call, "epsilon", 3), "epsilon", 1e-7);
  const Sizes axes = call.axes(axis ? list_of(call, axis, "axis") : Sizes{-1}, call.rank(x));
  if (order <= 0) call.refuse(Fault::Unsupported, "normalizes by a norm of order " + std::to_string(order));
  return {call.add(LengthNorm{axes, order, epsilon}, {x})};
}

Values rms_norm_of_operand(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* axis = option(call, "axis", 2);
  if (option(call, "scale", 1)) call.refuse(Fault::Unsupported, "scales by a tensor");
  const Sizes axes = call.axes(axis ? list_of(call, axis, "axis") : Sizes{-1}, call.rank(x));
  return {call.add(RmsNorm{axes, call.attrs.number_of(option(call, "epsilon", 3), "epsilon", 1e-7)}, {x})};
}

constexpr std::array operation_table{LayerRow{"Matmul", matmul}, LayerRow{"Normalize", normalize},
                                     LayerRow{"RMSNorm", rms_norm_of_operand}};

}  // namespace

std::span<const LayerRow> operation_rows() { return operation_table; }

}  // namespace convoy::keras
