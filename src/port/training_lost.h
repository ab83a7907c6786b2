// What a Keras model written for a graph does otherwise when it is trained, in sentences: inference does not show it.
#pragma once
#include "formats/keras/write/document.h"

namespace convoy {

// What acts in training alone and has no form in any graph, in one sentence; nothing: there is nothing such.
std::vector<std::string> left_to_training(const Graph& source);

// Weights that the source has once; single weights that stand still in a layer that learns; frozen norms of PyTorch, which
// go on taking the statistics of each batch there.
std::vector<std::string> lost_in_training(const Graph& target, const keras::Document& document);

}  // namespace convoy
