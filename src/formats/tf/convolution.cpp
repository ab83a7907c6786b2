// conv1d to conv3d, depthwise, separable and atrous convolution: words or lists of padding, both orders of axes.
#include "formats/tf/arguments.h"
#include "formats/tf/functions.h"

#include <algorithm>
#include <array>

namespace convoy::tf {
namespace {

struct Geometry {
  Axes axes;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
};

// A list of paddings in front of the convolution, as an operator of its own.
ValueId padded_first(FunctionCall& call, Conv& conv, ValueId x) {
  const auto rank = static_cast<std::size_t>(conv.axes.rank());
  Pad pad{Sizes(rank, 0), Sizes(rank, 0), PadMode::Constant, 0};
  for (Size i = 0; i < conv.axes.space; ++i) {
    Padding& padding = conv.paddings[static_cast<std::size_t>(i)];
    const auto axis = static_cast<std::size_t>(conv.axes.spatial(i));
    pad.before[axis] = padding.before;
    pad.after[axis] = padding.after;
    padding = {Spelling::Valid};
  }
  return call.add(std::move(pad), {x});
}

// What TensorFlow answers where the input is shorter than the window by less than two strides: nothing, in the right shape.
// One window is placed in front of the input and then dropped.
ValueId convolved(FunctionCall& call, Conv conv, ValueId x, ValueId filters) {
  for (std::size_t i = 0; i < conv.paddings.size(); ++i) {
    const Dim size = call.dim(x, conv.axes.spatial(static_cast<Size>(i)));
    if (conv.paddings[i].spelling != Spelling::Explicit || !size.known()) continue;
    if (!place(conv.paddings[i], conv.windows[i], *size)) x = padded_first(call, conv, x);
  }
  Sizes empty;
  for (Size i = 0; i < conv.axes.space; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    const Dim size = call.dim(x, conv.axes.spatial(i));
    if (!size.known() || !empties(conv.paddings[axis], conv.windows[axis], *size)) continue;
    conv.paddings[axis] = {Spelling::Explicit, conv.windows[axis].reach(), 0};
    empty.push_back(conv.axes.spatial(i));
  }
  ValueId y = call.add(std::move(conv), {x, filters});
  for (const Size axis : empty) y = call.add(Slice{axis, 0, 0, 1}, {y});
  return y;
}

// The kernel of a plain convolution says the number of groups: input channels over those that it reads. In three
// dimensions TensorFlow's plain kernels refuse groups; a dilation is beyond them, and what answers it takes groups too.
Size groups_of(FunctionCall& call, const Geometry& g, ValueId x, ValueId filters) {
  const Axes& axes = g.axes;
  const Dim channels = call.dim(x, axes.channel()), read = call.dim(filters, axes.space);
  if (call.failed() || !channels.known() || !read.known()) return 1;
  if (*read < 1 || *channels % *read != 0)
    call.refuse(Fault::Format, "the kernel reads " + std::to_string(*read) + " channels, which does not divide the " +
                                   std::to_string(*channels) + " of the input");
  else if (axes.space == 3 && *channels != *read &&
           std::ranges::all_of(g.windows, [](Window w) { return w.dilation == 1; }))
    call.refuse(Fault::Unsupported, "the kernel reads " + std::to_string(*read) + " of " + std::to_string(*channels) +
                                        " channels; TensorFlow has no groups in 3-D");
  return call.failed() ? 1 : *channels / *read;
}

std::vector<ValueId> plain(FunctionCall& call, const Geometry& g, ValueId x, ValueId filters) {
  const Batches batches = fold_batches(call, x, g.axes);
  const Size groups = groups_of(call, g, batches.folded, filters);
  if (call.failed()) return {};
  const ValueId y =
      convolved(call, Conv{g.axes, KernelOrder::SpaceInOut, g.windows, g.paddings, groups}, batches.folded, filters);
  return {unfold_batches(call, y, batches)};
}

template <Size space>
std::vector<ValueId> conv(FunctionCall& call) {
  const ValueId x = call.tensor("input"), filters = call.tensor("filters");
  ignore_name(call);
  const Axes axes = axes_of(call, space);
  const Sizes kernel = kernel_of(call, filters, space);
  const char* moves = space == 1 ? "stride" : "strides";
  require(call, moves);
  const Sizes stride = per_axis(call, moves, axes);
  const Geometry g{axes, windows_of(kernel, stride, per_axis(call, "dilations", axes)),
                   paddings_of(call, axes, space == 2)};
  return plain(call, g, x, filters);
}

// tf.nn.convolution takes its rank from the kernel, and no stride together with a dilation.
std::vector<ValueId> convolution(FunctionCall& call) {
  const ValueId x = call.tensor("input"), filters = call.tensor("filters");
  ignore_name(call);
  const Size space = call.rank(filters) - 2;
  if (call.failed()) return {};
  if (space < 1 || space > 3) {
    call.refuse(Fault::Format, "the kernel has rank " + std::to_string(space + 2) + ", expected 3, 4 or 5");
    return {};
  }
  const Axes axes = axes_of(call, space);
  const Sizes kernel = kernel_of(call, filters, space), stride = per_axis(call, "strides", axes),
              dilation = per_axis(call, "dilations", axes);
  const auto above_one = [](Size n) { return n > 1; };
  if (std::ranges::any_of(stride, above_one) && std::ranges::any_of(dilation, above_one))
    call.refuse(Fault::Unsupported, "tf.nn.convolution takes no stride together with a dilation; tf.nn.conv2d does");
  Geometry g{axes, windows_of(kernel, stride, dilation), std::vector<Padding>(kernel.size())};
  if (call.attrs.has("padding")) g.paddings = paddings_of(call, axes, false);
  return plain(call, g, x, filters);
}

std::vector<ValueId> atrous_conv2d(FunctionCall& call) {
  const ValueId x = call.tensor("value"), filters = call.tensor("filters");
  ignore_name(call);
  const Axes axes{Order::ChannelsLast, 2};
  const Sizes rate = call.attrs.sizes("rate", 2);
  if (std::ranges::any_of(rate, [](Size n) { return n < 1; })) call.refuse(Fault::Format, "argument 'rate' is below 1");
  const Geometry g{axes, windows_of(kernel_of(call, filters, 2), {1, 1}, rate), paddings_of(call, axes, false)};
  return plain(call, g, x, filters);
}

// A depthwise convolution with a stride and a dilation is the dilated convolution with that stride; TensorFlow's own
// kernel gives other numbers there, of another size.
ValueId depthwise(FunctionCall& call, ValueId x, ValueId filters, const Axes& axes) {
  const Sizes stride = call.attrs.list("strides");
  if (stride.size() != 4) call.refuse(Fault::Format, "argument 'strides' needs 4 numbers");
  const Geometry g{
      axes, windows_of(kernel_of(call, filters, 2), per_axis(call, "strides", axes), per_axis(call, "dilations", axes)),
      paddings_of(call, axes, true)};
  const Dim channels = call.dim(filters, 2);
  if (call.failed()) return {};
  return convolved(call, Conv{g.axes, KernelOrder::SpaceInMultiplier, g.windows, g.paddings, *channels}, x, filters);
}

std::vector<ValueId> depthwise_conv2d(FunctionCall& call) {
  const ValueId x = call.tensor("input"), filters = call.tensor("filter");
  ignore_name(call);
  return {depthwise(call, x, filters, axes_of(call, 2))};
}

std::vector<ValueId> separable_conv2d(FunctionCall& call) {
  const ValueId x = call.tensor("input"), filters = call.tensor("depthwise_filter"),
                point = call.tensor("pointwise_filter");
  ignore_name(call);
  const Axes axes = axes_of(call, 2);
  if (kernel_of(call, point, 2) != Sizes{1, 1})
    call.refuse(Fault::Format, "pointwise_filter has shape " + text_of(call.shape(point)) + ", expected [1, 1, ...]");
  const ValueId middle = depthwise(call, x, filters, axes);
  const Dim read = call.dim(point, 2);
  if (!call.failed() && call.dim(middle, axes.channel()) != read)
    call.refuse(Fault::Format, "pointwise_filter reads " + std::to_string(*read) + " channels, expected " +
                                   std::to_string(*call.dim(middle, axes.channel())));
  if (call.failed()) return {};
  return {call.add(Conv{axes, KernelOrder::SpaceInOut, {{}, {}}, {{}, {}}, 1}, {middle, point})};
}

constexpr std::array convolution_table{
    FunctionRow{"nn.conv1d", "input filters stride padding data_format dilations name", conv<1>},
    FunctionRow{"nn.conv2d", "input filters strides padding data_format dilations name", conv<2>},
    FunctionRow{"nn.conv3d", "input filters strides padding data_format dilations name", conv<3>},
    FunctionRow{"nn.convolution", "input filters strides padding data_format dilations name", convolution},
    FunctionRow{"nn.atrous_conv2d", "value filters rate padding name", atrous_conv2d},
    FunctionRow{"nn.depthwise_conv2d", "input filter strides padding data_format dilations name", depthwise_conv2d},
    FunctionRow{"nn.separable_conv2d",
                "input depthwise_filter pointwise_filter strides padding data_format dilations name", separable_conv2d},
};

}  // namespace

std::span<const FunctionRow> convolution_functions() { return convolution_table; }

}  // namespace convoy::tf
