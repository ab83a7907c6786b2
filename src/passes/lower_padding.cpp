// Says a convolution's padding in the target's numbers where those read the same cells, by the target's word where it has
// one, and as a pad in front otherwise.
#include "ops/vocabulary.h"
#include "passes/node_by_node.h"
#include "passes/pads.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

// In numbers before words: numbers say the same to everybody. Keras has words alone.
std::optional<std::vector<Padding>> spoken(const Conv& conv, const Shape& shape, const Target& target) {
  const bool depthwise = conv.kernel_order == KernelOrder::SpaceInMultiplier;
  const Speaker speaker{target.framework, depthwise ? Windowed::Depthwise : Windowed::Convolutions, target.opset};
  const auto sizes = spatial_sizes(shape, conv.axes);
  if (target.framework == Framework::Keras) {
    auto said = respell(speaker, conv.paddings, conv.windows, sizes);
    return said ? std::optional(std::move(said->paddings)) : std::nullopt;
  }
  for (const Form form : {Form::Numbers, Form::SameUpper, Form::SameLower})
    if (auto said = respell(speaker, form, conv.paddings, conv.windows, sizes)) return said;
  return std::nullopt;
}

Status spell(const Graph& graph, NodeId id, Conv conv, const Target& target, Patch& patch) {
  const Node& node = graph[id];
  const Shape& shape = graph[node.inputs[0]].type.shape;
  std::vector<ValueId> inputs = node.inputs;
  if (auto said = spoken(conv, shape, target)) {
    if (*said == conv.paddings) return {};
    const bool numbers = said->front().spelling == Spelling::Explicit || said->front().spelling == Spelling::Valid;
    const bool keras = target.framework == Framework::Keras;  // where numbers become a word, and none become `valid`
    if (keras ? !numbers : numbers) patch.remark(node, "padding " + words(conv.paddings) + " is " + words(*said));
    conv.paddings = std::move(*said);
  } else {
    patch.remark(node, "padding " + words(conv.paddings) + " is " +
                           words(conv.windows, conv.paddings, conv.axes, shape) +
                           " in front: the target has no word for that");
    auto x = padded(patch, node, inputs[0], conv.axes, conv.windows, conv.paddings, 0);
    if (!x) return pass(x);
    inputs[0] = *x;
    conv.paddings.assign(conv.windows.size(), Padding{Spelling::Valid});
  }
  return patch.become(id, patch.one(node, conv, std::move(inputs)));
}

}  // namespace

Result<Patch> lower_padding(const Graph& graph, const Target& target) {
  Patch patch(graph);
  return node_by_node<Conv>(graph, patch,
                            [&](NodeId id, const auto& op) { return spell(graph, id, op, target, patch); });
}

}  // namespace convoy
