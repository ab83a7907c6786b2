// The lines that do what one operator does, in PyTorch and in Keras: a graph of that operator, put through the passes and
// the writer of each. What `convoy diff` tells to write.
#pragma once
#include "diagnose/diagnose.h"

#include <string>
#include <vector>

namespace convoy::diagnose {

// Of a node of the comparable form. Its input is called x, several are called by `names`, or else a, b, c. Keras has channels
// last. Empty where a framework has no line for it.
Fix lines_of_node(const Graph& as_read, const Graph& form, const Node& node, std::vector<std::string> names = {});
// Of an operator by itself, and an input of this type.
Fix lines_of_operator(const Op& op, const TensorType& type);

}  // namespace convoy::diagnose
