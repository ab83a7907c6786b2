// keras.ops nodes that slide a window over space: pools, and convolutions whose kernel is a tensor like others.
#include "formats/keras/operation.h"

#include <array>

namespace convoy::keras {
namespace {

// What all convolutions take beside their tensors; `space` is 0 where that has failed.
struct Sliding {
  Size space = 0;
  Axes axes;
  std::vector<Window> windows;
  bool same = false;
};

Sliding sliding(Call& call, ValueId x, ValueId kernel, std::size_t dilation_place) {
  Sliding made;
  if (call.failed()) return made;
  const Size space = call.rank(x) - 2;
  if (space < 1 || space > 3 || call.rank(kernel) != space + 2) {
    call.refuse(Fault::Unsupported, "convolves a tensor of rank " + std::to_string(call.rank(x)) +
                                        " with a kernel of rank " + std::to_string(call.rank(kernel)));
    return made;
  }
  const auto axes = static_cast<std::size_t>(space);
  const auto sizes = [&](const char* name, std::size_t place) {
    const Json* argument = option(call, name, place);
    const Sizes all = argument ? list_of(call, argument, name) : Sizes{1};
    return all.size() == 1 ? Sizes(axes, all[0]) : all;
  };
  const Sizes strides = sizes("strides", 2), dilations = sizes("dilation_rate", dilation_place);
  const Json* argument = option(call, "padding", 3);
  made.same = argument && *argument == "same";
  if (argument && !made.same && *argument != "valid")
    call.refuse(Fault::Unsupported, "argument 'padding' is neither 'valid' nor 'same'");
  if (strides.size() != axes || dilations.size() != axes)
    call.refuse(Fault::Format, "'strides' and 'dilation_rate' are not one number per axis");
  made.axes = {order_of(call), space};
  const Shape& shape = call.type(kernel).shape;
  for (std::size_t i = 0; i < axes && !call.failed(); ++i) {
    if (!shape[i].known()) {
      call.refuse(Fault::Unsupported, "convolves with a kernel whose size is free");
      break;
    }
    made.windows.push_back({*shape[i], strides[i], dilations[i]});
    if (!made.windows.back().sane()) call.refuse(Fault::Format, "'strides' and 'dilation_rate' are no window");
  }
  if (!call.failed()) made.space = space;
  return made;
}

Conv conv_of(const Sliding& over, KernelOrder order) {
  const Padding padding{over.same ? Spelling::SameUpper : Spelling::Valid};
  return {over.axes, order, over.windows, std::vector<Padding>(over.windows.size(), padding), 1};
}

// ops.conv(inputs, kernel, ...): the kernel is [*window, channels per group, filters].
Values convolve(Call& call) {
  const ValueId x = operand(call, "inputs", 0), kernel = operand(call, "kernel", 1);
  const Sliding over = sliding(call, x, kernel, 5);
  if (over.space == 0) return {};
  Conv op = conv_of(over, KernelOrder::SpaceInOut);
  const Dim channels = call.dim(x, over.axes.channel()), in = call.dim(kernel, over.space);
  if (channels.known() && in.known() && *in > 0) {
    if (*channels % *in != 0) call.refuse(Fault::Format, "the kernel's channels do not divide those of the input");
    op.groups = *channels / *in;
  }
  return {call.add(op, {x, kernel})};
}

// ops.depthwise_conv(inputs, kernel, ...): the kernel is [*window, channels, multiplier].
Values convolve_depthwise(Call& call) {
  const ValueId x = operand(call, "inputs", 0), kernel = operand(call, "kernel", 1);
  const Sliding over = sliding(call, x, kernel, 5);
  if (over.space == 0) return {};
  Conv op = conv_of(over, KernelOrder::SpaceInMultiplier);
  const Dim channels = call.dim(kernel, over.space);
  if (!channels.known()) call.refuse(Fault::Unsupported, "convolves with a kernel whose size is free");
  if (call.failed()) return {};
  op.groups = *channels;
  return {call.add(op, {x, kernel})};
}

// ops.conv_transpose(inputs, kernel, ...): the kernel is [*window, filters, channels].
Values convolve_transposed(Call& call) {
  const ValueId x = operand(call, "inputs", 0), kernel = operand(call, "kernel", 1);
  if (option(call, "output_padding", 4)) call.refuse(Fault::Unsupported, "argument 'output_padding' is not read here");
  const Sliding over = sliding(call, x, kernel, 6);
  if (over.space == 0) return {};
  const TransposedPadding padding{over.same ? CropSpelling::KerasSame : CropSpelling::KerasValid, 0, 0, {}};
  const std::vector<TransposedPadding> paddings(over.windows.size(), padding);
  return {call.add(ConvTranspose{over.axes, KernelOrder::SpaceOutIn, over.windows, paddings, 1}, {x, kernel})};
}

constexpr std::array operation_window_table{
    LayerRow{"Conv", convolve},
    LayerRow{"DepthwiseConv", convolve_depthwise},
    LayerRow{"ConvTranspose", convolve_transposed},
};

}  // namespace

std::span<const LayerRow> operation_window_rows() { return operation_window_table; }

}  // namespace convoy::keras
