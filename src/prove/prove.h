// Shows that a port computes what its source computes: layer by layer, each fed the source's own values, under a bound
// that follows from rounding alone, at probing inputs and sizes; and weight by weight, byte for byte.
#pragma once
#include "graph/graph.h"

#include <string>
#include <vector>

namespace convoy {

struct ProofOptions {
  std::uint64_t seed = 0;
  int threads = 0;
  Size memory_limit = Size{12} << 30;
};

// r = |difference| / (2^-24 * (|W|*|x| + |b|)); rounding alone stays below the limit.
struct LayerProof {
  std::string layer, kind;
  double largest = 0;  // absolute difference
  double r = 0, limit = 0;
  Size terms = 0;  // products per output
  bool same = true;
  std::string where;  // of the worst element, if different: "[0, 3, 0, 5]"
};

struct Proof {
  std::vector<std::vector<Size>>
      input_shapes;                // flattened list of the sizes tried, per trial all inputs one behind another
  std::vector<std::string> sizes;  // "64x64", "65x63": as the user says it
  bool every_size = false;         // sizes are free and more than one was tried
  std::vector<LayerProof> layers;  // worst over all trials
  Size weights_equal = 0, weights_reordered = 0, weights_folded = 0, weights_different = 0;
  double whole_largest = 0;  // of the outputs, run freely from the same input
  bool holds = false;
  std::string reason;  // when it does not hold: one sentence naming the layer
};

// `target` is the graph after the passes with the weights as they were read back from the file written.
// Fails: only when it cannot be run at all (limits); a difference is a Proof that does not hold.
Result<Proof> prove(const Graph& source, const Graph& target, const ProofOptions& options = {});

// Inputs that can show a fault: no ones, no symmetry, borders never zero, both signs; whole numbers within tables'
// ranges where an input is an index. For free sizes, `trial` picks other residues (even, odd).
Result<std::vector<Tensor>> probing_inputs(const Graph& graph, int trial, std::uint64_t seed);

}  // namespace convoy
