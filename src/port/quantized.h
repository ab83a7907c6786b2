// Models whose numbers are rounded to whole ones of a scale and a zero: what of that a port takes along.
#pragma once
#include "graph/graph.h"
#include "prove/prove.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy {

enum class Quantized : std::uint8_t {
  Keep,  // whole numbers in the target's own words for them
  Fake,  // float32 numbers, rounded to the same steps in single operators
  Float  // float32 numbers, kept within the same ranges and not rounded
};
// "keep", "fake" or "float". Nothing: none of them.
std::optional<Quantized> quantized_named(std::string_view word);

// Roundings that multiply by the inverse of the scale that is multiplied by behind them, as PyTorch's exported programs do, divide by
// it, which QuantizeLinear does. One sentence on that, and those on how far numbers move; none where there are no such.
Result<std::vector<std::string>> divide_by_scales(Graph& graph, const ProofOptions& options);
// How many such there are.
std::size_t inverse_scales(const Graph& graph);

// What is rounded to steps and widened again at once is only kept within their range. One sentence on that, and, where numbers move, those on how
// far. Fails: as runs do.
Result<std::vector<std::string>> leave_out_rounding(Graph& graph, const ProofOptions& options);

}  // namespace convoy
