// Shows that a port computes what its source computes: layer by layer, each fed the source's own values, under a bound
// that follows from rounding alone, at probing inputs and sizes; and weight by weight, byte for byte.
//
// How. The source runs in float64, layer by layer. Every value that the target carries too (its Origin says so) is
// rounded to float32 and both graphs go on from the rounded one. So each stretch of the target between two such values
// starts from the very numbers its counterpart starts from, and |target in float32 - source in float64| may not exceed
// what float32 rounding of that stretch explains: limit(K) * 2^-24 * (|W|*|x| + |b|) for K products per output,
// limit(K) = min(4 sqrt(K) + 16, 2 (K + 1)); the table for the other operators is in bound.h. What only moves or
// selects numbers must agree in every bit.
//
// Structure. The same again with small whole numbers in place of weights, inputs and what the layers are fed: none of their
// sums is rounded in any order, so the layers must agree in every bit. Where sizes are free, each layer is also tried by
// itself at all sizes that tell: from one cell on until every remainder of its strides has been met (structure.h).
// Layers whose operators round whole numbers too (exp, roots) are held to their bound instead, which is said.
//
// Layers are fed twice: with the source's own values at every size, and once more, at the last size, with fresh random
// numbers in their place, which reach what the former never do: the far side of a threshold, a channel that is dead.
//
// A product (convolution, dense layer) of the same operator, weights and numbers in both graphs is the same whatever these
// are: fresh and whole numbers are not put through it.
//
// What it does not show: training behaviour (momentum, rates of dropout), and sizes or numbers that were not tried.
#pragma once
#include "graph/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy {

struct Convention {
  std::optional<Order> channels;  // where the target has them; nothing: every axis lies where the source has it
  bool has_dictionaries = false;  // of inputs and outputs, which then go by the source's keys
  bool has_tuples_of_one = false;  // tells them from the output by itself
};

struct ProofOptions {
  std::uint64_t seed = 0;
  int threads = 0;
  Size memory_limit = Size{12} << 30;
  // How the port's inputs and outputs have to lie (interface.h); nothing: as it declares them itself.
  std::optional<Convention> convention{};
};

// What whole numbers say of a layer: they are rounded by nothing, so that one bit apart is another structure.
struct LayerStructure {
  Size compared = 0;  // values compared bit for bit, over all trials of the whole model
  bool same = true;
  std::string rounds;  // the operator by which some value could not be: it rounds whole numbers too
  // Of a layer that takes several sizes, by itself: sizes of its own input, each axis apart from the others.
  Sizes tried, differs;
  Size period = 1;  // the strides on its way: what holds at every remainder of it from `settled` on holds beyond
  Size settled = 1;
  bool every_size = false;  // all remainders were tried, and beyond them everything repeats
  bool is_exact() const { return compared > 0 && same && rounds.empty(); }
};

// r = |difference| / (2^-24 * (|W|*|x| + |b|)); rounding alone stays below the limit. A limit of 0: bit for bit.
struct LayerProof {
  std::string layer, kind;
  double largest = 0;  // absolute difference
  double r = 0, limit = 0;
  Size terms = 0;  // products per output
  // How far the source is off by itself in float32, where the layer magnifies rounding beyond its bound (magnified.h).
  double magnified = 0;
  bool same = true;
  std::string where;  // of the worst element, if different: "[0, 3, 0, 5]"
  LayerStructure structure{};
};

// A constant of the target.
enum class Kept : std::uint8_t { AsItWas, Reordered, Computed, Different };
struct WeightProof {
  std::string name, source;  // the source's constant that it names; empty: a pass computed it
  Sizes split, permutation;  // the order it declares: reshaped to `split`, then permuted
  Kept kept = Kept::AsItWas;
  // Of a computed one: the layer that it serves, whose bound covers it, and the source's constants that this layer reads.
  std::string layer;
  std::vector<std::string> made_of;
};

// What a port is checked with where it lives: inputs in the target's layout, the source's outputs in the target's
// layout, and how far a float32 run of the whole in any runtime may be from them. Floats are float32, whole numbers
// int64; outputs and bounds have equal shapes.
//
// The bound is no theorem: propagated bounds of deep networks are vacuous. It is 64 times the largest difference that
// this runtime shows between the target in float32 and the source in float64, per output tensor, and 2^-20 of the
// tensor's largest magnitude on top; other runtimes sum in other orders, and 64 is their allowance. An interpolation
// adds 4 (4 + n) 2^-24 per axis of n cells: others compute its coordinates in float32. The outputs come
// from the layer-by-layer run, so each layer's numbers were rounded to float32 once.
struct CheckData {
  std::vector<Tensor> inputs, outputs, bounds;
};

struct Proof {
  std::vector<std::vector<Size>> input_shapes;  // per trial, the sizes of all inputs one behind another
  std::vector<std::string> sizes;  // "64x64", "65x63": as the user says it
  bool every_size = false;  // sizes are free, and every layer holds at every size of its input
  std::vector<LayerProof> layers;  // worst over all trials
  // Constants of the target that name one of the source: the same bytes; the same bytes in another order; and not the
  // same, which is a difference. Folded: computed by a pass, so covered by the layers they are used in.
  Size weights_equal = 0, weights_reordered = 0, weights_folded = 0, weights_different = 0;
  std::vector<WeightProof> weights;  // all of the target's constants, in its order
  std::vector<std::string>
      weights_left;  // of the source, floats that nothing of the target carries or is computed from
  double whole_largest = 0;  // of the outputs, run freely from the same input
  CheckData check;  // of the first trial
  bool holds = false;
  std::string reason;  // when it does not hold: one sentence naming the layer
};

// "at every size", "at odd sizes only, not at 8": what the sizes tried say of a layer by itself.
std::string sizes_where_same(const LayerStructure& structure);

// `target` is the graph after the passes with the weights as they were read back from the file written.
// Fails: only when it cannot be run at all (limits); a difference is a Proof that does not hold.
Result<Proof> prove(const Graph& source, const Graph& target, const ProofOptions& options = {});

// Inputs that can show a fault: no ones, no symmetry, borders never zero, both signs; whole numbers within tables'
// ranges where an input is an index. For free sizes, `trial` picks other residues (even, odd).
// Fails: no size was found that the graph accepts.
Result<std::vector<Tensor>> probing_inputs(const Graph& graph, int trial, std::uint64_t seed);

}  // namespace convoy
