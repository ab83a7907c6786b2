// Recurrent cells for a target whose cells walk time along the first axis: which transposes around them such a cell needs
// no longer, because its own inputs and outputs are what stands beyond them.
#pragma once
#include "graph/graph.h"

#include <cstddef>
#include <map>
#include <vector>

namespace convoy {

struct TimeFirst {
  struct Cell {
    ValueId x;  // [T, N, F], in front of a transpose that goes; nothing: the cell's input has to be transposed
    ValueId y;  // [T, 1, N, U], in the order of time
    ValueId state;  // [1, N, U], behind the last step that is walked
    ValueId last_cell;  // [1, N, U], c behind that step
    ValueId first_state, first_cell;  // [1, N, U], in front of a squeeze to what h and c are before the first step
    ValueId
        in_time;  // [N, T, U] of a cell that walks backwards, whose sequence is turned around before anybody reads it
    bool made =
        false;  // y, state and last_cell stand for all that is read of the cell; else its output has to be transposed
  };
  std::map<NodeId, Cell> cells;  // one for every recurrent cell
  std::vector<char> goes;  // by node: between a cell and what stands for it
  std::size_t transposes = 0;  // those that stay, and those that cells still need
};
TimeFirst time_first(const Graph& graph);

}  // namespace convoy
