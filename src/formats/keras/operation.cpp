// Calls of keras.ops on symbolic tensors, which Keras 3 writes as nodes beside the layers: functions of numbers, sums and
// products. Those that move, cut and join are in operation_shape.cpp.
#include "formats/keras/operation.h"

#include "ops/expect.h"

#include <array>
#include <cstring>

namespace convoy::keras {
namespace {

ValueId whole_constant(Call& call, std::string_view name, std::int64_t value, DType dtype) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(dtype)));
  std::memcpy(bytes.data(), &value, bytes.size());  // the lowest ones: it wraps around
  return call.constant(name, *Tensor::owning(dtype, {}, std::move(bytes)));
}

// A whole number of Python's takes the type of whole numbers that it meets, and int32 beside truths.
struct Pair {
  ValueId a, b;
};
Pair operands_of(Call& call, std::string_view first, std::string_view second, std::size_t place) {
  const Json *said_a = option(call, first, place), *said_b = option(call, second, place + 1);
  const bool whole_a = said_a && said_a->is_number_integer(), whole_b = said_b && said_b->is_number_integer();
  if (whole_a && whole_b)
    return {whole_constant(call, first, said_a->get<std::int64_t>(), DType::I32),
            whole_constant(call, second, said_b->get<std::int64_t>(), DType::I32)};
  Pair pair{whole_a ? ValueId{} : operand(call, first, place), whole_b ? ValueId{} : operand(call, second, place + 1)};
  if (call.failed() || whole_a == whole_b) return pair;
  ValueId &tensor = whole_a ? pair.b : pair.a, &number = whole_a ? pair.a : pair.b;
  const DType dtype = call.type(tensor).dtype;
  if (is_floating(dtype)) {
    number = operand(call, whole_a ? first : second, whole_a ? place : place + 1);
    return pair;
  }
  if (dtype == DType::Bool) tensor = call.add(Cast{DType::I32}, {tensor});
  number = whole_constant(call, whole_a ? first : second, (whole_a ? said_a : said_b)->get<std::int64_t>(),
                          dtype == DType::Bool ? DType::I32 : dtype);
  return pair;
}

template <BinaryFunction function>
Values binary(Call& call) {
  const auto [a, b] = operands_of(call, "x1", "x2", 0);
  return {call.add(Binary{function}, {a, b})};
}

// A whole number of Python's is of 32 bits here, whatever narrower type it meets: bytes have negative remainders.
Values modulo(Call& call) {
  auto [a, b] = operands_of(call, "x1", "x2", 0);
  if (call.failed()) return {};
  const auto is_whole = [&](std::string_view name, std::size_t place) {
    const Json* argument = option(call, name, place);
    return argument && argument->is_number_integer();
  };
  const DType dtype = meeting(call.type(a).dtype, call.type(b).dtype);
  const bool narrow = !is_floating(dtype) && bytes_of(dtype) < 4;
  if (narrow && is_whole("x2", 1)) {
    a = call.add(Cast{DType::I32}, {a});
    b = whole_constant(call, "divisor", option(call, "x2", 1)->get<std::int64_t>(), DType::I32);
  } else if (narrow && is_whole("x1", 0)) {
    a = whole_constant(call, "dividend", option(call, "x1", 0)->get<std::int64_t>(), DType::I32);
    b = call.add(Cast{DType::I32}, {b});
  }
  return {call.add(Binary{BinaryFunction::Modulo}, {a, b})};
}

// Whole numbers stay whole; a known power is a product.
Values power(Call& call) {
  const auto [a, b] = operands_of(call, "x1", "x2", 0);
  if (call.failed()) return {};
  const DType dtype = meeting(call.type(a).dtype, call.type(b).dtype);
  const Json* argument = option(call, "x2", 1);
  if (!is_floating(dtype) && argument && argument->is_number_integer() && *argument >= 1 && *argument <= 64) {
    ValueId y = a;
    for (int i = 1; i < argument->get<int>() && !call.failed(); ++i)
      y = call.add(Binary{BinaryFunction::Multiply}, {y, a});
    return {y};
  }
  const ValueId y = call.add(Binary{BinaryFunction::Power}, {a, b});
  return {is_floating(dtype) || call.failed() ? y : call.add(Cast{dtype}, {y})};
}

Values identity_of_operand(Call& call) { return {call.add(Identity{}, {operand(call, "x", 0)})}; }

// Sums and products of narrow whole numbers are of 32 bits, as numpy widens them.
ValueId widened(Call& call, ValueId x) {
  switch (call.type(x).dtype) {
    case DType::Bool:
    case DType::I8:
    case DType::I16: return call.add(Cast{DType::I32}, {x});
    case DType::U8:
    case DType::U16: return call.add(Cast{DType::U32}, {x});
    default: return x;
  }
}

template <Reduction reduction>
Values reduce(Call& call) {
  ValueId x = operand(call, "x", 0);
  const Json* argument = option(call, "axis", 1);
  const Json* keeps = option(call, "keepdims", 2);
  if (!call.failed() && (reduction == Reduction::Sum || reduction == Reduction::Product)) x = widened(call, x);
  if (option(call, "initial", nowhere)) call.refuse(Fault::Unsupported, "argument 'initial' is not understood");
  Sizes axes = argument ? list_of(call, argument, "axis") : Sizes{};
  if (!argument)
    for (Size i = 0; i < call.rank(x); ++i) axes.push_back(i);
  return {call.add(Reduce{reduction, call.axes(axes, call.rank(x)), keeps && *keeps == true}, {x})};
}

// TensorFlow's mean of whole numbers: their sum, in their own type, divided toward zero.
Values mean_of_whole(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json *argument = option(call, "axis", 1), *keeps = option(call, "keepdims", 2);
  Sizes axes = argument ? list_of(call, argument, "axis") : Sizes{};
  if (!argument)
    for (Size i = 0; i < call.rank(x); ++i) axes.push_back(i);
  axes = call.axes(axes, call.rank(x));
  std::vector<Dim> sizes;
  for (const Size axis : axes) sizes.push_back(call.dim(x, axis));
  const auto count = product_of(sizes);
  if (!count || !count->known() || **count < 1)
    call.refuse(Fault::Unsupported, "a mean of whole numbers along axes whose sizes are free");
  if (call.failed()) return {};
  const ValueId sum = call.add(Reduce{Reduction::Sum, axes, keeps && *keeps == true}, {x});
  const ValueId numbers = whole_constant(call, "count", **count, call.type(x).dtype);
  return {call.add(Binary{BinaryFunction::TruncateDivide}, {sum, numbers})};
}

// Fractions are divided and rounded down: 1 // 0.1 is 10, unlike Python's 9.
Values floor_divide(Call& call) {
  const auto [a, b] = operands_of(call, "x1", "x2", 0);
  if (call.failed()) return {};
  if (!is_floating(meeting(call.type(a).dtype, call.type(b).dtype)))
    return {call.add(Binary{BinaryFunction::FloorDivide}, {a, b})};
  return {call.add(Unary{Function::Floor}, {call.add(Binary{BinaryFunction::Divide}, {a, b})})};
}

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

Values cast(Call& call) {
  const Json* argument = option(call, "dtype", 1);
  const std::string word = argument && argument->is_string() ? argument->get<std::string>() : "";
  const ValueId x = operand(call, "x", 0);
  for (const DType type :
       {DType::F32, DType::F64, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::Bool})
    if (word == convoy::name_of(type)) return {call.add(Cast{type}, {x})};
  call.refuse(Fault::Unsupported, "casts to '" + word + "', which this version does not carry");
  return {};
}

// Divides by max(length, epsilon).
Values normalize(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* axis = option(call, "axis", 1);
  const double order = number(call, "order", 2, 2), epsilon = number(call, "epsilon", 3, 1e-7);
  const Sizes axes = call.axes(axis ? list_of(call, axis, "axis") : Sizes{-1}, call.rank(x));
  if (order <= 0) call.refuse(Fault::Unsupported, "normalizes by a norm of order " + std::to_string(order));
  return {call.add(LengthNorm{axes, order, epsilon}, {x})};
}

Values where(Call& call) {
  const ValueId condition = operand(call, "condition", 0);
  const auto [a, b] = operands_of(call, "x1", "x2", 1);
  return {call.add(Where{}, {condition, a, b})};
}

template <bool largest>
Values arg_extreme(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* axis = option(call, "axis", 1);
  const Json* keeps = option(call, "keepdims", 2);
  if (!axis) call.refuse(Fault::Unsupported, "looks for an extreme without an axis, which flattens first");
  return {call.add(
      ArgExtreme{largest, call.axis(call.attrs.integer_of(axis, "axis"), call.rank(x)), keeps && *keeps == true, false},
      {x})};
}

Values top_k(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* sorted = option(call, "sorted", 2);
  if (sorted && *sorted == false) call.refuse(Fault::Unsupported, "leaves the largest few without an order");
  return call.add_all(TopK{call.rank(x) - 1, call.attrs.integer_of(option(call, "k", 1), "k"), true}, {x});
}

template <Reduction reduction>
Values accumulate(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* axis = option(call, "axis", 1);
  if (option(call, "dtype", 2)) call.refuse(Fault::Unsupported, "argument 'dtype' is not understood");
  if (!axis) call.refuse(Fault::Unsupported, "sums without an axis, which flattens first");
  return {
      call.add(Accumulate{reduction, call.axis(call.attrs.integer_of(axis, "axis"), call.rank(x)), false, false}, {x})};
}

Values rms_norm_of_operand(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* axis = option(call, "axis", 2);
  if (option(call, "scale", 1)) call.refuse(Fault::Unsupported, "scales by a tensor");
  const Sizes axes = call.axes(axis ? list_of(call, axis, "axis") : Sizes{-1}, call.rank(x));
  return {call.add(RmsNorm{axes, number(call, "epsilon", 3, 1e-7)}, {x})};
}

constexpr std::array operation_table{
    LayerRow{"Add", binary<BinaryFunction::Add>},
    LayerRow{"Subtract", binary<BinaryFunction::Subtract>},
    LayerRow{"Multiply", binary<BinaryFunction::Multiply>},
    LayerRow{"Divide", binary<BinaryFunction::Divide>},
    LayerRow{"TrueDivide", binary<BinaryFunction::Divide>},
    LayerRow{"Maximum", binary<BinaryFunction::Maximum>},
    LayerRow{"Minimum", binary<BinaryFunction::Minimum>},
    LayerRow{"Power", power},
    LayerRow{"Mod", modulo},
    LayerRow{"FloorDivide", floor_divide},
    LayerRow{"Equal", binary<BinaryFunction::Equal>},
    LayerRow{"NotEqual", binary<BinaryFunction::NotEqual>},
    LayerRow{"Less", binary<BinaryFunction::Less>},
    LayerRow{"LessEqual", binary<BinaryFunction::LessOrEqual>},
    LayerRow{"Greater", binary<BinaryFunction::Greater>},
    LayerRow{"GreaterEqual", binary<BinaryFunction::GreaterOrEqual>},
    LayerRow{"LogicalAnd", binary<BinaryFunction::And>},
    LayerRow{"LogicalOr", binary<BinaryFunction::Or>},
    LayerRow{"LogicalXor", binary<BinaryFunction::Xor>},
    LayerRow{"Where", where},
    LayerRow{"Argmax", arg_extreme<true>},
    LayerRow{"Argmin", arg_extreme<false>},
    LayerRow{"TopK", top_k},
    LayerRow{"Cumsum", accumulate<Reduction::Sum>},
    LayerRow{"Cumprod", accumulate<Reduction::Product>},
    LayerRow{"Mean", reduce<Reduction::Mean>},
    LayerRow{"ReduceMean", mean_of_whole},
    LayerRow{"Sum", reduce<Reduction::Sum>},
    LayerRow{"Max", reduce<Reduction::Maximum>},
    LayerRow{"Min", reduce<Reduction::Minimum>},
    LayerRow{"Prod", reduce<Reduction::Product>},
    LayerRow{"Matmul", matmul},
    LayerRow{"Cast", cast},
    LayerRow{"Normalize", normalize},
    LayerRow{"RMSNorm", rms_norm_of_operand},
    LayerRow{"Identity", identity_of_operand},
    LayerRow{"StopGradient", identity_of_operand},
};

}  // namespace

std::span<const LayerRow> operation_rows() { return operation_table; }

}  // namespace convoy::keras
