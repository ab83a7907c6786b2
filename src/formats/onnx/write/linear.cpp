// Products of matrices. A matrix keeps the order in which it is stored where Gemm can say that.
#include "formats/onnx/write/sink.h"

#include <array>

namespace convoy::onnx {
namespace {

Status write_linear(const Linear& op, Sink& sink) {
  if (sink.rank() == 2) {
    sink.last("Gemm", {sink.name(0), sink.name(1), sink.name(2)}, {{"transB", Size{op.order == LinearOrder::OutIn}}});
    return {};
  }
  std::string matrix = sink.name(1);
  if (op.order == LinearOrder::OutIn) matrix = sink.step("Transpose", {matrix}, {{"perm", Sizes{1, 0}}});
  if (!sink.has(2)) return sink.last("MatMul", {sink.name(), matrix}), Status();
  sink.last("Add", {sink.step("MatMul", {sink.name(), matrix}), sink.name(2)});
  return {};
}

// A product with a constant matrix is read back as a layer, so it is written as one.
Status write_matmul(const MatMul&, Sink& sink) {
  if (sink.rank(0) == 2 && sink.rank(1) == 2 && sink.constant(1))
    return sink.last("Gemm", {sink.name(0), sink.name(1)}, {{"transB", Size{0}}}), Status();
  sink.last("MatMul", {sink.name(0), sink.name(1)});
  return {};
}

Status write_einsum(const Einsum& op, Sink& sink) {
  if (sink.opset() < 12) return sink.too_old("Einsum", 12);
  sink.last("Einsum", {sink.name(0), sink.name(1)}, {{"equation", op.equation}});
  return {};
}

Status write_embedding(const Embedding&, Sink& sink) {
  const DType dtype = sink.fact().dtype;
  std::string rows_wanted = sink.name(0);
  if (dtype != DType::I32 && dtype != DType::I64)
    rows_wanted = sink.step("Cast", {rows_wanted}, {{"to", data_type_of(DType::I64)}});
  sink.last("Gather", {sink.name(1), rows_wanted}, {{"axis", Size{0}}});
  return {};
}

constexpr std::array linear_table{writes<write_linear>(), writes<write_matmul>(), writes<write_einsum>(),
                                  writes<write_embedding>()};
static_assert(decides<LinearFamily>(linear_table));

}  // namespace

std::span<const Row> linear_rows() { return linear_table; }

}  // namespace convoy::onnx
