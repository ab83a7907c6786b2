// Channels between two layers that lie in another order in b: the layer that makes them and all that read them carry their
// numbers in that order, so the models are the same.
#pragma once
#include "diagnose/align.h"

#include <string>
#include <vector>

namespace convoy::diagnose {

// Gives b's layers a's order wherever every reader of what a layer makes can take it up, and returns a's names of the layers.
// b computes the same as before, to the last bit but for the order in which sums add up. Orders that show in an output, or behind
// an operator that mixes channels in a way of its own, stay, and are differences. Both graphs are in the comparable form.
std::vector<std::string> settle_hidden_orders(const Graph& a, Graph& b, const Alignment& alignment);

}  // namespace convoy::diagnose
