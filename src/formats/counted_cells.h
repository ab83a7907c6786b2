// Numbers that follow from free sizes, as values of the graph: lists of as many cells, and single numbers.
#pragma once
#include "formats/function.h"
#include "formats/stretch.h"
#include "formats/unknown_sizes.h"

#include <string>

namespace convoy {

// A value with an axis as long as `formula` says; below 0 counts as 0. What is there already is taken, or else ones are put side by
// side, repeated and left out, which every framework can say. `layer` names the nodes. Fails: what would take very many cells in
// between, and products and quotients of what may be below 0.
Result<Place> cells_counted(Graph& graph, UnknownSizes& sizes, const SizeFormula& formula, const std::string& layer);
// Of a number that a model computes. Fails as well: no whole number, none that is known.
Result<Place> cells_counted(Graph& graph, UnknownSizes& sizes, const Number& number, const std::string& layer);

// The number itself, int64 without axes; it may be negative.
Result<ValueId> number_counted(Graph& graph, UnknownSizes& sizes, const SizeFormula& formula, const std::string& layer);

// A tensor of such numbers, of their type and shape. Fails as well: one that does not follow; a fraction that floating numbers may
// round otherwise than the model.
Result<ValueId> numbers_counted(Graph& graph, UnknownSizes& sizes, const Numbers& numbers, const std::string& layer);

}  // namespace convoy
