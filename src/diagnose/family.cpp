#include "diagnose/family.h"

#include "diagnose/fingerprint.h"
#include "graph/text.h"

#include <algorithm>
#include <cctype>
#include <functional>

namespace convoy::diagnose {

Family family_of(const Op& op) {
  const Traits& traits = traits_of(op);
  switch (traits.kind) {
    case LayerKind::Convolution: return Family::Convolution;
    case LayerKind::Transposed: return Family::Transposed;
    case LayerKind::Product: return Family::Product;
    case LayerKind::Pooling:
    case LayerKind::Reduction: return Family::Window;
    case LayerKind::Normalization: return traits.learnt == Learnt::Weights ? Family::Norm : Family::None;
    case LayerKind::Activation: return Family::Function;
    case LayerKind::Softmax: return Family::Softmax;
    case LayerKind::Resampling: return Family::Resize;
    case LayerKind::Joining: return Family::Concat;
    case LayerKind::Recurrence: return Family::Recurrent;
    case LayerKind::Shuffle: return Family::Shuffle;
    case LayerKind::Table: return Family::Table;
    case LayerKind::Arithmetic: {
      const auto* binary = get_if<Binary>(&op);
      if (!binary) return Family::None;
      const bool scales = binary->function == BinaryFunction::Multiply || binary->function == BinaryFunction::Divide;
      return scales ? Family::Factor : Family::Sum;
    }
    case LayerKind::Layout:
    case LayerKind::Other: return Family::None;
  }
  return Family::None;
}

namespace {

std::string plain(std::string_view name) {
  std::string result;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Sizes in any order of axes.
std::string sizes_text(const Shape& shape) {
  Sizes sizes;
  for (const Dim& dim : shape)
    if (dim.known() && *dim != 1) sizes.push_back(*dim);
  std::ranges::sort(sizes);
  std::string text;
  for (const Size n : sizes) text += std::to_string(n) + ",";
  return text;
}

}  // namespace

std::vector<Likeness::Known> Likeness::known_of(const Graph& graph) {
  std::vector<Known> all(graph.nodes.size());
  std::vector<std::vector<bool>> reached(graph.values.size(), std::vector<bool>(graph.outputs.size(), false));
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) reached[graph.outputs[i].slot()][i] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    all[n].reached.assign(graph.outputs.size(), false);
    for (const ValueId v : node.outputs)
      for (std::size_t i = 0; i < graph.outputs.size(); ++i)
        if (reached[v.slot()][i]) all[n].reached[i] = true;
    for (const ValueId v : node.inputs)
      for (std::size_t i = 0; v && i < graph.outputs.size(); ++i)
        if (all[n].reached[i]) reached[v.slot()][i] = true;
  }
  std::vector<std::size_t> steps(graph.values.size(), 0);
  constexpr std::hash<std::string> hash;
  constexpr Size most = 4096;  // numbers of a constant that are looked at: weights are matched before
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    Known& one = all[n];
    one.words = text_of(node.op);
    one.name = plain(node.layer);
    one.shape = sizes_text(graph[node.outputs[0]].type.shape);
    if (node.inputs.size() > 1 && node.inputs[1] && graph[node.inputs[1]].constant) {
      const Tensor& weights = *graph[node.inputs[1]].constant;
      one.kernel = sizes_text(graph[node.inputs[1]].type.shape);
      if (weights.count() <= most) one.numbers = fingerprint(weights);
    }
    one.steps = one.words;
    for (const ValueId v : node.inputs) {
      if (!v) continue;
      const auto& constant = graph[v].constant;
      const bool is_small = constant && constant->count() <= most;
      one.steps += "|" + std::to_string(is_small   ? fingerprint(*constant)
                                        : constant ? static_cast<std::uint64_t>(constant->count())
                                                   : steps[v.slot()]);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      steps[node.outputs[i].slot()] = hash(one.steps + ">" + std::to_string(i));
  }
  return all;
}

Likeness::Likeness(const Graph& a, const Graph& b) : a_(known_of(a)), b_(known_of(b)) {
  for (const Node& node : a.nodes) of_a_.push_back(node.op.index());
  for (const Node& node : b.nodes) of_b_.push_back(node.op.index());
}

bool Likeness::shares_output(NodeId a, NodeId b) const {
  const auto &x = a_[a.slot()].reached, &y = b_[b.slot()].reached;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    if (x[i] && y[i]) return true;
  return false;
}

int Likeness::of(NodeId a, NodeId b) const {
  const auto i = a.slot(), j = b.slot();
  const Known &x = a_[i], &y = b_[j];
  int likeness = x.name == y.name ? 1 : 0;
  if (x.shape == y.shape) likeness += 2;
  if (!x.kernel.empty() && x.kernel == y.kernel) likeness += 8;
  if (x.numbers && x.numbers == y.numbers) likeness += 8;
  if (of_a_[i] == of_b_[j]) likeness += 3;
  if (x.words == y.words) likeness += 4;
  if (x.steps == y.steps) likeness += 4;
  if (x.reached == y.reached) likeness += 16;
  return likeness;
}

}  // namespace convoy::diagnose
