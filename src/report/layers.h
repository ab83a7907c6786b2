// The layers of a graph as rows a person can read: what each does, its output, and its padding as said and as placed.
#pragma once
#include "graph/graph.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace convoy {

struct LayerRow {
  std::string name;       // empty where a row continues the layer above
  std::string operation;  // "conv 3x3 /2"
  std::string output;     // "[N, 112, 112, 64]"
  std::string padding;    // "rows 0,1  cols 0,1   same"
  Size parameters = 0;    // each weight counted once, at its first use
  std::string note;       // what a reader of the table should not miss
};

std::vector<LayerRow> layer_rows(const Graph& graph);

struct ParameterCount {
  Size all = 0, trainable = 0;
};
ParameterCount count_parameters(const Graph& graph);

// What an operator was told, by the names of its own fields; windows by kernel, stride and dilation. Its padding is told in words.
using OpAttribute = std::variant<bool, Size, double, std::string, Sizes>;
std::map<std::string, OpAttribute> attributes_of(const Op& op);

// "conv 3x3 /2 @2", "max pool 2x2", "batch norm axis 1"
std::string words_of(const Op& op);

}  // namespace convoy
