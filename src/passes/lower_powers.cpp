// Says pools of powers and local response normalisation by powers, averages and shifted sums, which every Keras has.
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <utility>

namespace convoy {

namespace {

class PowerSpeller {
 public:
  explicit PowerSpeller(const Graph& graph) : graph_(graph), patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<LpPool, LocalResponseNorm>(graph_, patch_,
                                                   [&](NodeId id, const auto& op) { return spell(id, op); });
  }

 private:
  // The sum over a window is its average by a divisor of 1; PyTorch's is the average times the cells of the window.
  Status spell(NodeId id, const LpPool& pool) {
    const Node& node = graph_[id];
    const bool norm = pool.rule == PowerRule::Norm;
    AveragePool average{.axes = pool.axes, .windows = pool.windows, .paddings = pool.paddings};
    if (norm) average.divisor = 1;
    else average.counts_padding = true;
    double cells = 1;
    for (const Window& w : pool.windows) cells *= static_cast<double>(w.kernel);
    auto x = norm && pool.p != 2 ? patch_.one(node, Unary{Function::Abs}, {node.inputs[0]})
                                 : Result<ValueId>(node.inputs[0]);
    if (x) x = raised(node, *x, pool.p);
    if (x) x = patch_.one(node, average, {*x});
    if (x && !norm) x = patch_.one(node, Affine{.scale = cells}, {*x});
    if (x) x = raised(node, *x, 1 / pool.p);
    patch_.remark(node, "is powers around an average, because Keras has no pool of powers");
    return patch_.become(id, x);
  }

  // x * (bias + alpha * sum)^-beta, the sum over squares of the neighbours along one axis.
  Status spell(NodeId id, const LocalResponseNorm& norm) {
    const Node& node = graph_[id];
    const ValueId x = node.inputs[0];
    const auto rank = static_cast<std::size_t>(graph_[x].type.rank());
    Pad pad{.before = Sizes(rank), .after = Sizes(rank)};
    pad.before[static_cast<std::size_t>(norm.axis)] = norm.before;
    pad.after[static_cast<std::size_t>(norm.axis)] = norm.after;
    auto squares = patch_.one(node, Unary{Function::Square}, {x});
    if (squares && norm.before + norm.after > 0) squares = patch_.one(node, pad, {*squares});
    Result<ValueId> sum = squares;
    const Size neighbours = norm.before + norm.after;
    for (Size j = 0; sum && neighbours > 0 && j <= neighbours; ++j) {
      const auto stop = j < neighbours ? std::optional(j - neighbours) : std::nullopt;
      auto shifted = patch_.one(node, Slice{norm.axis, j, stop}, {*squares});
      if (!shifted) return pass(shifted);
      sum = j == 0 ? *shifted : patch_.one(node, Binary{BinaryFunction::Add}, {*sum, *shifted});
    }
    if (sum) sum = patch_.one(node, Affine{.scale = norm.alpha, .offset = norm.bias}, {*sum});
    if (sum) sum = raised(node, *sum, norm.beta);
    if (sum) sum = patch_.one(node, Binary{BinaryFunction::Divide}, {x, *sum});
    patch_.remark(node, "is squares, shifted sums and a power, because Keras has no such layer");
    return patch_.become(id, sum);
  }

  Result<ValueId> raised(const Node& node, ValueId x, double power) {
    if (power == 1) return x;
    if (power == 2) return patch_.one(node, Unary{Function::Square}, {x});
    if (power == 0.5) return patch_.one(node, Unary{Function::Sqrt}, {x});
    const ValueId exponent =
        patch_.constant(node.layer + "/power", Tensor::of({}, std::vector<float>{static_cast<float>(power)}), false);
    return patch_.one(node, Binary{BinaryFunction::Power}, {x, exponent});
  }

  const Graph& graph_;
  Patch patch_;
};

}  // namespace

Result<Patch> lower_powers(const Graph& graph, const Target&) { return PowerSpeller(graph).run(); }

}  // namespace convoy
