// DEPTH_TO_SPACE and SPACE_TO_DEPTH: blocks first in the channels, as in TensorFlow; and blocks of space in the batch.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"

#include "ops/expect.h"

#include <algorithm>
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

std::vector<ValueId> reshape(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const ValueId shape = call.optional("shape");
  const Sizes said = call.attrs.list("new_shape", Sizes());
  // The input wins where both are there. Old files say a shape of one number 0 for a single number.
  Sizes to = shape ? numbers(call, "shape") : said;
  if (!shape && to == Sizes{0}) to.clear();
  return {call.add(Reshape{std::move(to)}, {x})};
}

std::vector<ValueId> transpose(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Sizes axes = numbers(call, "perm");
  for (Size& axis : axes) axis = positive_axis(axis, call.rank(x));
  return {call.add(Transpose{std::move(axes)}, {x})};
}

std::vector<ValueId> expand_dims(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes axis = numbers(call, "dim");
  if (!call.failed() && axis.size() != 1)
    call.refuse(Fault::Format, "tensor 'dim' holds " + text_of(axis) + ", expected one axis");
  if (call.failed()) return {};
  return {call.add(Unsqueeze{{positive_axis(axis[0], call.rank(x) + 1)}}, {x})};
}

std::vector<ValueId> squeeze(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Sizes axes = call.attrs.list("squeeze_dims", Sizes());
  for (Size& axis : axes) axis = positive_axis(axis, call.rank(x));
  std::ranges::sort(axes);
  for (Size i = 0; axes.empty() && i < call.rank(x); ++i)
    if (!call.dim(x, i).known())
      call.refuse(Fault::Unsupported, "without squeeze_dims the sizes must be known, but the input has shape " +
                                          text_of(call.shape(x)) + "; give them with --shape");
  if (axes.empty())
    for (Size i = 0; i < call.rank(x); ++i)
      if (call.dim(x, i) == Dim(1)) axes.push_back(i);
  return {call.add(Squeeze{std::move(axes)}, {x})};
}

constexpr std::array reshape_table{
    Operator{"DEPTH_TO_SPACE", 5, "input", 94, "block_size:i", depth<DepthToSpace>},
    Operator{"SPACE_TO_DEPTH", 26, "input", 19, "block_size:i", depth<SpaceToDepth>},
    Operator{"SPACE_TO_BATCH_ND", 38, "input block_shape paddings", 25, "", space_to_batch},
    Operator{"BATCH_TO_SPACE_ND", 37, "input block_shape crops", 24, "", batch_to_space},
    Operator{"RESHAPE", 22, "input shape", 17, "new_shape:I", reshape},
    Operator{"TRANSPOSE", 39, "input perm", 26, "", transpose},
    Operator{"EXPAND_DIMS", 70, "input dim", 52, "", expand_dims},
    Operator{"SHAPE", 77, "input", 55, "out_type:b"},  // the reader follows both itself
    Operator{"FILL", 94, "dims value", 68, ""},
    Operator{"RFFT2D", 131, "input fft_length", 105, ""},  // and what reads complex numbers
    Operator{"REAL", 134, "input", 0, ""},
    Operator{"IMAG", 133, "input", 0, ""},
    Operator{"COMPLEX_ABS", 135, "input", 0, ""},
    Operator{"SQUEEZE", 43, "input", 30, "squeeze_dims:I", squeeze},
};

}  // namespace

std::span<const Operator> reshape_operators() { return reshape_table; }

}  // namespace convoy::tflite
