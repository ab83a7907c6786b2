// Keras' layers with Keras' numbers, as functions of the input and the weights: the layer's name in small letters
// (Conv2DTranspose: conv2d_transpose), its own words, defaults and refusals, by the rules of Keras 3.15 on TensorFlow.
// Results agree to the last rounding.
//
// Shapes: [N, n..., C] where data_format is "channels_last" (the default, as in Keras), [N, C, n...] where it is
// "channels_first"; n... are 1, 2 or 3 spatial sizes. Kernels lie as Keras stores them, whatever the data_format.
// Every function fails, with a sentence naming the argument and its value, on an input of another rank, a weight of
// another shape, a data_format that is neither of the two, and on a list that has not one number per spatial axis.
#pragma once
#include "convoy/arguments.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace convoy::keras {

inline constexpr const char* channels_last = "channels_last";
inline constexpr const char* channels_first = "channels_first";

// --- convolutions -----------------------------------------------------------------------------------

struct Conv {
  PerAxis strides = 1;
  std::string padding = "valid";  // "same", "valid"; conv1d also takes "causal"
  std::string data_format = channels_last;
  PerAxis dilation_rate = 1;
  Size groups = 1;
  std::string activation = "linear";  // a word that activation() takes, run behind the bias
};

// kernel [k..., C/groups, filters], bias [filters] or none -> [N, out..., filters] (or channels first).
// With ek = (k - 1)*dilation + 1, along each axis, in cells:
//   valid   out = floor((n - ek) / stride) + 1
//   same    out = ceil(n / stride), total = max((out - 1)*stride + ek - n, 0), floor(total / 2) cells before, the rest
//           after: the border depends on n as soon as the stride is not 1
//   causal  ek - 1 cells before, none after, out = ceil(n / stride)
// Fails: strides and dilation both above 1; groups that do not divide channels and filters; a window larger than an
// input that is not padded.
// Source: keras/src/ops/operation_utils.py (compute_conv_output_shape), layers/convolutional/base_conv.py;
// tensorflow/core/framework/kernel_shape_util.cc (GetWindowedOutputSize).
Result<Tensor> conv1d(const View& x, const View& kernel, const View* bias = nullptr, const Conv& = {});
Result<Tensor> conv2d(const View& x, const View& kernel, const View* bias = nullptr, const Conv& = {});
Result<Tensor> conv3d(const View& x, const View& kernel, const View* bias = nullptr, const Conv& = {});

// Of layers whose filters each read one channel: without groups, and with strides and dilation together.
struct DepthwiseConv {
  PerAxis strides = 1;
  std::string padding = "valid";  // or "same"
  std::string data_format = channels_last;
  PerAxis dilation_rate = 1;
  std::string activation = "linear";
};

// kernel [k..., C, multiplier], bias [C*multiplier] or none -> C*multiplier channels; channel c*multiplier + m comes
// from channel c. Sizes as for the convolutions. Source: keras/src/layers/convolutional/base_depthwise_conv.py.
Result<Tensor> depthwise_conv1d(const View& x, const View& kernel, const View* bias = nullptr,
                                const DepthwiseConv& = {});
Result<Tensor> depthwise_conv2d(const View& x, const View& kernel, const View* bias = nullptr,
                                const DepthwiseConv& = {});

// A depthwise convolution without bias, then one of size 1: depthwise_kernel [k..., C, multiplier], pointwise_kernel
// [1..., C*multiplier, filters], bias [filters] or none. Strides, padding and dilation are those of the first.
// Source: keras/src/layers/convolutional/base_separable_conv.py.
Result<Tensor> separable_conv1d(const View& x, const View& depthwise_kernel, const View& pointwise_kernel,
                                const View* bias = nullptr, const DepthwiseConv& = {});
Result<Tensor> separable_conv2d(const View& x, const View& depthwise_kernel, const View& pointwise_kernel,
                                const View* bias = nullptr, const DepthwiseConv& = {});

struct ConvTranspose {
  PerAxis strides = 1;
  std::string padding = "valid";  // or "same"
  std::optional<PerAxis> output_padding{};  // absent is not 0: the lengths below
  std::string data_format = channels_last;
  PerAxis dilation_rate = 1;
  std::string activation = "linear";
};

// kernel [k..., filters, C], bias [filters] or none -> [N, out..., filters]. Every input cell i adds its kernel at
// i*stride, which gives (n - 1)*stride + ek cells; these are cut, or continued with zeros, to
//   valid   out = (n - 1)*stride + ek + output_padding, or n*stride + max(ek - stride, 0) where it is absent;
//           nothing is cut before
//   same    out = n*stride where output_padding is absent, else (n - 1)*stride + ek - 2*floor(ek / 2) + output_padding;
//           floor(total / 2) cells are cut before, of the total that the convolution from `out` to n would pad
// The bias is added to every cell, the zeros included.
// Fails: output_padding that is not below the stride; strides and dilation both above 1; `same` with an even ek and an
// output_padding that leaves no convolution back to n, which TensorFlow refuses.
// Source: keras/src/backend/common/backend_utils.py, tensorflow/core/kernels/conv_grad_shape_utils.cc.
Result<Tensor> conv1d_transpose(const View& x, const View& kernel, const View* bias = nullptr,
                                const ConvTranspose& = {});
Result<Tensor> conv2d_transpose(const View& x, const View& kernel, const View* bias = nullptr,
                                const ConvTranspose& = {});
Result<Tensor> conv3d_transpose(const View& x, const View& kernel, const View* bias = nullptr,
                                const ConvTranspose& = {});

// --- pools ------------------------------------------------------------------------------------------

struct Pool {
  PerAxis pool_size = 2;
  std::optional<PerAxis> strides{};  // absent: pool_size
  std::string padding = "valid";  // or "same", placed as for the convolutions
  std::string data_format = channels_last;
};

// x -> [N, out..., C]. Padding counts for nothing: it is never the maximum, and an average is divided by the number of
// input cells that its window holds. Fails: a pool larger than an input that is not padded.
// Source: keras/src/ops/operation_utils.py (compute_pooling_output_shape); TensorFlow's SpatialAvgPool for the divisor.
Result<Tensor> max_pooling1d(const View& x, const Pool& = {});
Result<Tensor> max_pooling2d(const View& x, const Pool& = {});
Result<Tensor> max_pooling3d(const View& x, const Pool& = {});
Result<Tensor> average_pooling1d(const View& x, const Pool& = {});
Result<Tensor> average_pooling2d(const View& x, const Pool& = {});
Result<Tensor> average_pooling3d(const View& x, const Pool& = {});

struct GlobalPool {
  std::string data_format = channels_last;
  bool keepdims = false;  // keeps the spatial axes, with size 1
};

// x -> [N, C]: the maximum or the average over all spatial axes.
Result<Tensor> global_max_pooling1d(const View& x, const GlobalPool& = {});
Result<Tensor> global_max_pooling2d(const View& x, const GlobalPool& = {});
Result<Tensor> global_max_pooling3d(const View& x, const GlobalPool& = {});
Result<Tensor> global_average_pooling1d(const View& x, const GlobalPool& = {});
Result<Tensor> global_average_pooling2d(const View& x, const GlobalPool& = {});
Result<Tensor> global_average_pooling3d(const View& x, const GlobalPool& = {});

// x -> [N, output_size..., C]: window i of an axis holds the cells from floor(i*n / out) to ceil((i + 1)*n / out).
// Fails: an output_size below 1. Source: keras/src/layers/pooling/base_adaptive_pooling.py.
Result<Tensor> adaptive_max_pooling1d(const View& x, const PerAxis& output_size,
                                      const std::string& data_format = channels_last);
Result<Tensor> adaptive_max_pooling2d(const View& x, const PerAxis& output_size,
                                      const std::string& data_format = channels_last);
Result<Tensor> adaptive_max_pooling3d(const View& x, const PerAxis& output_size,
                                      const std::string& data_format = channels_last);
Result<Tensor> adaptive_average_pooling1d(const View& x, const PerAxis& output_size,
                                          const std::string& data_format = channels_last);
Result<Tensor> adaptive_average_pooling2d(const View& x, const PerAxis& output_size,
                                          const std::string& data_format = channels_last);
Result<Tensor> adaptive_average_pooling3d(const View& x, const PerAxis& output_size,
                                          const std::string& data_format = channels_last);

// --- sizes ------------------------------------------------------------------------------------------

// Cells before and after the input along an axis.
struct Sides {
  Size before = 0, after = 0;
};

// The same number around everything, or the two sides of each spatial axis: `1`, `{{1, 2}, {3, 4}}`.
class Borders {
 public:
  Borders(Size all) : all_(all) {}  // NOLINT: a number is an argument
  Borders(std::initializer_list<Sides> each) : each_(each) {}
  Borders(std::vector<Sides> each) : each_(std::move(each)) {}  // NOLINT
  std::optional<Size> all() const { return all_; }
  const std::vector<Sides>& each() const { return each_; }

 private:
  std::optional<Size> all_;
  std::vector<Sides> each_;
};

// Sizes grow by before + after; the new cells are zero. Fails: a negative number.
Result<Tensor> zero_padding1d(const View& x, const Borders& padding = 1,
                              const std::string& data_format = channels_last);
Result<Tensor> zero_padding2d(const View& x, const Borders& padding = 1,
                              const std::string& data_format = channels_last);
Result<Tensor> zero_padding3d(const View& x, const Borders& padding = 1,
                              const std::string& data_format = channels_last);

// Sizes shrink by before + after. cropping1d knows no channels_first, as in Keras. Fails: a negative number, and one
// that leaves nothing.
Result<Tensor> cropping1d(const View& x, const Borders& cropping = 1);
Result<Tensor> cropping2d(const View& x, const Borders& cropping = 0, const std::string& data_format = channels_last);
Result<Tensor> cropping3d(const View& x, const Borders& cropping = 1, const std::string& data_format = channels_last);

// Sizes are multiplied by `size`: each cell is repeated, or, in two dimensions, `interpolation` is "bilinear",
// "bicubic", "lanczos3" or "lanczos5" at half-pixel places: output i lies at (i + 1/2) / size - 1/2.
// Source: keras/src/layers/reshaping/up_sampling2d.py, tf.image.resize.
Result<Tensor> up_sampling1d(const View& x, Size size = 2);
Result<Tensor> up_sampling2d(const View& x, const PerAxis& size = 2, const std::string& interpolation = "nearest",
                             const std::string& data_format = channels_last);
Result<Tensor> up_sampling3d(const View& x, const PerAxis& size = 2, const std::string& data_format = channels_last);

struct Resizing {
  std::string interpolation = "bilinear";
  bool antialias = false;  // widens the filter where the image shrinks
  std::string data_format = channels_last;
};

// x [N, h, w, C] -> [N, height, width, C], by the rules of tf.image.resize.
Result<Tensor> resizing(const View& x, Size height, Size width, const Resizing& = {});

// --- normalization, at inference --------------------------------------------------------------------

struct BatchNormalization {
  Size axis = -1;  // of the channels, counted from the end where negative
  double epsilon = 1e-3;
};

// (x - moving_mean) * gamma / sqrt(moving_variance + epsilon) + beta, with one number per index of `axis`. A null gamma
// or beta says scale=False or center=False. Source: keras/src/layers/normalization/batch_normalization.py.
Result<Tensor> batch_normalization(const View& x, const View& moving_mean, const View& moving_variance,
                                   const View* gamma = nullptr, const View* beta = nullptr,
                                   const BatchNormalization& = {});

struct LayerNormalization {
  Sizes axis = {-1};
  double epsilon = 1e-3;
};

// Mean and variance (the sum divided by the count) over `axis`; gamma and beta have the sizes of these axes. Fails:
// weights with axes out of order. Source: keras/src/layers/normalization/layer_normalization.py.
Result<Tensor> layer_normalization(const View& x, const View* gamma = nullptr, const View* beta = nullptr,
                                   const LayerNormalization& = {});

struct GroupNormalization {
  Size groups = 32;  // -1: one for each channel
  Size axis = -1;
  double epsilon = 1e-3;
};

// Mean and variance over all axes but the first and over the channels of one group; gamma and beta have one number per
// channel. Fails: groups that do not divide the channels. Source: keras/src/layers/normalization/group_normalization.py.
Result<Tensor> group_normalization(const View& x, const View* gamma = nullptr, const View* beta = nullptr,
                                   const GroupNormalization& = {});

// --- sums and activations ---------------------------------------------------------------------------

// x [..., in], kernel [in, units], bias [units] or none -> [..., units]. Fails: x of fewer than two axes.
Result<Tensor> dense(const View& x, const View& kernel, const View* bias = nullptr,
                     const std::string& activation = "linear");

// A word of keras.activations: "relu", "relu6", "gelu" (the exact one), "hard_sigmoid" (x/6 + 1/2), "softmax" (over the
// last axis), ... Fails: any other word. Source: keras/src/activations/activations.py.
Result<Tensor> activation(const View& x, const std::string& word);

struct Relu {
  std::optional<double> max_value{};
  double negative_slope = 0, threshold = 0;
};

// x from max_value on is max_value, x from threshold on is x, below it is negative_slope * (x - threshold).
Result<Tensor> relu(const View& x, const Relu& = {});
// negative_slope * x below zero. The word "leaky_relu" has another slope, 0.2.
Result<Tensor> leaky_relu(const View& x, double negative_slope = 0.3);
// alpha * (exp(x) - 1) below zero.
Result<Tensor> elu(const View& x, double alpha = 1);
// exp(x) divided by its sum over `axis`.
Result<Tensor> softmax(const View& x, const Sizes& axis = {-1});
// alpha * x below zero; alpha has the shape of x without its first axis, and size 1 along the shared axes.
Result<Tensor> prelu(const View& x, const View& alpha, const Sizes& shared_axes = {});

}  // namespace convoy::keras
