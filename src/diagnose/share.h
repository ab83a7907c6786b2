// One of the models is source without weights: its layers get numbers that tell what they do.
#pragma once
#include "diagnose/align.h"
#include "diagnose/comparable.h"
#include "diagnose/numbering.h"

#include <optional>

namespace convoy::diagnose {

// Where each number of both comparable forms lies in its own model: the same forms, of numbered models.
struct Places {
  Numbering a, b;
  Sized at;
};
// Nothing: a model that cannot be numbered.
std::optional<Places> places_of(const Graph& a, const Graph& b, int trial, std::uint64_t seed,
                                const std::vector<Tensor>& given);

// Gives b the numbers of a where layers stand for each other and the shapes fit, and no program says them itself; returns how
// many tensors. Features keep the
// order that they have in the files, which is how weights are loaded from one framework into the other: transposed, and no
// more. Weights that begin as one number (offsets 0, scales 1) become many first, in both models: a layer that does nothing
// would hide itself and what stands around it.
int share_weights(Sized& at, const Alignment& alignment, const std::optional<Places>& places);

}  // namespace convoy::diagnose
