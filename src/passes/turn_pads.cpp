// Puts the axes that a pad mirrors, wraps or repeats behind all others, with transposes around: PyTorch knows such pads of
// the last one to three axes alone, of tensors of three to five.
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

class PadTurner {
 public:
  explicit PadTurner(const Graph& graph) : graph_(graph), readers_(readers_of(graph)), patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<Pad>(graph_, patch_, [&](NodeId id, const Pad& pad) { return turn(id, pad); });
  }

 private:
  // How many axes in front no such pad may have.
  static std::size_t kept_in_front(std::size_t rank) { return rank == 3 ? 1 : 2; }

  Status turn(NodeId id, const Pad& pad) {
    const std::size_t rank = pad.before.size();
    if (pad.mode == PadMode::Constant || pad.mode == PadMode::Symmetric || rank < 3 || rank > 5) return {};
    Sizes front, behind;
    for (std::size_t i = 0; i < rank; ++i)
      (pad.before[i] == 0 && pad.after[i] == 0 ? front : behind).push_back(static_cast<Size>(i));
    if (behind.empty() || behind.front() >= 2 || front.size() < kept_in_front(rank)) return {};
    // As few axes move as may: those without a pad fill up what is left in their own order.
    Sizes order = front;
    order.insert(order.end(), behind.begin(), behind.end());
    const Node& node = graph_[id];
    Pad turned = pad;
    for (std::size_t i = 0; i < rank; ++i) {
      turned.before[i] = pad.before[static_cast<std::size_t>(order[i])];
      turned.after[i] = pad.after[static_cast<std::size_t>(order[i])];
    }
    auto x = patch_.one(node, Transpose{order}, {node.inputs[0]});
    if (x) x = patch_.one(node, turned, {*x});
    if (!x) return pass(x);
    patch_.remark(node, "its axes are put last, because PyTorch pads no others in this way");
    return turn_back(id, *x, inverse(order));
  }

  // A transpose behind the pad does both in one.
  Status turn_back(NodeId id, ValueId x, const Sizes& back) {
    const Node& node = graph_[id];
    for (const NodeId reader : readers_[node.outputs[0].slot()])
      if (const auto* further = get_if<Transpose>(&graph_[reader].op)) {
        const Sizes both = compose(back, further->permutation);
        auto y = is_identity(both) ? Result<ValueId>(x) : patch_.one(graph_[reader], Transpose{both}, {x});
        if (auto s = patch_.become(reader, y); !s) return s;
      }
    return patch_.become(id, patch_.one(node, Transpose{back}, {x}));
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> readers_;
  Patch patch_;
};

}  // namespace

Result<Patch> turn_pads(const Graph& graph, const Target&) { return PadTurner(graph).run(); }

}  // namespace convoy
