// Where every number of a model's weights goes when the model is rewritten: a copy of it holds, in place of each number,
// the number of its place. Whatever permutes, splits or chooses weights then says so by itself.
#pragma once
#include "graph/graph.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace convoy::diagnose {

class Numbering {
 public:
  // Numbers the float32 weights that layers compute with: kernels, biases, statistics, tables. Single numbers that scale
  // or shift are part of the structure and stay as they are.
  explicit Numbering(const Graph& graph);

  const Graph& graph() const { return graph_; }  // the copy
  const std::vector<ValueId>& weights() const { return weights_; }
  Size count() const { return count_; }

  // The place that one number of the copy stands for. None: it comes from elsewhere.
  std::optional<Size> place(float number) const;
  struct Cell {
    ValueId weight;
    Size at = 0;  // in the weight's own order
  };
  Cell cell(Size place) const;
  Size first(ValueId weight) const;

 private:
  Graph graph_;
  std::vector<ValueId> weights_;
  std::vector<Size> starts_;
  Size count_ = 0;
};

}  // namespace convoy::diagnose
