// CONV_2D, DEPTHWISE_CONV_2D, CONV_3D and the transposed ones. Kernels are brought into the order that TensorFlow gives
// them: [O, h, w, I] of CONV_2D and TRANSPOSE_CONV, [1, h, w, C*M] of the depthwise operator; the 3-D ones have it.
#include "formats/tflite/functions.h"
#include "formats/tflite/options.h"

#include "ops/expect.h"

#include <array>

namespace convoy::tflite {
namespace {

// All sizes of the kernel; refuses another rank and sizes that are not known.
Sizes kernel_shape(FunctionCall& call, ValueId filter, Size rank) {
  const auto sizes = sizes_of(call.shape(filter));
  if (sizes && call.rank(filter) == rank) return *sizes;
  if (!call.failed())
    call.refuse(Fault::Format, "the kernel has shape " + text_of(call.shape(filter)) + ", expected " +
                                   std::to_string(rank) + " known sizes");
  return Sizes(static_cast<std::size_t>(rank), 1);
}

struct Geometry {
  Axes axes;
  Sizes stride, dilation;
  std::vector<Padding> paddings;
};

Geometry geometry(FunctionCall& call, Size space) {
  return {{Order::ChannelsLast, space},
          per_axis(call, "stride_", space),
          per_axis(call, "dilation_", space, 1, "_factor"),
          paddings_of(call, space)};
}

// Groups follow from the shapes: input channels over those that the kernel reads.
Size groups_of(FunctionCall& call, const Axes& axes, ValueId x, Size read) {
  const Dim channels = call.dim(x, axes.channel());
  if (call.failed() || !channels.known()) return 1;
  if (read >= 1 && *channels % read == 0) return *channels / read;
  call.refuse(Fault::Format, "the kernel reads " + std::to_string(read) + " channels, which does not divide the " +
                                 std::to_string(*channels) + " of the input");
  return 1;
}

std::vector<ValueId> conv_2d(FunctionCall& call) {
  const ValueId x = call.tensor("input"), filter = call.tensor("filter"), bias = call.optional("bias");
  const Geometry g = geometry(call, 2);
  const Sizes kernel = kernel_shape(call, filter, 4);
  const Size groups = groups_of(call, g.axes, x, kernel[3]);
  const ValueId moved = call.add(Transpose{{1, 2, 3, 0}}, {filter});
  const auto windows = windows_of({kernel[1], kernel[2]}, g.stride, g.dilation);
  return {
      activated(call, call.add(Conv{g.axes, KernelOrder::SpaceInOut, windows, g.paddings, groups}, {x, moved, bias}))};
}

std::vector<ValueId> conv_3d(FunctionCall& call) {
  const ValueId x = call.tensor("input"), filter = call.tensor("filter"), bias = call.optional("bias");
  const Geometry g = geometry(call, 3);
  const Sizes kernel = kernel_shape(call, filter, 5);
  const Size groups = groups_of(call, g.axes, x, kernel[3]);
  const auto windows = windows_of({kernel[0], kernel[1], kernel[2]}, g.stride, g.dilation);
  return {
      activated(call, call.add(Conv{g.axes, KernelOrder::SpaceInOut, windows, g.paddings, groups}, {x, filter, bias}))};
}

// 'depth_multiplier' is not read: since TensorFlow 2.0 the shapes say it, and old files have it wrong.
std::vector<ValueId> depthwise_conv_2d(FunctionCall& call) {
  const ValueId x = call.tensor("input"), filter = call.tensor("filter"), bias = call.optional("bias");
  call.attrs.ignore({"depth_multiplier"});
  const Geometry g = geometry(call, 2);
  const Sizes kernel = kernel_shape(call, filter, 4);
  const Dim channels = call.dim(x, 3);
  if (!call.failed() && (!channels.known() || *channels < 1 || kernel[0] != 1 || kernel[3] % *channels != 0))
    call.refuse(Fault::Format, "the kernel has shape " + text_of(call.shape(filter)) + ", the input " +
                                   text_of(call.shape(x)) + ", expected [1, h, w, channels * multiplier]");
  if (call.failed()) return {};
  const ValueId parted = call.add(Reshape{{kernel[1], kernel[2], *channels, kernel[3] / *channels}}, {filter});
  const auto windows = windows_of({kernel[1], kernel[2]}, g.stride, g.dilation);
  return {activated(
      call, call.add(Conv{g.axes, KernelOrder::SpaceInMultiplier, windows, g.paddings, *channels}, {x, parted, bias}))};
}

// The input gradient of a forward convolution to the size that output_shape says. TFLite does not check that the forward
// convolution maps it back, and then answers with memory that nobody wrote; here such a size is refused.
std::vector<ValueId> transposed(FunctionCall& call, Size space, const Sizes& kernel, ValueId filter) {
  const ValueId x = call.tensor("input"), bias = call.optional("bias");
  const Geometry g = geometry(call, space);
  const Sizes out = numbers(call, "output_shape");
  if (!call.failed() && out.size() != static_cast<std::size_t>(g.axes.rank()))
    call.refuse(Fault::Format,
                "output_shape is " + text_of(out) + ", expected " + std::to_string(g.axes.rank()) + " sizes");
  ConvTranspose conv{g.axes, KernelOrder::SpaceOutIn, windows_of(kernel, g.stride, g.dilation), {}, 1};
  for (Size i = 0; i < space && !call.failed(); ++i) {
    const auto axis = static_cast<std::size_t>(i);
    const Dim in = call.dim(x, g.axes.spatial(i));
    const Size wanted = at(out, g.axes.spatial(i));
    const auto forward = place(g.paddings[axis], conv.windows[axis], wanted);
    const auto crop =
        forward ? crop_to_gradient(g.paddings[axis], conv.windows[axis], in.known() ? *in : forward->out, wanted)
                : std::nullopt;
    if (crop) conv.paddings.push_back({CropSpelling::Explicit, crop->before, crop->after, {}});
    else
      call.refuse(Fault::Format, "output_shape says " + std::to_string(wanted) + " on spatial axis " +
                                     std::to_string(i) + ", which no forward convolution maps to the input");
  }
  return {activated(call, call.add(std::move(conv), {x, filter, bias}))};
}

std::vector<ValueId> transpose_conv(FunctionCall& call) {
  const ValueId filter = call.tensor("filter");
  const Sizes kernel = kernel_shape(call, filter, 4);
  return transposed(call, 2, {kernel[1], kernel[2]}, call.add(Transpose{{1, 2, 0, 3}}, {filter}));
}

std::vector<ValueId> conv_3d_transpose(FunctionCall& call) {
  const ValueId filter = call.tensor("filter");
  const Sizes kernel = kernel_shape(call, filter, 5);
  return transposed(call, 3, {kernel[0], kernel[1], kernel[2]}, filter);
}

constexpr std::array convolution_table{
    FunctionRow{"CONV_2D", "input filter bias", conv_2d},
    FunctionRow{"DEPTHWISE_CONV_2D", "input filter bias", depthwise_conv_2d},
    FunctionRow{"CONV_3D", "input filter bias", conv_3d},
    FunctionRow{"TRANSPOSE_CONV", "output_shape filter input bias", transpose_conv},
    FunctionRow{"CONV_3D_TRANSPOSE", "output_shape filter input bias", conv_3d_transpose},
};

}  // namespace

std::span<const FunctionRow> convolution_operators() { return convolution_table; }

}  // namespace convoy::tflite
