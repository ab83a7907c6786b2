// Arithmetic, comparisons, choices and casts.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"
#include "formats/tflite/types.h"
#include "formats/whole_arithmetic.h"

#include "ops/expect.h"

#include <array>
#include <cmath>

namespace convoy::tflite {
namespace {

template <BinaryFunction function>
std::vector<ValueId> binary(FunctionCall& call) {
  const ValueId a = call.tensor("a"), b = call.tensor("b");
  return {call.add(Binary{function}, {a, b})};
}

std::vector<ValueId> power(FunctionCall& call) {
  const ValueId a = call.tensor("a"), b = call.tensor("b");
  if (!call.failed() && !is_floating(call.type(a).dtype)) return {power_of_whole(call, a, b)};
  return {call.add(Binary{BinaryFunction::Power}, {a, b})};
}

bool is_power_of_two(float scale) {
  const float log = std::log2(scale);
  return std::abs(log - std::round(log)) < 1e-3F;
}

// Sums of 16-bit numbers that are shifted alone, as old converters ask for; of float32 and other scales the option says nothing.
bool shifts(FunctionCall& call, ValueId a, ValueId b) {
  const auto fits = [](const Quantization* q) {
    return q && q->dtype == DType::I16 && is_power_of_two(q->scales.front());
  };
  return call.attrs.truth("pot_scale_int16", false) && fits(call.quantization(a)) && fits(call.quantization(b));
}

// With an activation in its options.
template <BinaryFunction function>
std::vector<ValueId> arithmetic_of(FunctionCall& call) {
  const ValueId a = call.tensor("a"), b = call.tensor("b");
  if (shifts(call, a, b) && !call.failed())
    call.refuse(Fault::Unsupported,
                "option 'pot_scale_int16' is true beside scales that are powers of two, which is not carried");
  if (call.failed()) return {};
  const bool whole = function == BinaryFunction::Divide && !is_floating(call.type(a).dtype);
  return {activated(call, call.add(Binary{whole ? BinaryFunction::TruncateDivide : function}, {a, b}))};
}

// Of whole numbers the kernel holds the difference in 32 bits, in steps of twice the larger scale over 128.
std::vector<ValueId> squared_difference(FunctionCall& call) {
  const ValueId a = call.tensor("a"), b = call.tensor("b");
  const ValueId difference = call.add(Binary{BinaryFunction::Subtract}, {a, b});
  const Quantization *of_a = call.quantization(a), *of_b = call.quantization(b);
  if (!call.failed() && of_a && of_b)
    call.set_quantization(difference, {DType::I32, {std::max(of_a->scales.front(), of_b->scales.front()) / 64}, {0}});
  return {call.add(Unary{Function::Square}, {difference})};
}

// One behind another, as the kernel adds them.
std::vector<ValueId> sum_of_all(FunctionCall& call) {
  const auto all = call.several("values");
  if (all.empty()) call.refuse(Fault::Format, "has no input");
  if (call.failed()) return {};
  ValueId sum = all.size() == 1 ? call.add(Identity{}, {all[0]}) : all[0];
  for (std::size_t i = 1; i < all.size(); ++i) sum = call.add(Binary{BinaryFunction::Add}, {sum, all[i]});
  return {sum};
}

std::vector<ValueId> select(FunctionCall& call) {
  const ValueId condition = call.tensor("condition"), a = call.tensor("a"), b = call.tensor("b");
  return {call.add(Where{}, {condition, a, b})};
}

std::vector<ValueId> cast(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  call.attrs.ignore({"in_data_type"});
  const Size code = call.attrs.integer("out_data_type", 0);
  const auto to = dtype_of(code);
  if (!to) call.refuse(Fault::Unsupported, "casts to type " + std::to_string(code) + ", which is not carried");
  if (call.failed()) return {};
  return {call.add(Cast{*to}, {x})};
}

std::vector<ValueId> zeros_like(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const ValueId zero =
      call.make_constant("zero", Tensor::of(Sizes(static_cast<std::size_t>(call.rank(x)), 1), std::vector<float>{0})
                                     .converted(call.type(x).dtype));
  return {call.filled_like(zero, x)};
}

// Of numbers that stand for real ones; the reader leaves other ones out.
std::vector<ValueId> as_it_is(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (call.failed()) return {};
  return {call.add(call.type(x).dtype == DType::F32 ? Op(Identity{}) : Op(Cast{DType::F32}), {x})};
}

// Numbers that the file stores sparsely are read with all of their zeros.
std::vector<ValueId> densify(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {call.add(Identity{}, {x})};
}

constexpr std::array elementwise_table{
    Operator{"ADD", 0, "a b", 11, "fused_activation_function:b pot_scale_int16:b=1",
             arithmetic_of<BinaryFunction::Add>},
    Operator{"SUB", 41, "a b", 28, "fused_activation_function:b pot_scale_int16:b=1",
             arithmetic_of<BinaryFunction::Subtract>},
    Operator{"MUL", 18, "a b", 21, "fused_activation_function:b", arithmetic_of<BinaryFunction::Multiply>},
    Operator{"DIV", 42, "a b", 29, "fused_activation_function:b", arithmetic_of<BinaryFunction::Divide>},
    Operator{"MAXIMUM", 55, "a b", 39, "", binary<BinaryFunction::Maximum>},
    Operator{"MINIMUM", 57, "a b", 39, "", binary<BinaryFunction::Minimum>},
    Operator{"POW", 78, "a b", 56, "", power},
    Operator{"FLOOR_DIV", 90, "a b", 65, "", binary<BinaryFunction::FloorDivide>},
    Operator{"FLOOR_MOD", 95, "a b", 72, "", binary<BinaryFunction::Modulo>},
    Operator{"EQUAL", 71, "a b", 53, "", binary<BinaryFunction::Equal>},
    Operator{"NOT_EQUAL", 72, "a b", 54, "", binary<BinaryFunction::NotEqual>},
    Operator{"LESS", 58, "a b", 41, "", binary<BinaryFunction::Less>},
    Operator{"LESS_EQUAL", 63, "a b", 46, "", binary<BinaryFunction::LessOrEqual>},
    Operator{"GREATER", 61, "a b", 44, "", binary<BinaryFunction::Greater>},
    Operator{"GREATER_EQUAL", 62, "a b", 45, "", binary<BinaryFunction::GreaterOrEqual>},
    Operator{"LOGICAL_AND", 86, "a b", 62, "", binary<BinaryFunction::And>},
    Operator{"LOGICAL_OR", 84, "a b", 60, "", binary<BinaryFunction::Or>},
    Operator{"BITWISE_XOR", 160, "a b", 125, "", binary<BinaryFunction::BitXor>},
    Operator{"ADD_N", 106, "values...", 82, "", sum_of_all},
    Operator{"SQUARED_DIFFERENCE", 99, "a b", 76, "", squared_difference},
    Operator{"SELECT", 64, "condition a b", 47, "", select},
    Operator{"SELECT_V2", 123, "condition a b", 98, "", select},
    Operator{"CAST", 53, "input", 37, "in_data_type:b out_data_type:b", cast},
    Operator{"ZEROS_LIKE", 93, "input", 67, "", zeros_like},
    Operator{"DEQUANTIZE", 6, "input", 38, "", as_it_is},
    Operator{"QUANTIZE", 114, "input", 89, "", as_it_is},
    Operator{"DENSIFY", 124, "input", 99, "", densify},
};

}  // namespace

std::span<const Operator> elementwise_operators() { return elementwise_table; }

}  // namespace convoy::tflite
