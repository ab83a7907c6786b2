#include "diagnose/alike.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <type_traits>

namespace convoy::diagnose {

namespace {

void to_float32(double& number) { number = static_cast<double>(static_cast<float>(number)); }
void to_float32(std::optional<double>& number) {
  if (number) to_float32(*number);
}
void to_float32(std::vector<double>& numbers) {
  for (double& number : numbers) to_float32(number);
}
template <class T>
void to_float32(T&) {}

Op steered_by_float32(const Op& op) {
  return op.visit([]<class O>(O copy) -> Op {
    if constexpr (requires { O::fields([](std::string_view, auto) {}); })
      O::fields([&](std::string_view, auto member) { to_float32(copy.*member); });
    if constexpr (std::is_same_v<O, BatchNorm>) copy.momentum = BatchNorm{}.momentum;
    return copy;
  });
}

bool may_be_turned(const Op& op) {
  const auto* binary = get_if<Binary>(&op);
  if (!binary) return false;
  switch (binary->function) {
    case BinaryFunction::Add:
    case BinaryFunction::Multiply:
    case BinaryFunction::Maximum:
    case BinaryFunction::Minimum:
    case BinaryFunction::Equal:
    case BinaryFunction::NotEqual:
    case BinaryFunction::And:
    case BinaryFunction::Or:
    case BinaryFunction::Xor:
    case BinaryFunction::BitAnd:
    case BinaryFunction::BitOr:
    case BinaryFunction::BitXor: return true;
    default: return false;
  }
}

class Walk {
 public:
  Walk(const Graph& a, const Graph& b, const std::function<bool(std::size_t, std::size_t)>& inputs_agree)
      : a_(a),
        b_(b),
        inputs_agree_(inputs_agree) {}

  Alike run() {
    Alike result;
    bool alike = a_.outputs.size() == b_.outputs.size();
    for (std::size_t i = 0; alike && i < a_.outputs.size(); ++i) alike = meet(a_.outputs[i], b_.outputs[i]);
    while (alike && !open_.empty()) {
      const auto [x, y] = open_.back();
      open_.pop_back();
      alike = nodes_agree(x, y);
    }
    result.same_operators = alike;
    if (alike) result.constants = std::move(constants_);
    return result;
  }

 private:
  // What is not settled here is what the makers read.
  bool meet(ValueId x, ValueId y) {
    if (!x || !y) return !x && !y;
    const auto [known, is_new] = now_.try_emplace(x, y);
    if (!is_new) return known->second == y;
    const auto in_a = std::ranges::find(a_.inputs, x), in_b = std::ranges::find(b_.inputs, y);
    if (in_a != a_.inputs.end() || in_b != b_.inputs.end())
      return in_a != a_.inputs.end() && in_b != b_.inputs.end() &&
             inputs_agree_(static_cast<std::size_t>(in_a - a_.inputs.begin()),
                           static_cast<std::size_t>(in_b - b_.inputs.begin()));
    const NodeId of_x = a_[x].producer, of_y = b_[y].producer;
    if (!of_x || !of_y) return false;
    const auto &outs_x = a_[of_x].outputs, &outs_y = b_[of_y].outputs;
    if (std::ranges::find(outs_x, x) - outs_x.begin() != std::ranges::find(outs_y, y) - outs_y.begin()) return false;
    if (seen_.emplace(of_x, of_y).second) open_.emplace_back(of_x, of_y);
    return true;
  }

  bool nodes_agree(NodeId x, NodeId y) {
    const Node &p = a_[x], &q = b_[y];
    if (p.inputs.size() != q.inputs.size() || !is_same_operator(p.op, q.op)) return false;
    const bool turns =
        may_be_turned(p.op) && !is_likely(p.inputs[0], q.inputs[0]) && is_likely(p.inputs[0], q.inputs[1]);
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
      const ValueId of_p = p.inputs[i], of_q = q.inputs[turns ? 1 - i : i];
      const bool is_known = of_p && of_q && (a_[of_p].constant || b_[of_q].constant);
      if (!is_known) {
        if (!meet(of_p, of_q)) return false;
        continue;
      }
      if (!a_[of_p].constant || !b_[of_q].constant) return false;
      if (a_[of_p].constant->shape() != b_[of_q].constant->shape()) return false;
      constants_.push_back({of_p, of_q, x, y, i});
    }
    return true;
  }

  // By what stands there, and no further.
  bool is_likely(ValueId x, ValueId y) const {
    if (!x || !y) return !x && !y;
    if (a_[x].constant || b_[y].constant) return a_[x].constant && b_[y].constant;
    const auto in_a = std::ranges::find(a_.inputs, x), in_b = std::ranges::find(b_.inputs, y);
    const bool is_input = in_a != a_.inputs.end();
    if (is_input != (in_b != b_.inputs.end())) return false;
    if (is_input)
      return inputs_agree_(static_cast<std::size_t>(in_a - a_.inputs.begin()),
                           static_cast<std::size_t>(in_b - b_.inputs.begin()));
    return is_same_operator(a_[a_[x].producer].op, b_[b_[y].producer].op);
  }

  const Graph& a_;
  const Graph& b_;
  const std::function<bool(std::size_t, std::size_t)>& inputs_agree_;
  std::map<ValueId, ValueId> now_;
  std::set<std::pair<NodeId, NodeId>> seen_;
  std::vector<std::pair<NodeId, NodeId>> open_;
  std::vector<ConstantPair> constants_;
};

}  // namespace

bool is_steered_inexactly(const Op& op) {
  return op.visit([]<class O>(const O& own) {
    bool all = true;
    if constexpr (requires { O::fields([](std::string_view, auto) {}); })
      O::fields([&](std::string_view, auto member) {
        auto copy = own.*member;
        to_float32(copy);
        all = all && copy == own.*member;
      });
    return !all;
  });
}

bool is_same_operator(const Op& x, const Op& y) {
  return x.index() == y.index() && (x == y || steered_by_float32(x) == steered_by_float32(y));
}

Alike built_alike(const Graph& a, const Graph& b, const std::function<bool(std::size_t, std::size_t)>& inputs_agree) {
  return Walk(a, b, inputs_agree).run();
}

}  // namespace convoy::diagnose
