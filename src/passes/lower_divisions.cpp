// Says divisions with a remainder, of fractions, by what the target computes as the source does: ONNX has a remainder with
// the sign of the dividend alone, Keras one with the sign of the divisor; both divide downward by rounding the quotient
// down, which is another number where the quotient rounds up to a whole one (1 // 0.1 is 9).
#include "ops/expect.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace convoy {

namespace {

class DivisionSpeller {
 public:
  DivisionSpeller(const Graph& graph, Framework framework) : graph_(graph), framework_(framework), patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<Binary>(graph_, patch_, [&](NodeId id, const Binary& op) { return spell(id, op); });
  }

 private:
  using F = BinaryFunction;

  Status spell(NodeId id, const Binary& op) {
    const Node& node = graph_[id];
    node_ = &node;
    a_ = node.inputs[0], b_ = node.inputs[1];
    const bool keras = framework_ == Framework::Keras;
    const bool fractions = is_floating(meeting(graph_[a_].type.dtype, graph_[b_].type.dtype));
    if (op.function == F::TruncateDivide && (fractions || keras)) {
      patch_.remark(node, "is a quotient rounded toward zero");
      if (!fractions) return patch_.become(id, of_whole(F::TruncateDivide));
      return patch_.become(id, function(Function::Truncate, binary(F::Divide, a_, b_)));
    }
    if (op.function == F::Remainder && keras) {
      patch_.remark(node, "is a remainder moved to the dividend's sign");
      return patch_.become(id, fractions ? remainder() : of_whole(F::Remainder));
    }
    if (!fractions || (op.function != F::FloorDivide && (op.function != F::Modulo || keras))) return {};
    patch_.remark(node, op.function == F::Modulo
                            ? "is a remainder moved to the divisor's sign"
                            : "divides what the remainder leaves, which rounds as the source does");
    if (op.function == F::Modulo) return patch_.become(id, modulo(remainder()));
    if (divides_exactly()) return patch_.become(id, function(Function::Floor, binary(F::Divide, a_, b_)));
    return patch_.become(id, floor_divided());
  }

  // With the sign of a. What a remainder with the divisor's sign is of the sizes has none.
  Result<ValueId> remainder() {
    if (framework_ != Framework::Keras) return binary(F::Remainder, a_, b_);
    const auto size = binary(F::Modulo, function(Function::Abs, a_), function(Function::Abs, b_));
    return where(binary(F::Less, a_, number(0)), function(Function::Negate, size), size);
  }

  // Whether the remainder lies on the other side of 0 than b.
  Result<ValueId> lies_across(Result<ValueId> rest) {
    const auto unlike = binary(F::NotEqual, binary(F::Less, rest, number(0)), binary(F::Less, b_, number(0)));
    return binary(F::And, binary(F::NotEqual, rest, number(0)), unlike);
  }

  Result<ValueId> modulo(Result<ValueId> rest) { return where(lies_across(rest), binary(F::Add, rest, b_), rest); }

  // As ATen divides: what the remainder leaves, one less where it lies across, to the nearest whole number.
  Result<ValueId> floor_divided() {
    const auto rest = remainder();
    const auto quotient = binary(F::Divide, binary(F::Subtract, a_, rest), b_);
    const auto lower = where(lies_across(rest), binary(F::Subtract, quotient, number(1)), quotient);
    const auto below = function(Function::Floor, lower);
    const auto rounds_up = binary(F::Greater, binary(F::Subtract, lower, below), number(0.5F));
    const auto whole = where(rounds_up, binary(F::Add, below, number(1)), below);
    return where(binary(F::Equal, b_, number(0)), binary(F::Divide, a_, b_), whole);
  }

  // Toward zero from what is divided downward: one step up where the signs differ and something is left. Nothing overflows.
  Result<ValueId> of_whole(F wanted) {
    const auto rest = binary(F::Modulo, a_, b_);
    const auto unlike = binary(F::NotEqual, binary(F::Less, a_, number(0)), binary(F::Less, b_, number(0)));
    const auto across = binary(F::And, binary(F::NotEqual, rest, number(0)), unlike);
    if (wanted == F::Remainder) return where(across, binary(F::Subtract, rest, b_), rest);
    const auto below = binary(F::FloorDivide, a_, b_);
    return where(across, binary(F::Add, below, number(1)), below);
  }

  // Powers of two divide without rounding.
  bool divides_exactly() const {
    const auto& divisor = graph_[b_].constant;
    if (!divisor) return false;
    return std::ranges::all_of(divisor->doubles(), [](double value) {
      int exponent = 0;
      return value != 0 && std::isfinite(value) && std::abs(std::frexp(value, &exponent)) == 0.5;
    });
  }

  Result<ValueId> number(float value) {
    const DType dtype = meeting(patch_.type(a_).dtype, patch_.type(b_).dtype);
    if (is_floating(dtype)) {
      const Tensor tensor = Tensor::of({}, std::vector<float>{value});
      return patch_.constant(node_->layer + "/number", tensor.converted(dtype), false);
    }
    const auto whole = static_cast<std::int64_t>(value);
    std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(dtype)));
    std::memcpy(bytes.data(), &whole, bytes.size());
    return patch_.constant(node_->layer + "/number", *Tensor::owning(dtype, {}, std::move(bytes)), false);
  }
  Result<ValueId> binary(F function, Result<ValueId> a, Result<ValueId> b) {
    if (!a) return a;
    return b ? patch_.one(*node_, Binary{function}, {*a, *b}) : b;
  }
  Result<ValueId> function(Function function, Result<ValueId> x) {
    return x ? patch_.one(*node_, Unary{function}, {*x}) : x;
  }
  Result<ValueId> where(Result<ValueId> condition, Result<ValueId> a, Result<ValueId> b) {
    if (!condition) return condition;
    if (!a) return a;
    return b ? patch_.one(*node_, Where{}, {*condition, *a, *b}) : b;
  }

  const Graph& graph_;
  Framework framework_;
  Patch patch_;
  const Node* node_ = nullptr;
  ValueId a_, b_;
};

}  // namespace

Result<Patch> lower_divisions(const Graph& graph, const Target& target) {
  return DivisionSpeller(graph, target.framework).run();
}

}  // namespace convoy
