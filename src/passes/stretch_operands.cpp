// Stretches operands before they meet where TensorFlow cannot: its kernels broadcast over axes of which at most five groups alternate
// between those that one operand stretches along, and those that the other does or none; a choice over eight.
#include "ops/expect.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <vector>

namespace convoy {

namespace {

// Measured with TensorFlow 2.21 on CPU (tests/oracle/test_onnx_to_keras.py).
constexpr std::size_t most_groups = 5, most_groups_of_choice = 8;

class OperandStretcher {
 public:
  explicit OperandStretcher(const Graph& graph) : graph_(graph), patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<Binary, Where, PRelu>(graph_, patch_, [&](NodeId id, const auto& op) { return meet(id, op); });
  }

 private:
  // As many sizes as the result has.
  Shape shape_at(ValueId v, std::size_t rank) const {
    Shape shape = patch_.type(v).shape;
    if (shape.size() < rank) shape.insert(shape.begin(), rank - shape.size(), Dim(1));
    return shape;
  }

  // Side by side axes along which the same operands stretch count once, those of one cell in all not at all.
  std::size_t groups(const std::vector<ValueId>& operands, const Shape& to) const {
    std::size_t count = 0;
    std::vector<bool> before;
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      if (to[axis] == Dim(1)) continue;
      std::vector<bool> stretched;
      for (const ValueId v : operands) stretched.push_back(shape_at(v, to.size())[axis] == Dim(1));
      if (stretched != before) ++count;
      before = std::move(stretched);
    }
    return count;
  }

  template <class Op>
  Status meet(NodeId id, const Op& op) {
    const Node& node = graph_[id];
    const Shape& to = graph_[node.outputs[0]].type.shape;
    const std::size_t most = holds_alternative<Where>(node.op) ? most_groups_of_choice : most_groups;
    std::vector<ValueId> operands = node.inputs;
    if (to.size() <= most || groups(operands, to) <= most) return {};
    if (holds_alternative<PRelu>(node.op))
      return within(place_of(node),
                    Status(fail(Fault::Unsupported,
                                "has slopes that stretch over more than five groups of axes, which TensorFlow does not "
                                "multiply with; give the slopes the shape of what they meet")));
    // Weights stay as they are trained wherever the other operand is enough.
    for (const bool weights : {false, true})
      for (std::size_t i = 0; i < operands.size() && groups(operands, to) > most; ++i)
        if (graph_[node.inputs[i]].constant.has_value() == weights)
          if (auto done = stretch(node, operands, i, to, most); !done) return done;
    patch_.remark(node,
                  "stretches its operands before they meet, which TensorFlow does over five groups of axes alone");
    return patch_.become(id, patch_.one(node, op, std::move(operands)));
  }

  // Along one axis after the other, from the last, until that is enough.
  Status stretch(const Node& node, std::vector<ValueId>& operands, std::size_t i, const Shape& to, std::size_t most) {
    const Shape from = shape_at(operands[i], to.size());
    for (std::size_t axis = to.size(); axis-- > 0 && groups(operands, to) > most;) {
      if (from[axis] != Dim(1) || to[axis] == Dim(1)) continue;
      if (patch_.type(operands[i]).shape.size() < to.size()) {
        std::vector<Size> added;
        for (std::size_t k = patch_.type(operands[i]).shape.size(); k < to.size(); ++k)
          added.push_back(static_cast<Size>(added.size()));
        auto made = patch_.one(node, Unsqueeze{added}, {operands[i]});
        if (!made) return pass(made);
        operands[i] = *made;
      }
      const auto at = static_cast<Size>(axis);
      const auto owner = std::ranges::find_if(operands, [&](ValueId v) {
        return shape_at(v, to.size())[axis] != Dim(1) && patch_.type(v).shape.size() == to.size();
      });
      if (!to[axis].known() && owner == operands.end()) continue;
      auto made = to[axis].known() ? patch_.one(node, Tile{at, *to[axis]}, {operands[i]})
                                   : patch_.one(node, ExpandLike{at, at}, {operands[i], *owner});
      if (!made) return pass(made);
      operands[i] = *made;
    }
    return {};
  }

  const Graph& graph_;
  Patch patch_;
};

}  // namespace

// TFLite's writer does as its own interpreter needs it.
Result<Patch> stretch_operands(const Graph& graph, const Target& target) {
  if (target.lite) return Patch(graph);
  return OperandStretcher(graph).run();
}

}  // namespace convoy
