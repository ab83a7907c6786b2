// The readable text form of a graph: what `convoy summary --graph` prints and what pass tests are written in.
//
//   input  image float32[?,8,14,3]
//   const  conv/kernel float32[3,3,3,8] = seed 7            # or "= 1 2 3 ...", or no values printed: "= sha 1f0c..."
//   conv   = conv(image, conv/kernel, _) axes=channels_last/2 kernel_order=space_in_out windows=3/2,3/2
//   paddings=same,same output conv
//
// One line per value or node; "_" is an absent optional input; fields at their defaults are not printed; '#' comments.
// Names that hold spaces, quotes or punctuation are written in double quotes as JSON writes them.
#pragma once
#include "graph/graph.h"

#include <string>
#include <string_view>

namespace convoy {

struct TextOptions {
  bool constants_in_full = false;  // print every number of every constant
};
std::string text_of(const Graph& graph, const TextOptions& options = {});
std::string text_of(const Op& op);  // "conv axes=... windows=..."
// Fails: a line that is not understood, naming line and column.
Result<Graph> parse_graph(std::string_view text);

}  // namespace convoy
