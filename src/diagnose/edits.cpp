// Changed copies of a piece, and what the guesses of all families share.
#include "diagnose/hypothesis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace convoy::diagnose {

namespace {

// Nodes may stand in any order after an edit: values first made, then read.
void sort(Graph& piece) {
  std::vector<char> ready(piece.values.size(), 0);
  std::vector<std::int32_t> makers(piece.values.size(), -1);
  for (std::size_t i = 0; i < piece.nodes.size(); ++i)
    for (const ValueId v : piece.nodes[i].outputs) makers[v.slot()] = static_cast<std::int32_t>(i);
  std::vector<Node> order;
  std::vector<char> placed(piece.nodes.size(), 0);
  for (std::size_t done = 0; done < piece.nodes.size();) {
    const std::size_t before = done;
    for (std::size_t i = 0; i < piece.nodes.size(); ++i) {
      if (placed[i]) continue;
      const bool is_ready = std::ranges::all_of(
          piece.nodes[i].inputs, [&](ValueId v) { return !v || makers[v.slot()] < 0 || ready[v.slot()]; });
      if (!is_ready) continue;
      placed[i] = 1;
      ++done;
      for (const ValueId v : piece.nodes[i].outputs) ready[v.slot()] = 1;
      order.push_back(piece.nodes[i]);
    }
    if (done == before) return;  // a cycle: left as it is, and refused when it runs
  }
  piece.nodes = std::move(order);
  for (std::size_t i = 0; i < piece.nodes.size(); ++i)
    for (const ValueId v : piece.nodes[i].outputs) piece[v].producer = {static_cast<std::int32_t>(i)};
}

ValueId new_value(Graph& piece, const std::string& name) {
  Value value;
  value.name = name;
  piece.values.push_back(std::move(value));
  return {static_cast<std::int32_t>(piece.values.size() - 1)};
}

ValueId new_constant(Graph& piece, Tensor constant) {
  const ValueId v = new_value(piece, "guess");
  piece[v].type = type_of(constant);
  piece[v].constant = std::move(constant);
  return v;
}

void redirect(Graph& piece, ValueId from, ValueId to, const Node* except) {
  for (Node& node : piece.nodes) {
    if (&node == except) continue;
    for (ValueId& v : node.inputs)
      if (v == from) v = to;
  }
  for (ValueId& v : piece.outputs)
    if (v == from) v = to;
}

}  // namespace

void Guesses::add(std::string_view cause, const Node& about, std::string says, Graph piece, int doubts) {
  if (budget::room() < least_room) return;
  Hypothesis hypothesis{std::move(piece), so_far, doubts};
  hypothesis.edits.push_back({cause, about.layer, about.kind, std::move(says)});
  all.push_back(std::move(hypothesis));
}

Graph with_op(const Graph& piece, std::size_t node, Op op) {
  Graph changed = piece;
  changed.nodes[node].op = std::move(op);
  return changed;
}

Graph with_constant(const Graph& piece, std::size_t node, std::size_t input, Tensor constant) {
  Graph changed = piece;
  auto& inputs = changed.nodes[node].inputs;
  if (inputs.size() <= input) inputs.resize(input + 1);
  const ValueId v = new_constant(changed, std::move(constant));
  changed.nodes[node].inputs[input] = v;
  return changed;
}

Graph without_input(const Graph& piece, std::size_t node, std::size_t input) {
  Graph changed = piece;
  if (input < changed.nodes[node].inputs.size()) changed.nodes[node].inputs[input] = {};
  return changed;
}

Graph without_node(const Graph& piece, std::size_t node) {
  Graph changed = piece;
  const ValueId in = changed.nodes[node].inputs[0], out = changed.nodes[node].outputs[0];
  changed.nodes.erase(changed.nodes.begin() + static_cast<std::ptrdiff_t>(node));
  redirect(changed, out, in, nullptr);
  sort(changed);
  return changed;
}

Graph with_node_behind(const Graph& piece, ValueId value, Op op, const Node& like,
                       const std::vector<Tensor>& constants) {
  Graph changed = piece;
  const ValueId out = new_value(changed, "guess");
  redirect(changed, value, out, nullptr);
  Node made{std::move(op), {value}, {out}, like.layer, like.kind, like.scopes};
  for (const Tensor& constant : constants)
    made.inputs.push_back(constant.count() > 0 ? new_constant(changed, constant) : ValueId{});
  changed.nodes.push_back(std::move(made));
  sort(changed);
  return changed;
}

Graph with_function(const Graph& piece, ValueId from, ValueId to, const Graph& other,
                    const std::vector<std::size_t>& nodes, ValueId other_from, ValueId other_to, const Node& like,
                    const std::map<ValueId, ValueId>& beside) {
  Graph changed = piece;
  std::map<ValueId, ValueId> now = beside;
  now[other_from] = from;
  std::vector<Node> made;
  for (const std::size_t n : nodes) {
    Node node{other.nodes[n].op, {}, {}, like.layer, like.kind, like.scopes};
    for (const ValueId v : other.nodes[n].inputs) {
      if (v && other[v].constant) node.inputs.push_back(new_constant(changed, *other[v].constant));
      else node.inputs.push_back(v ? now[v] : ValueId{});
    }
    for (const ValueId v : other.nodes[n].outputs) node.outputs.push_back(now[v] = new_value(changed, "guess"));
    made.push_back(std::move(node));
  }
  redirect(changed, to, nodes.empty() ? from : now[other_to], nullptr);
  changed.nodes.insert(changed.nodes.end(), made.begin(), made.end());
  const auto is_read = [&](const Node& node) {
    return std::ranges::any_of(node.outputs, [&](ValueId v) {
      return std::ranges::find(changed.outputs, v) != changed.outputs.end() ||
             std::ranges::any_of(changed.nodes, [&](const Node& reader) {
               return std::ranges::find(reader.inputs, v) != reader.inputs.end();
             });
    });
  };
  for (bool any = true; any;) any = std::erase_if(changed.nodes, [&](const Node& node) { return !is_read(node); }) > 0;
  sort(changed);
  return changed;
}

Graph with_node_in_front(const Graph& piece, std::size_t node, std::size_t input, Op op) {
  Graph changed = piece;
  const ValueId out = new_value(changed, "guess");
  Node made{std::move(op), {changed.nodes[node].inputs[input]}, {out}, changed.nodes[node].layer, {}, {}};
  changed.nodes[node].inputs[input] = out;
  changed.nodes.push_back(std::move(made));
  sort(changed);
  return changed;
}

Graph with_read(const Graph& piece, std::size_t node, std::size_t input, ValueId value) {
  Graph changed = piece;
  changed.nodes[node].inputs[input] = value;
  sort(changed);
  return changed;
}

Graph with_reads_exchanged(const Graph& piece, ValueId x, ValueId y) {
  Graph changed = piece;
  const auto other = [&](ValueId v) { return v == x ? y : v == y ? x : v; };
  for (Node& node : changed.nodes)
    for (ValueId& v : node.inputs) v = other(v);
  for (ValueId& v : changed.outputs) v = other(v);
  sort(changed);
  return changed;
}

const Tensor* constant_of(const Graph& piece, const Node& node, std::size_t input) {
  if (input >= node.inputs.size() || !node.inputs[input]) return nullptr;
  const auto& constant = piece[node.inputs[input]].constant;
  return constant ? &*constant : nullptr;
}

bool is_function(const Op& op) {
  const Traits& traits = traits_of(op);
  return traits.kind == LayerKind::Softmax ||
         (traits.kind == LayerKind::Activation && traits.learnt == Learnt::Nothing);
}

std::string text_of(const std::vector<Padding>& paddings) {
  std::vector<std::string> parts;
  bool alike = true;
  for (const Padding& p : paddings) {
    std::string ceil = p.leftover == Leftover::Drop ? "" : " ceil";
    parts.push_back(fmt::format("({}, {}){}", p.before, p.after, ceil));
    alike = alike && parts.back() == parts.front();
  }
  if (alike && !parts.empty()) return parts.front();
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : " and ") + part;
  return text;
}

std::string number_text(double value) { return fmt::format("{:.6g}", value); }

Tensor taken(const Tensor& tensor, std::size_t axis, const Sizes& indices) {
  const auto values = tensor.doubles();
  const Sizes& shape = tensor.shape();
  std::size_t inner = 1, outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(shape[i]);
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto length = static_cast<std::size_t>(shape[axis]);
  std::vector<double> result;
  result.reserve(outer * indices.size() * inner);
  for (std::size_t o = 0; o < outer; ++o)
    for (const Size index : indices) {
      const auto from =
          values.begin() + static_cast<std::ptrdiff_t>((o * length + static_cast<std::size_t>(index)) * inner);
      result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(inner));
    }
  Sizes now = shape;
  now[axis] = static_cast<Size>(indices.size());
  return Tensor::of(now, std::move(result)).converted(tensor.dtype());
}

Tensor reversed_along(const Tensor& tensor, const Sizes& axes) {
  Tensor result = tensor;
  for (const Size axis : axes) {
    Sizes indices;
    for (Size i = tensor.shape()[static_cast<std::size_t>(axis)]; i-- > 0;) indices.push_back(i);
    result = taken(result, static_cast<std::size_t>(axis), indices);
  }
  return result;
}

std::vector<Hypothesis> guesses_for(const Scene& scene, std::vector<Edit> so_far) {
  Guesses guesses{scene, {}, std::move(so_far)};
  guess_steps(guesses);
  guess_input(guesses);
  for (std::size_t i = 0; i < scene.a.nodes.size() && budget::room() >= guesses.least_room; ++i) {
    guess_convolution(guesses, i);
    guess_transposed(guesses, i);
    guess_product(guesses, i);
    guess_pool(guesses, i);
    guess_pad(guesses, i);
    guess_norm(guesses, i);
    guess_activation(guesses, i);
    guess_moved(guesses, i);
    guess_resize(guesses, i);
    guess_recurrent(guesses, i);
    guess_other_layer(guesses, i);
    guess_channels(guesses, i);
    guess_parameters(guesses, i);
  }
  guess_crop(guesses);
  guess_function(guesses);
  guess_mask(guesses);
  guess_branches(guesses);
  guess_order_of_channels(guesses);
  guess_order(guesses);
  return std::move(guesses.all);
}

}  // namespace convoy::diagnose
