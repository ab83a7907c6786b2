// What one row of the table of operators sees while it writes one node: its inputs as Python text, the modules and
// tensors it declares, and the result it hands back.
#pragma once
#include "formats/rows.h"
#include "formats/torch/python.h"
#include "graph/graph.h"

#include <string>
#include <vector>

namespace convoy::torch {

// A tensor of a module. `value` is the constant that it carries; none: a number PyTorch wants that the graph lacks.
struct State {
  std::string name;  // "weight"
  Tensor tensor;
  ValueId value;
  bool buffer = false;
};

class Call {
 public:
  virtual ~Call() = default;

  const Graph& graph() const { return *graph_; }
  const Node& node() const { return *node_; }
  bool has(std::size_t i) const { return i < node_->inputs.size() && static_cast<bool>(node_->inputs[i]); }
  const TensorType& type(std::size_t i = 0) const { return (*graph_)[node_->inputs[i]].type; }
  const TensorType& result_type(std::size_t i = 0) const { return (*graph_)[node_->outputs[i]].type; }
  const Tensor* constant(std::size_t i) const;
  bool trainable(std::size_t i) const { return (*graph_)[node_->inputs[i]].trainable; }
  // A state that carries input i, under another shape or in another form if need be.
  State state(std::string name, std::size_t i, bool buffer = false) const;
  State state(std::string name, std::size_t i, Tensor as, bool buffer = false) const;

  // Input i as text: behind other calls on the same line (`follow`: activations, norms), on a line that this node
  // begins (`begin`: convolutions), or as a name that may be written several times (`name`).
  virtual Expression follow(std::size_t i) = 0;
  virtual Expression begin(std::size_t i) = 0;
  virtual std::string name(std::size_t i) = 0;

  // Declares a module of the layer in __init__ and returns "self.conv". The same layer with the same tensors is declared
  // once. `then`: calls behind the constructor, ".requires_grad_(False)".
  virtual std::string module(std::string constructor, std::vector<State> states, std::string comment = {},
                             std::vector<std::string> then = {}) = 0;
  // Declares a parameter or buffer outside of any module and returns "self.scale".
  virtual std::string tensor(State state) = 0;
  // Numbers at their default are said, too: blocks that differ in them are one class, which drops what never varies.
  virtual bool says_defaults() const = 0;
  // An argument that is said whatever its value: the question was about it.
  virtual bool always_says(std::string_view) const { return false; }
  // A function of the module's own file, written once.
  virtual void helper(std::string_view source) = 0;

  // A class of the module's own file with this body (behind the line with its name); equal bodies are written once.
  virtual std::string class_of(const std::string& wanted, const std::string& body) = 0;

  virtual void result(Expression e) = 0;
  // Several results at once: the text is a tuple.
  virtual void results(std::string text) = 0;
  // The result is what a module answers to x.
  void result_of_module(const std::string& self, const Expression& x);

  std::unexpected<Error> broken(std::string what) const {
    return fail(Fault::Internal, "a pass left " + std::move(what) + ", which PyTorch's words do not cover");
  }
  std::unexpected<Error> refused(std::string what) const {
    return fail(Fault::Unsupported, std::move(what) + " has no form in PyTorch");
  }

 protected:
  const Graph* graph_ = nullptr;
  const Node* node_ = nullptr;
};

using Row = WriteRow<Call>;

// Writes the node by the row of its operator.
Status write_node(const Op& op, Call& call);

// "alpha=0.5"; nothing where it is the default, which goes without saying.
inline std::string unless(const Call& c, double usual, std::string_view argument, double value) {
  if (value == usual && !c.always_says(argument)) return {};
  return std::string(argument) + "=" + number(value);
}

// f(x) on the same line as x.
inline void apply_function(Call& c, const std::string& function, const std::string& more = {}) {
  const Expression x = c.follow(0);
  c.result({function + "(" + x.text + (more.empty() ? "" : ", " + more) + ")", Binds::Atom, x.calls + 1, false, {}});
}
// x.f(...), light: it fits into any other line.
inline void apply_method(Call& c, const std::string& call, std::string comment = {}) {
  const Expression x = c.begin(0);
  c.result({postfix(x) + call, Binds::Atom, x.calls + 1, true, std::move(comment)});
}

}  // namespace convoy::torch
