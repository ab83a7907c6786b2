// What was found, by the names that the files give.
#include "diagnose/compare.h"
#include "diagnose/hypothesis.h"
#include "graph/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace convoy::diagnose {

namespace {

// The operator that a layer is mostly about: the one with numbers, else the last.
const Node* main_node(const Graph& piece) {
  const Node* found = nullptr;
  for (const Node& node : piece.nodes) {
    if (holds_alternative<Identity>(node.op) && found) continue;
    const bool has_weights = node.inputs.size() > 1 && constant_of(piece, node, 1);
    const bool found_has = found && found->inputs.size() > 1 && constant_of(piece, *found, 1);
    if (has_weights || !found_has) found = &node;
  }
  return found;
}

std::string pads_in(const Graph& piece) {
  std::string text;
  for (const Node& node : piece.nodes)
    node.op.visit([&]<class O>(const O& op) {
      if constexpr (std::is_same_v<O, ConvTranspose>) {
        for (const auto& p : op.paddings)
          text += fmt::format("{}cut {},{}", text.empty() ? "" : " ", p.before, p.after);
      } else if constexpr (requires {
                             op.paddings;
                             op.windows;
                             op.axes;
                           }) {
        for (const auto& p : op.paddings) text += fmt::format("{}{},{}", text.empty() ? "" : " ", p.before, p.after);
      }
    });
  return text;
}

std::string shape_text(const Sizes& shape) {
  std::string text;
  for (const Size n : shape) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

}  // namespace

std::string Comparison::layer_of_a(const Match& match) const {
  if (match.node_a) return sized_.a[match.node_a].layer;
  const Value& value = sized_.a[match.a];
  return value.producer ? sized_.a[value.producer].layer : value.name;
}
std::string Comparison::layer_of_b(const Match& match) const {
  if (match.node_b) return sized_.b[match.node_b].layer;
  const Value& value = sized_.b[match.b];
  return value.producer ? sized_.b[value.producer].layer : value.name;
}

// The layer whose operator stands in the other stretch where this one's stands: the first of its kind for the first.
std::optional<std::string> Comparison::twin_in_stretch(const Match& match, const std::string& layer, bool of_b) const {
  const auto at = stretch(static_cast<std::size_t>(&match - alignment_.matches.data()));
  if (at) {
    const Graph &here = of_b ? at->b.graph : at->a.graph, &there = of_b ? at->a.graph : at->b.graph;
    const auto node = std::ranges::find(here.nodes, layer, &Node::layer);
    if (node != here.nodes.end()) {
      const auto is_alike = [&](const Node& other) { return other.op.index() == node->op.index(); };
      const auto before = std::ranges::count_if(here.nodes.begin(), node, is_alike);
      std::ptrdiff_t passed = 0;
      for (const Node& other : there.nodes)
        if (is_alike(other) && passed++ == before) return other.layer;
    }
  }
  return std::nullopt;
}

// Where b lacks the layer: the layer of b behind which it would stand.
std::string Comparison::b_in_front_of(const std::string& layer_a, const Match& match) const {
  const auto at = stretch(static_cast<std::size_t>(&match - alignment_.matches.data()));
  if (!at) return layer_of_b(match);
  const Graph& piece = at->a.graph;
  const auto node = std::ranges::find(piece.nodes, layer_a, &Node::layer);
  if (node == piece.nodes.end() || node->inputs.empty() || !node->inputs[0]) return layer_of_b(match);
  if (const NodeId maker = piece[node->inputs[0]].producer) return b_of(piece[maker].layer, match);
  const auto input = std::ranges::find(piece.inputs, node->inputs[0]);
  const Match* from = input == piece.inputs.end()
                          ? nullptr
                          : alignment_.of_a(at->a.from[static_cast<std::size_t>(input - piece.inputs.begin())]);
  return from && from->how != How::Input ? layer_of_b(*from) : layer_of_b(match);
}

// The layer of the other side that stands for this one: matched with one of its operators, else what the stretch is about.
std::string Comparison::counterpart(const std::string& layer, const Match& match, bool of_b) const {
  const auto is_of_layer = [&](const Match& one) {
    const NodeId own = of_b ? one.node_b : one.node_a;
    return own && (of_b ? sized_.b : sized_.a)[own].layer == layer;
  };
  const auto other_side = [&](const Match& one) { return of_b ? layer_of_a(one) : layer_of_b(one); };
  if (is_of_layer(match)) return other_side(match);
  std::set<std::string> by_numbers, by_place;
  for (const Match& other : alignment_.matches)
    if (other.node_a && other.node_b && is_of_layer(other))
      (other.how == How::Place ? by_place : by_numbers).insert(other_side(other));
  if (by_numbers.size() == 1) return *by_numbers.begin();
  if (auto twin = twin_in_stretch(match, layer, of_b)) return *std::move(twin);
  return by_place.size() == 1 ? *by_place.begin() : other_side(match);
}

std::string Comparison::b_of(const std::string& layer_a, const Match& match) const {
  return counterpart(layer_a, match, false);
}
std::string Comparison::a_of(const std::string& layer_b, const Match& match) const {
  return counterpart(layer_b, match, true);
}

// Where b cannot be run on what a reads, because a layer in front has another number of channels: nothing can be said of
// this one before that is mended.
bool Comparison::follows_another(std::size_t i) const {
  if (states_[i].trouble.empty()) return false;
  const auto at = stretch(i);
  return at && std::ranges::any_of(at->reads, [&](std::size_t from) {
           const auto channels = [](const Graph& graph, ValueId v) {
             Shape shape = graph[v].type.shape;
             std::ranges::sort(shape, {}, [](const Dim& n) { return n.size().value_or(0); });
             return shape;
           };
           const Match& match = alignment_.matches[from];
           return channels(sized_.a, match.a) != channels(sized_.b, match.b);
         });
}

// Two layers of one kind that hold each other's numbers, and two that are each read where the other belongs, compute the
// same: their names tell which it is. Where they do not, both are said.
void Comparison::name_exchanged(Finding& finding, const Edit& edit, const Match& match) const {
  const auto kernel = [&](const std::string& layer) -> std::optional<Shape> {
    const auto node = std::ranges::find_if(sized_.a.nodes, [&](const Node& n) {
      return n.layer == layer && n.inputs.size() > 1 && constant_of(sized_.a, n, 1);
    });
    return node == sized_.a.nodes.end() ? std::nullopt : std::optional(sized_.a[node->inputs[1]].type.shape);
  };
  const auto kernel_behind = [&](const std::string& layer) -> std::optional<Shape> {
    const auto reads = [&](const Node& n) {
      if (n.inputs.size() < 2 || !n.inputs[0] || !constant_of(sized_.a, n, 1)) return false;
      const Value& read = sized_.a[n.inputs[0]];
      return read.producer ? sized_.a[read.producer].layer == layer : read.name == layer;
    };
    const auto node = std::ranges::find_if(sized_.a.nodes, reads);
    return node == sized_.a.nodes.end() ? std::nullopt : std::optional(sized_.a[node->inputs[1]].type.shape);
  };
  const auto also_exchanged = [&] {
    if (std::ranges::find(finding.also, "weights_exchanged") == finding.also.end())
      finding.also.emplace_back("weights_exchanged");
  };
  const auto first = kernel(edit.was), second = kernel(edit.now);
  if (!first || !second) {
    // Two layers that read each other's inputs compute what they would with each other's numbers.
    const auto one = kernel_behind(edit.was), other = kernel_behind(edit.now);
    if (one && other && *one == *other && edit.was != edit.now) also_exchanged();
    return;
  }
  if (*first != *second || edit.was == edit.now) return;
  const std::string b_of_first = b_of(edit.was, match), b_of_second = b_of(edit.now, match);
  if (is_named_alike(edit.was, b_of_first) && is_named_alike(edit.now, b_of_second)) return;
  const bool is_crossed = is_named_alike(edit.was, b_of_second) && is_named_alike(edit.now, b_of_first);
  if (is_crossed) finding.cause = "weights_exchanged", finding.says = "the weights of '" + edit.now + "'";
  else also_exchanged();
}

void Comparison::report(Diagnosis& into) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    const Match& match = alignment_.matches[i];
    if (!state.compared || state.dropped) continue;
    const auto at = stretch(i);
    const Node* a = at ? main_node(at->a.graph) : nullptr;
    const Node* b = at ? main_node(at->b.graph) : nullptr;
    diagnose::Layer layer;
    layer.a = layer_of_a(match);
    layer.b = layer_of_b(match);
    layer.r = state.gap.r;
    layer.limit = state.gap.limit;
    layer.largest = state.gap.largest;
    layer.share = state.gap.share;
    layer.terms = state.gap.terms;
    layer.same = state.gap.same;
    layer.map = state.map;
    layer.value_a = sized_.a[match.a].name;
    layer.value_b = sized_.b[match.b].name;
    layer.permutation = match.permutation;
    layer.sizes_a = sizes_of(sized_.a[match.a].type.shape).value_or(Sizes{});
    layer.sizes_b = sizes_of(sized_.b[match.b].type.shape).value_or(Sizes{});
    layer.shape_a = shape_text(layer.sizes_a);
    layer.shape_b = shape_text(layer.sizes_b);
    if (at) layer.pads_a = pads_in(at->a.graph), layer.pads_b = pads_in(at->b.graph);
    const bool is_output = match.how == How::Output && layer.same;
    if (!is_output) into.layers.push_back(layer);
    if (layer.same || state.joined) continue;
    Finding finding;
    finding.shows_in = into.layers.size() - 1;
    finding.ratio = layer.r;
    finding.limit = layer.limit;
    finding.largest = layer.largest;
    finding.share = layer.share;
    finding.other_shape = state.gap.other_shape;
    finding.size = sized_.size;
    if (a) finding.what_a = text_of(a->op);
    if (b) finding.what_b = text_of(b->op);
    finding.a = a && match.how == How::Output ? a->layer : layer.a;
    finding.b = b && match.how == How::Output ? b->layer : layer.b;
    finding.cause = "unknown";
    finding.says = state.trouble;
    if (!state.cause || state.cause->edits.empty()) {
      if (follows_another(i) && !into.findings.empty()) continue;
      if (state.cause) finding.next = state.cause->next, finding.ratio_next = state.cause->r_next;
      finding.ratio_after_fix = layer.r;
      finding.certain = false;
      into.findings.push_back(finding);
      continue;
    }
    finding.also = state.cause->also;
    finding.ratio_after_fix = state.cause->r_after;
    finding.next = state.cause->next;
    finding.ratio_next = state.cause->r_next;
    finding.certain = state.cause->certain;
    finding.ratio = state.cause->before.r;
    finding.limit = state.cause->before.limit;
    for (const Edit& edit : state.cause->edits) {
      finding.cause = std::string(edit.cause);
      finding.says = edit.says;
      const std::string& tensors = state.weights.says;
      if (edit.cause == "weights_differ" && !tensors.empty() && tensors != edit.says) finding.says += "; " + tensors;
      if (!edit.layer.empty()) {
        finding.a = state.cause->of_b ? a_of(edit.layer, match) : edit.layer;
        const bool is_lost =
            (edit.cause == "activation_missing" || edit.cause == "layer_missing") && !state.cause->of_b;
        finding.b = state.cause->of_b ? edit.layer
                    : is_lost         ? b_in_front_of(edit.layer, match)
                                      : b_of(edit.layer, match);
      }
      if (edit.cause == "branches_exchanged") name_exchanged(finding, edit, match);
      const bool is_said = std::ranges::any_of(into.findings, [&](const Finding& said) {
        return said.a == finding.a && said.b == finding.b && said.cause == finding.cause;
      });
      if (!is_said) into.findings.push_back(finding);
    }
  }
}

}  // namespace convoy::diagnose
