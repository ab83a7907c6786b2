// Products of matrices: MatMul, Gemm, Einsum. A known right side of rank 2 makes them a linear layer.
#include "formats/onnx/composed.h"
#include "formats/onnx/write/sink.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {

ValueId matmul_of(FunctionCall& call, ValueId a, ValueId b) {
  if (call.failed()) return {};
  const DType dtype = meeting(call.type(a).dtype, call.type(b).dtype);
  const bool whole = !is_floating(dtype);
  if (!whole && call.constant(b) && call.rank(b) == 2 && call.rank(a) >= 2)
    return call.add(Linear{LinearOrder::InOut}, {a, b});
  if (call.rank(a) == 0 || call.rank(b) == 0) call.refuse(Fault::Format, "a product with a single number");
  if (call.failed()) return {};
  const bool row = call.rank(a) == 1, column = call.rank(b) == 1;
  if (row) a = call.add(Unsqueeze{{0}}, {a});
  if (column) b = call.add(Unsqueeze{{1}}, {b});
  ValueId y = call.add(MatMul{}, {a, b});
  if (column && y) y = call.add(Squeeze{{call.rank(y) - 1}}, {y});
  if (row && y) y = call.add(Squeeze{{call.rank(y) - (column ? 1 : 2)}}, {y});
  return y;
}

namespace {

std::vector<ValueId> matmul(FunctionCall& call) {
  const ValueId a = call.tensor("A");
  return {matmul_of(call, a, call.tensor("B"))};
}

// C as the bias [N] of a linear layer; nothing where it has another shape.
std::optional<ValueId> bias_of(FunctionCall& call, ValueId c, Dim outputs) {
  const Tensor* known = call.constant(c);
  if (!known || !outputs.known()) return std::nullopt;
  if (known->shape() == Sizes{*outputs}) return c;
  if (known->shape() == Sizes{1, *outputs}) return call.make_constant("bias", known->reshaped({*outputs}));
  return std::nullopt;
}

// alpha * A' * B' + beta * C
std::vector<ValueId> gemm(FunctionCall& call) {
  ValueId a = call.tensor("A"), b = call.tensor("B");
  const ValueId c = call.optional("C");
  const double alpha = call.attrs.number("alpha", 1), beta = call.attrs.number("beta", 1);
  const bool turns_a = call.attrs.truth("transA", false), turns_b = call.attrs.truth("transB", false);
  if (!call.failed() && (call.rank(a) != 2 || call.rank(b) != 2))
    call.refuse(Fault::Format,
                "inputs of shapes " + text_of(call.shape(a)) + " and " + text_of(call.shape(b)) + ", expected rank 2");
  if (call.failed()) return {};
  if (turns_a) a = call.add(Transpose{{1, 0}}, {a});
  const bool adds = c && beta != 0;
  if (call.constant(b) && alpha == 1 && (!adds || beta == 1)) {
    const Linear linear{turns_b ? LinearOrder::OutIn : LinearOrder::InOut};
    if (!adds) return {call.add(linear, {a, b})};
    if (const auto bias = bias_of(call, c, call.dim(b, turns_b ? 0 : 1))) return {call.add(linear, {a, b, *bias})};
    const ValueId y = call.add(linear, {a, b});
    expect_stretch(call, "input 'C'", c, y);
    return {call.add(Binary{BinaryFunction::Add}, {y, c})};
  }
  if (turns_b) b = call.add(Transpose{{1, 0}}, {b});
  ValueId y = call.add(MatMul{}, {a, b});
  if (alpha != 1) y = call.add(Affine{alpha, 0}, {y});
  if (!adds) return {y};
  const ValueId scaled = beta == 1 ? c : call.add(Affine{beta, 0}, {c});
  expect_stretch(call, "input 'C'", c, y);
  return {call.add(Binary{BinaryFunction::Add}, {y, scaled})};
}

// The sum of the products of each row and each other column: of 3 rows and less, which rotations and boxes have.
std::vector<ValueId> determinant(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  const Size rank = call.rank(x), rows = rank - 2, columns = rank - 1;
  const Dim count = call.dim(x, columns);
  if (call.failed()) return {};
  if (rank < 2 || count != call.dim(x, rows) || !count.known() || *count < 1 || *count > 3) {
    call.refuse(Fault::Unsupported, "of matrices of shape " + text_of(call.shape(x)) + "; 1 to 3 rows are carried");
    return {};
  }
  const auto cell = [&](Size i, Size j) {
    return call.add(Slice{columns, j, j + 1}, {call.add(Slice{rows, i, i + 1}, {x})});
  };
  const auto times = [&](ValueId a, ValueId b) { return call.add(Binary{BinaryFunction::Multiply}, {a, b}); };
  // Of two rows and two columns.
  const auto minor = [&](Size row, Size left, Size right) {
    return call.add(Binary{BinaryFunction::Subtract},
                    {times(cell(row, left), cell(row + 1, right)), times(cell(row, right), cell(row + 1, left))});
  };
  ValueId y = *count == 1 ? x : *count == 2 ? minor(0, 0, 1) : ValueId{};
  if (*count == 3) {
    const ValueId first = times(cell(0, 0), minor(1, 1, 2)), second = times(cell(0, 1), minor(1, 0, 2)),
                  third = times(cell(0, 2), minor(1, 0, 1));
    y = call.add(Binary{BinaryFunction::Add}, {call.add(Binary{BinaryFunction::Subtract}, {first, second}), third});
  }
  return {call.add(Squeeze{{rows, columns}}, {y})};
}

std::vector<ValueId> einsum(FunctionCall& call) {
  return {call.einsum(call.attrs.word("equation"), call.several("inputs"))};
}

// clang-format off
constexpr std::array linear_table{
    Operator{"MatMul", {}, "A B", "", matmul},
    Operator{"Gemm", {}, "A B C?", "alpha:f beta:f transA:i transB:i", gemm},
    Operator{"Det", {11}, "X", "", determinant},
    Operator{"Einsum", {12}, "inputs...", "equation:s", einsum}};
// clang-format on

// ---- written ----------------------------------------------------------------------------------------------------------

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

// A product with a constant matrix is read back as a layer, so it is written as one. ONNX Runtime's Gemm takes no whole numbers.
Status write_matmul(const MatMul&, Sink& sink) {
  if (sink.rank(0) == 2 && sink.rank(1) == 2 && sink.constant(1) && is_floating(sink.type().dtype))
    return sink.last("Gemm", {sink.name(0), sink.name(1)}, {{"transB", Size{0}}}), Status();
  sink.last("MatMul", {sink.name(0), sink.name(1)});
  return {};
}

Status write_einsum(const Einsum& op, Sink& sink) {
  if (!sink.knows("Einsum")) return sink.too_old("Einsum", "Einsum");
  sink.last("Einsum", {sink.name(0), sink.name(1)}, {{"equation", op.equation}});
  return {};
}

Status write_embedding(const Embedding&, Sink& sink) {
  const DType dtype = sink.type().dtype;
  std::string rows_wanted = sink.name(0);
  if (dtype != DType::I32 && dtype != DType::I64)
    rows_wanted = sink.step("Cast", {rows_wanted}, {{"to", data_type_of(DType::I64)}});
  sink.last("Gather", {sink.name(1), rows_wanted}, {{"axis", Size{0}}});
  return {};
}

constexpr std::array linear_writers{writes<write_linear>(), writes<write_matmul>(), writes<write_einsum>(),
                                    writes<write_embedding>()};
static_assert(decides<LinearFamily>(linear_writers));

}  // namespace

std::span<const Operator> linear_operators() { return linear_table; }

std::span<const Row> linear_rows() { return linear_writers; }

}  // namespace convoy::onnx
