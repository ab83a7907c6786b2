// Writes PyTorch: a module that reads as if a good engineer had written it, and its weights beside it.
#pragma once
#include "graph/graph.h"
#include "ops/vocabulary.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::torch {

struct SourceOptions {
  std::string source_file;     // "digits.keras", for the docstring
  std::string module_name;     // "digits": class Digits, files digits.safetensors, digits.check.safetensors
  std::string weights_file;    // "digits.safetensors" or "digits.pt"
  std::string check_file;      // "digits.check.safetensors"
  std::string weights_sha256;  // carried by the module and compared on load
  bool fixed_size = false;     // the port holds for one input size: forward raises on any other
  bool fixed_batch = false;    // and for one batch
};

struct Parameter {
  std::string name;  // as in state_dict: "backbone.conv1.weight"
  Tensor tensor;
  ValueId value;        // the constant of the graph that it carries
  bool buffer = false;  // running statistics and tables
};

struct Source {
  std::string text;                   // the Python module
  std::vector<Parameter> parameters;  // the state_dict, in the order of the modules
};

// Every operator of the vocabulary: its name, and why PyTorch has no form for it (empty: it has one).
std::vector<std::pair<std::string_view, std::string_view>> operators();

// The state_dict alone: names and tensors. Does not depend on the options' checksum.
Result<std::vector<Parameter>> state_dict(const Graph& graph, const SourceOptions& options = {});
// Fails: an operator that PyTorch has no form for, or that a pass should have rewritten, naming the layer.
Result<Source> write_source(const Graph& graph, const SourceOptions& options);

// A few operators as lines to paste, which take the inputs under these names; their weights are not said. `always`: arguments
// that are said at their default, too. The graph has one output. Fails: as write_source; what takes a function of its own.
Result<std::vector<std::string>> lines_of(const Graph& graph, const std::vector<std::string>& names,
                                          std::span<const std::string_view> always = {});

}  // namespace convoy::torch
