// One model's weights in another one's layers: the models may be written independently and in other words, as long as
// they are the same network. Whether they are is for the caller to show (port/copy_weights.h does).
#pragma once
#include "graph/graph.h"

#include <string>
#include <vector>

namespace convoy::diagnose {

struct CarriedWeight {
  std::string layer_a, layer_b;
  std::string source;  // a's tensors, by the names of its reader; empty: none of them, as `how` says
  std::string target;  // b's tensor
  Sizes source_shape, shape;
  std::string how;  // "as it is", "permute(3, 2, 0, 1)", "with batch norm 'bn' folded in"
};

struct CarriedModel {
  Graph b;  // as it was read, with a's numbers
  std::vector<CarriedWeight> weights;  // in b's order
  std::vector<std::string> kept;  // float weights of b that nothing of a stands for: single numbers and unused ones
};

// Layers are matched by structure alone: what b holds is not looked at. A batch norm may be folded in either.
// Fails (Proof): a layer with weights that has no counterpart, two layers that may be exchanged without a trace in the
// structure, kernels of other sizes, a bias that b has no place for; each with the names of the layers. (Usage): inputs
// that do not fit together. (Unsupported): weights that are not float32.
Result<CarriedModel> carry(const Graph& a, const Graph& b);

}  // namespace convoy::diagnose
