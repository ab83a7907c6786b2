// What one row of the table of operators sees while it writes one node: the names of its inputs and outputs, and the
// document that takes nodes and constants.
#pragma once
#include "formats/onnx/write/document.h"
#include "formats/rows.h"
#include "graph/graph.h"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace convoy::onnx {

class Sink {
 public:
  Sink(const Graph& graph, Document& document);

  void begin(const Node& node) { node_ = &node; }
  const Graph& graph() const { return graph_; }
  const Node& node() const { return *node_; }
  Size opset() const { return document_.opset; }
  bool has(std::size_t i) const { return i < node_->inputs.size() && static_cast<bool>(node_->inputs[i]); }
  const Fact& fact(std::size_t i = 0) const { return graph_[node_->inputs[i]].fact; }
  const Fact& result_fact(std::size_t i = 0) const { return graph_[node_->outputs[i]].fact; }
  const Tensor* constant(std::size_t i) const;
  Size rank(std::size_t i = 0) const { return fact(i).rank(); }

  // The name of input i; "" where it is absent, as ONNX writes that.
  std::string name(std::size_t i = 0) const { return has(i) ? graph_[node_->inputs[i]].name : std::string(); }
  std::string result(std::size_t i = 0) const { return graph_[node_->outputs[i]].name; }
  // An initializer of this node's own, the same one for equal numbers.
  std::string number(double value);                  // a scalar of the element type of input 0
  std::string numbers(const Sizes& values);          // int64 [n]
  std::string stored(std::string_view word, Tensor tensor);

  // Adds a node with this output, or with one of its own, whose name is returned.
  std::string step(std::string op, std::vector<std::string> inputs, Attributes attributes = {});
  void last(std::string op, std::vector<std::string> inputs, Attributes attributes = {});
  void last_of_many(std::string op, std::vector<std::string> inputs, Attributes attributes = {});

  std::unexpected<Error> broken(std::string what) const {
    return fail(Fault::Internal, "a pass left " + std::move(what) + ", which ONNX's words do not cover");
  }
  std::unexpected<Error> refused(std::string what) const {
    return fail(Fault::Unsupported, std::move(what) + " has no form in ONNX");
  }
  std::unexpected<Error> too_old(std::string what, Size needed) const {
    return fail(Fault::Unsupported, std::move(what) + " needs operator set " + std::to_string(needed) + ", this is " +
                                        std::to_string(opset()) + ": add --opset " + std::to_string(needed));
  }

 private:
  std::string unique(const std::string& wanted);
  void add(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs, Attributes attributes);

  const Graph& graph_;
  Document& document_;
  const Node* node_ = nullptr;
  std::set<std::string, std::less<>> names_, node_names_;
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
