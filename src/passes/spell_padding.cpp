// Says a convolution's padding as one number per axis where that reads the same cells, as 'same' where the stride is 1
// on all axes, and as a pad in front otherwise.
#include "ops/symmetric.h"
#include "passes/pads.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

using Paddings = std::vector<Padding>;

std::optional<Size> size_of(const Shape& shape, Axes axes, std::size_t i) {
  return shape[static_cast<std::size_t>(axes.spatial(static_cast<Size>(i)))].size();
}

bool spoken(const Conv& conv) {
  bool symmetric = true, same = true;
  for (std::size_t i = 0; i < conv.windows.size(); ++i) {
    symmetric = symmetric && symmetric_convolution(conv.paddings[i], conv.windows[i]);
    same = same && conv.paddings[i].spelling == Spelling::SameUpper && conv.windows[i].stride == 1 &&
           conv.windows[i].reach() % 2 == 0;
  }
  return symmetric || same;
}

std::optional<Paddings> symmetric(const Conv& conv, const Shape& shape) {
  Paddings all;
  for (std::size_t i = 0; i < conv.windows.size(); ++i) {
    const auto one = respell(conv.paddings[i], conv.windows[i], size_of(shape, conv.axes, i), symmetric_convolution);
    if (!one) return std::nullopt;
    all.push_back(*one);
  }
  return all;
}

// 'same' is one word for all axes, and only for stride 1.
std::optional<Paddings> same(const Conv& conv, const Shape& shape) {
  constexpr Padding upper{Spelling::SameUpper};
  for (std::size_t i = 0; i < conv.windows.size(); ++i) {
    const Window w = conv.windows[i];
    const auto in = size_of(shape, conv.axes, i);
    if (w.stride != 1 || !(in ? same_at(conv.paddings[i], upper, w, *in) : same_always(conv.paddings[i], upper, w)))
      return std::nullopt;
  }
  return Paddings(conv.windows.size(), upper);
}

Status spell(const Graph& graph, NodeId id, Conv conv, Patch& patch) {
  const Node& node = graph[id];
  const Shape& shape = graph[node.inputs[0]].fact.shape;
  if (spoken(conv)) return {};
  std::vector<ValueId> inputs = node.inputs;
  if (auto direct = symmetric(conv, shape)) {
    patch.remark(node, "padding " + words(conv.paddings) + " is " + words(*direct));
    conv.paddings = std::move(*direct);
  } else if (auto word = same(conv, shape)) {
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
