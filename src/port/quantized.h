// What a port takes along of a model whose numbers are rounded to whole ones of a scale and a zero (`Quantized`).
#pragma once
#include "convoy/settings.h"
#include "graph/graph.h"
#include "prove/prove.h"

#include <string>
#include <vector>

namespace convoy {

// Roundings that multiply by the inverse of their scale divide by it (graph/quantized_steps.h). One sentence on that, and those on how
// far numbers move; none where there are no such.
Result<std::vector<std::string>> divide_by_scales(Graph& graph, const ProofOptions& options);

// What is rounded to steps and widened again at once is only kept within their range. One sentence on that, and, where numbers move, those on how
// far. Fails: as runs do.
Result<std::vector<std::string>> leave_out_rounding(Graph& graph, const ProofOptions& options);

}  // namespace convoy
