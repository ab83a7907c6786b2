// Depth, batch and space moved into each other. Depth: blocks first in the channels (DCR), in both orders of axes.
#include "formats/tf/arguments.h"
#include "formats/tf/functions.h"

#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <array>

namespace convoy::tf {
namespace {

template <class Operator>
std::vector<ValueId> depth(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  ignore_name(call);
  const Axes axes = axes_of(call, 2);
  const Size block = call.attrs.integer("block_size");
  if (!call.failed() && call.rank(x) != 4)
    call.refuse(Fault::Format, "input has shape " + text_of(call.shape(x)) + ", expected 4 axes");
  if (block < 2)
    call.refuse(Fault::Format, "argument 'block_size' is " + std::to_string(block) + ", expected 2 or more");
  return {call.add(Operator{axes.order, block, true}, {x})};
}

// Blocks along the axes behind the batch, one for each entry of `block`. `border`: 'paddings' or 'crops'.
template <class Operator>
std::vector<ValueId> batch(FunctionCall& call, const Sizes& block, const char* border) {
  const ValueId x = call.tensor("input");
  ignore_name(call);
  Operator op{{}, block, {}, {}};
  for (const auto& [before, after] : pairs(call, border)) {
    if (before < 0 || after < 0)
      call.refuse(Fault::Format, "argument '" + std::string(border) + "' holds a negative number");
    op.before.push_back(before);
    op.after.push_back(after);
    op.axes.push_back(static_cast<Size>(op.before.size()));
  }
  if (!call.failed() && op.before.size() != block.size())
    call.refuse(Fault::Format, "argument '" + std::string(border) + "' has " + std::to_string(op.before.size()) +
                                   " pairs, expected " + std::to_string(block.size()));
  return {call.add(std::move(op), {x})};
}

std::vector<ValueId> space_to_batch(FunctionCall& call) {
  return batch<SpaceToBatch>(call, numbers(call, "block_shape"), "paddings");
}
// One number stands for two axes here.
std::vector<ValueId> batch_to_space(FunctionCall& call) {
  const Json* argument = call.attrs.raw("block_shape");
  Sizes block = numbers(call, "block_shape");
  if (argument && argument->is_number_integer()) block.push_back(block.front());
  return batch<BatchToSpace>(call, block, "crops");
}

// TensorFlow 1 has one block for height and width.
Sizes square_block(FunctionCall& call) {
  const Json* argument = call.attrs.raw({"block_shape", "block_size"});
  const Size block = call.attrs.integer_of(argument, "block_size");
  return {block, block};
}
std::vector<ValueId> first_space_to_batch(FunctionCall& call) {
  return batch<SpaceToBatch>(call, square_block(call), "paddings");
}
std::vector<ValueId> first_batch_to_space(FunctionCall& call) {
  return batch<BatchToSpace>(call, square_block(call), "crops");
}

constexpr std::string_view block_parameters = "input block_size data_format name";
constexpr std::array reshape_table{
    FunctionRow{"nn.depth_to_space", block_parameters, depth<DepthToSpace>},
    FunctionRow{"nn.space_to_depth", block_parameters, depth<SpaceToDepth>},
    FunctionRow{"space_to_batch", "input block_shape paddings name", space_to_batch},
    FunctionRow{"space_to_batch_nd", "input block_shape paddings name", space_to_batch},
    FunctionRow{"batch_to_space", "input block_shape crops name", batch_to_space},
    FunctionRow{"compat.v1.batch_to_space_nd", "input block_shape crops name", batch_to_space},
    FunctionRow{"compat.v1.space_to_batch", "input paddings block_size name block_shape", first_space_to_batch},
    FunctionRow{"compat.v1.batch_to_space", "input crops block_size name block_shape", first_batch_to_space},
};

}  // namespace

std::span<const FunctionRow> reshape_functions() { return reshape_table; }

}  // namespace convoy::tf
