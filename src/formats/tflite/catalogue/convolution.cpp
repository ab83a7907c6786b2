// CONV_2D, DEPTHWISE_CONV_2D, CONV_3D and the transposed ones. Kernels are brought into the order that TensorFlow gives
// them: [O, h, w, I] of CONV_2D and TRANSPOSE_CONV, [1, h, w, C*M] of the depthwise operator; the 3-D ones have it.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"
#include "formats/tflite/types.h"

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
  call.attrs.ignore({"quantized_bias_type"});
  const Geometry g = geometry(call, 2);
  const Sizes kernel = kernel_shape(call, filter, 4);
  const Size groups = groups_of(call, g.axes, x, kernel[3]);
  const ValueId moved = permuted(call, filter, {1, 2, 3, 0});
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
  call.attrs.ignore({"depth_multiplier", "quantized_bias_type"});
  const Geometry g = geometry(call, 2);
  const Sizes kernel = kernel_shape(call, filter, 4);
  const Dim channels = call.dim(x, 3);
  if (!call.failed() && (!channels.known() || *channels < 1 || kernel[0] != 1 || kernel[3] % *channels != 0))
    call.refuse(Fault::Format, "the kernel has shape " + text_of(call.shape(filter)) + ", the input " +
                                   text_of(call.shape(x)) + ", expected [1, h, w, channels * multiplier]");
  if (call.failed()) return {};
  const ValueId parted = reshaped(call, filter, {kernel[1], kernel[2], *channels, kernel[3] / *channels});
  const auto windows = windows_of({kernel[1], kernel[2]}, g.stride, g.dilation);
  return {activated(
      call, call.add(Conv{g.axes, KernelOrder::SpaceInMultiplier, windows, g.paddings, *channels}, {x, parted, bias}))};
}

// Sums of 16-bit inputs are held in 64 bits where no bias of 32 says otherwise. A file without a bias may say so all the same.
ValueId zero_bias(FunctionCall& call, ValueId x, ValueId filter) {
  const Quantization *inputs = call.quantization(x), *weights = call.quantization(filter);
  const Dim outputs = call.dim(filter, 2);
  if (call.failed() || !inputs || !weights || inputs->dtype != DType::I16 || !outputs.known()) return {};
  std::vector<std::byte> zeros(static_cast<std::size_t>(*outputs * bytes_of(DType::I32)));
  const ValueId bias = call.make_constant("bias", *Tensor::owning(DType::I32, {*outputs}, std::move(zeros)));
  call.set_quantization(bias, {DType::I32, {inputs->scales.front() * weights->scales.front()}, {0}});
  return bias;
}

// The input gradient of a forward convolution to the size that output_shape says. TFLite does not check that the forward
// convolution maps it back, and then answers with memory that nobody wrote; here such a size is refused.
std::vector<ValueId> transposed(FunctionCall& call, Size space, const Sizes& kernel, ValueId filter) {
  const ValueId x = call.tensor("input");
  ValueId bias = call.optional("bias");
  const Geometry g = geometry(call, space);
  const bool sums_in_32_bits = call.attrs.integer("quantized_bias_type", 0) == type_code_of(DType::I32);
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
  if (!bias && sums_in_32_bits && !call.failed()) bias = zero_bias(call, x, filter);
  return {activated(call, call.add(std::move(conv), {x, filter, bias}))};
}

std::vector<ValueId> transpose_conv(FunctionCall& call) {
  const ValueId filter = call.tensor("filter");
  const Sizes kernel = kernel_shape(call, filter, 4);
  return transposed(call, 2, {kernel[1], kernel[2]}, permuted(call, filter, {1, 2, 0, 3}));
}

std::vector<ValueId> conv_3d_transpose(FunctionCall& call) {
  const ValueId filter = call.tensor("filter");
  const Sizes kernel = kernel_shape(call, filter, 5);
  return transposed(call, 3, {kernel[0], kernel[1], kernel[2]}, filter);
}

constexpr std::array convolution_table{
    Operator{"CONV_2D", 3, "input filter bias", 1,
             "padding:b stride_w:i stride_h:i fused_activation_function:b dilation_w_factor:i=1 dilation_h_factor:i=1 "
             "quantized_bias_type:b",
             conv_2d},
    Operator{"DEPTHWISE_CONV_2D", 4, "input filter bias", 2,
             "padding:b stride_w:i stride_h:i depth_multiplier:i fused_activation_function:b dilation_w_factor:i=1 "
             "dilation_h_factor:i=1",
             depthwise_conv_2d},
    Operator{"CONV_3D", 132, "input filter bias", 106,
             "padding:b stride_d:i stride_w:i stride_h:i fused_activation_function:b dilation_d_factor:i=1 "
             "dilation_w_factor:i=1 dilation_h_factor:i=1",
             conv_3d},
    Operator{"TRANSPOSE_CONV", 67, "output_shape filter input bias", 49,
             "padding:b stride_w:i stride_h:i fused_activation_function:b quantized_bias_type:b", transpose_conv},
    Operator{"CONV_3D_TRANSPOSE", 141, "output_shape filter input bias", 106,
             "padding:b stride_d:i stride_w:i stride_h:i fused_activation_function:b dilation_d_factor:i=1 "
             "dilation_w_factor:i=1 dilation_h_factor:i=1",
             conv_3d_transpose},
};

}  // namespace

std::span<const Operator> convolution_operators() { return convolution_table; }

}  // namespace convoy::tflite
