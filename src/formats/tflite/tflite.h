// Reads and writes TFLite models.
#pragma once
#include "base/bytes.h"
#include "formats/format.h"
#include "graph/graph.h"
#include "graph/quantized_steps.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::tflite {

bool begins_model(Bytes bytes);

// The subgraph of the signature that is asked for, of serving_default where there are several, else the first. Its inputs and outputs
// are called as that signature calls them, or as its tensors.
// Fails: an operator or option that is not understood, naming it; quantised numbers, unless they are to stand for the real
// ones that they mean (`dequantizes`); broken and hostile files.
Result<Graph> read_model(const Blob& blob, const LoadOptions& options);
// The numbers of all tensors that have some, as the file stores them.
Result<std::vector<LoadedTensor>> weights_of_model(const Blob& blob);

// Every operator of the vocabulary: its name, and why TFLite has no form for it (empty: it has one).
std::vector<std::pair<std::string_view, std::string_view>> operators();

// What became of the steps of a quantised model.
struct IntegerReport {
  std::size_t whole = 0;  // operators that compute in whole numbers, or move them
  // Those that stay float32 beside rounded numbers: what they give, and why.
  std::vector<std::pair<std::string, std::string>> left;
  // By the name of a tensor of whole numbers: the graph's values that are rounded to it, and that it is widened to. Empty: none.
  struct Names {
    std::string rounded, widened;
  };
  std::map<std::string, Names, std::less<>> names;
  std::vector<std::string> held;  // the tensors of the file
};

struct WriteOptions {
  bool in_halves = false;  // weights that float16 holds exactly are stored so
  bool in_integers = false;  // numbers that are rounded to steps are whole ones, and computed with as such
  HeldWeights held{};  // of those
  IntegerReport* report = nullptr;  // of those
};

// A graph in the words of tflite_target; the same graph gives the same bytes. Fails: an operator that TFLite has no form
// for, naming the layer; 2 GiB or more.
Status write_model(const Graph& graph, const std::function<Status(std::span<const std::byte>)>& append,
                   const WriteOptions& options = {});

}  // namespace convoy::tflite
