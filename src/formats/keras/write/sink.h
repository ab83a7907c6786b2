// What one row of the table of operators sees while it writes one node: its inputs as arguments, its weights, and the
// document that takes layers and operations.
#pragma once
#include "base/fresh_names.h"
#include "formats/keras/write/both_ways.h"
#include "formats/keras/write/document.h"
#include "formats/rows.h"

#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::keras::writing {

// A layer or an operation before it has a name and a place.
struct LayerConfig {
  std::string class_name, module = "keras.layers";
  Json arguments = Json::object();
  std::vector<Argument> args;
  std::vector<std::pair<std::string, Argument>> kwargs;
  std::vector<DocumentWeight> weights;
  // The names behind "layer/" by which a reader calls its weights, and which constant of the graph each is; and numbers
  // among the arguments, likewise.
  std::vector<std::pair<std::string, ValueId>> carried, numbers;
  std::size_t results = std::numeric_limits<std::size_t>::max();  // tensors that it gives, if fewer than the node
};

// A layer that gives more than the results of the node: all of its tensors, and which one each of those results is.
struct Giving {
  std::vector<TensorType> types;
  std::vector<std::size_t> places;
};

class Sink {
 public:
  // `always`: arguments that are said at their default, too.
  Sink(const Graph& graph, Document& document, std::span<const std::string_view> always = {});

  void begin(NodeId node);
  // The cells that a node merges; null for others. Whether a node is written by such a one.
  const BothWays* both_ways(NodeId node) const;
  bool is_made(NodeId node) const { return pairs_.goes[node.slot()] != 0; }
  const Graph& graph() const { return graph_; }
  const Node& node() const { return graph_[at_]; }
  bool has(std::size_t i) const { return i < node().inputs.size() && static_cast<bool>(node().inputs[i]); }
  const TensorType& type(std::size_t i = 0) const { return graph_[node().inputs[i]].type; }
  const TensorType& result_type(std::size_t i = 0) const { return graph_[node().outputs[i]].type; }
  bool is_read(std::size_t result) const;  // by a node, or as an output of the model
  Dim dim(Size axis, std::size_t i = 0) const { return type(i).shape[static_cast<std::size_t>(axis)]; }
  bool always_says(std::string_view argument) const;
  const Tensor* constant(std::size_t i) const;
  Size rank(std::size_t i = 0) const { return type(i).rank(); }

  // Input i: the tensor that some layer gave, or its numbers; a float32 number by itself is a plain value.
  Argument argument(std::size_t i = 0) const;

  // Input i as the operand `word` of an operation.
  void operand(LayerConfig& config, std::size_t place, std::size_t i, std::string word) const;

  // A layer of keras.layers called with input 0; an operation whose class lives in keras.src.ops.`file`.
  LayerConfig layer(std::string class_name) const;
  LayerConfig operation(std::string_view file, std::string class_name) const;
  // Adds input i to the weights of `said` as the variable `name`. Fails unless its numbers are known beforehand.
  Status weigh(LayerConfig& config, std::size_t i, std::string name, std::string part = {}) const;

  // Adds a layer whose result a later step of this node reads; `suffix` goes behind the name of the node's layer.
  Argument step(LayerConfig config, std::string_view suffix, TensorType result);
  // Adds the layer that gives this node's results.
  Status last(LayerConfig config);
  Status last(LayerConfig config, const Giving& giving);
  // After that: a result as it was given, and a layer that gives it in its place.
  Argument given(std::size_t result) const { return given_.at(node().outputs[result]); }
  void give_instead(std::size_t result, std::string_view suffix, LayerConfig config);

  std::unexpected<Error> broken(std::string what) const {
    return fail(Fault::Internal, "a pass left " + std::move(what) + ", which Keras's words do not cover");
  }
  std::unexpected<Error> refused(std::string what) const {
    return fail(Fault::Unsupported, std::move(what) + " has no form in Keras");
  }

  // An input of the model; and an output that no layer gives gets one of its own.
  void input(ValueId value);
  Result<Reference> output(ValueId value);

 private:
  std::size_t add(LayerConfig config, const std::string& name);
  void give(std::size_t results, const Giving& giving, std::size_t layer, std::size_t call);
  void carry(const std::string& layer, std::size_t results);
  std::string unique(const std::string& wanted) { return names_.take(wanted, "_", 1); }
  bool call_again(const LayerConfig& config, const Giving& giving);

  const Graph& graph_;
  Document& document_;
  std::span<const std::string_view> always_;
  NodeId at_;
  std::map<ValueId, Reference> given_;
  std::map<ValueId, std::string> names_of_inputs_;
  FreshNames names_;
  std::vector<std::string> names_of_nodes_;  // of the layer that gives each node's results
  std::vector<std::string> bases_of_nodes_;  // the name of the source's layer
  std::map<std::vector<std::int32_t>, std::vector<std::size_t>> weighted_;  // layers by their weights
  std::map<std::string, std::size_t> made_by_;  // how many values by which layer
  Pairs pairs_;
};

using Row = WriteRow<Sink>;

std::span<const Row> convolution_rows();
std::span<const Row> pooling_rows();
std::span<const Row> unfold_rows();
std::span<const Row> pad_rows();
std::span<const Row> linear_rows();
std::span<const Row> normalization_rows();
std::span<const Row> activation_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> reduction_rows();
std::span<const Row> reshape_rows();
std::span<const Row> slice_concat_rows();
std::span<const Row> resize_rows();
std::span<const Row> recurrent_rows();
Status write_both_ways(const BothWays& pair, NodeId merge, Sink& sink);

// Whether `axes` are all those of space, channels last.
bool over_space(const Sizes& axes, Size rank);
// One number where all are equal, else a list: how a person writes kernel_size.
Json one_or_all(const Sizes& sizes);
// One number where there is one, else a list: how axes are given.
Json one_or_list(const Sizes& sizes);
// "Conv2D" of ("Conv", 2, "")
std::string class_of(std::string_view stem, Size space, std::string_view tail = {});
// The names of layers that Keras takes: no slash, and what Python calls a name where the source allows it.
std::string layer_name(const Node& node);

}  // namespace convoy::keras::writing
