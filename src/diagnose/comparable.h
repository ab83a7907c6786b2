// Two models in one form, so that layers written in different words can be laid side by side: channels first, kernels
// and gates in one order, pads as numbers, biases inside their layers, nothing that leaves numbers as they are.
#pragma once
#include "diagnose/outside.h"
#include "diagnose/rules.h"
#include "graph/graph.h"

#include <vector>

namespace convoy::diagnose {

// Values keep the names and origins of the model, nodes its layer names. Every output is the result of an Identity, so
// that no value is both inside the network and an output. Pads are numbers where the sizes are known.
// `outside`: how inputs and outputs lie in the form; without it, channels that lie last in them come first.
Result<Graph> comparable(const Graph& graph, const Interface& outside);
Result<Graph> comparable(const Graph& graph);

// Both models at one size, in the comparable form, and numbers for their inputs.
struct Sized {
  Graph a, b;
  Rules rules_a, rules_b;
  Outsides outsides;
  std::vector<Tensor> inputs;  // of a, in the order of axes of the comparable form, which both share
  std::string size;            // "8x14"
  bool free = false;           // some size was open in both
};
// `trial` picks the size that both leave open. `given`: the user's inputs, in a's own layout; empty: probing numbers.
// `turned`: rows of a are columns of b.
// Fails (Usage): another number of inputs, or sizes that cannot be brought together, naming both.
Result<Sized> at_one_size(const Graph& a, const Graph& b, int trial, std::uint64_t seed,
                          const std::vector<Tensor>& given, Unsaid unsaid = Unsaid::Convention, bool turned = false);
// A layer inside a wrapper goes by the wrapper's name, which is the one that stands in the model.
void name_wrappers(Graph& graph);
// The order of axes in which b holds a value of a where rows of a are columns of b: [N, C, H, W] as [N, C, W, H].
Sizes turned_order(std::size_t rank);

// The permutations that bring the axes of `from` into `to`, axes of length 1 not counted; likeliest first.
std::vector<Sizes> permutations_between(const Sizes& from, const Sizes& to);
Sizes without_ones(const Sizes& shape);
// Whether the axes that are longer than 1 are the same, in whatever order.
bool have_same_sizes(const Sizes& x, const Sizes& y);
// `from` permuted, and under the shape `to` where it has as many numbers.
Tensor arranged(const Tensor& from, const Sizes& permutation, const Sizes& to);
// One number for each of so many channels.
Tensor filled(Size channels, float value);

}  // namespace convoy::diagnose
