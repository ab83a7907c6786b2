// Reads and writes ONNX: one file, or the model with its weights beside it.
#pragma once
#include "base/bytes.h"
#include "formats/format.h"
#include "graph/graph.h"
#include "graph/quantized_steps.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::onnx {

// Whether bytes begin like an ONNX model: a version, then, among its first fields, a graph or operator sets.
bool begins_model(Bytes bytes);

// Reads opsets 1 to 28. `folder` is the model's: files that it names are opened below it.
// `given`: inputs whose numbers are known beforehand; they are constants then.
// Fails: an operator or attribute that is not understood, naming node, operator and opset; broken and hostile files.
Result<Graph> read_model(const Blob& blob, const std::filesystem::path& folder, const LoadOptions& options,
                         const std::map<std::string, Tensor>& given = {});
// The initializers in the model's order.
Result<std::vector<LoadedTensor>> weights_of_model(const Blob& blob, const std::filesystem::path& folder);

// What a file calls the sizes that it leaves free, by input or output: one word per axis, empty where there is none.
using SizeWords = std::map<std::string, std::vector<std::string>>;
Result<SizeWords> size_words_of_model(Bytes bytes);
// An input that the file declares with a size of 0, and how. It is read as a free size, which files without one often mean.
std::optional<std::pair<std::string, Sizes>> input_without_numbers(Bytes bytes);
// Known sizes that the file declares and that are not those of the graph that was read from it, one sentence each. Exporters
// write such ones (PyTorch's older one after pools that round up), and runtimes take what the operators give, as we do.
std::vector<std::string> contradicted_sizes(Bytes bytes, const Graph& graph);

// By name, the weights of float32 that a file holds as whole numbers.
HeldWeights held_weights_of_model(const Blob& blob, const std::filesystem::path& folder);

inline constexpr Size least_opset = 11, usual_opset = 17, newest_opset = 22;

struct WriteOptions {
  Size opset = usual_opset;
  // The name of a file beside the model that takes the larger tensors, and how to write there; none: one file.
  std::string external_location{};
  std::function<Status(std::span<const std::byte>)> external_append{};
  std::vector<std::string>* output_names = nullptr;  // gains what the file calls its outputs, in their order
  std::set<std::string>* without_kernel = nullptr;  // gains operators of float64 that ONNX Runtime has no kernel for
  bool keeps_quantized = true;  // QuantizeLinear and DequantizeLinear where the model rounds so
  HeldWeights held{};  // those of the weights that are float32 numbers of such steps, exactly, are held so
  SizeWords size_words{};  // for inputs and outputs of these names; others get words of our own
};

// Every operator of the vocabulary: its name, and why ONNX has no form for it (empty: it has one).
std::vector<std::pair<std::string_view, std::string_view>> operators();

// What each value of a graph is called in the file that is written from it. Callers know inputs, weights and outputs by
// name; a value in between that has the name of an output takes another.
std::vector<std::string> names_of_values(const Graph& graph);
// A graph in the words of passes_for_onnx, by those names; the same graph gives the same bytes.
// Fails: an operator that ONNX, or this operator set, has no form for, naming the layer; 2 GiB or more in one file.
Status write_model(const Graph& graph, const WriteOptions& options,
                   const std::function<Status(std::span<const std::byte>)>& append);

}  // namespace convoy::onnx
