// DEPTH_TO_SPACE and SPACE_TO_DEPTH: blocks first in the channels, as in TensorFlow; and blocks of space in the batch.
#include "formats/tflite/functions.h"
#include "formats/tflite/options.h"

#include <array>

namespace convoy::tflite {
namespace {

template <class Operator>
std::vector<ValueId> depth(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return {call.add(Operator{Order::ChannelsLast, call.attrs.integer("block_size"), true}, {x})};
}

template <class Operator>
std::vector<ValueId> batch(FunctionCall& call, const char* border) {
  const ValueId x = call.tensor("input");
  const Sizes block = numbers(call, "block_shape"), flat = numbers(call, border);
  if (flat.size() != 2 * block.size())
    call.refuse(Fault::Format, std::string("tensor '") + border + "' does not hold a pair for every block");
  Operator op{{}, block, {}, {}};
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) {
    op.before.push_back(flat[i]);
    op.after.push_back(flat[i + 1]);
    op.axes.push_back(static_cast<Size>(op.before.size()));
  }
  return {call.add(std::move(op), {x})};
}
std::vector<ValueId> space_to_batch(FunctionCall& call) { return batch<SpaceToBatch>(call, "paddings"); }
std::vector<ValueId> batch_to_space(FunctionCall& call) { return batch<BatchToSpace>(call, "crops"); }

constexpr std::array reshape_table{
    FunctionRow{"DEPTH_TO_SPACE", "input", depth<DepthToSpace>},
    FunctionRow{"SPACE_TO_DEPTH", "input", depth<SpaceToDepth>},
    FunctionRow{"SPACE_TO_BATCH_ND", "input block_shape paddings", space_to_batch},
    FunctionRow{"BATCH_TO_SPACE_ND", "input block_shape crops", batch_to_space},
};

}  // namespace

std::span<const FunctionRow> reshape_operators() { return reshape_table; }

}  // namespace convoy::tflite
