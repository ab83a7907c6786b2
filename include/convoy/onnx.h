// ONNX's operators with ONNX's numbers, by their attributes' names and defaults, in a chosen opset (7 to 28). Arrays are
// [N, C, n...]. Numbers of every axis follow the standard: pads are all begins, then all ends. Where the standard leaves
// something open, ONNX Runtime 1.30 decides. Every function fails as the operator does: an attribute that the opset does
// not know, contradicting attributes, no room for a window; the sentence names the attribute and its value.
#pragma once
#include "convoy/arguments.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy::onnx {

// auto_pad: NOTSET (pads are used), SAME_UPPER, SAME_LOWER (ceil(n / stride) outputs, an odd cell behind or before;
// refused with dilations, as the runtime does) or VALID; only NOTSET goes with pads.
struct Conv {
  std::string auto_pad = "NOTSET";
  PerAxis strides = 1, dilations = 1;
  std::optional<Sizes> pads{};  // absent: none
  Size group = 1;
  Size opset = 22;
};

// x [N, C, n...], w [O, C/group, k...], b [O] or none -> [N, O, out...] with
// out = floor((n + begin + end - dilation*(k - 1) - 1) / stride) + 1 along each axis.
// Source: ONNX Conv-1, -11, -22.
Result<Tensor> conv(const View& x, const View& w, const View* b = nullptr, const Conv& = {});

struct ConvTranspose {
  std::string auto_pad = "NOTSET";
  PerAxis strides = 1, dilations = 1, output_padding = 0;
  std::optional<Sizes> pads{};
  std::optional<Sizes> output_shape{};  // spatial sizes alone; then pads say nothing
  Size group = 1;
  Size opset = 22;
};

// x [N, I, n...], w [I, O/group, k...], b [O] or none -> [N, O, out...]: the scatter of length
// full = (n - 1)*stride + dilation*(k - 1) + 1, cut by pads; out = full + output_padding - begin - end. With
// output_shape the total full + output_padding - out is cut in halves, the larger one at the end with SAME_UPPER alone.
// SAME without output_shape cuts max(reach + output_padding - stride, 0), the larger half at the end (UPPER) or begin.
// Source: ONNX ConvTranspose-11 and ONNX Runtime 1.30, which refuses output_padding >= stride and an output_shape that
// no convolution maps back to n.
Result<Tensor> conv_transpose(const View& x, const View& w, const View* b = nullptr, const ConvTranspose& = {});

// ceil_mode since opset 10 (LpPool 18), dilations since 10 (MaxPool), 18 (LpPool) and 19 (AveragePool). Each pad is less
// than its kernel. A last window that would start in the trailing padding is left out.
struct Pool {
  std::optional<Sizes> pads{};
  std::string auto_pad = "NOTSET";
  PerAxis strides = 1;
  std::optional<PerAxis> dilations{};
  bool ceil_mode = false;
  Size opset = 22;
};

// x [N, C, n...] -> [N, C, out...]; padding is worth minus infinity. Source: ONNX MaxPool-8 to -22.
Result<Tensor> max_pool(const View& x, const Sizes& kernel_shape, const Pool& = {});

// `indices` (int64): where each maximum lies in all of x, row-major, or with the first spatial axis running fastest
// (storage_order 1).
struct Maxima {
  Tensor y, indices;
};
Result<Maxima> max_pool_with_indices(const View& x, const Sizes& kernel_shape, const Pool& = {},
                                     bool storage_order = false);

// Divides by the cells read, or with count_include_pad by the cells of the padded input that a window covers.
// Source: ONNX AveragePool-7 to -22.
Result<Tensor> average_pool(const View& x, const Sizes& kernel_shape, const Pool& = {}, bool count_include_pad = false);

// (sum |x|^p)^(1/p) over each window, padding worth zero. Source: ONNX LpPool-2 to -22.
Result<Tensor> lp_pool(const View& x, const Sizes& kernel_shape, const Pool& = {}, Size p = 2);

// Numbers put back where `indices` say, counted in the whole output; its size is (n - 1)*stride + k - begin - end, or
// output_shape (all axes). Source: ONNX MaxUnpool-11.
struct MaxUnpool {
  PerAxis strides = 1;
  std::optional<Sizes> pads{};
  std::optional<Sizes> output_shape{};
  Size opset = 22;
};
Result<Tensor> max_unpool(const View& x, const View& indices, const Sizes& kernel_shape, const MaxUnpool& = {});

// mode: constant, reflect (each pad less than the size), edge, wrap (since opset 19). pads: begins, then ends, of all
// axes, or of `axes` (since opset 18). Negative pads cut cells off first. Source: ONNX Pad-2 to -25.
struct Pad {
  std::string mode = "constant";
  double constant_value = 0;
  std::optional<Sizes> axes{};
  Size opset = 22;
};
Result<Tensor> pad(const View& data, const Sizes& pads, const Pad& = {});

// Either scales (out = floor(n * scale), places by the scale as given) or sizes; one number per axis of x, or of `axes`
// (since opset 18). Opset 10 knows scales and mode alone. roi (starts, then ends, as shares) with tf_crop_and_resize.
// Source: ONNX Resize-10 to -19 and ONNX Runtime 1.30, whose places are float32 numbers.
struct Resize {
  std::string mode = "nearest";  // linear, cubic
  std::string coordinate_transformation_mode = "half_pixel";
  std::string nearest_mode = "round_prefer_floor";
  double cubic_coeff_a = -0.75, extrapolation_value = 0;
  bool exclude_outside = false, antialias = false;
  std::string keep_aspect_ratio_policy = "stretch";
  std::optional<Sizes> axes{};
  std::vector<float> roi{};
  Size opset = 22;
};
Result<Tensor> resize(const View& x, const std::vector<float>& scales, const Resize& = {});
Result<Tensor> resize_to(const View& x, const Sizes& sizes, const Resize& = {});

}  // namespace convoy::onnx
