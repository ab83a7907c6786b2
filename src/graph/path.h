// Where a layer stands in its model.
#pragma once
#include "graph/graph.h"

#include <string>

namespace convoy {

// "backbone/conv1", the outermost module first. PyTorch names each module by its whole path, "layer1.0" in "layer1": such
// a name says already what is around it.
std::string path_of(const Node& node);

}  // namespace convoy
