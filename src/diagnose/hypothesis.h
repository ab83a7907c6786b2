// A guess at what is wrong: the stretch of a as it would be if it were written so.
#pragma once
#include "graph/graph.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::diagnose {

// One edit of a layer. Two of them make a hypothesis of two faults.
struct Edit {
  std::string_view cause;
  std::string layer, kind;  // of a
  std::string says;         // the numbers: "pads (1, 1) in place of (0, 1)"
};

struct Hypothesis {
  Graph piece;
  std::vector<Edit> edits;
  int doubts = 0;  // of equal explanations, those with fewer are meant, whatever their causes' order
};

// The two stretches that differ and what they compute from the same inputs.
struct Scene {
  const Graph& a;
  const Graph& b;
  std::vector<Tensor> values;          // of a's piece, in float64
  std::vector<Sizes> shapes;           // of them
  bool reads_input = false;            // the piece reads the model's input
  std::vector<std::string> before;     // per input of the piece: the layer of a that makes it
  // Per fingerprint of a kernel of a, the layer that holds it.
  const std::map<std::uint64_t, std::string>* kernels = nullptr;
  std::vector<Op> readers = {};  // what reads the stretch's output in a
  const Sizes& shape(ValueId v) const { return shapes[static_cast<std::size_t>(v.index)]; }
};

// Where guesses go. Each function adds the guesses about one node of a's piece.
struct Guesses {
  const Scene& scene;
  std::vector<Hypothesis> all;
  std::vector<Edit> so_far;  // edits that the scene's a already carries
  void add(std::string_view cause, const Node& about, std::string says, Graph piece, int doubts = 0);
};

void guess_convolution(Guesses& guesses, std::size_t node);
void guess_transposed(Guesses& guesses, std::size_t node);
void guess_product(Guesses& guesses, std::size_t node);
void guess_pool(Guesses& guesses, std::size_t node);
void guess_pad(Guesses& guesses, std::size_t node);
void guess_norm(Guesses& guesses, std::size_t node);
void guess_activation(Guesses& guesses, std::size_t node);
void guess_moved(Guesses& guesses, std::size_t node);  // reshapes, transposes, shuffles, concatenations, softmax axes
void guess_resize(Guesses& guesses, std::size_t node);
void guess_recurrent(Guesses& guesses, std::size_t node);
void guess_other_layer(Guesses& guesses, std::size_t node);  // groups, sizes and channels; gone; put together otherwise
void guess_order(Guesses& guesses);  // layers in another order, activations too many
void guess_input(Guesses& guesses);  // channels and scale of the model's input
// All of the above.
std::vector<Hypothesis> guesses_for(const Scene& scene, std::vector<Edit> so_far = {});

// ---- changed copies of a piece ---------------------------------------------------------------------------------------

Graph with_op(const Graph& piece, std::size_t node, Op op);
Graph with_constant(const Graph& piece, std::size_t node, std::size_t input, Tensor constant);
Graph without_input(const Graph& piece, std::size_t node, std::size_t input);
// The node gone: its readers read its first input.
Graph without_node(const Graph& piece, std::size_t node);
// A node put behind a value: whoever read the value reads the node's output.
Graph with_node_behind(const Graph& piece, ValueId value, Op op, const Node& like,
                       const std::vector<Tensor>& constants = {});
// A node put in front of one input of another.
Graph with_node_in_front(const Graph& piece, std::size_t node, std::size_t input, Op op);

// ---- what b says -----------------------------------------------------------------------------------------------------

// The nodes of b's piece with this operator.
template <class O>
std::vector<const Node*> twins(const Scene& scene) {
  std::vector<const Node*> found;
  for (const Node& node : scene.b.nodes)
    if (std::holds_alternative<O>(node.op)) found.push_back(&node);
  return found;
}
const Tensor* constant_of(const Graph& piece, const Node& node, std::size_t input);
bool is_function(const Op& op);  // of one number, without weights

// "(0, 1) and (1, 1)"
std::string text_of(const std::vector<Padding>& paddings);
std::string number_text(double value);

// ---- tensors ---------------------------------------------------------------------------------------------------------

Tensor reversed_along(const Tensor& tensor, const Sizes& axes);
Tensor taken(const Tensor& tensor, std::size_t axis, const Sizes& indices);

}  // namespace convoy::diagnose
