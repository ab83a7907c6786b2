// FULLY_CONNECTED, BATCH_MATMUL and lookups in tables.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"

#include "ops/expect.h"

#include <array>
#include <numeric>

namespace convoy::tflite {
namespace {

// The kernel [O, I] is brought into TensorFlow's order. Without keep_num_dims all axes but the last are one: [N, k] whatever the rank, by the kernel's own length.
std::vector<ValueId> fully_connected(FunctionCall& call) {
  ValueId x = call.tensor("input");
  const ValueId filter = call.tensor("filter"), bias = call.optional("bias");
  call.attrs.ignore({"quantized_bias_type"});
  const bool has_zero_points = call.attrs.truth("asymmetric_quantize_inputs", false);
  const bool keeps = call.attrs.truth("keep_num_dims", false);
  if (call.attrs.integer("weights_format", 0) != 0)
    call.refuse(Fault::Unsupported, "option 'weights_format' shuffles the kernel, which is not carried");
  if (!call.failed() && (call.rank(filter) != 2 || !call.dim(filter, 1).known()))
    call.refuse(Fault::Format, "the kernel has shape " + text_of(call.shape(filter)) + ", expected two known sizes");
  if (call.failed()) return {};
  const Dim length = call.dim(filter, 1);
  if (!keeps && (call.rank(x) != 2 || call.dim(x, 1) != length)) x = call.add(Reshape{{-1, *length}}, {x});
  const ValueId kernel = permuted(call, filter, {1, 0});
  if (const Quantization* held = call.quantization(kernel); held && has_zero_points) {
    Quantization around = *held;
    around.inputs_have_zero_points = true;
    call.set_quantization(kernel, std::move(around));
  }
  return {activated(call, call.add(Linear{LinearOrder::InOut}, {x, kernel, bias}))};
}

ValueId last_two_swapped(FunctionCall& call, ValueId x) {
  const Size rank = call.rank(x);
  if (call.failed() || rank < 2) return x;
  Sizes axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), Size{0});
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return call.add(Transpose{std::move(axes)}, {x});
}

std::vector<ValueId> batch_matmul(FunctionCall& call) {
  ValueId a = call.tensor("a"), b = call.tensor("b");
  call.attrs.ignore({"asymmetric_quantize_inputs"});
  if (call.attrs.truth("adj_x", false)) a = last_two_swapped(call, a);
  if (call.attrs.truth("adj_y", false)) b = last_two_swapped(call, b);
  return {call.add(MatMul{}, {a, b})};
}

std::vector<ValueId> embedding_lookup(FunctionCall& call) {
  const ValueId ids = call.tensor("ids"), table = call.tensor("table");
  return {call.add(Gather{0}, {table, ids})};
}

constexpr std::array linear_table{
    Operator{"FULLY_CONNECTED", 9, "input filter bias", 8,
             "fused_activation_function:b weights_format:b keep_num_dims:b asymmetric_quantize_inputs:b "
             "quantized_bias_type:b",
             fully_connected},
    Operator{"BATCH_MATMUL", 126, "a b", 101, "adj_x:b adj_y:b asymmetric_quantize_inputs:b", batch_matmul},
    Operator{"EMBEDDING_LOOKUP", 7, "ids table", 0, "", embedding_lookup},
};

}  // namespace

std::span<const Operator> linear_operators() { return linear_table; }

}  // namespace convoy::tflite
