// Masks in front of a softmax: another one, one that is left out, one too many.
#include "diagnose/hypothesis.h"

#include <optional>
#include <vector>

namespace convoy::diagnose {

namespace {

// What a softmax reads, and the step in front of it that hides some of the scores, if there is one.
struct Masked {
  ValueId scores, masked;
  std::vector<std::size_t> nodes;
  const Node* about = nullptr;  // that step; or the softmax
};

// A choice or a sum with numbers of the file's own: the one input that is computed.
std::optional<ValueId> scores_of(const Graph& piece, const Node& node) {
  const auto* binary = std::get_if<Binary>(&node.op);
  const bool adds = binary && binary->function == BinaryFunction::Add;
  const std::size_t first = adds ? 0 : 1;  // a condition is no score
  if (!adds && !(std::holds_alternative<Where>(node.op) && constant_of(piece, node, 0))) return std::nullopt;
  std::optional<ValueId> scores;
  for (std::size_t i = first; i < node.inputs.size(); ++i) {
    if (constant_of(piece, node, i)) continue;
    if (scores) return std::nullopt;
    scores = node.inputs[i];
  }
  return scores;
}

std::vector<Masked> masks_in(const Graph& piece) {
  std::vector<Masked> all;
  for (const Node& node : piece.nodes) {
    if (!std::holds_alternative<Softmax>(node.op)) continue;
    const ValueId read = node.inputs[0];
    const NodeId maker = piece[read].producer;
    const auto scores = maker ? scores_of(piece, piece[maker]) : std::nullopt;
    if (scores) all.push_back({*scores, read, {maker.slot()}, &piece[maker]});
    else all.push_back({read, read, {}, &node});
  }
  return all;
}

}  // namespace

void guess_mask(Guesses& guesses) {
  const Scene& scene = guesses.scene;
  for (const Masked& own : masks_in(scene.a))
    for (const Masked& theirs : masks_in(scene.b)) {
      if (own.nodes.empty() && theirs.nodes.empty()) continue;
      guesses.add("attention_mask", *own.about, theirs.nodes.empty() ? "no mask" : "b's mask",
                  with_function(scene.a, own.scores, own.masked, scene.b, theirs.nodes, theirs.scores, theirs.masked,
                                *own.about));
    }
}

}  // namespace convoy::diagnose
