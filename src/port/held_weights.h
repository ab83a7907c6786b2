// Weights that a model's file holds as whole numbers, by the names that they have in the graph that is read from it.
#pragma once
#include "graph/quantized_steps.h"
#include "port/port.h"

namespace convoy {

// None where `--quantized` says that they shall not stay so, or the format has none.
HeldWeights held_weights_in(const std::filesystem::path& source, const PortOptions& options);

}  // namespace convoy
