// Weights that a checkpoint keeps as norms and directions (torch.nn.utils.weight_norm, both generations of it).
#pragma once
#include "formats/format.h"

#include <string>
#include <vector>

namespace convoy::torch {

struct NormedWeight {
  std::string name;                   // the weight that the module computes with: "conv.weight"
  std::string magnitude, direction;   // the names it is stored under
};

// Pairs by their names ("conv.weight_g" and "conv.weight_v"; "conv.parametrizations.weight.original0" and "original1") whose
// shapes fit: the magnitude has the direction's axes, each of its size or 1, or no axes at all.
std::vector<NormedWeight> normed_weights(const std::vector<LoadedTensor>& tensors);

// The list with every pair replaced, at the place of its magnitude, by the weight it makes: direction * magnitude / |direction|,
// the norm taken over the axes that the magnitude has not. Computed in float64 and rounded once to the direction's type.
// Fails (Unsupported): a pair of numbers that are not floating, or whose weight is there as well.
Result<std::vector<LoadedTensor>> with_plain_weights(std::vector<LoadedTensor> tensors);

}  // namespace convoy::torch
