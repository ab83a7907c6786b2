// Says a convolution's padding as one number per axis where that reads the same cells, as 'same' where the stride is 1
// on all axes, and as a pad in front otherwise.
#include "ops/vocabulary.h"
#include "passes/pads.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

constexpr Speaker torch{Framework::Torch, Windowed::Convolutions};

Status spell(const Graph& graph, NodeId id, Conv conv, Patch& patch) {
  const Node& node = graph[id];
  const Shape& shape = graph[node.inputs[0]].fact.shape;
  const auto sizes = spatial_sizes(shape, conv.axes);
  std::vector<ValueId> inputs = node.inputs;
  if (auto direct = respell(torch, Form::Numbers, conv.paddings, conv.windows, sizes)) {
    if (*direct == conv.paddings) return {};
    patch.remark(node, "padding " + words(conv.paddings) + " is " + words(*direct));
    conv.paddings = std::move(*direct);
  } else if (auto word = respell(torch, Form::SameUpper, conv.paddings, conv.windows, sizes)) {
    if (*word == conv.paddings) return {};
    conv.paddings = std::move(*word);
  } else {
    patch.remark(node, "padding " + words(conv.paddings) + " is " +
                           words(conv.windows, conv.paddings, conv.axes, shape) +
                           " in front: no symmetric padding says that");
    auto x = padded(patch, node, inputs[0], conv.axes, conv.windows, conv.paddings, 0);
    if (!x) return pass(x);
    inputs[0] = *x;
    conv.paddings.assign(conv.windows.size(), Padding{Spelling::Valid});
  }
  auto made = patch.node(node, conv, std::move(inputs));
  if (!made) return pass(made);
  patch.remove(id);
  patch.replace(node.outputs[0], made->front());
  return {};
}

}  // namespace

Result<Patch> spell_padding(const Graph& graph) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto* conv = std::get_if<Conv>(&graph.nodes[i].op))
      if (auto done = spell(graph, {static_cast<std::int32_t>(i)}, *conv, patch); !done) return pass(done);
  return patch;
}

}  // namespace convoy
