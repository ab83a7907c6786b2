// The order in which a class computes: single nodes, and models inside the model as steps with steps of their own.
#pragma once
#include "graph/graph.h"

#include <set>
#include <string>
#include <vector>

namespace convoy::torch {

struct Step {
  NodeId node;               // none: a nested model
  std::string path;          // of the nested model, by the source's names: "encoder/block1"
  std::string name;          // its own name
  std::string spoken;        // of a node: what its layer is called in a class that several layers share
  std::string class_word;    // of a model that no source has: what its class is called
  std::vector<std::string> arguments;  // of such a model: what its inputs are called
  std::vector<Step> inside;
  std::vector<ValueId> inputs, outputs;  // without constants
};

// Nested models whose path is in `flattened` are written into the class around them. A model that does not stand in one
// piece, or is called twice under one number, is added to `flattened`: ask again then.
std::vector<Step> steps_of(const Graph& graph, std::set<std::string>& flattened);

// "block_conv": the node's layer, with the names of flattened models in front.
std::string layer_of(const Node& node, const std::set<std::string>& flattened);

}  // namespace convoy::torch
