// A network as data: values, and the nodes that compute them. Readers build it, passes rewrite it by patches, the
// runtime, the writers and the proof read it. Nodes stand in an order in which every value is made before it is used.
#pragma once
#include "ops/edge_rules.h"
#include "ops/op.h"
#include "ops/quantization.h"

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace convoy {

// Index types, so that a node cannot be taken for a value. A default one refers to nothing.
struct ValueId {
  std::int32_t index = -1;
  std::size_t slot() const { return static_cast<std::size_t>(index); }  // in lists with one entry for each
  explicit operator bool() const { return index >= 0; }
  friend auto operator<=>(ValueId, ValueId) = default;
};
struct NodeId {
  std::int32_t index = -1;
  std::size_t slot() const { return static_cast<std::size_t>(index); }  // in lists with one entry for each
  explicit operator bool() const { return index >= 0; }
  friend auto operator<=>(NodeId, NodeId) = default;
};

// Which value of the source model this one carries, and in which order: the source's value, reshaped to `split` (empty:
// as it is), permuted by `permutation` (empty: not), then reshaped to this value's shape. In `split` -1 (once) stands
// for an unknown size. The proof compares by it, and writers name inputs and outputs by it.
struct Origin {
  std::string source;  // name of the value in the source graph
  Sizes split, permutation;
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct Value {
  std::string name;  // unique in the graph: "conv1", "conv1/kernel"
  TensorType type;
  std::optional<Tensor> constant;  // weights and other numbers known beforehand
  bool trainable = true;  // of a constant: a weight that training moves, unlike running statistics and tables
  bool literal = false;  // of a constant: numbers that the program says itself, no weight and no state of a layer
  // Of real numbers that are held as whole ones: `type` says float32, a constant holds the whole ones.
  std::shared_ptr<const Quantization> quantization;
  NodeId producer;  // none for inputs and constants
  std::optional<Origin> origin;  // as read: of a constant in another order than in the file, see stored.h
};

// A model inside the model: the source's name for it, and which call of it this is (0, 1, ... for a shared one).
struct Scope {
  std::string name;
  int call = 0;
  friend bool operator==(const Scope&, const Scope&) = default;
};

struct Node {
  Op op;
  std::vector<ValueId> inputs;  // an absent optional input is a ValueId that refers to nothing
  std::vector<ValueId> outputs;
  std::string layer;  // the source's layer it comes from: names, tables and messages use it
  std::string kind;  // the source's word for that layer: "Conv2D"
  std::vector<Scope> scopes;  // outermost first
};

// A product of whole numbers, whose sums one factor brings to steps of the result: what was made into that factor.
struct ProductScales {
  float x = 1, result = 1;
  std::vector<float> weight;  // one, or one for each place of the result's channels
};

struct Graph {
  std::string name;  // the model's own name
  std::string source_format;  // "Keras 3.15.1"
  EdgeRules rules;  // what that framework answers where formulas leave it open
  std::vector<Value> values;
  std::vector<Node> nodes;  // in an order of computation
  std::vector<ValueId> inputs, outputs;
  std::vector<std::string> output_names;  // one per output: the source's word for it (layer name)
  // Whether a caller hands the inputs over, and is given the outputs, in a dictionary: by the inputs' names, by output_names.
  bool inputs_by_name = false, outputs_by_name = false;
  // On the sizes of the inputs, of which the program was followed one way: "x.shape[2] > x.shape[3]" (size_condition.h).
  std::vector<std::string> conditions;
  // Of a constant that holds the numbers of a weight in another order, by its name: the weight. Training moves both as one.
  std::map<std::string, std::string> tied;
  std::map<std::string, ProductScales> product_scales;  // by layer
  // What the source does in training alone and no node says: "dropout of 'lstm'". Whoever writes what is trained on says it.
  std::vector<std::string> left_to_training;
  bool one_output_in_tuple = false;  // a single output that a caller is given in a tuple of one, as PyTorch tells apart

  // Made, copied and destroyed in graph.cpp: every unit would compile these many members anew.
  Graph();
  Graph(const Graph& other);
  Graph(Graph&& other) noexcept;
  Graph& operator=(const Graph& other);
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  const Value& operator[](ValueId v) const { return values[v.slot()]; }
  Value& operator[](ValueId v) { return values[v.slot()]; }
  const Node& operator[](NodeId n) const { return nodes[n.slot()]; }
  Node& operator[](NodeId n) { return nodes[n.slot()]; }

  ValueId input(std::string value_name, TensorType type);
  ValueId constant(std::string value_name, Tensor tensor, bool trainable = true);
  // Adds a node behind all others and infers the types of its outputs; the output values are named after `layer`
  // (made unique by a suffix). Fails as the operator's infer does, with the layer as place.
  Result<std::vector<ValueId>> add(Op op, std::vector<ValueId> node_inputs, std::string layer, std::string kind = {},
                                   std::vector<Scope> scopes = {});
  // `wanted`, or with ".1", ".2", ... behind it if a value has that name; "value" where nothing is wanted.
  std::string unique_name(const std::string& wanted) const;
  // Gives a value that name, made unique likewise: whatever comes later keeps off it, as it would not of a name set by hand.
  void rename(ValueId value, const std::string& wanted);

 private:
  friend void prune(Graph& graph);
  mutable std::unordered_set<std::string> names_;  // of the first `named_` values: what unique_name has seen
  mutable std::size_t named_ = 0;
  void see_names() const;
};

// Nodes that read each value, in order.
std::vector<std::vector<NodeId>> readers_of(const Graph& graph);

// "layer 'conv1' (Conv2D)": how messages name a node.
std::string place_of(const Node& node);

// Infers every type anew, in order. With `input_shapes`, the inputs take these sizes first (one full shape per input).
Status infer_all(Graph& graph);
Result<Graph> with_input_shapes(const Graph& graph, const std::vector<Shape>& input_shapes);

// The checker that runs between passes: every value made once and before it is used, names unique, the number of
// inputs and outputs right, types equal to what infer gives, outputs exist. A failure is Internal: our fault.
Status check(const Graph& graph);

// Says of every value that it carries itself. Called on a copy of the source before passes make a target of it: they
// keep origins up to date, and the proof compares by them.
void name_origins(Graph& graph);

// Drops nodes and values that no output needs, and asks no cell for what nobody reads of it; renumbers.
void prune(Graph& graph);

}  // namespace convoy
