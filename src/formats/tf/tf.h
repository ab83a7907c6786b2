// Reads TensorFlow: frozen graphs (GraphDef), SavedModels of TensorFlow 1 and 2, meta graphs beside a checkpoint, and
// checkpoints for their weights.
#pragma once
#include "base/bytes.h"
#include "formats/format.h"
#include "graph/graph.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::tf {

// Whether bytes begin like a graph of nodes, like a SavedModel, like a meta graph.
bool begins_graph(Bytes bytes);
bool begins_saved_model(Bytes bytes);
bool begins_meta_graph(Bytes bytes);

// A frozen graph. These fail: an operator or attribute that is not understood, naming node and operator; broken and hostile
// files.
Result<Graph> read_graph(const Blob& blob, const LoadOptions& options);
// `file` is where the bytes come from: variables lie beside it.
Result<Graph> read_saved_model(const Blob& blob, const std::filesystem::path& file, const LoadOptions& options);
Result<Graph> read_meta_graph(const Blob& blob, const std::filesystem::path& file, const LoadOptions& options);
// The file of a SavedModel, which is a folder.
std::filesystem::path saved_model_in(const std::filesystem::path& folder);

// In the order of the file: constants that are no single numbers; the variables of a checkpoint.
Result<std::vector<LoadedTensor>> weights_of_graph(const Blob& blob);
Result<std::vector<LoadedTensor>> weights_of_saved_model(const std::filesystem::path& file);
Result<std::vector<LoadedTensor>> weights_of_checkpoint(const std::filesystem::path& index);

// The operators of TensorFlow's graphs that are read.
std::vector<std::string_view> graph_operators();

}  // namespace convoy::tf
