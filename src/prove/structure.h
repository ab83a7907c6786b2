// Structure to the last bit: the model fed with whole numbers at one size, and each layer by itself at all the sizes that
// could tell two structures apart.
#pragma once
#include "prove/prove.h"
#include "prove/substitute.h"

#include <vector>

namespace convoy {

// The whole model, at the sizes of these inputs, with whole numbers in their place. Fails: what cannot be run.
Status prove_structure(const WholeModels& models, const std::vector<Tensor>& inputs, const ProofOptions& options,
                       Proof& proof);

// Each layer by itself, where it takes inputs of several sizes: from 1 cell on until every remainder of its stride has been
// met with the borders apart, one axis at a time. Layers whose operators round whole numbers too are held to their bound
// instead, on random numbers. `only_different`: those layers alone that differ already, to say at which sizes they do.
// Fills LayerProof::structure and, where a layer differs, the proof's reason. Fails: what cannot be run.
Status prove_layers_alone(const Graph& source, const Graph& target, const WholeModels& models,
                          const ProofOptions& options, bool only_different, Proof& proof);

}  // namespace convoy
