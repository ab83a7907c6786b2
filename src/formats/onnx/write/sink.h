// What one row of the table of operators sees while it writes one node: the names of its inputs and outputs, and the
// document that takes nodes and constants.
#pragma once
#include "base/fresh_names.h"
#include "formats/onnx/catalogue/catalogue.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/write/document.h"
#include "formats/rows.h"
#include "graph/graph.h"
#include "graph/quantized_steps.h"
#include "graph/time_first.h"

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace convoy::onnx {

class Sink {
 public:
  Sink(const Graph& graph, Document& document);

  void begin(const Node& node);
  const Graph& graph() const { return graph_; }
  const Node& node() const { return *node_; }
  // Of the node, a recurrent cell: what stands for its inputs and outputs with time first.
  const TimeFirst::Cell& cell() const;
  // Whether a recurrent cell, or a word for several steps, makes what this node would have made.
  bool is_made(std::size_t node) const { return cells_.goes[node] != 0 || in_stretch_[node] != 0; }
  // Before the first node: rounding to whole numbers of a scale becomes QuantizeLinear, and weights that were read as such numbers
  // are held so.
  void keep_quantized();
  // The stretch that ends with this node, which stands for all of it; null: none does.
  const QuantizedStretch* stretch(std::size_t node) const {
    const auto found = stretches_.find({static_cast<std::int32_t>(node)});
    return found == stretches_.end() ? nullptr : &found->second;
  }
  void write_stretch(const QuantizedStretch& stretch);
  Size opset() const { return document_.opset; }
  // Whether this operator set has the operator; the operator's input or attribute of this name; an input.
  bool knows(std::string_view op) const;
  bool takes(std::string_view op, std::string_view parameter) const;
  bool takes_input(std::string_view op, std::string_view input) const;
  bool has(std::size_t i) const { return i < node_->inputs.size() && static_cast<bool>(node_->inputs[i]); }
  const TensorType& type(std::size_t i = 0) const { return graph_[node_->inputs[i]].type; }
  const TensorType& result_type(std::size_t i = 0) const { return graph_[node_->outputs[i]].type; }
  const Tensor* constant(std::size_t i) const;
  Size rank(std::size_t i = 0) const { return type(i).rank(); }

  // The name of input i; "" where it is absent, as ONNX writes that.
  std::string name(std::size_t i = 0) const { return has(i) ? name_of(node_->inputs[i]) : std::string(); }
  std::string result(std::size_t i = 0) const { return name_of(node_->outputs[i]); }
  // A value's own name; that of an output of the graph where the source calls it otherwise.
  const std::string& name_of(ValueId value) const;
  // An initializer of the nodes that read it, named after each of them and this word: such names are the same again when
  // the file is read and written once more. What is returned stands for it among the inputs of `step` and `last`.
  std::string number(double value);  // a scalar of the element type of input 0
  std::string numbers(const Sizes& values);  // int64 [n]
  std::string stored(std::string_view word, Tensor tensor);
  // Input i, a constant, in another shape, or as numbers made of it; under its own name where nobody else reads it.
  std::string reshaped(std::size_t i, const Sizes& shape) { return made_of(i, constant(i)->reshaped(shape)); }
  std::string made_of(std::size_t i, Tensor tensor);

  // Adds a node with this output, or with one of its own, whose name is returned.
  std::string step(std::string op, std::vector<std::string> inputs, Attributes attributes = {});
  // Input i as this type: ONNX never mixes two.
  std::string typed(std::size_t i, DType dtype);
  // Nodes with whole numbers that are an attribute of the operator in older operator sets and its second input since.
  std::string step_with(std::string op, std::string x, std::string_view name, const Sizes& numbers,
                        Attributes attributes = {});
  void gives_with(std::size_t place, std::string op, std::string x, std::string_view name, const Sizes& numbers,
                  Attributes attributes = {});
  void last_with(std::string op, std::string x, std::string_view name, const Sizes& numbers,
                 Attributes attributes = {});
  // The same for those of an operator's results that are wanted; "" for the others.
  std::vector<std::string> steps_of(const std::vector<bool>& wanted, std::string op, std::vector<std::string> inputs,
                                    Attributes attributes);
  // A step that gives the operator's result number `place`.
  void gives(std::size_t place, std::string op, std::vector<std::string> inputs, Attributes attributes = {});
  void last(std::string op, std::vector<std::string> inputs, Attributes attributes = {});
  // With these names for its results; "" for one that nobody wants.
  void named(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs, Attributes attributes);
  void last_of_many(std::string op, std::vector<std::string> inputs, Attributes attributes = {});

  // The result is known beforehand.
  void is(Tensor result);

  // Behind the last node: gives the graph's output at this place, which ONNX wants made by a node, and each once.
  std::string output(std::size_t place);
  // Behind all nodes: weights that whole numbers stand for are widened from these by a node in front of all others.
  void hold_weights(const HeldWeights& held);
  // Behind these: the initializers that nodes read, in the order in which they are read first.
  void place_initializers();

  std::unexpected<Error> broken(std::string what) const {
    return fail(Fault::Internal, "a pass left " + std::move(what) + ", which ONNX's words do not cover");
  }
  std::unexpected<Error> refused(std::string what) const {
    return fail(Fault::Unsupported, std::move(what) + " has no form in ONNX");
  }
  std::unexpected<Error> too_old(std::string what, std::string_view op, std::string_view parameter = {}) const;
  std::unexpected<Error> too_old(std::string what, Size needed) const {
    return fail(Fault::Unsupported, std::move(what) + " needs operator set " + std::to_string(needed) + ", this is " +
                                        std::to_string(opset()) + ": add --opset " + std::to_string(needed));
  }

 private:
  // The node's inputs, and its attributes with the numbers where they are one.
  std::vector<std::string> inputs_with(const std::string& op, std::string x, std::string_view name,
                                       const Sizes& numbers, Attributes& attributes);
  // A constant that has a name once a node reads it.
  struct Waiting {
    std::string word;
    Tensor tensor;
    std::string name;  // empty: after the node and the word
  };
  std::string unique(const std::string& wanted) { return names_.take(wanted, ".", 1); }
  std::string wait_for(Waiting constant);
  std::string named_after(const std::string& node, const Waiting& constant, std::vector<DocumentTensor>& of_node);
  void add(std::string name, std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
           Attributes attributes);

  const Graph& graph_;
  Document& document_;
  const Node* node_ = nullptr;
  std::string main_;  // of the node that gives its result; the steps toward it are called after it
  std::vector<int> uses_;  // of each value of the graph
  std::vector<std::string> value_names_;  // of each
  FreshNames names_, node_names_;
  std::map<std::string, Waiting, std::less<>> waiting_;  // of the graph's node that is being written
  std::map<std::string, Tensor, std::less<>> made_;
  TimeFirst cells_;
  std::map<NodeId, QuantizedStretch> stretches_;
  std::vector<char> in_stretch_;  // by node
  std::set<std::string, std::less<>> held_;  // names of weights that a node widens
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

// The pads attribute: all begins, then all ends.
Sizes begins_then_ends(const Sizes& before, const Sizes& after);

}  // namespace convoy::onnx
