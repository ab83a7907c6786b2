// Runs a graph with plain kernels: obvious, exact in their geometry, the definition that everything else is held to.
#pragma once
#include "graph/graph.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace convoy {

enum class Precision : std::uint8_t {
  // float32 values and accumulation; float16 and bfloat16 values are rounded once more, float64 ones are computed in float64
  Single,
  Double  // float64 throughout: the reference
};

enum class KernelChoice : std::uint8_t {
  Fast,  // the plain kernels' numbers up to the order of their sums, and the same bits on every run
  Plain  // the definition
};

struct RunOptions {
  Precision precision = Precision::Single;
  int threads = 0;  // 0: as many as the machine has
  Size memory_limit = Size{12} << 30;  // bytes that values may take together; beyond it a Budget error
  bool keeps_all = false;  // keep every value, not only the outputs
  KernelChoice kernels = KernelChoice::Fast;
  bool lets_go_of_weights = false;  // Tensor::let_go of each that no further node reads: nobody else is at the graph
};

using Values = std::map<ValueId, Tensor>;

// Inputs in the order of graph.inputs. Results: real numbers are float32 tensors (float64 ones with Double and where the graph says
// float64), those of float16 and bfloat16 among them; whole numbers are int64 or int32 ones.
// Fails: an input of another shape than the graph's (naming both), an index outside its table, the memory limit.
Result<Values> run(const Graph& graph, const std::vector<Tensor>& inputs, const RunOptions& options = {});

// One node alone: the values of its inputs (null where absent) to those of its outputs.
Result<std::vector<Tensor>> run_node(const Node& node, const std::vector<const Tensor*>& inputs, Precision precision,
                                     int threads = 0, const EdgeRules& rules = {},
                                     KernelChoice kernels = KernelChoice::Fast);

// A node as its graph says: by the rules of its framework, and whole numbers wrapped around as their types are.
Result<std::vector<Tensor>> run_node_of(const Graph& graph, const Node& node, const std::vector<const Tensor*>& inputs,
                                        Precision precision, int threads = 0);

}  // namespace convoy
