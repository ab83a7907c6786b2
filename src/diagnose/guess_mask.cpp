// Masks in front of a softmax: another one, one that is left out, one too many. Masks of steps that a cell walks, left out.
#include "diagnose/hypothesis.h"
#include "diagnose/recognise.h"
#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace convoy::diagnose {

namespace {

// What a softmax reads, and the step in front of it that hides some of the scores, if there is one.
struct Masked {
  ValueId scores, masked;
  std::vector<std::size_t> nodes;
  const Node* about = nullptr;  // that step; or the softmax
  ValueId made_of = {};  // the one input of the piece that the mask is computed from
};

// A choice or a sum with numbers of the file's own: the one input that is computed.
std::optional<ValueId> scores_of(const Graph& piece, const Node& node) {
  const auto* binary = get_if<Binary>(&node.op);
  const bool adds = binary && binary->function == BinaryFunction::Add;
  const std::size_t first = adds ? 0 : 1;  // a condition is no score
  if (!adds && !(holds_alternative<Where>(node.op) && constant_of(piece, node, 0))) return std::nullopt;
  std::optional<ValueId> scores;
  for (std::size_t i = first; i < node.inputs.size(); ++i) {
    if (constant_of(piece, node, i)) continue;
    if (scores) return std::nullopt;
    scores = node.inputs[i];
  }
  return scores;
}

// Numbers that leave nothing of a score.
bool hides(double x) { return std::abs(x) >= 1e3; }
bool hides(const Graph& piece, const Node& node) {
  if (const auto* affine = get_if<Affine>(&node.op)) return hides(affine->scale) || hides(affine->offset);
  return std::ranges::any_of(node.inputs, [&](ValueId v) {
    constexpr Size most = Size{1} << 16;
    if (!v || !piece[v].constant || piece[v].constant->count() > most) return false;
    return std::ranges::any_of(piece[v].constant->doubles(), [](double x) { return hides(x); });
  });
}

// The mask as the model computes it, of one input of the piece and not of the scores: a condition, or what is added.
std::optional<Masked> computed_mask(const Graph& piece, const Node& step, ValueId mask, ValueId scores) {
  Masked found{scores, step.outputs[0], {}, &step};
  std::set<ValueId> needed{mask};
  bool is_hidden = hides(piece, step);
  for (std::size_t n = piece.nodes.size(); n-- > 0;) {
    const Node& node = piece.nodes[n];
    const bool is_of_mask = std::ranges::any_of(node.outputs, [&](ValueId v) { return needed.contains(v); });
    if (&node != &step && !is_of_mask) continue;
    found.nodes.push_back(n);
    is_hidden = is_hidden || hides(piece, node);
    if (&node == &step) continue;
    for (const ValueId v : node.inputs)
      if (v && !piece[v].constant) needed.insert(v);
  }
  std::ranges::sort(found.nodes);
  for (const ValueId v : needed) {
    if (v == scores || (!piece[v].producer && found.made_of)) return std::nullopt;
    if (!piece[v].producer) found.made_of = v;
  }
  return is_hidden && found.made_of ? std::optional(found) : std::nullopt;
}

std::vector<Masked> computed_masks(const Graph& piece, const Node& step) {
  std::vector<Masked> all;
  const auto add = [&](ValueId mask, ValueId scores) {
    if (!piece[scores].producer && std::ranges::find(piece.inputs, scores) == piece.inputs.end()) return;
    if (auto found = computed_mask(piece, step, mask, scores)) all.push_back(*std::move(found));
  };
  const auto* binary = get_if<Binary>(&step.op);
  if (holds_alternative<Where>(step.op)) {
    for (const std::size_t i : {1, 2})
      if (constant_of(piece, step, 3 - i) && !constant_of(piece, step, i) && !constant_of(piece, step, 0))
        add(step.inputs[0], step.inputs[i]);
  } else if (binary && binary->function == BinaryFunction::Add) {
    for (const std::size_t i : {0, 1})
      if (!constant_of(piece, step, i) && !constant_of(piece, step, 1 - i)) add(step.inputs[1 - i], step.inputs[i]);
  }
  return all;
}

std::vector<Masked> masks_in(const Graph& piece) {
  std::vector<Masked> all;
  for (const Node& node : piece.nodes) {
    if (!holds_alternative<Softmax>(node.op)) continue;
    const ValueId read = node.inputs[0];
    const NodeId maker = piece[read].producer;
    const auto scores = maker ? scores_of(piece, piece[maker]) : std::nullopt;
    const auto computed = maker && !scores ? computed_masks(piece, piece[maker]) : std::vector<Masked>{};
    if (scores) all.push_back({*scores, read, {maker.slot()}, &piece[maker]});
    else if (computed.empty()) all.push_back({read, read, {}, &node});
    all.insert(all.end(), computed.begin(), computed.end());
  }
  return all;
}

bool walks(const Op& op) { return traits_of(op).kind == LayerKind::Recurrence; }

// Whether it takes steps at places that the model computes, and of what.
bool picks_steps(const Graph& piece, const Node& node) {
  const auto* gather = get_if<GatherElements>(&node.op);
  return gather && gather->axis == 1 && !constant_of(piece, node, 1) && piece[node.inputs[0]].type.rank() == 3;
}

// What a cell walked: this one, or one in front of the stretch.
bool is_walked(const Graph& piece, ValueId v, const Node& cell) {
  return v == cell.outputs[0] || std::ranges::find(piece.inputs, v) != piece.inputs.end();
}

// Whether it brings the steps that count to the front, for a cell.
bool is_order(const Graph& piece, const Node& picks) {
  return std::ranges::any_of(piece.nodes,
                             [&](const Node& node) { return walks(node.op) && node.inputs[0] == picks.outputs[0]; });
}

// What was picked of it, where nothing stands in its place in front of the first step that counts.
ValueId chosen_of(const Graph& piece, const Node& where, const Node& cell) {
  for (const std::size_t i : {1, 2})
    if (const Node* maker = maker_of(piece, where.inputs[i]);
        maker && picks_steps(piece, *maker) && is_walked(piece, maker->inputs[0], cell) && !is_order(piece, *maker))
      return where.inputs[i];
  return {};
}

// Whoever read `to` reads `from`.
Graph bypassed(const Graph& graph, ValueId from, ValueId to) {
  return with_function(graph, from, to, graph, {}, from, from, {});
}

// One step nearer to what `cell` walked, as it comes. Nothing: it comes so.
std::optional<Graph> without_a_choice(const Graph& piece, const Node& cell) {
  for (const Node& node : piece.nodes)
    if (holds_alternative<Where>(node.op))
      if (const ValueId chosen = chosen_of(piece, node, cell)) return bypassed(piece, chosen, node.outputs[0]);
  for (std::size_t i = 0; i < piece.nodes.size(); ++i) {
    const Node& node = piece.nodes[i];
    const ValueId walked = node.inputs[0];
    if (!picks_steps(piece, node) || !is_walked(piece, walked, cell) || is_order(piece, node)) continue;
    if (piece[node.outputs[0]].type.shape[1] == piece[walked].type.shape[1])
      return bypassed(piece, walked, node.outputs[0]);
    Graph last = with_op(piece, i, Slice{1, -1, {}, 1});
    last.nodes[i].inputs.resize(1);
    return last;
  }
  return std::nullopt;
}

// The piece with the steps of `cell` as they come, all of them (graph/counted_steps.h). Nothing: it walks no others.
std::optional<Graph> counting_all(const Graph& piece, const Node& cell) {
  const Node* order = maker_of(piece, cell.inputs[0]);
  if (!order || !picks_steps(piece, *order)) return std::nullopt;
  Graph all = bypassed(piece, order->inputs[0], order->outputs[0]);
  while (auto next = without_a_choice(all, cell)) all = *std::move(next);
  return all;
}

// What is kept where a computed truth holds, with zeros elsewhere.
ValueId kept_by_truths(const Graph& piece, ValueId v) {
  const Node* where = maker_of(piece, v);
  if (!where || !holds_alternative<Where>(where->op) || constant_of(piece, *where, 0)) return {};
  const Tensor* other = constant_of(piece, *where, 2);
  if (!other || !is_floating(other->dtype())) return {};
  const auto numbers = other->doubles();
  return std::ranges::all_of(numbers, [](double x) { return x == 0; }) ? where->inputs[1] : ValueId{};
}

// An average over the steps that count: a sum of these by how many they are.
struct AverageOfCounted {
  ValueId x;
  Reduce sum;
};
std::optional<AverageOfCounted> average_of_counted(const Graph& piece, const Node& node) {
  const auto* divide = get_if<Binary>(&node.op);
  if (!divide || divide->function != BinaryFunction::Divide || constant_of(piece, node, 1)) return std::nullopt;
  const Node* maker = maker_of(piece, node.inputs[0]);
  const auto* sum = maker ? get_if<Reduce>(&maker->op) : nullptr;
  const ValueId x = sum && sum->reduction == Reduction::Sum ? kept_by_truths(piece, maker->inputs[0]) : ValueId{};
  return x ? std::optional(AverageOfCounted{x, *sum}) : std::nullopt;
}

constexpr std::string_view mask_missing = "mask_missing", all_steps = "all steps, whatever the mask says";

void guess_steps_that_count(Guesses& guesses) {
  const Graph& a = guesses.scene.a;
  for (const Node& node : a.nodes) {
    if (walks(node.op))
      if (auto all = counting_all(a, node)) guesses.add(mask_missing, node, std::string(all_steps), *std::move(all));
    if (const ValueId kept = node.outputs.size() == 1 ? kept_by_truths(a, node.outputs[0]) : ValueId{})
      guesses.add(mask_missing, node, std::string(all_steps), bypassed(a, kept, node.outputs[0]));
    if (const auto average = average_of_counted(a, node)) {
      const Reduce mean{Reduction::Mean, average->sum.axes, average->sum.keeps_axes};
      Graph changed = a;
      Node& now = changed.nodes[static_cast<std::size_t>(&node - a.nodes.data())];
      now.op = mean;
      now.inputs = {average->x};
      guesses.add(mask_missing, node, std::string(all_steps), std::move(changed));
    }
  }
}

}  // namespace

void guess_mask(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  guess_steps_that_count(guesses);
  for (const Masked& own : masks_in(scene.a))
    for (const Masked& theirs : masks_in(scene.b)) {
      if (own.nodes.empty() && theirs.nodes.empty()) continue;
      const auto add = [&](const std::map<ValueId, ValueId>& beside) {
        guesses.add("attention_mask", *own.about, theirs.nodes.empty() ? "no mask" : "b's mask",
                    with_function(scene.a, own.scores, own.masked, scene.b, theirs.nodes, theirs.scores, theirs.masked,
                                  *own.about, beside));
      };
      if (!theirs.made_of) add({});
      else
        for (const ValueId v : scene.a.inputs)
          if (sizes_of(scene.b[theirs.made_of].type.shape) == scene.shape(v)) add({{theirs.made_of, v}});
    }
}

}  // namespace convoy::diagnose
