// What one row of the table of operators sees while it writes one node: the tensors of its inputs and outputs, and the
// document that takes operators and constants.
#pragma once
#include "base/fresh_names.h"
#include "formats/rows.h"
#include "formats/tflite/write/document.h"
#include "graph/graph.h"
#include "graph/quantized_steps.h"

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace convoy::tflite {

using Place = std::int32_t;  // of a tensor in the document

class Sink {
 public:
  Sink(const Graph& graph, Document& document);

  void begin(NodeId node);
  // Whether a node in front of it does what this one does: an activation that is fused into it.
  bool is_made(NodeId node) const {
    return fused_into_.contains(node) || (!in_stretch_.empty() && in_stretch_[node.slot()] != 0);
  }
  // Before the first node: rounding to steps of 8 bits becomes QUANTIZE, and widening DEQUANTIZE.
  void keep_stretches();
  // The one that ends with this node, which stands for all of it; null: none does.
  const QuantizedStretch* stretch(NodeId node) const {
    const auto found = stretches_.find(node);
    return found == stretches_.end() ? nullptr : &found->second;
  }
  void write_stretch(const QuantizedStretch& stretch);
  const Node& node() const { return graph_[at_]; }
  const Graph& graph() const { return graph_; }
  bool has(std::size_t i) const { return i < node().inputs.size() && static_cast<bool>(node().inputs[i]); }
  const TensorType& type(std::size_t i = 0) const { return graph_[node().inputs[i]].type; }
  const TensorType& result_type(std::size_t i = 0) const { return graph_[node().outputs[i]].type; }
  Size rank(std::size_t i = 0) const { return type(i).rank(); }
  Dim dim(Size axis, std::size_t i = 0) const { return type(i).shape[static_cast<std::size_t>(axis)]; }
  const Tensor* constant(std::size_t i) const;
  bool is_read(std::size_t result) const;

  // Input i, -1 where it is absent; a weight as it lies in the graph.
  Place input(std::size_t i = 0);
  // Input i, whole numbers, in a type that TFLite looks up by.
  Place places(std::size_t i);
  // Input i, a constant, in another order of axes or under another shape; under its own name.
  Place stored(std::size_t i, Tensor tensor);
  Place constant(std::string_view word, Tensor tensor);
  Place numbers(const Sizes& values);  // int32 [n]
  Place stored_shape(Place constant, const Sizes& shape);  // the constant, under this shape
  Place whole(Size value);  // int32 []
  Place number(double value);  // float32 []
  const TensorType& type_of(Place tensor) const { return document_.tensors[static_cast<std::size_t>(tensor)].type; }

  // The activation that is fused into the node's operator, as the options say it; 0: none.
  Size activation() const;

  // An operator whose result a later step reads.
  Place step(std::string_view op, std::vector<Place> inputs, TensorType result, Options options = {}, int version = 1);
  // The larger of the numbers and one. XNNPACK folds a MAXIMUM with a constant of one number, of whatever shape, into the operator
  // in front, and then cannot prepare the model: so there is a number for each channel, or for each cell of the last axis that is known to
  // have several, or where none is, the smaller one of what has the other sign.
  Place at_least(Place x, double least);
  void last_at_least(Place x, double least);
  // The operator that gives the node's results.
  void last(std::string_view op, std::vector<Place> inputs, Options options = {}, int version = 1);
  // The same where result `i` comes in another type, in a tensor that is returned; `give` says that result then.
  Place last_but(std::size_t i, TensorType type, std::string_view op, std::vector<Place> inputs, Options options = {});
  void give(std::size_t i, std::string_view op, std::vector<Place> inputs, Options options = {});
  // A step that keeps the type of a tensor, or gives another shape of it.
  Place like(std::string_view op, std::vector<Place> inputs, Options options = {}) {
    const TensorType type = type_of(inputs[0]);
    return step(op, std::move(inputs), type, std::move(options));
  }
  // The node leaves its first input as it is.
  void pass_on();
  // Sizes as a tensor, where free ones are those that the model meets: axis `from[i]` of `x`,
  // `times[i]` times over and `more[i]` more.
  Place sizes(const Shape& wanted, Place x, const std::vector<Size>& from, const Sizes& times = {},
              const Sizes& more = {});

  static Size code_of(DType dtype);  // of an element type

  void add_input(ValueId value);
  void add_output(ValueId value, const std::string& name);

  std::unexpected<Error> broken(std::string what) const {
    return fail(Fault::Internal, "a pass left " + std::move(what) + ", which TFLite's words do not cover");
  }
  std::unexpected<Error> refused(std::string what) const {
    return fail(Fault::Unsupported, std::move(what) + " has no form in TFLite");
  }

 private:
  Place add(std::string name, TensorType type, std::optional<Tensor> constant = {});
  Place lower_bounds(const Sizes& shape, double least);
  std::string unique(const std::string& wanted) { return names_.take(wanted, ".", 1); }
  std::string own_name(ValueId value);  // the first time; then others
  Place place_of(ValueId value);

  const Graph& graph_;
  Document& document_;
  NodeId at_;
  std::map<ValueId, Place> given_;
  std::map<NodeId, NodeId> fused_into_, fuses_;  // an activation to its operator, and back
  FreshNames names_;
  std::set<std::string> owned_;
  std::vector<int> uses_;
  std::map<NodeId, QuantizedStretch> stretches_;
  std::map<ValueId, std::shared_ptr<const Quantization>> steps_;  // of whole numbers that stretches make or read
  std::vector<char> in_stretch_;  // by node
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

}  // namespace convoy::tflite
