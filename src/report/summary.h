// The layers of a model with what each does, holds and costs: a table that fits a terminal, and JSON of the same facts.
#pragma once
#include "containers/json.h"
#include "convoy/result.h"
#include "graph/graph.h"

#include <string>
#include <vector>

namespace convoy {

struct SummaryOptions {
  Size depth = 0;  // modules deeper than this are one row; 0: every operator is one
  std::string sort;  // "parameters", "multiply-adds", "memory": the dearest first; empty: in order of computation
  std::size_t width = 0;  // of the terminal; 0: as wide as it gets
};

const std::vector<std::string>& summary_sort_keys();
std::string summary_text(const Graph& graph, const std::string& file, const SummaryOptions& options = {});
Json summary_json(const Graph& graph, const std::string& file, const SummaryOptions& options = {});

}  // namespace convoy
