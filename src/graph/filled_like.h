// One number in the shape of another value, some of whose sizes come only when the model runs.
#pragma once
#include "graph/graph.h"

#include <vector>

namespace convoy {

// `one`, whose axes are all of size 1, repeated to the shape of `like`. The numbers of `like` are not read: what is not a
// number or is infinite there changes nothing. `add` puts a node behind the graph, which moves its types, and gives its value.
template <class Add>
ValueId filled_like(Shape shape, ValueId one, ValueId like, Add add) {
  for (Size axis = 0; axis < std::ssize(shape); ++axis) {
    const Dim n = shape[static_cast<std::size_t>(axis)];
    if (n == Dim(1)) continue;
    one = n.known() ? add(Op{Tile{axis, *n}}, std::vector<ValueId>{one})
                    : add(Op{ExpandLike{axis, axis}}, std::vector<ValueId>{one, like});
  }
  return one;
}

}  // namespace convoy
