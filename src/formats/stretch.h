// A value repeated to a shape that is known only when the model runs: each unknown size is some other value's, or counted by cells.
#pragma once
#include "formats/function.h"
#include "formats/shape_inputs.h"
#include "formats/unknown_sizes.h"

#include <optional>

namespace convoy {

// A value that has an axis of this size: the first, inputs before all others.
struct Place {
  ValueId value;
  Size axis = 0;
};
std::optional<Place> owner_of(const Graph& graph, UnknownSizes& sizes, SizeId size);

// A new shape in the words of reshape_keeping(): its arguments "kept" and "from", and the tensors whose sizes it takes.
struct OwnedShape {
  Sizes to, kept, from;  // `from` is empty where no axis is another value's
  TensorArguments likes;
};
// Nothing: several sizes between those that stay are no value's own, nor counted by cells of `layer`.
std::optional<OwnedShape> shape_by_owners(Graph& graph, UnknownSizes& sizes, const Numbers& wanted, const Shaped& data,
                                          const std::string& layer);

// x as Expand would make it: ranks aligned at the last axis, axes of size 1 repeated. `layer` names the nodes.
// Fails: a size that no cells count, an axis that is neither 1 nor as long as wanted.
Result<ValueId> stretch(Graph& graph, UnknownSizes& sizes, ValueId x, const Numbers& shape, const std::string& layer);

}  // namespace convoy
