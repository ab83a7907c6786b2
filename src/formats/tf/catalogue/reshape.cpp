// The same numbers under other axes.
#include "formats/tf/arguments.h"
#include "formats/tf/catalogue/catalogue.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace convoy::tf {
namespace {

// An axis counted from either end, as a place of `rank` axes.
Size place_of(FunctionCall& call, std::string_view name, Size axis, Size rank) {
  const Size place = positive_axis(axis, rank);
  if (!call.failed() && (place < 0 || place >= rank))
    call.refuse(Fault::Format,
                "'" + std::string(name) + "' is " + std::to_string(axis) + " of " + std::to_string(rank) + " axes");
  return place;
}

// A size of -1 takes what is left; one of 0 is none at all, which the reader of shapes writes as -2 minus its axis.
std::vector<ValueId> reshape(FunctionCall& call) {
  const ValueId x = call.tensor("tensor");
  Sizes to = numbers(call, "shape");
  const bool copies = call.attrs.truth("copies_sizes", false);
  if (!copies && std::ranges::find(to, 0) != to.end())
    call.refuse(Fault::Unsupported, "makes a tensor without numbers");
  return {call.add(Reshape{std::move(to)}, {x})};
}

std::vector<ValueId> transpose(FunctionCall& call) {
  const ValueId x = call.tensor("x");
  Sizes permutation = numbers(call, "perm");
  for (Size& axis : permutation) axis = place_of(call, "perm", axis, call.rank(x));
  return {call.add(Transpose{std::move(permutation)}, {x})};
}

std::vector<ValueId> expand_dims(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes dim = numbers(call, "dim");
  if (!call.failed() && dim.size() != 1) call.refuse(Fault::Format, "'dim' is not one number");
  if (call.failed()) return {};
  return {call.add(Unsqueeze{{place_of(call, "dim", dim[0], call.rank(x) + 1)}}, {x})};
}

// All axes of size 1 where none are named.
std::vector<ValueId> squeeze(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const char* name = call.attrs.has("squeeze_dims") ? "squeeze_dims" : "axis";
  Sizes axes = call.attrs.list(name, Sizes{});
  for (Size& axis : axes) axis = place_of(call, name, axis, call.rank(x));
  std::ranges::sort(axes);
  if (axes.empty())
    for (Size i = 0; i < call.rank(x); ++i) {
      if (!call.dim(x, i).known())
        call.refuse(Fault::Unsupported, "takes out all axes of size 1, and not all sizes are known");
      if (call.dim(x, i) == Dim(1)) axes.push_back(i);
    }
  if (axes.empty()) return {call.add(Identity{}, {x})};
  return {call.add(Squeeze{std::move(axes)}, {x})};
}

constexpr std::array reshape_operator_table{
    Operator{.name = "Reshape", .inputs = "tensor shape", .read = reshape, .meaning = Moved{}},
    Operator{.name = "Transpose", .inputs = "x perm", .read = transpose, .meaning = Moved{}},
    Operator{.name = "ExpandDims", .inputs = "input dim", .read = expand_dims, .meaning = Moved{}},
    Operator{.name = "Squeeze", .inputs = "input", .read = squeeze, .meaning = Moved{}},
    Operator{.name = "DepthToSpace", .inputs = "input", .function = "nn.depth_to_space"},
    Operator{.name = "SpaceToDepth", .inputs = "input", .function = "nn.space_to_depth"},
    Operator{.name = "SpaceToBatchND", .inputs = "input block_shape paddings", .function = "space_to_batch_nd"},
    Operator{.name = "BatchToSpaceND", .inputs = "input block_shape crops", .function = "batch_to_space"},
    Operator{.name = "SpaceToBatch", .inputs = "input paddings", .function = "compat.v1.space_to_batch"},
    Operator{.name = "BatchToSpace", .inputs = "input crops", .function = "compat.v1.batch_to_space"},
};

}  // namespace

std::span<const Operator> reshape_operators() { return reshape_operator_table; }

}  // namespace convoy::tf
