// Numbers stored in 8 or more bits with a scale and a place of zero: to them, from them, and products of them. What is
// computed is what the standard says in real numbers: y = round(x / scale) + zero, kept within the type.
#include "formats/onnx/composed.h"
#include "formats/onnx/types.h"
#include "graph/quantized_steps.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace convoy::onnx {
namespace {

using enum BinaryFunction;

// a and b met; while the model is read where both are known, and of one shape or one of them one number.
ValueId met(FunctionCall& call, std::string_view word, BinaryFunction function, ValueId a, ValueId b) {
  const Tensor *x = call.constant(a), *y = call.constant(b);
  const bool fit = x && y && (x->shape() == y->shape() || x->rank() == 0 || y->rank() == 0);
  if (call.failed() || !fit || !is_floating(call.type(a).dtype)) return both(call, function, a, b);
  const Sizes shape = x->rank() == 0 ? y->shape() : x->shape();
  const auto left = x->doubles(), right = y->doubles();
  std::vector<double> numbers;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const double l = left[left.size() == 1 ? 0 : i], r = right[right.size() == 1 ? 0 : i];
    numbers.push_back(function == Subtract ? l - r : function == Multiply ? l * r : l / r);
  }
  return table(call, word, shape, std::move(numbers), call.type(a).dtype);
}

// A scale or a zero as it meets x: one number, one for each cell of `axis`, or one for each block along it.
ValueId spread(FunctionCall& call, ValueId parameter, ValueId x, Size axis, Size block) {
  if (!parameter || call.failed()) return parameter;
  if (block <= 0) {
    const bool one = call.rank(parameter) == 1 && call.dim(parameter, 0) == Dim(1) && call.rank(x) != 1;
    if (!one) return along(call, parameter, x, axis);
    if (const Tensor* known = call.constant(parameter)) return call.remade(parameter, known->reshaped({}));
    return call.add(Reshape{{}}, {parameter});
  }
  const Dim size = call.dim(x, axis);
  constexpr Size most = Size{1} << 24;
  if (!size.known() || *size > most || call.rank(parameter) != call.rank(x)) {
    call.refuse(Fault::Unsupported, "attribute 'block_size' on an axis of unknown size");
    return parameter;
  }
  Take take{axis, {}};
  for (Size i = 0; i < *size; ++i) take.indices.push_back(i / block);
  return call.add(take, {parameter});
}

// Where the axis and the blocks of a scale are; the last axis but others until opset 12, where there was none.
struct Grain {
  Size axis = 0, block = 0;
};

Grain grain_of(FunctionCall& call, ValueId x) {
  Grain grain{takes(call, "axis") ? call.attrs.integer("axis", 1) : 1,
              takes(call, "block_size") ? call.attrs.integer("block_size", 0) : 0};
  const Size rank = call.rank(x);
  if (grain.axis >= -rank && grain.axis < rank) grain.axis = positive_axis(grain.axis, rank);
  else grain.axis = 0;  // of one scale for all, the axis says nothing
  return grain;
}

std::optional<DType> type_named(FunctionCall& call, std::string_view attribute) {
  if (!takes(call, attribute)) return std::nullopt;
  const Size code = call.attrs.integer(attribute, 0);
  if (code == 0) return std::nullopt;
  const auto dtype = dtype_of(code);
  if (!dtype)
    call.refuse(Fault::Unsupported,
                "attribute '" + std::string(attribute) + "' is " + name_of_type(code) + ", a type that is not carried");
  return dtype;
}

// Rounded to the next whole number (halves to the even one), moved to the zero, kept within the type.
ValueId rounded(FunctionCall& call, ValueId quotient, ValueId zero, DType to) {
  const auto bounds = whole_bounds(to);
  if (!bounds) {
    call.refuse(Fault::Unsupported, "quantized numbers of type " + std::string(name_of(to)));
    return {};
  }
  ValueId y = each(call, Function::Round, quotient);
  if (zero && !call.is_zeros(zero)) y = both(call, Add, y, as_type(call, zero, call.type(y).dtype, "zero"));
  return call.add(Cast{to}, {call.add(Clip{bounds->least, bounds->most}, {y})});
}

// In single precision at least, as runtimes compute.
ValueId in_reals(FunctionCall& call, ValueId x) {
  return x && !is_floating(call.type(x).dtype) ? as_type(call, x, DType::F32) : x;
}

std::vector<ValueId> quantize_linear(FunctionCall& call) {
  const ValueId x = call.tensor("x"), scale = call.tensor("y_scale"), zero = call.optional("y_zero_point");
  const Grain grain = grain_of(call, x);
  if (takes(call, "saturate")) call.attrs.ignore({"saturate"});    // of float8 types alone
  if (takes(call, "precision")) call.attrs.ignore({"precision"});  // of the quotient
  const auto named = type_named(call, "output_dtype");
  if (call.failed()) return {};
  const DType to = zero ? call.type(zero).dtype : named.value_or(DType::U8);
  const ValueId quotient =
      both(call, Divide, in_reals(call, x), in_reals(call, spread(call, scale, x, grain.axis, grain.block)));
  return {rounded(call, quotient, spread(call, zero, x, grain.axis, grain.block), to)};
}

// The distance from the zero, in real numbers.
ValueId from_zero(FunctionCall& call, ValueId x, ValueId zero, DType dtype) {
  const ValueId real = as_type(call, x, dtype, "weight");
  if (!zero || call.is_zeros(zero)) return real;
  return met(call, "weight", Subtract, real, as_type(call, zero, dtype, "zero"));
}

std::vector<ValueId> dequantize_linear(FunctionCall& call) {
  const ValueId x = call.tensor("x"), scale = call.tensor("x_scale"), zero = call.optional("x_zero_point");
  const Grain grain = grain_of(call, x);
  const auto named = type_named(call, "output_dtype");
  if (call.failed()) return {};
  const DType type = named.value_or(call.type(scale).dtype);
  const ValueId left = from_zero(call, x, spread(call, zero, x, grain.axis, grain.block), type);
  return {both(call, Multiply, left, as_type(call, spread(call, scale, x, grain.axis, grain.block), type))};
}

// To 0..255, so that the smallest and the largest number, and 0, have a place.
std::vector<ValueId> dynamic_quantize(FunctionCall& call) {
  const ValueId x = call.tensor("x");
  const Sizes axes = all_axes(call.rank(x));
  const DType type = call.type(x).dtype;
  const auto end = [&](Reduction reduction, BinaryFunction function, std::string_view word) {
    return both(call, function, call.add(Reduce{reduction, axes, false}, {x}), number(call, word, 0, type));
  };
  const ValueId most = end(Reduction::Maximum, Maximum, "least_maximum");
  const ValueId least = end(Reduction::Minimum, Minimum, "most_minimum");
  const ValueId span = both(call, Subtract, most, least);
  const ValueId scale = both(call, Divide, span, number(call, "steps", 255, type));
  const ValueId zero = rounded(call, each(call, Function::Negate, both(call, Divide, least, scale)), {}, DType::U8);
  return {rounded(call, both(call, Divide, x, scale), zero, DType::U8), scale, zero};
}

// ---- products -----------------------------------------------------------------------------------------------------------

// How far any filter's sum of numbers of 8 bits, each up to 255 from its zero, may lie from 0: by the weights where they are known.
double largest_sum(FunctionCall& call, ValueId weight, ValueId zero) {
  constexpr double farthest = 255;
  Size terms = 1;
  for (Size i = 1; i < call.rank(weight); ++i)
    if (const Dim n = call.dim(weight, i); n.known() && terms < (Size{1} << 30)) terms *= *n;
  const Tensor *known = call.constant(weight), *from = zero ? call.constant(zero) : nullptr;
  const double most = static_cast<double>(terms) * farthest * farthest;
  if (!known || known->rank() < 1 || (zero && !from)) return most;
  const std::vector<double> weights = known->doubles(), zeros = from ? from->doubles() : std::vector<double>{0};
  const auto filters = static_cast<std::size_t>(known->shape()[0]);
  if (filters == 0 || (zeros.size() != 1 && zeros.size() != filters)) return most;
  const std::size_t each = weights.size() / filters;
  double largest = 0;
  for (std::size_t filter = 0; filter < filters; ++filter) {
    double sum = 0;
    for (std::size_t i = 0; i < each; ++i)
      sum += std::abs(weights[filter * each + i] - zeros[zeros.size() == 1 ? 0 : filter]);
    largest = std::max(largest, sum);
  }
  return largest * farthest;
}

// Whole numbers up to 2^24, and so all their partial sums, are numbers of single precision.
DType type_for_sums(FunctionCall& call, ValueId weight, ValueId zero, ValueId bias = {}) {
  double largest = call.failed() ? 0 : largest_sum(call, weight, zero);
  if (const Tensor* added = bias && !call.failed() ? call.constant(bias) : nullptr) {
    double most = 0;
    for (const double one : added->doubles()) most = std::max(most, std::abs(one));
    largest += most;
  }
  return largest <= 0x1p24 ? DType::F32 : DType::F64;
}

// Conv of whole numbers: what the row of Conv makes, on numbers counted from their zeros. Cells of padding are zeros.
ValueId whole_conv(FunctionCall& call, ValueId x, ValueId weight, ValueId x_zero, ValueId weight_zero, DType sums) {
  const ValueId left = from_zero(call, x, x_zero, sums);
  const ValueId kernel = from_zero(call, weight, along(call, weight_zero, weight, 0), sums);
  return conv_of(call, left, kernel, {});
}

std::vector<ValueId> conv_integer(FunctionCall& call) {
  const ValueId x = call.tensor("x"), weight = call.tensor("w");
  const ValueId x_zero = call.optional("x_zero_point"), weight_zero = call.optional("w_zero_point");
  const DType sums = type_for_sums(call, weight, weight_zero);
  return {call.add(Cast{DType::I32}, {whole_conv(call, x, weight, x_zero, weight_zero, sums)})};
}

// A scale or a zero of a row of a, or of a column of b: [M] -> [M, 1].
ValueId by_rows(FunctionCall& call, ValueId parameter, ValueId a) {
  if (!parameter || call.rank(parameter) != 1 || call.rank(a) < 2 || call.dim(parameter, 0) == Dim(1)) return parameter;
  return call.add(Unsqueeze{{1}}, {parameter});
}

std::vector<ValueId> matmul_integer(FunctionCall& call) {
  const ValueId a = call.tensor("A"), b = call.tensor("B");
  const ValueId a_zero = call.optional("a_zero_point"), b_zero = call.optional("b_zero_point");
  return {matmul_of(call, from_zero(call, a, by_rows(call, a_zero, a), DType::I32),
                    from_zero(call, b, b_zero, DType::I32))};
}

// Whole sums, each worth `a_scale * b_scale`, in steps of `y_scale` around its zero.
ValueId rescaled(FunctionCall& call, ValueId sums, ValueId a_scale, ValueId b_scale, ValueId y_scale, ValueId y_zero) {
  if (call.failed()) return {};
  const ValueId factor =
      met(call, "factor", Divide, met(call, "scales", Multiply, in_reals(call, a_scale), b_scale), y_scale);
  const ValueId real = as_type(call, sums, DType::F32);
  const ValueId scaled = both(call, Multiply, real, as_type(call, factor, DType::F32));
  return rounded(call, scaled, y_zero, call.type(y_zero).dtype);
}

std::vector<ValueId> qlinear_conv(FunctionCall& call) {
  const ValueId x = call.tensor("x"), x_scale = call.tensor("x_scale"), x_zero = call.tensor("x_zero_point");
  const ValueId w = call.tensor("w"), w_scale = call.tensor("w_scale"), w_zero = call.tensor("w_zero_point");
  const ValueId y_scale = call.tensor("y_scale"), y_zero = call.tensor("y_zero_point"), bias = call.optional("B");
  ValueId sums = whole_conv(call, x, w, x_zero, w_zero, type_for_sums(call, w, w_zero, bias));
  if (call.failed()) return {};
  // Sums beyond float32 are whole numbers of 32 bits again, as runtimes add the bias to.
  if (call.type(sums).dtype == DType::F64) sums = call.add(Cast{DType::I32}, {sums});
  if (bias) sums = both(call, Add, sums, along(call, as_type(call, bias, call.type(sums).dtype, "bias"), x, 1));
  return {rescaled(call, sums, x_scale, along(call, w_scale, x, 1), y_scale, y_zero)};
}

std::vector<ValueId> qlinear_matmul(FunctionCall& call) {
  const ValueId a = call.tensor("a"), a_scale = call.tensor("a_scale"), a_zero = call.tensor("a_zero_point");
  const ValueId b = call.tensor("b"), b_scale = call.tensor("b_scale"), b_zero = call.tensor("b_zero_point");
  const ValueId y_scale = call.tensor("y_scale"), y_zero = call.tensor("y_zero_point");
  const ValueId sums =
      matmul_of(call, from_zero(call, a, by_rows(call, a_zero, a), DType::I32), from_zero(call, b, b_zero, DType::I32));
  return {rescaled(call, sums, by_rows(call, a_scale, a), b_scale, y_scale, y_zero)};
}

// clang-format off
constexpr std::array quantization_table{
    Operator{"QuantizeLinear", {10}, "x y_scale y_zero_point?", "axis:i@13 block_size:i@21 output_dtype:i@21 precision:i@23 saturate:i@19", quantize_linear},
    Operator{"DequantizeLinear", {10}, "x x_scale x_zero_point?", "axis:i@13 block_size:i@21 output_dtype:i@23", dequantize_linear},
    Operator{"DynamicQuantizeLinear", {11}, "x", "", dynamic_quantize, {}, {3, 3}},
    Operator{"ConvInteger", {10}, "x w x_zero_point? w_zero_point?", "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I", conv_integer},
    Operator{"MatMulInteger", {10}, "A B a_zero_point? b_zero_point?", "", matmul_integer},
    Operator{"QLinearConv", {10}, "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B?", "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I", qlinear_conv},
    Operator{"QLinearMatMul", {10}, "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point", "", qlinear_matmul}};
// clang-format on

}  // namespace

std::span<const Operator> quantization_operators() { return quantization_table; }

}  // namespace convoy::onnx
