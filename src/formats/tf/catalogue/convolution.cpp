// Convolutions are what the functions of tf.nn are; a transposed one is the gradient that its output's size makes it.
#include "formats/tf/arguments.h"
#include "formats/tf/catalogue/catalogue.h"

#include <array>

namespace convoy::tf {
namespace {

constexpr std::array convolution_catalogue{
    Operator{.name = "Conv2D", .inputs = "input filters", .function = "nn.conv2d", .ignored = "use_cudnn_on_gpu"},
    Operator{.name = "Conv3D", .inputs = "input filters", .function = "nn.conv3d"},
    Operator{.name = "DepthwiseConv2dNative", .inputs = "input filter", .function = "nn.depthwise_conv2d"},
    Operator{.name = "Conv2DBackpropInput",
             .inputs = "input_sizes filter out_backprop",
             .function = "raw_ops.Conv2DBackpropInput"},
    Operator{
        .name = "Conv3DBackpropInputV2", .inputs = "output_shape filters input", .function = "nn.conv3d_transpose"},
};

}  // namespace

std::span<const Operator> convolution_operators() { return convolution_catalogue; }

}  // namespace convoy::tf
