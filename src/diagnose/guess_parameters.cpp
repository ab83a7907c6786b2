// Operators that say what they do in parameters of their own and have no mistakes of their own kind: both stand side by side,
// and which parameter differs is what is said, whatever it means. Likewise a choice between two branches by numbers of the file.
#include "diagnose/hypothesis.h"
#include "graph/text_fields.h"

#include <fmt/format.h>

#include <string>
#include <type_traits>

namespace convoy::diagnose {

namespace {

constexpr std::string_view parameter = "parameter";

template <class O>
constexpr bool is_told_by_parameters =
    std::is_same_v<O, LocalResponseNorm> || std::is_same_v<O, Accumulate> || std::is_same_v<O, TopK> ||
    std::is_same_v<O, ArgExtreme> || std::is_same_v<O, GridSample> || std::is_same_v<O, Unfold> ||
    std::is_same_v<O, Fold>;

template <class O>
void guess_each(Guesses& guesses, std::size_t node, const O& own) {
  const Scene& scene = guesses.scene;
  for (const Node* other : twins<O>(scene)) {
    const auto& theirs = get<O>(other->op);
    std::string all;
    int different = 0;
    O::fields([&](std::string_view field, auto member) {
      if (own.*member == theirs.*member) return;
      const std::string says =
          fmt::format("{} {} in place of {}", field, text::print(theirs.*member), text::print(own.*member));
      all += (all.empty() ? "" : ", ") + says;
      ++different;
      O now = own;
      now.*member = theirs.*member;
      guesses.add(parameter, scene.a.nodes[node], says, with_op(scene.a, node, now));
    });
    if (different > 1) guesses.add(parameter, scene.a.nodes[node], all, with_op(scene.a, node, theirs));
  }
}

// Which of two branches each number is of, as the file of b says.
void guess_choice(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const Tensor* own = constant_of(scene.a, about, 0);
  if (!own) return;
  for (const Node* other : twins<Where>(scene)) {
    const Tensor* theirs = constant_of(scene.b, *other, 0);
    if (theirs && theirs->shape() == own->shape() && !same_bytes(*own, *theirs))
      guesses.add(parameter, about, "other numbers are kept", with_constant(scene.a, node, 0, *theirs));
  }
}

}  // namespace

void guess_parameters(Guesses& guesses, std::size_t node) {
  const Op& op = guesses.scene.a.nodes[node].op;
  op.visit([&]<class O>(const O& own) {
    if constexpr (is_told_by_parameters<O>) guess_each(guesses, node, own);
  });
  if (holds_alternative<Where>(op)) guess_choice(guesses, node);
}

}  // namespace convoy::diagnose
