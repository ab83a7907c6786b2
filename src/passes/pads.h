// A pad in front of a windowed operator that then reads without one.
#pragma once
#include "graph/patch.h"
#include "ops/pool_divisor.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convoy {

using SpatialSizes = std::vector<std::optional<Size>>;  // nothing: the size is free
SpatialSizes spatial_sizes(const Shape& shape, Axes axes);

// Pad or, where an amount depends on an unknown size, PadToWindow over the spatial axes.
Result<ValueId> padded(Patch& patch, const Node& like, ValueId x, Axes axes, const std::vector<Window>& windows,
                       const std::vector<Padding>& paddings, double value);

// prod(k) / (cells that the window counts), for every output cell: the factor that takes a sum over padding zeros, divided
// by the whole window, to the average. Nothing: a size is free, or a window sees no cell.
std::optional<Tensor> count_correction(const AveragePool& pool, const SpatialSizes& sizes, Counting counting);

// "same", "causal", "(1, 1) and (0, 1)", "(0, 0) with ceil_mode", for remarks; once where all axes say the same.
std::string words(const std::vector<Padding>& paddings);
// "(0, 1) and (1, 1)" or "a pad computed from the size": what `padded` put there.
std::string words(const std::vector<Window>& windows, const std::vector<Padding>& paddings, Axes axes,
                  const Shape& shape);

}  // namespace convoy
