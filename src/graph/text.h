// The readable text form of a graph: what `convoy summary --graph` prints and what pass tests are written in.
//
//   graph  digits from "Keras 3.15.1"
//   input  image float32[?,8,14,3]
//   const  conv/kernel float32[3,3,3,8] = seed 7
//   conv   = conv(image, conv/kernel, _) axes=channels_last/2 kernel_order=space_in_out windows=3/2,3/2 paddings=same,same
//   low, high = split(conv) axis=3 sizes=3,5
//   output low as scores
//
// One line per value or node; "_" is an absent optional input; fields at their defaults are not printed; '#' comments.
// Names that hold spaces, quotes or punctuation are written in double quotes as JSON writes them. Behind a node, each
// part optional and in this order:
//   : float32[?,4,7,8]                    its outputs' types, separated by commas; compared with what infer says
//   <- conv1 split[-1,4] permuted[0,3,1]  the outputs' origins, separated by commas; "_" is none
//   @ conv1 kind Conv2D in backbone#0     the layer (else the first output's name), its kind, the scopes it stands in
// Inputs may carry an origin too, constants as well: const k float32[2] frozen <- conv1/k = 1 2. "frozen" marks a
// constant that is not trainable. A constant's numbers: all of them ("= 1 2 3"); "seed N", whole numbers from -3 to 3
// without zero ("seed N positive": 1 to 3); or "crc32 1f0c2a3b", where they were not printed and cannot be read back.
//
// A window is kernel/stride@dilation, the last two only where they are not 1. A padding is valid, same, same_lower,
// causal or before:after, and ":ceil" or ":ceil_inside" behind it; of a transposed convolution before:after, keras_same
// or keras_valid, and "+1" behind it for an output padding of 1. Lists are separated by commas.
#pragma once
#include "graph/graph.h"

#include <string>
#include <string_view>

namespace convoy {

struct TextOptions {
  bool constants_in_full = false;  // print every number of every constant; else only of those with at most 8
  bool types = false;  // print the types of the nodes' outputs
};
std::string text_of(const Graph& graph, const TextOptions& options = {});
std::string text_of(const Op& op);  // "conv axes=... windows=..."
Result<Op> parse_op(std::string_view text);
// Facts are inferred; one that is written down and is another one is refused.
// Fails: a line that is not understood, naming line and column.
Result<Graph> parse_graph(std::string_view text);
// Whole numbers from -3 to 3 without zero (1 to 3 where `positive` or the type has no sign), always the same for a seed.
Tensor seeded_tensor(DType dtype, const Sizes& shape, std::uint64_t seed, bool positive = false);

}  // namespace convoy
