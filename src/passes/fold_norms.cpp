#include "passes/optimize.h"

#include "graph/patch.h"

#include <cmath>

namespace convoy {
namespace {

using Numbers = std::vector<double>;

// y = scale * x + offset, per channel.
struct Scaling {
  Numbers scale, offset;
};

const Tensor* constant_of(const Graph& graph, const Node& node, std::size_t i) {
  if (i >= node.inputs.size() || !node.inputs[i] || !graph[node.inputs[i]].constant) return nullptr;
  return &*graph[node.inputs[i]].constant;
}

bool is_absent(const Node& node, std::size_t i) { return i >= node.inputs.size() || !node.inputs[i]; }

std::optional<Scaling> scaling_of(const Graph& graph, const Node& node, const BatchNorm& norm) {
  const Tensor *mean = constant_of(graph, node, 3), *variance = constant_of(graph, node, 4);
  const Tensor *gamma = constant_of(graph, node, 1), *beta = constant_of(graph, node, 2);
  if (!mean || !variance || (!gamma && !is_absent(node, 1)) || (!beta && !is_absent(node, 2))) return std::nullopt;
  const Numbers m = mean->doubles(), v = variance->doubles();
  Scaling s{gamma ? gamma->doubles() : Numbers(m.size(), 1), beta ? beta->doubles() : Numbers(m.size(), 0)};
  if (s.scale.size() != m.size() || s.offset.size() != m.size() || v.size() != m.size()) return std::nullopt;
  for (std::size_t i = 0; i < m.size(); ++i) {
    s.scale[i] /= std::sqrt(v[i] + norm.epsilon);
    s.offset[i] -= s.scale[i] * m[i];
  }
  return s;
}

// The axis of the kernel along which the output's channels lie; nothing where the layer is of another kind or order.
std::optional<std::size_t> channels_of(const Op& op) {
  if (const auto* conv = get_if<Conv>(&op))
    if (conv->kernel_order == KernelOrder::OutInSpace && conv->axes.order == Order::ChannelsFirst) return 0;
  if (const auto* conv = get_if<ConvTranspose>(&op))
    if (conv->kernel_order == KernelOrder::InOutSpace && conv->axes.order == Order::ChannelsFirst && conv->groups == 1)
      return 1;
  if (const auto* linear = get_if<Linear>(&op)) return linear->order == LinearOrder::OutIn ? 0 : 1;
  return std::nullopt;
}

Tensor scaled(const Tensor& kernel, std::size_t axis, const Numbers& scale) {
  Numbers numbers = kernel.doubles();
  Size inner = 1;
  for (std::size_t i = axis + 1; i < kernel.shape().size(); ++i) inner *= kernel.shape()[i];
  const auto channels = static_cast<Size>(scale.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] *= scale[static_cast<std::size_t>(static_cast<Size>(i) / inner % channels)];
  return Tensor::of(kernel.shape(), std::move(numbers)).converted(kernel.dtype());
}

Tensor shifted(const Tensor* bias, const Scaling& s, DType dtype) {
  Numbers numbers = bias ? bias->doubles() : Numbers(s.offset.size(), 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = numbers[i] * s.scale[i] + s.offset[i];
  const auto count = static_cast<Size>(numbers.size());
  return Tensor::of({count}, std::move(numbers)).converted(dtype);
}

Status fold(const Graph& graph, NodeId id, const BatchNorm& norm, Patch& patch) {
  const Node& node = graph[id];
  const NodeId maker = graph[node.inputs[0]].producer;
  if (!maker || norm.axis != 1) return {};
  const Node& layer = graph[maker];
  const auto axis = channels_of(layer.op);
  const Tensor *kernel = constant_of(graph, layer, 1), *bias = constant_of(graph, layer, 2);
  if (!axis || !kernel || (!bias && !is_absent(layer, 2))) return {};
  if (kernel->dtype() != DType::F32 && kernel->dtype() != DType::F64) return {};
  const auto s = scaling_of(graph, node, norm);
  const auto channels = static_cast<std::size_t>(kernel->shape()[*axis]);
  if (!s || s->scale.size() != channels || (bias && static_cast<std::size_t>(bias->count()) != channels)) return {};
  if (holds_alternative<Linear>(layer.op) && graph[node.inputs[0]].type.rank() != 2) return {};
  const Value& stored = graph[layer.inputs[1]];
  const std::string bias_name = bias ? graph[layer.inputs[2]].name : layer.layer + "/bias";
  const ValueId w = patch.constant(stored.name, scaled(*kernel, *axis, s->scale), stored.trainable);
  const ValueId b = patch.constant(bias_name, shifted(bias, *s, kernel->dtype()));
  auto made = patch.node(layer, layer.op, {layer.inputs[0], w, b});
  if (!made) return pass(made);
  patch.remove(id);
  patch.remove(maker);
  patch.replace(node.outputs[0], made->front());
  patch.remark(node, "is taken into the kernel and bias of '" + layer.layer +
                         "': within (K + 8) roundings of |a| (|W| * |x| + |b| + |mean|) + |beta|");
  return {};
}

}  // namespace

Result<std::vector<PassReport>> optimize(Graph& graph) {
  Patch patch(graph);
  std::vector<int> uses(graph.values.size());
  for (const Node& node : graph.nodes)
    for (const ValueId v : node.inputs)
      if (v) ++uses[v.slot()];
  for (const ValueId v : graph.outputs) ++uses[v.slot()];
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto* norm = get_if<BatchNorm>(&node.op);
    if (!norm || uses[node.inputs[0].slot()] != 1) continue;
    if (auto done = fold(graph, {static_cast<std::int32_t>(i)}, *norm, patch); !done) return pass(done);
  }
  std::vector<PassReport> reports;
  if (patch.empty()) return reports;
  reports.push_back({"fold_norms", patch.remarks()});
  if (auto done = apply(graph, std::move(patch)); !done)
    return within("pass 'fold_norms'", Result<std::vector<PassReport>>(pass(done)));
  return reports;
}

}  // namespace convoy
