// TFLite has no error function, but the GELU that exporters spell with one: x / 2 * (1 + erf(x / sqrt(2))), its factors in any order.
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace convoy {

namespace {

// scale * of + offset
struct Line {
  ValueId of;
  double scale = 1, offset = 0;
};

bool is_about(double number, double wanted) { return std::abs(number - wanted) <= 1e-6 * std::abs(wanted); }

class Gelus {
 public:
  explicit Gelus(const Graph& graph) : graph_(graph), patch_(graph), readers_(readers_of(graph)) {}

  Result<Patch> run() {
    return node_by_node<Unary>(graph_, patch_, [&](NodeId id, const Unary& op) {
      return op.function == Function::Erf ? fold(graph_[id]) : Status();
    });
  }

 private:
  Status fold(const Node& erf) {
    const auto inside = line_of(erf.inputs[0]);
    if (!inside || inside->offset != 0 || !is_about(inside->scale, 1 / std::numbers::sqrt2)) return {};
    const ValueId x = inside->of;
    const NodeId sum = only_reader(erf.outputs[0]);
    const auto outside = sum ? line_of(graph_[sum].outputs[0]) : std::nullopt;
    if (!outside || outside->of != erf.outputs[0] || !is_about(outside->offset, outside->scale)) return {};
    double scale = outside->scale;
    bool has_x = false;
    NodeId last = sum;
    while (!has_x || !is_about(scale, 0.5)) {
      const ValueId product = graph_[last].outputs[0];
      const NodeId next = only_reader(product);
      const auto factor = next ? factor_beside(graph_[next], product, x) : std::nullopt;
      if (!factor || factor->offset != 0 || (factor->of && (has_x || factor->of != x))) return {};
      has_x = has_x || factor->of;
      scale *= factor->scale;
      last = next;
    }
    patch_.remark(graph_[last], "x / 2 * (1 + erf(x / sqrt(2))) is GELU, since TFLite has no error function");
    return patch_.become(last, patch_.one(graph_[last], Unary{Function::Gelu}, {x}));
  }

  // The one node that reads a value which nobody outside sees.
  NodeId only_reader(ValueId v) const {
    const auto& readers = readers_[v.slot()];
    return readers.size() == 1 && std::ranges::find(graph_.outputs, v) == graph_.outputs.end() ? readers.front()
                                                                                               : NodeId{};
  }

  // The number of a constant that has one.
  std::optional<double> number(ValueId v) const {
    const auto& constant = graph_[v].constant;
    if (!constant || constant->count() != 1 || graph_[v].type.rank() > 0) return std::nullopt;
    return constant->doubles()[0];
  }

  std::optional<Line> line_of(ValueId v) const {
    const NodeId producer = graph_[v].producer;
    if (!producer) return Line{v};
    const Node& node = graph_[producer];
    if (const auto* affine = get_if<Affine>(&node.op)) return Line{node.inputs[0], affine->scale, affine->offset};
    const auto* binary = get_if<Binary>(&node.op);
    if (!binary) return Line{v};
    const auto left = number(node.inputs[0]), right = number(node.inputs[1]);
    if (left.has_value() == right.has_value()) return Line{v};
    const ValueId of = node.inputs[left ? 1 : 0];
    const double known = left.value_or(right.value_or(0));
    switch (binary->function) {
      case BinaryFunction::Add: return Line{of, 1, known};
      case BinaryFunction::Multiply: return Line{of, known, 0};
      case BinaryFunction::Divide: return right ? Line{of, 1 / known, 0} : Line{v};
      default: return Line{v};
    }
  }

  // What a product has beside `one`: a number, x, or a number times another value.
  std::optional<Line> factor_beside(const Node& node, ValueId one, ValueId x) const {
    if (const auto line = line_of(node.outputs[0]); line->of == one) return Line{{}, line->scale, line->offset};
    const auto* binary = get_if<Binary>(&node.op);
    if (!binary || binary->function != BinaryFunction::Multiply) return std::nullopt;
    const ValueId other = node.inputs[node.inputs[0] == one ? 1 : 0];
    return other == x ? Line{x} : line_of(other);
  }

  const Graph& graph_;
  Patch patch_;
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

Result<Patch> fold_gelu(const Graph& graph, const Target& target) {
  return target.lite ? Gelus(graph).run() : Patch(graph);
}

}  // namespace convoy
