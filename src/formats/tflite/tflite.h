// Reads and writes TFLite models.
#pragma once
#include "base/bytes.h"
#include "formats/format.h"
#include "graph/graph.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::tflite {

bool begins_model(Bytes bytes);

// The first subgraph, whose inputs and outputs are called as the file's only signature calls them, or as its tensors.
// Fails: an operator or option that is not understood, naming it; quantised numbers, unless they are to stand for the real
// ones that they mean (`dequantizes`); broken and hostile files.
Result<Graph> read_model(const Blob& blob, const LoadOptions& options);
// The numbers of all tensors that have some, as the file stores them.
Result<std::vector<LoadedTensor>> weights_of_model(const Blob& blob);

// Every operator of the vocabulary: its name, and why TFLite has no form for it (empty: it has one).
std::vector<std::pair<std::string_view, std::string_view>> operators();

// A graph in the words of tflite_target; the same graph gives the same bytes. Fails: an operator that TFLite has no form
// for, naming the layer; 2 GiB or more. `in_halves`: weights that float16 holds exactly are stored so.
Status write_model(const Graph& graph, const std::function<Status(std::span<const std::byte>)>& append,
                   bool in_halves = false);

}  // namespace convoy::tflite
