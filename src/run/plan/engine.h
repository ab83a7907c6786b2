// A loaded graph and the plans that were made for it: one for each set of input shapes that came, shared by all threads that call.
#pragma once
#include "run/fast/tile.h"
#include "run/plan/plan.h"

#include <memory>
#include <mutex>
#include <vector>

namespace convoy {

class Engine {
 public:
  // Graphs that compute in other types than float32 run node by node.
  explicit Engine(std::shared_ptr<const Graph> graph);

  // As run(graph, inputs, options), the outputs in the order of graph.outputs and, with Single, in the types that it says.
  // `winograd`: 3 x 3 convolutions may be summed at points between the numbers, which is faster and rounds more.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, const RunOptions& options = {},
                                  bool winograd = true) const;
  // The plan for such inputs; null: the graph runs node by node.
  Result<std::shared_ptr<const plan::Plan>> plan_for(const std::vector<Tensor>& inputs, const RunOptions& options,
                                                     bool winograd = true) const;

 private:
  struct Kept {
    std::vector<Sizes> shapes;
    bool winograd = true;
    std::shared_ptr<const plan::Plan> plan;
  };
  std::shared_ptr<const Graph> graph_;
  bool in_single_ = true;
  mutable std::mutex guard_;
  mutable std::vector<Kept> kept_;  // the latest last
};

}  // namespace convoy
