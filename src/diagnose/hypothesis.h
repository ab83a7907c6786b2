// A guess at what is wrong: the stretch of a as it would be if it were written so.
#pragma once
#include "base/budget.h"
#include "graph/graph.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::diagnose {

// One edit of a layer. Two of them make a hypothesis of two faults.
struct Edit {
  std::string_view cause;
  std::string layer, kind;  // of a
  std::string says;         // the numbers: "pads (1, 1) in place of (0, 1)"
  std::string was = {}, now = {};  // of what is read elsewhere: the layers that a and b read
};

// What is said of a picture whose colours come in the other order.
constexpr std::string_view reversed_input = "the channels of the input in reverse order";

// What is said of a kernel that is reversed along one axis; its number follows.
constexpr std::string_view reversed_along_one = "the kernel reversed along axis";

// The epsilons that frameworks use, as far as another one may stand in the place of one's own.
inline constexpr std::array usual_epsilons{1e-3, 1e-5, 1e-6, 1e-12, 1.001e-5, 1e-4, 1e-2, 1e-7, 1e-8};

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
  std::vector<bool> of_model = {};  // per input of a's piece: it is one of the model's
  const Tensor* got = nullptr;   // what b's stretch computes, in a's order of axes; may be missing
  std::vector<ValueId> only_b = {};  // inputs of a's piece that nothing reads in a, but b's stretch does
  const Sizes& shape(ValueId v) const { return shapes[v.slot()]; }
};

// Where guesses go. Each function adds the guesses about one node of a's piece. Each guess is a copy of the piece: of a cell
// written out in a thousand steps, only as many are kept as half of the memory that is left holds.
struct Guesses {
  const Scene& scene;
  std::vector<Hypothesis> all;
  std::vector<Edit> so_far;  // edits that the scene's a already carries
  Size least_room = budget::room() / 2;
  void add(std::string_view cause, const Node& about, std::string says, Graph piece, int doubts = 0);
};

void guess_convolution(Guesses& guesses, std::size_t node);
void guess_transposed(Guesses& guesses, std::size_t node);
void guess_product(Guesses& guesses, std::size_t node);
void guess_pool(Guesses& guesses, std::size_t node);
void guess_pad(Guesses& guesses, std::size_t node);
void guess_crop(Guesses& guesses);
void guess_norm(Guesses& guesses, std::size_t node);
void guess_activation(Guesses& guesses, std::size_t node);
void guess_function(Guesses& guesses);  // functions of one number, in one operator or in several
void guess_moved(Guesses& guesses, std::size_t node);  // reshapes, transposes, shuffles, concatenations, softmax axes
void guess_resize(Guesses& guesses, std::size_t node);
void guess_recurrent(Guesses& guesses, std::size_t node);
void guess_other_layer(Guesses& guesses, std::size_t node);  // groups, sizes and channels; gone; put together otherwise
void guess_parameters(Guesses& guesses, std::size_t node);  // of operators of one kind, whatever they mean
void guess_channels(Guesses& guesses, std::size_t node);  // channels in another order, by the numbers of a layer
void guess_order_of_channels(Guesses& guesses);  // by a step of b's own, or by what the stretches compute
void guess_branches(Guesses& guesses);  // crossed, operands exchanged, read from another layer
void guess_steps(Guesses& guesses);  // roundings to steps, and to half precision, left out
void guess_mask(Guesses& guesses);  // in front of a softmax
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
// The nodes of another piece that make `other_to` of `other_from`, between two values: whoever read `to` reads what they make of
// `from`. No nodes: `from` itself. What nobody reads any more is gone. `beside`: what else they read, and what it is in the piece.
Graph with_function(const Graph& piece, ValueId from, ValueId to, const Graph& other,
                    const std::vector<std::size_t>& nodes, ValueId other_from, ValueId other_to, const Node& like,
                    const std::map<ValueId, ValueId>& beside = {});
// One input of a node read from another value.
Graph with_read(const Graph& piece, std::size_t node, std::size_t input, ValueId value);
// Whoever reads one of two values reads the other instead.
Graph with_reads_exchanged(const Graph& piece, ValueId x, ValueId y);
// A node put in front of one input of another.
Graph with_node_in_front(const Graph& piece, std::size_t node, std::size_t input, Op op);

// ---- what b says -----------------------------------------------------------------------------------------------------

// The nodes of b's piece with this operator.
template <class O>
std::vector<const Node*> twins(const Scene& scene) {
  std::vector<const Node*> found;
  for (const Node& node : scene.b.nodes)
    if (holds_alternative<O>(node.op)) found.push_back(&node);
  return found;
}
const Tensor* constant_of(const Graph& piece, const Node& node, std::size_t input);
// The layer of a that holds the tensor, where it is another one than this. A number repeated belongs to nobody.
std::optional<std::string> owner_of(const Scene& scene, const Tensor& tensor, const std::string& layer);
// The node that makes the value, or a nameless one of the layer in front of the stretch.
Node about_value(const Scene& scene, ValueId value);
// Whether it adds no cell to any side.
bool cuts_alone(const Pad& pad);
// Whether nothing but scales, offsets and what only moves numbers lies between the model's input and the node.
bool is_in_front(const Scene& scene, const Node& node);
bool prepares_input(const Graph& graph, const Node& node);  // is such a step
// What is done to the model's inputs in several steps with one number each.
std::vector<Affine> lines_from_inputs(const Graph& graph);
bool is_function(const Op& op);  // of one number, without weights

// "(0, 1) and (1, 1)"
std::string text_of(const std::vector<Padding>& paddings);
std::string number_text(double value);
std::string function_name(const Op& op);  // "gelu", "relu max_value=6"

// ---- tensors ---------------------------------------------------------------------------------------------------------

Tensor reversed_along(const Tensor& tensor, const Sizes& axes);
Tensor taken(const Tensor& tensor, std::size_t axis, const Sizes& indices);

}  // namespace convoy::diagnose
