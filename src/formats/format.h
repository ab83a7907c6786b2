// What every format folder offers to the rest of the house.
#pragma once
#include "graph/graph.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convoy {

// A layer by the file's own words.
struct ListedLayer {
  std::string name, kind;
};

struct LoadOptions {
  std::optional<std::filesystem::path> weights;  // --weights FILE: binds weights to a source that has none
  std::vector<std::optional<Size>> size;         // --size HxW, "?" frees an axis: spatial sizes of every image input
  std::map<std::string, Shape> shapes;  // --shape x=1,3,224,224, by input name; "": that of the only input
  // Of inputs that source and scripts declare no type of, by name; "": that of the only one. As somebody says
  // (--shape x=1,3:int64), and as the arrays are that lie at hand, which a file that declares another turns into its own.
  std::map<std::string, DType> types, types_at_hand;
  bool for_one_model = true;  // size, shapes and names that nothing takes are refused; two may share them
  std::vector<std::string> outputs;  // --outputs NAME,...: cut there
  std::optional<std::string> signature;  // --signature: which of a SavedModel's
  // Where a file lies that the model names beside itself, if not there: what was just written and has no name yet.
  std::map<std::string, std::filesystem::path> side_files;
  bool structure_only = false;  // weights are not read: constants are zeros of the declared shapes
  bool weights_may_lack = false;  // a file that holds none and is given none is read as if `structure_only` were set
  bool dequantizes = false;  // quantised numbers stand for the real ones that they mean (--dequantize)
  bool keeps_quantized = false;  // they are kept as they are, with what they mean, for who runs them; else refused
  std::vector<ListedLayer>* listing = nullptr;  // filled with the file's layers, also where one cannot be carried
  std::vector<std::string>* remarks = nullptr;  // gains what the user must know of how it was read, in sentences
  // Of source alone. Folders below which imports are found as well, as those of the file's package are (--allow-root);
  // what weights that no file gives are drawn with, a negative seed as its two's complement (absent: 0).
  std::vector<std::filesystem::path> import_roots;
  std::optional<std::uint64_t> seed;
  // For who runs the model once: what a graph with the model's inputs gives on his. Of ONNX files, what a node must know
  // beforehand and only the model computes is then asked for, so that the graph holds for these inputs alone.
  std::function<Result<std::vector<Tensor>>(const Graph&)> answers;
  // --set NAME=VALUE: of names that source does not bind to what is known, and of inputs of ONNX models.
  std::vector<std::string> names;
  std::set<std::string>* names_taken = nullptr;  // gains those of them that the model asks for

  // The shape that is given for this one of so many inputs; nothing: none is.
  const Shape* shape_of(const std::string& input, std::size_t inputs) const {
    auto found = shapes.find(input);
    if (found == shapes.end() && inputs == 1) found = shapes.find("");
    return found == shapes.end() ? nullptr : &found->second;
  }
};

struct LoadedTensor {
  std::string name;
  Tensor tensor;
};

// The sentence of place and fault that a reader gives is the user's message: file, layer, attribute.
Result<Graph> load(const std::filesystem::path& file, const LoadOptions& options = {});
// Every tensor of a weights or model file, in the file's own names and order.
Result<std::vector<LoadedTensor>> load_weights(const std::filesystem::path& file);

}  // namespace convoy
