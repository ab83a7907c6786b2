// A Keras model as plain data: layers with the arguments of their constructors, who calls whom, and the weights. The
// archive, the legacy file and Python source say one and the same document.
#pragma once
#include "containers/json.h"
#include "convoy/tensor.h"
#include "graph/graph.h"

#include <nlohmann/json.hpp>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace convoy::keras {

// One tensor of the model: output `tensor` of call number `call` of layer `layer` (its place in Document::layers).
struct Reference {
  std::size_t layer = 0, call = 0, tensor = 0;
  friend bool operator==(const Reference&, const Reference&) = default;
};

// What a layer is called with: a tensor of the model, a list of them, numbers known beforehand, or a plain value.
// An entry of a list is a tensor of the model or numbers known beforehand.
using Item = std::variant<Reference, Tensor>;
using Argument = std::variant<Reference, std::vector<Item>, Tensor, Json>;

struct DocumentCall {
  std::vector<Argument> args;
  std::vector<std::pair<std::string, Argument>> kwargs;
  std::vector<TensorType> results;  // one per tensor that the call gives
};

// A variable, in the order in which the layer makes its own.
struct DocumentWeight {
  std::string part;  // where in the layer it lies: "" the layer itself, "cell", "forward_layer/cell"
  std::string name;  // "kernel"
  Tensor tensor;
  bool trainable = true;
};

// A layer of `keras.layers`, or an operation of `keras.ops`, which is a node like any other.
struct DocumentLayer {
  std::string class_name;  // "Conv2D", "Pad"
  std::string module;      // "keras.layers", or where the class of an operation lives: "keras.src.ops.numpy"
  std::string name;        // unique in the model
  std::string layer;  // the source's layer that it comes from, and the source's modules around it: source code is
  std::vector<Scope> scopes;  // laid out by them
  // Of the constructor, in its order and without `name`: only those that differ from Keras's defaults. A layer inside
  // another is an object {"module", "class_name", "config"}.
  Json arguments;
  std::vector<DocumentWeight> weights;
  bool trainable = true;  // false: every weight of it is frozen
  std::vector<DocumentCall> calls;  // in the order of computation; an InputLayer's one has no arguments

  bool is_operation() const { return module != "keras.layers"; }
};

struct Document {
  std::string name;
  std::vector<DocumentLayer> layers;  // each behind those that it reads; InputLayers first
  std::vector<Reference> inputs, outputs;
  std::vector<std::string> input_keys, output_keys;  // where they are a dictionary; else empty
  std::vector<std::string> lying;  // of each input, then of each output: how it lies beside the source's
  // The name that a reader of the file gives to each value: which value of the graph that is. Readers name a layer's
  // result after the layer, its weights "layer/kernel".
  std::map<std::string, ValueId> carried;

  const TensorType& type(const Reference& r) const { return layers[r.layer].calls[r.call].results[r.tensor]; }
  // One input, one output and a chain of layers between, without operations: a Sequential says it.
  bool is_sequential() const;
};

// A graph in the words of keras_target. The same graph gives the same document.
// `always`: arguments that are said at their default, too. Fails: an operator that Keras has no form for, naming the layer.
Result<Document> document_of(const Graph& graph, std::span<const std::string_view> always = {});

// A few operators as lines to paste, which take the inputs under these names; their weights are not said. The graph has one
// output. Fails: as document_of(); numbers that no line can hold.
Result<std::vector<std::string>> lines_of(const Graph& graph, const std::vector<std::string>& names,
                                          std::span<const std::string_view> always = {});

// Keras rebuilds a model and counts its layers anew: by depth, then as a walk from the outputs meets them, whatever the
// order in the file. Weights are found by that count. The order of Document::layers in Keras's own list, operations too.
// Source: keras/src/ops/function.py, map_graph.
std::vector<std::size_t> order_in_keras(const Document& document);

}  // namespace convoy::keras
