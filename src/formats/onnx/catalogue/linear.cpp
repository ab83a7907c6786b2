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
    return {call.add(Binary{BinaryFunction::Add}, {call.add(linear, {a, b}), c})};
  }
  if (turns_b) b = call.add(Transpose{{1, 0}}, {b});
  ValueId y = call.add(MatMul{}, {a, b});
  if (alpha != 1) y = call.add(Affine{alpha, 0}, {y});
  if (!adds) return {y};
  const ValueId scaled = beta == 1 ? c : call.add(Affine{beta, 0}, {c});
  return {call.add(Binary{BinaryFunction::Add}, {y, scaled})};
}

// Without an arrow the result has the letters that stand there once, in the order of the alphabet.
std::string letters_that_stay(const std::string& equation) {
  std::string once;
  for (const char letter : equation)
    if (letter != ',' && std::ranges::count(equation, letter) == 1) once += letter;
  std::ranges::sort(once);
  return once;
}

// "...": as many axes as no letter names, under letters that stand nowhere.
void spell_out_dots(std::string& from, std::string& to, Size rank) {
  const auto dots = from.find("...");
  if (dots == std::string::npos || from.find('.', dots + 3) != std::string::npos) return;
  std::string letters;
  for (char letter = 'A'; letter <= 'Z'; ++letter)
    if (from.find(letter) == std::string::npos && static_cast<Size>(from.size() - 3 + letters.size()) < rank)
      letters += letter;
  from.replace(dots, 3, letters);
  if (const auto in_result = to.find("..."); in_result != std::string::npos) to.replace(in_result, 3, letters);
}

// x with two neighbouring axes of one letter as their diagonal: they become one axis, of which each (n + 1)th is taken.
ValueId diagonal(FunctionCall& call, ValueId x, std::string& from) {
  const auto twice = std::ranges::adjacent_find(from);
  if (twice == from.end() || static_cast<Size>(from.size()) != call.rank(x)) return x;
  const auto axis = static_cast<Size>(twice - from.begin());
  const Dim n = call.dim(x, axis);
  if (!n.known() || call.dim(x, axis + 1) != n || *n < 1 || *n > (Size{1} << 24)) return x;
  Sizes to(static_cast<std::size_t>(axis), 0);  // as they are
  to.push_back(*n * *n);
  for (Size i = axis + 2; i < call.rank(x); ++i) to.push_back(call.dim(x, i).known() ? *call.dim(x, i) : -1);
  if (std::ranges::count(to, -1) > 1) return x;
  from.erase(twice);
  return call.add(Slice{axis, {}, {}, *n + 1}, {call.add(Reshape{to}, {x})});
}

// Axes that the result lacks are summed, the others put in its order.
ValueId of_one(FunctionCall& call, ValueId x, const std::string& equation) {
  const auto arrow = equation.find("->");
  std::string from = equation.substr(0, arrow), to = equation.substr(arrow + 2);
  spell_out_dots(from, to, call.rank(x));
  x = diagonal(call, x, from);
  const auto unlike = [](std::string letters) {
    std::ranges::sort(letters);
    return std::ranges::adjacent_find(letters) == letters.end();
  };
  if (!unlike(from) || !unlike(to) || from.find('.') != std::string::npos ||
      static_cast<Size>(from.size()) != call.rank(x) || to.find_first_not_of(from) != std::string::npos) {
    call.refuse(Fault::Unsupported, "einsum equation '" + equation + "' of one operand");
    return {};
  }
  Sizes summed, order;
  std::string kept;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to.find(from[i]) == std::string::npos) summed.push_back(static_cast<Size>(i));
    else kept += from[i];
  }
  for (const char letter : to) order.push_back(static_cast<Size>(kept.find(letter)));
  if (!summed.empty()) x = call.add(Reduce{Reduction::Sum, summed, false}, {x});
  return call.add(Transpose{order}, {x});
}

std::vector<ValueId> einsum(FunctionCall& call) {
  const auto inputs = call.several("inputs");
  std::string equation = call.attrs.word("equation");
  std::erase(equation, ' ');
  if (equation.find("->") == std::string::npos) equation += "->" + letters_that_stay(equation);
  if (inputs.size() == 1) return {of_one(call, inputs.front(), equation)};
  if (inputs.size() != 2)
    call.refuse(Fault::Unsupported, "an equation of " + std::to_string(inputs.size()) + " operands");
  return {call.add(Einsum{equation}, inputs)};
}

// clang-format off
constexpr std::array linear_table{
    Operator{"MatMul", {}, "A B", "", matmul},
    Operator{"Gemm", {}, "A B C?", "alpha:f beta:f transA:i transB:i", gemm},
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
