// TensorFlow's functions with TensorFlow's numbers, under its own names, argument orders, defaults and refusals:
// tf.nn.conv2d is convoy::tf::nn::conv2d. The rules are those of TensorFlow 2.21 without oneDNN; results agree to the
// last rounding.
//
// Arrays are [N, n..., C], or [N, C, n...] where data_format says "NCW", "NCHW" or "NCDHW"; n... are the spatial sizes, in
// cells. Kernels are [k..., C/groups, O] whatever the data_format is. Numbers per axis are one for all spatial axes, one
// for each, or one for every axis with 1 for batch and channels.
// Every function fails, with a sentence naming the function, the argument and its value, on shapes that do not fit
// together and on words that TensorFlow does not have.
#pragma once
#include "convoy/arguments.h"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace convoy::tf {

// Cells before and after, for every axis of the array: {{0, 0}, {1, 2}, {0, 1}, {0, 0}}.
using Pairs = std::vector<std::pair<Size, Size>>;

// "SAME", "VALID", or, where a function takes one, a list for every axis with nothing for batch and channels.
// Along one axis, with ek = (k - 1)*dilation + 1 and stride s:
//   VALID   out = floor((n - ek) / s) + 1
//   SAME    out = ceil(n / s), total = max((out - 1)*s + ek - n, 0), floor(total / 2) cells before, the rest after: for
//           s above 1 the border depends on n
//   list    out = floor((n + before + after - ek) / s) + 1
// Source: tensorflow/core/framework/kernel_shape_util.cc (GetWindowedOutputSizeVerbose).
class Padding {
 public:
  Padding(const char* word) : word_(word) {}  // NOLINT: a word is an argument
  Padding(std::string word) : word_(std::move(word)) {}  // NOLINT
  Padding(Pairs list) : list_(std::move(list)) {}  // NOLINT
  Padding(std::initializer_list<std::pair<Size, Size>> list) : list_(list) {}
  const std::string& word() const { return word_; }  // empty: the list counts
  const Pairs& list() const { return list_; }

 private:
  std::string word_;
  Pairs list_;
};

// tf.pad: cells around every axis, none negative. "CONSTANT" fills with constant_values; "REFLECT" mirrors at the border
// cell (fewer cells than the axis has), "SYMMETRIC" behind it (as many at most). Source: mirror_pad_op.cc, pad_op.cc.
struct Pad {
  std::string mode = "CONSTANT";
  double constant_values = 0;
};
Result<Tensor> pad(const View& tensor, const Pairs& paddings, const Pad& = {});

// [N, b*n..., C] <-> [b...*N, n..., C]: blocks of cells along the axes behind the batch, one entry of block_shape for each.
// Fails: a block that does not divide the padded size, or the batch. Source: spacetobatch_op.cc, batchtospace_op.cc.
Result<Tensor> space_to_batch(const View& input, const Sizes& block_shape, const Pairs& paddings);
Result<Tensor> batch_to_space(const View& input, const Sizes& block_shape, const Pairs& crops);

namespace nn {

// --- convolutions -----------------------------------------------------------------------------------

struct Conv1d {
  std::string data_format = "NWC";  // or "NCW"
  PerAxis dilations = 1;
};
struct Conv2d {
  std::string data_format = "NHWC";  // or "NCHW"
  PerAxis dilations = 1;
};
struct Conv3d {
  std::string data_format = "NDHWC";  // or "NCDHW"
  PerAxis dilations = 1;
};

// input [N, n..., C], filters [k..., C/groups, O] -> [N, out..., O]; the groups follow from the shapes (none in 3-D).
// More batch axes in front of the input are kept. A window larger than a VALID input by less than two strides gives an empty
// array, a larger one fails. conv2d takes lists of paddings.
// Source: kernel_shape_util.cc; Python's nn_ops.py.
Result<Tensor> conv1d(const View& input, const View& filters, const PerAxis& stride, const Padding& padding,
                      const Conv1d& = {});
Result<Tensor> conv2d(const View& input, const View& filters, const PerAxis& strides, const Padding& padding,
                      const Conv2d& = {});
Result<Tensor> conv3d(const View& input, const View& filters, const PerAxis& strides, const Padding& padding,
                      const Conv3d& = {});

// The rank is that of the filters. Fails: strides and dilations both above 1.
struct Convolution {
  PerAxis strides = 1;
  Padding padding = "VALID";
  std::string data_format{};  // channels last where it is empty
  PerAxis dilations = 1;
};
Result<Tensor> convolution(const View& input, const View& filters, const Convolution& = {});

// [N, h, w, C], rate: the dilation.
Result<Tensor> atrous_conv2d(const View& value, const View& filters, const PerAxis& rate, const Padding& padding);

// filter [h, w, C, M] -> [N, out..., C*M]; output channel c*M + m. strides: 4 numbers. With strides and dilations both
// above 1 TensorFlow's own kernel gives numbers of another size (it strides within each phase of the dilation); here that
// is the dilated convolution with this stride.
Result<Tensor> depthwise_conv2d(const View& input, const View& filter, const PerAxis& strides, const Padding& padding,
                                const Conv2d& = {});

// A depthwise convolution, then one of size 1 with pointwise_filter [1, 1, C*M, O].
Result<Tensor> separable_conv2d(const View& input, const View& depthwise_filter, const View& pointwise_filter,
                                const PerAxis& strides, const Padding& padding, const Conv2d& = {});

// --- transposed convolutions ------------------------------------------------------------------------

struct Conv1dTranspose {
  Padding padding = "SAME";
  std::string data_format = "NWC";
  PerAxis dilations = 1;
};
struct Conv2dTranspose {
  Padding padding = "SAME";  // or a list
  std::string data_format = "NHWC";
  PerAxis dilations = 1;
};
struct Conv3dTranspose {
  Padding padding = "SAME";
  std::string data_format = "NDHWC";
  PerAxis dilations = 1;
};

// input [N, n..., C], filters [k..., O, C] -> output_shape [N, out..., O] (in the order of data_format): every cell
// i adds its kernel at cell i*stride of a line of (n - 1)*stride + ek cells, of which `out` are kept from cell `before`
// on: SAME floor(max((n - 1)*stride + ek - out, 0) / 2), VALID 0, a list its own. Cells beyond the line are 0.
// Fails: an output_shape that the forward convolution with this padding does not make into n: by SAME
// ceil(out / stride) = n, by VALID floor((out - ek) / stride) + 1 = n.
// Source: tensorflow/core/framework/conv_grad_shape_utils.cc.
Result<Tensor> conv1d_transpose(const View& input, const View& filters, const Sizes& output_shape,
                                const PerAxis& strides, const Conv1dTranspose& = {});
Result<Tensor> conv2d_transpose(const View& input, const View& filters, const Sizes& output_shape,
                                const PerAxis& strides, const Conv2dTranspose& = {});
Result<Tensor> conv3d_transpose(const View& input, const View& filters, const Sizes& output_shape,
                                const PerAxis& strides, const Conv3dTranspose& = {});

// --- pools ------------------------------------------------------------------------------------------

// Sizes as for the convolutions. Padding is part of no maximum and of no average. max_pool1d and max_pool2d take lists of
// paddings, each below the window, with channels last. Source: pooling_ops_common.h.
Result<Tensor> max_pool1d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format = "NWC");
Result<Tensor> max_pool2d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format = "NHWC");
Result<Tensor> max_pool3d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format = "NDHWC");
Result<Tensor> avg_pool1d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format = "NWC");
Result<Tensor> avg_pool2d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format = "NHWC");
Result<Tensor> avg_pool3d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format = "NDHWC");

// pooling_type "MAX" or "AVG". Fails: dilations together with strides or with SAME, strides above the window.
struct Pool {
  Sizes strides{};  // 1 each where it is empty
  Padding padding = "VALID";
  std::string data_format{};  // channels last where it is empty
  Sizes dilations{};
};
Result<Tensor> pool(const View& input, const Sizes& window_shape, const std::string& pooling_type, const Pool& = {});

// argmax int64: (row*width + column)*C + channel, plus example*height*width*C where the batch is included.
struct MaxPoolWithArgmax {
  Tensor output, argmax;
};
Result<MaxPoolWithArgmax> max_pool_with_argmax(const View& input, const PerAxis& ksize, const PerAxis& strides,
                                               const Padding& padding, bool include_batch_in_index = false);

// --- depth and space --------------------------------------------------------------------------------

// Channel (row*b + column)*C + c of the deep array is channel c at (row, column) of its block, in both orders of axes.
Result<Tensor> depth_to_space(const View& input, Size block_size, const std::string& data_format = "NHWC");
Result<Tensor> space_to_depth(const View& input, Size block_size, const std::string& data_format = "NHWC");

// --- normalization ----------------------------------------------------------------------------------

// (x - mean) / sqrt(variance + variance_epsilon) * scale + offset; the statistics broadcast against x. offset and scale may
// be null.
Result<Tensor> batch_normalization(const View& x, const View& mean, const View& variance, const View* offset,
                                   const View* scale, double variance_epsilon);

// input / (bias + alpha * sum of squares over the channels at most depth_radius away)^beta, of [N, h, w, C].
struct LocalResponseNormalization {
  Size depth_radius = 5;
  double bias = 1, alpha = 1, beta = 0.5;
};
Result<Tensor> local_response_normalization(const View& input, const LocalResponseNormalization& = {});

// --- activations ------------------------------------------------------------------------------------

Result<Tensor> relu(const View& features);
Result<Tensor> relu6(const View& features);
Result<Tensor> leaky_relu(const View& features, double alpha = 0.2);
Result<Tensor> elu(const View& features);
Result<Tensor> selu(const View& features);
Result<Tensor> gelu(const View& features, bool approximate = false);  // approximate: by tanh
Result<Tensor> silu(const View& features, double beta = 1);  // x * sigmoid(beta * x)
Result<Tensor> swish(const View& features, double beta = 1);
Result<Tensor> crelu(const View& features, Size axis = -1);  // relu of x and of -x, side by side
Result<Tensor> softplus(const View& features);
Result<Tensor> softsign(const View& features);
Result<Tensor> softmax(const View& logits, Size axis = -1);
Result<Tensor> log_softmax(const View& logits, Size axis = -1);

// bias [C], added along the channels: the last axis, or the second where data_format begins with "NC".
Result<Tensor> bias_add(const View& value, const View& bias, const std::string& data_format = "NHWC");

}  // namespace nn

namespace image {

// images [N, h, w, C] or [h, w, C] -> float32 of height and width `size` (nearest keeps the element type).
// Output cell i lies at (i + 0.5)*n/out - 0.5 of the source. nearest takes floor((i + 0.5)*n/out); bicubic has A = -0.5 and
// drops taps beyond the border, its offsets rounded to 1/1024; area is the average of [i*n/out, (i + 1)*n/out); the others
// weigh inputs by their kernel. antialias widens kernels by n/out when shrinking (not nearest, not area).
// preserve_aspect_ratio: the largest image of the old proportions that fits `size`.
// Source: image_ops_impl.py, image_resizer_state.h, resize_bicubic_op.cc, scale_and_translate_op.cc.
struct Resize {
  std::string method = "bilinear";  // nearest, bicubic, area, lanczos3, lanczos5, gaussian, mitchellcubic
  bool preserve_aspect_ratio = false, antialias = false;
};
Result<Tensor> resize(const View& images, const Sizes& size, const Resize& = {});

}  // namespace image

// TensorFlow 1's rules, which old models still mean.
namespace compat::v1 {

namespace image {

// Output cell i lies at i*n/out; with align_corners at i*(n - 1)/(out - 1); with half_pixel_centers as in TensorFlow 2.
// bicubic has A = -0.75 and repeats the border unless half_pixel_centers is set. Fails: both flags.
struct Resize {
  bool align_corners = false, half_pixel_centers = false;
};
Result<Tensor> resize_nearest_neighbor(const View& images, const Sizes& size, const Resize& = {});
Result<Tensor> resize_bilinear(const View& images, const Sizes& size, const Resize& = {});
Result<Tensor> resize_bicubic(const View& images, const Sizes& size, const Resize& = {});

}  // namespace image

namespace nn {

// Inference (is_training=False) of [N, h, w, C] or [N, d, h, w, C], parameters [C]. TensorFlow raises an epsilon below
// 1.001e-5 to it, a limit of its GPU library that every device keeps. Source: nn_impl.py.
struct FusedBatchNorm {
  double epsilon = 0.001;
  std::string data_format{};  // channels last where it is empty; or "NCHW", "NCDHW"
};
Result<Tensor> fused_batch_norm(const View& x, const View& scale, const View& offset, const View& mean,
                                const View& variance, const FusedBatchNorm& = {});

}  // namespace nn
}  // namespace compat::v1

}  // namespace convoy::tf
