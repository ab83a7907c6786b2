// The constants of a port against those of its source, byte for byte.
#pragma once
#include "prove/prove.h"

namespace convoy {

// Counts into the proof. The reason why they are not the same, naming the first constant; empty when they are.
std::string compare_weights(const Graph& source, const Graph& target, Proof& proof);

}  // namespace convoy
