// The passes, in the order in which they run toward a target. Each has a name, returns a patch and can be switched off.
#pragma once
#include "graph/patch.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

struct Pass {
  std::string_view name;
  std::string_view purpose;  // one line for `convoy ops` and the documentation
  Result<Patch> (*rewrite)(const Graph&);
  bool required;  // the target's writer refuses the graph without it
};

// What was done: the passes that changed something, with how often and why.
struct PassReport {
  std::string_view name;
  std::vector<Remark> remarks;
};

// The passes that bring a graph into PyTorch's words: channels first, kernels OutInSpace, pads PyTorch can say.
std::span<const Pass> passes_for_torch();

// Runs them in order, the checker after each. In a graph whose inputs have no
// origin yet, every value gets its own name as origin first.
// `without`: names to leave out; an unknown name is a Usage error.
Result<std::vector<PassReport>> run_passes(Graph& graph, std::span<const Pass> passes,
                                           const std::vector<std::string>& without = {});

}  // namespace convoy
