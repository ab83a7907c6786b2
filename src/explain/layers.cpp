#include "explain/layers.h"

#include "graph/path.h"

#include <algorithm>
#include <variant>

namespace convoy::explain {
namespace {

const Node* producer_of(const Graph& graph, ValueId value) {
  return value && graph[value].producer ? &graph[graph[value].producer] : nullptr;
}

// The cells that a Pad of this layer adds along the spatial axes. Nothing: it touches batch or channels, or cuts.
std::optional<FrontPad> front_of(const Graph& graph, const Node& node, const Axes& axes) {
  const Node* producer = producer_of(graph, node.inputs[0]);
  const Pad* pad = producer && producer->layer == node.layer ? get_if<Pad>(&producer->op) : nullptr;
  if (!pad || pad->before.size() != static_cast<std::size_t>(axes.rank())) return std::nullopt;
  FrontPad front{pad->mode, pad->value, {}, {}};
  for (Size i = 0; i < axes.space; ++i) {
    front.before.push_back(pad->before[static_cast<std::size_t>(axes.spatial(i))]);
    front.after.push_back(pad->after[static_cast<std::size_t>(axes.spatial(i))]);
  }
  return front;
}

std::optional<Size> known(const Shape& shape, Size axis) {
  return axis >= 0 && axis < static_cast<Size>(shape.size()) ? shape[static_cast<std::size_t>(axis)].size()
                                                             : std::nullopt;
}

class LayerReader {
 public:
  LayerReader(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  bool operator()(const Conv& op) {
    windows(op.axes, op.windows);
    layer.paddings = op.paddings;
    fold_zeros();
    layer.groups = op.groups;
    layer.biased = node_.inputs.size() > 2;
    const Shape& kernel = graph_[node_.inputs[1]].type.shape;
    layer.depthwise =
        op.kernel_order == KernelOrder::SpaceInMultiplier || (op.groups > 1 && layer.channels.number == op.groups);
    if (op.kernel_order == KernelOrder::SpaceInMultiplier)
      layer.multiplier = known(kernel, op.axes.space + 1).value_or(1);
    filters();
    if (layer.depthwise && op.kernel_order != KernelOrder::SpaceInMultiplier && layer.filters.number)
      layer.multiplier = *layer.filters.number / std::max<Size>(op.groups, 1);
    return true;
  }
  bool operator()(const ConvTranspose& op) {
    windows(op.axes, op.windows);
    layer.does = Does::Transpose;
    layer.crops = op.paddings;
    layer.groups = op.groups;
    layer.biased = node_.inputs.size() > 2;
    filters();
    return true;
  }
  bool operator()(const MaxPool& op) { return pool(op, Does::Maximum); }
  bool operator()(const AveragePool& op) {
    layer.counts_padding = op.counts_padding;
    layer.divisor = op.divisor;
    return pool(op, Does::Average);
  }
  bool operator()(const LpPool& op) {
    layer.power = op.p;
    return pool(op, Does::PowerNorm);
  }
  template <class T>
  bool operator()(const T&) {
    return false;
  }

  Layer layer;

 private:
  // Zeros in front of a convolution are its padding.
  void fold_zeros() {
    if (!layer.front || layer.front->mode != PadMode::Constant || layer.front->value != 0) return;
    std::vector<Padding> folded = layer.paddings;
    for (std::size_t i = 0; i < folded.size(); ++i) {
      const bool numbers = folded[i].spelling == Spelling::Explicit || folded[i].spelling == Spelling::Valid;
      if (!numbers || layer.front->before[i] < 0 || layer.front->after[i] < 0) return;
      const bool none = folded[i].spelling == Spelling::Valid;
      folded[i] = {Spelling::Explicit, layer.front->before[i] + (none ? 0 : folded[i].before),
                   layer.front->after[i] + (none ? 0 : folded[i].after)};
    }
    layer.paddings = std::move(folded);
    layer.front.reset();
  }

  template <class T>
  bool pool(const T& op, Does does) {
    windows(op.axes, op.windows);
    layer.does = does;
    layer.paddings = op.paddings;
    layer.filters = layer.channels;
    return true;
  }
  void windows(const Axes& axes, const std::vector<Window>& all) {
    layer.axes = axes;
    layer.windows = all;
    layer.front = front_of(graph_, node_, axes);
    const ValueId x = layer.front ? producer_of(graph_, node_.inputs[0])->inputs[0] : node_.inputs[0];
    const Shape& shape = graph_[x].type.shape;
    for (Size i = 0; i < axes.space; ++i)
      layer.in.push_back(known(shape, axes.spatial(i)) ? Dim(*known(shape, axes.spatial(i))) : Dim::unknown());
    layer.channels.number = known(shape, axes.channel());
  }
  void filters() { layer.filters.number = known(graph_[node_.outputs[0]].type.shape, layer.axes.channel()); }

  const Graph& graph_;
  const Node& node_;
};

}  // namespace

std::vector<Found> layers_of(const Graph& graph) {
  std::vector<Found> all;
  for (const Node& node : graph.nodes) {
    if (node.inputs.empty()) continue;
    LayerReader reader(graph, node);
    if (!node.op.visit(reader)) continue;
    all.push_back({std::move(reader.layer), path_of(node), node.kind});
  }
  return all;
}

Framework framework_of(const Graph& graph) {
  for (const Framework one : {Framework::Torch, Framework::Onnx})
    if (graph.source_format.starts_with(name_of(one))) return one;
  return Framework::Keras;
}

}  // namespace convoy::explain
