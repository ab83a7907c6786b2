// Of quantised numbers that stand for real ones: where the range of their steps cuts what an operator computes, a clip stands there, for
// a ReLU may have no other place.
#include "formats/tflite/reader.h"
#include "formats/tflite/types.h"
#include "graph/quantized_steps.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::tflite {
namespace {

// Between which numbers a value lies, told by a few operators in front of it. Nothing: not known.
class Bounds {
 public:
  Bounds(const Graph& graph, const std::map<ValueId, Clip>& known) : graph_(graph), known_(known) {}

  std::optional<Clip> of(ValueId v) {
    if (const auto found = known_.find(v); found != known_.end()) return found->second;
    const NodeId node = graph_[v].producer;
    if (!node || left_ == 0) return std::nullopt;
    --left_;
    return graph_[node].op.visit([&](const auto& op) { return of(op, graph_[node]); });
  }

 private:
  template <class O>
  std::optional<Clip> of(const O&, const Node& node) {
    constexpr Contents contents = O::traits.contents;
    if (contents == Contents::Kept) return of(node.inputs[0]);
    return contents == Contents::Moved ? of_all(node) : std::nullopt;
  }
  std::optional<Clip> of(const Identity&, const Node& node) { return of(node.inputs[0]); }
  std::optional<Clip> of(const MaxPool&, const Node& node) { return of(node.inputs[0]); }
  std::optional<Clip> of(const AveragePool&, const Node& node) { return with(0, of(node.inputs[0])); }
  std::optional<Clip> of(const Pad& pad, const Node& node) {
    const auto x = of(node.inputs[0]);
    return pad.mode == PadMode::Constant ? with(pad.value, x) : x;
  }
  std::optional<Clip> of(const Reduce& op, const Node& node) {
    const bool stays =
        op.reduction == Reduction::Mean || op.reduction == Reduction::Maximum || op.reduction == Reduction::Minimum;
    return stays ? of(node.inputs[0]) : std::nullopt;
  }
  std::optional<Clip> of(const Resize& op, const Node& node) {
    const bool stays = op.interpolation == Interpolation::Nearest || op.interpolation == Interpolation::Linear;
    return stays ? of(node.inputs[0]) : std::nullopt;
  }
  std::optional<Clip> of(const Softmax&, const Node&) { return Clip{0, 1}; }
  std::optional<Clip> of(const Unary& op, const Node&) {
    if (op.function == Function::Sigmoid) return Clip{0, 1};
    return op.function == Function::Tanh ? std::optional(Clip{-1, 1}) : std::nullopt;
  }
  std::optional<Clip> of(const Clip& op, const Node&) { return op; }
  std::optional<Clip> of(const Relu& op, const Node&) {
    if (op.negative_slope != 0 || op.threshold != 0) return std::nullopt;
    return Clip{0, op.max_value};
  }

  static std::optional<Clip> with(double number, std::optional<Clip> x) {
    if (!x) return x;
    if (x->least) x->least = std::min(*x->least, number);
    if (x->most) x->most = std::max(*x->most, number);
    return x;
  }
  std::optional<Clip> of_all(const Node& node) {
    std::optional<Clip> all;
    for (const ValueId v : node.inputs) {
      if (!v || !is_floating(graph_[v].type.dtype)) continue;
      const auto one = of(v);
      if (!one) return std::nullopt;
      if (!all) {
        all = one;
        continue;
      }
      all->least = all->least && one->least ? std::optional(std::min(*all->least, *one->least)) : std::nullopt;
      all->most = all->most && one->most ? std::optional(std::max(*all->most, *one->most)) : std::nullopt;
    }
    return all;
  }

  const Graph& graph_;
  const std::map<ValueId, Clip>& known_;
  int left_ = 64;  // operators to look at
};

}  // namespace

std::optional<Clip> ModelReader::range_of(std::int32_t t) const {
  const StoredTensor& tensor = subgraph_->tensors[static_cast<std::size_t>(t)];
  const StoredQuantization& q = tensor.quantization;
  const auto dtype = dtype_of(tensor.type);
  const auto whole = dtype && tensor.is_quantized() && q.scale.size() == 1 && q.zero_point.size() <= 1
                         ? whole_bounds(*dtype)
                         : std::nullopt;
  if (!whole || !(q.scale.front() > 0)) return std::nullopt;
  const double zero = q.zero_point.empty() ? 0 : static_cast<double>(q.zero_point.front());
  const auto real = [&](double number) {
    return static_cast<double>(static_cast<float>(number - zero) * q.scale.front());
  };
  return Clip{real(whole->least), real(whole->most)};
}

Status ModelReader::keep_ranges(Graph& graph, const StoredOperator& op, std::vector<ValueId>& outputs,
                                const std::string& layer) {
  std::map<ValueId, Clip> none;
  std::map<ValueId, Clip>& known = &graph == &graph_ ? ranges_ : none;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const auto range = range_of(op.outputs[i]);
    if (!range || !is_floating(graph[outputs[i]].type.dtype)) continue;
    // Less than a step beyond the end is another rounding: what is cut at 6 has steps up to 5.99.
    const double step = subgraph_->tensors[static_cast<std::size_t>(op.outputs[i])].quantization.scale.front();
    const auto bounds = Bounds(graph, known).of(outputs[i]);
    const bool below = !bounds || !bounds->least || *bounds->least < *range->least - step;
    const bool above = !bounds || !bounds->most || *bounds->most > *range->most + step;
    if (below || above) {
      auto cut = graph.add(*range, {outputs[i]}, layer);
      if (!cut) return pass(cut);
      outputs[i] = cut->front();
    }
    known.insert_or_assign(outputs[i], *range);
  }
  return {};
}

}  // namespace convoy::tflite
