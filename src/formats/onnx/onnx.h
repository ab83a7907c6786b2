// Writes ONNX: one file, or the model with its weights beside it.
#pragma once
#include "graph/graph.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::onnx {

inline constexpr Size least_opset = 11, usual_opset = 17, newest_opset = 22;

struct WriteOptions {
  Size opset = usual_opset;
  // The name of a file beside the model that takes the larger tensors, and how to write there; none: one file.
  std::string external_location{};
  std::function<Status(std::span<const std::byte>)> external_append{};
};

// Every operator of the vocabulary: its name, and why ONNX has no form for it (empty: it has one).
std::vector<std::pair<std::string_view, std::string_view>> operators();

// A graph in the words of passes_for_onnx. Values and constants keep their names; the same graph gives the same bytes.
// Fails: an operator that ONNX, or this operator set, has no form for, naming the layer; 2 GiB or more in one file.
Status write_model(const Graph& graph, const WriteOptions& options,
                   const std::function<Status(std::span<const std::byte>)>& append);

}  // namespace convoy::onnx
