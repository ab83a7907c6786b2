// What it costs to compute the nodes of a graph that have known numbers alone, told before they are computed: who computes
// while reading must not be made to work or to allocate without bound by a small file.
#pragma once
#include "graph/graph.h"

namespace convoy {

// At most 2^60 each.
struct Cost {
  Size numbers = 0;  // made, constants among them
  Size products = 0;  // of convolutions, pools, products of matrices, normalizations and recurrent layers, about
};

// Of the values from `first` on that are constants or computed of constants. Such of unknown size count nothing.
Cost cost_of(const Graph& graph, std::size_t first = 0);

// Of the constants alone, which are made already.
Cost made_constants(const Graph& graph, std::size_t first);

// How many numbers may still be made while a file is read: a small file must not make the reader work or allocate
// without bound. Sixteen products count as a number.
struct Allowance {
  Size numbers = Size{1} << 23;

  // For numbers that the file itself holds, which are turned and converted a few times.
  void add(Size held) { numbers += 4 * held; }
  // Fails: Budget, saying how many are wanted.
  Status spend(const Cost& cost);
};

}  // namespace convoy
