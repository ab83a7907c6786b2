// Roundings that b leaves out: to whole numbers of a scale and back, and to half precision and back.
#include "diagnose/hypothesis.h"
#include "graph/quantized_steps.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::diagnose {

namespace {

void guess_halves(Guesses& guesses, std::size_t node) {
  const Graph& a = guesses.scene.a;
  const auto* wide = get_if<Cast>(&a.nodes[node].op);
  const NodeId front = wide && wide->to == DType::F32 ? a[a.nodes[node].inputs[0]].producer : NodeId{};
  const auto* half = front ? get_if<Cast>(&a[front].op) : nullptr;
  if (!half || !is_half(half->to) || a[a[front].inputs[0]].type.dtype != DType::F32) return;
  guesses.add("cast_missing", a.nodes[node], "not rounded to " + std::string(name_of(half->to)),
              with_function(a, a[front].inputs[0], a.nodes[node].outputs[0], a, {}, {}, {}, a.nodes[node]));
}

}  // namespace

void guess_steps(Guesses& guesses) {
  const Graph& a = guesses.scene.a;
  for (const auto& [rounding, widening] : stepped_pairs(a)) {
    const Node& last = a[widening.nodes.back()];
    guesses.add("quant_missing", last, "not rounded",
                with_function(a, rounding.x, last.outputs[0], a, {}, {}, {}, last));
  }
  for (std::size_t i = 0; i < a.nodes.size(); ++i) guess_halves(guesses, i);
}

}  // namespace convoy::diagnose
