// Products of matrices, and rows taken out of tables.
#include "formats/tf/arguments.h"
#include "formats/tf/catalogue/catalogue.h"
#include "ops/expect.h"

#include <array>
#include <numeric>

namespace convoy::tf {
namespace {

// The last two axes change places.
ValueId turned(FunctionCall& call, ValueId x) {
  const Size rank = call.rank(x);
  if (call.failed() || rank < 2) return x;
  Sizes permutation(static_cast<std::size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), Size{0});
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return call.add(Transpose{permutation}, {x});
}

// A known matrix of fractions on the right is a layer's kernel.
ValueId product(FunctionCall& call, ValueId a, ValueId b, bool turns_b) {
  if (call.failed()) return {};
  const bool whole = !is_floating(meeting(call.type(a).dtype, call.type(b).dtype));
  if (!whole && call.constant(b) && call.rank(b) == 2)
    return call.add(Linear{turns_b ? LinearOrder::OutIn : LinearOrder::InOut}, {a, b});
  if (turns_b) b = turned(call, b);
  return call.add(MatMul{}, {a, b});
}

std::vector<ValueId> mat_mul(FunctionCall& call) {
  ValueId a = call.tensor("a");
  const ValueId b = call.tensor("b");
  const bool turns_a = call.attrs.truth("transpose_a", false), turns_b = call.attrs.truth("transpose_b", false);
  call.attrs.ignore({"grad_a", "grad_b"});
  if (turns_a) a = turned(call, a);
  return {product(call, a, b, turns_b)};
}

std::vector<ValueId> batch_mat_mul(FunctionCall& call) {
  ValueId a = call.tensor("x"), b = call.tensor("y");
  call.attrs.ignore({"grad_x", "grad_y"});
  const bool turns_a = call.attrs.truth("adj_x", false), turns_b = call.attrs.truth("adj_y", false);
  // Bytes are added up in the type of the result.
  if (const std::string type = call.attrs.word("Tout", ""); !call.failed() && type == name_of(DType::I32)) {
    if (call.type(a).dtype != DType::I32) a = call.add(Cast{DType::I32}, {a});
    if (call.type(b).dtype != DType::I32) b = call.add(Cast{DType::I32}, {b});
  }
  if (turns_a) a = turned(call, a);
  return {product(call, a, b, turns_b)};
}

std::vector<ValueId> einsum(FunctionCall& call) {
  call.attrs.ignore({"N"});
  const auto inputs = call.several("inputs");
  return {call.einsum(call.attrs.word("equation"), inputs)};
}

constexpr std::array linear_operator_table{
    Operator{.name = "MatMul", .inputs = "a b", .read = mat_mul},
    Operator{.name = "BatchMatMul", .inputs = "x y", .read = batch_mat_mul},
    Operator{.name = "BatchMatMulV2", .inputs = "x y", .read = batch_mat_mul},
    Operator{.name = "BatchMatMulV3", .inputs = "x y", .read = batch_mat_mul, .types = "Tout"},
    Operator{.name = "Einsum", .inputs = "inputs...", .read = einsum},
};

}  // namespace

std::span<const Operator> linear_operators() { return linear_operator_table; }

}  // namespace convoy::tf
