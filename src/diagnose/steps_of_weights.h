// The steps of 8 bits that numbers lie on, by the numbers alone.
#pragma once
#include "graph/graph.h"

#include <optional>
#include <span>
#include <vector>

namespace convoy::diagnose {

// The largest step that all numbers are whole multiples of, of which 8 bits tell as many. Nothing: there is none.
std::optional<double> step_of(std::span<const double> numbers);

// The numbers of each place along an axis.
std::vector<std::vector<double>> along(const Tensor& tensor, std::size_t axis);

// The largest step of the channels along some axis, which lie on steps of their own. Zeros alone lie on any.
std::optional<double> step_by_channel(const Tensor& tensor);

// The largest step of weights that all lie on whole multiples of one step, or of one for each place along some axis. Nothing:
// they lie on none.
std::optional<double> largest_step(const Tensor& weights);

}  // namespace convoy::diagnose
