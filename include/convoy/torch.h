// PyTorch's functions with PyTorch's numbers: torch.nn.functional under its own names, defaults and refusals, by the
// rules of PyTorch 2.13 on the CPU. What has a default in Python stands in an option struct, in PyTorch's words.
//
// Shapes: input [N, C, n...] with 1, 2 or 3 spatial sizes n, as the name says; where PyTorch lets the batch axis be left
// out, [C, n...] gives a result without it. Every function fails, with a sentence naming the argument and its value, on
// what PyTorch refuses: an input of another rank, weights of another shape, a list that has not one number per axis, a
// kernel, stride, dilation or groups below 1, and what stands beside the function.
#pragma once
#include "convoy/arguments.h"

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::torch {

// One number for every axis, one for each, or none, where PyTorch's None stands: `2`, `{2, 1}`, `{}`.
class PerAxisOrNone {
 public:
  PerAxisOrNone() = default;
  PerAxisOrNone(Size all) : numbers_(all) {}  // NOLINT: a number is an argument
  PerAxisOrNone(std::initializer_list<Size> each) : numbers_(PerAxis(each)) {}
  PerAxisOrNone(PerAxis numbers) : numbers_(std::move(numbers)) {}  // NOLINT
  const std::optional<PerAxis>& numbers() const { return numbers_; }

 private:
  std::optional<PerAxis> numbers_;
};

// --- convolutions -----------------------------------------------------------------------------------

// Cells on each side of every axis, or the words "same" (stride 1 only; an odd cell goes to the end) and "valid":
// `.padding = 1`, `.padding = {1, 0}`, `.padding = "same"`.
class ConvPadding {
 public:
  ConvPadding(Size all) : cells_(all) {}  // NOLINT: a number is an argument
  ConvPadding(std::initializer_list<Size> each) : cells_(each) {}
  ConvPadding(PerAxis cells) : cells_(std::move(cells)) {}  // NOLINT
  template <std::convertible_to<std::string_view> Word>
  ConvPadding(const Word& word) : word_(std::string(std::string_view(word))) {}  // NOLINT
  const PerAxis& cells() const { return cells_; }
  const std::optional<std::string>& word() const { return word_; }  // absent where there are cells

 private:
  PerAxis cells_ = 0;
  std::optional<std::string> word_;
};

struct Conv {
  PerAxis stride = 1;
  ConvPadding padding = 0;
  PerAxis dilation = 1;
  Size groups = 1;
  std::string padding_mode = "zeros";  // or "reflect", "replicate", "circular", as nn.Conv2d takes it: pads in front
};

// weight [O, C/groups, k...], bias [O] or none -> [N, O, out...] with
// out = floor((n + 2*padding - dilation*(k - 1) - 1) / stride) + 1 along each axis.
// Fails: 'same' with a stride; groups that divide neither C nor O; a window larger than the padded input; a reflected
// padding of n cells or more, a circular one of more than n.
// Source: ATen/native/ConvUtils.h, nn/modules/conv.py.
Result<Tensor> conv1d(const View& input, const View& weight, const View* bias = nullptr, const Conv& = {});
Result<Tensor> conv2d(const View& input, const View& weight, const View* bias = nullptr, const Conv& = {});
Result<Tensor> conv3d(const View& input, const View& weight, const View* bias = nullptr, const Conv& = {});

struct ConvTranspose {
  PerAxis stride = 1;
  PerAxis padding = 0;  // cells cut off on both sides
  PerAxis output_padding = 0;  // cells by which the end is cut less
  Size groups = 1;
  PerAxis dilation = 1;
  Sizes output_size{};  // as nn.ConvTranspose2d's forward takes it, with or without N and C; not empty: instead of
      // output_padding
};

// weight [C, O/groups, k...], bias [O] or none -> [N, O, out...] with
// out = (n - 1)*stride - 2*padding + dilation*(k - 1) + 1 + output_padding. The bias is added to every cell, also to
// those behind the last one that the kernel reaches.
// Fails: an output_padding that is below neither stride nor dilation; an output_size more than stride - 1 cells above the
// least; no cell left.
// Source: ATen/native/ConvUtils.h, nn/modules/conv.py.
Result<Tensor> conv_transpose1d(const View& input, const View& weight, const View* bias = nullptr,
                                const ConvTranspose& = {});
Result<Tensor> conv_transpose2d(const View& input, const View& weight, const View* bias = nullptr,
                                const ConvTranspose& = {});
Result<Tensor> conv_transpose3d(const View& input, const View& weight, const View* bias = nullptr,
                                const ConvTranspose& = {});

// --- pools ------------------------------------------------------------------------------------------

// A result, and where each of its numbers stands in the input: the row-major place within its own N and C, int64.
struct WithIndices {
  Tensor values, indices;
};

struct MaxPool {
  PerAxisOrNone stride{};  // absent: the kernel's size
  PerAxis padding = 0;
  PerAxis dilation = 1;
  bool ceil_mode = false;  // one more window for what is left over, unless it would start in the padding behind
};

// -> [N, C, out...] with out = floor((n + 2*padding - dilation*(k - 1) - 1) / stride) + 1, or the ceiling of it. Padding
// is never the maximum; a window that meets no cell gives minus infinity, and its index says nothing.
// Fails: padding of more than half of the kernel; no window fits. Source: ATen/native/Pool.h.
Result<Tensor> max_pool1d(const View& input, const PerAxis& kernel_size, const MaxPool& = {});
Result<Tensor> max_pool2d(const View& input, const PerAxis& kernel_size, const MaxPool& = {});
Result<Tensor> max_pool3d(const View& input, const PerAxis& kernel_size, const MaxPool& = {});
Result<WithIndices> max_pool1d_with_indices(const View& input, const PerAxis& kernel_size, const MaxPool& = {});
Result<WithIndices> max_pool2d_with_indices(const View& input, const PerAxis& kernel_size, const MaxPool& = {});
Result<WithIndices> max_pool3d_with_indices(const View& input, const PerAxis& kernel_size, const MaxPool& = {});

struct AvgPool {
  PerAxisOrNone stride{};  // absent: the kernel's size
  PerAxis padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;  // zeros of the padding count; those behind it, of a ceil window, never do
  std::optional<Size> divisor_override{};  // avg_pool2d and avg_pool3d only
};

// -> [N, C, out...], sizes as for max_pool. Fails also: divisor_override 0; in avg_pool3d an input shorter than the
// kernel, whatever the padding. Source: ATen/native/Pool.h, cpu/AvgPoolKernel.cpp.
Result<Tensor> avg_pool1d(const View& input, const PerAxis& kernel_size, const AvgPool& = {});
Result<Tensor> avg_pool2d(const View& input, const PerAxis& kernel_size, const AvgPool& = {});
Result<Tensor> avg_pool3d(const View& input, const PerAxis& kernel_size, const AvgPool& = {});

struct LpPool {
  PerAxisOrNone stride{};  // absent: the kernel's size
  bool ceil_mode = false;
};

// (k * average(x^p))^(1/p) per window of k cells, p = norm_type: an odd p keeps signs, so that a negative sum gives NaN,
// and a ceil window that hangs over counts as if it were whole. p may be infinite. Fails: p = 0.
// Source: torch/nn/functional.py.
Result<Tensor> lp_pool1d(const View& input, double norm_type, const PerAxis& kernel_size, const LpPool& = {});
Result<Tensor> lp_pool2d(const View& input, double norm_type, const PerAxis& kernel_size, const LpPool& = {});
Result<Tensor> lp_pool3d(const View& input, double norm_type, const PerAxis& kernel_size, const LpPool& = {});

// One number for every axis, or one for each; an axis whose number is absent keeps its size: `{std::nullopt, 7}`. (The
// 1-D functions want a number.)
class OutputSize {
 public:
  OutputSize(Size all) : all_(all) {}  // NOLINT: a number is an argument
  OutputSize(std::initializer_list<std::optional<Size>> each) : each_(each) {}
  OutputSize(std::vector<std::optional<Size>> each) : each_(std::move(each)) {}  // NOLINT
  std::optional<Size> all() const { return all_; }
  const std::vector<std::optional<Size>>& each() const { return each_; }

 private:
  std::optional<Size> all_;
  std::vector<std::optional<Size>> each_;
};

// -> [N, C, output_size...]: window i of an axis holds the cells from floor(i*n / out) up to ceil((i + 1)*n / out).
// Fails: an output_size below 1. Source: ATen/native/AdaptivePooling.h.
Result<Tensor> adaptive_avg_pool1d(const View& input, const OutputSize& output_size);
Result<Tensor> adaptive_avg_pool2d(const View& input, const OutputSize& output_size);
Result<Tensor> adaptive_avg_pool3d(const View& input, const OutputSize& output_size);
Result<Tensor> adaptive_max_pool1d(const View& input, const OutputSize& output_size);
Result<Tensor> adaptive_max_pool2d(const View& input, const OutputSize& output_size);
Result<Tensor> adaptive_max_pool3d(const View& input, const OutputSize& output_size);
Result<WithIndices> adaptive_max_pool1d_with_indices(const View& input, const OutputSize& output_size);
Result<WithIndices> adaptive_max_pool2d_with_indices(const View& input, const OutputSize& output_size);
Result<WithIndices> adaptive_max_pool3d_with_indices(const View& input, const OutputSize& output_size);

struct MaxUnpool {
  PerAxisOrNone stride{};  // absent: the kernel's size
  PerAxis padding = 0;
  Sizes output_size{};  // with or without N and C; empty: (n - 1)*stride + k - 2*padding
};

// Puts every number where its index says, zeros elsewhere; of two numbers for one cell the later one stays.
// Fails: an output_size a stride or more away from the one above; an index outside of it, which a pool that dropped
// cells gives unless output_size says how many there were.
// Source: torch/nn/functional.py, ATen/native/MaxUnpooling.cpp.
Result<Tensor> max_unpool1d(const View& input, const View& indices, const PerAxis& kernel_size, const MaxUnpool& = {});
Result<Tensor> max_unpool2d(const View& input, const View& indices, const PerAxis& kernel_size, const MaxUnpool& = {});
Result<Tensor> max_unpool3d(const View& input, const View& indices, const PerAxis& kernel_size, const MaxUnpool& = {});

// --- sizes ------------------------------------------------------------------------------------------

struct Pad {
  std::string mode = "constant";  // or "reflect", "replicate", "circular"
  double value = 0;  // of "constant"
};

// `pad`: cells before and after the last axis, then the one before it, ...: {left, right, top, bottom}. Negative numbers
// cut cells off: before the padding in modes "constant" and "circular", after it in the others, whose cells are counted
// in the whole input.
// Fails: an odd count of numbers; in a mode other than "constant" a list that is not that of all spatial axes, n cells
// or more to reflect, more than n to go round, nothing left.
// Source: ATen/native/PadNd.cpp, ReflectionPad.cpp, ReplicationPadding.cpp.
Result<Tensor> pad(const View& input, const Sizes& pad, const Pad& = {});

struct Interpolate {
  PerAxisOrNone size{};  // one of size and scale_factor
  std::vector<double> scale_factor{};  // one factor for every axis, or one for each
  std::string mode =
      "nearest";  // "nearest-exact", "area"; "linear" (3 axes), "bilinear", "bicubic", "lanczos" (4), "trilinear" (5)
  std::optional<bool> align_corners{};
  bool recompute_scale_factor = false;
  bool antialias = false;  // "bilinear", "bicubic" and "lanczos" only; widens the filter where the image shrinks
};

// input [N, C, n...] -> [N, C, out...] with out = size or floor(n * scale_factor). Cells lie at
//   (i + 1/2)*scale - 1/2           by default, with scale = 1/scale_factor, or n/out for a size or a recomputed factor;
//   i*(n - 1)/(out - 1)             with align_corners
//   floor(i*scale)                  "nearest"; "nearest-exact" takes floor((i + 1/2)*scale)
// and "area" is adaptive_avg_pool. "bicubic" is Keys' kernel with a = -0.75, with antialias -0.5.
// An axis that keeps its length is copied in the linear and antialiased modes, whatever the factor, and "nearest" on four
// axes also knows the doubled length by itself.
// Fails: both or neither of size and scale_factor; a mode for another rank; words that do not go together.
// Source: torch/nn/functional.py, ATen/native/UpSample.h, cpu/UpSampleKernel.cpp.
Result<Tensor> interpolate(const View& input, const Interpolate&);

// [..., C*r*r, H, W] <-> [..., C, H*r, W*r], channel c*r*r + h*r + w. Fails: sizes that r does not divide.
// Source: ATen/native/PixelShuffle.h.
Result<Tensor> pixel_shuffle(const View& input, Size upscale_factor);
Result<Tensor> pixel_unshuffle(const View& input, Size downscale_factor);
// Channel c of the result is channel (c mod groups)*(C/groups) + floor(c/groups).
Result<Tensor> channel_shuffle(const View& input, Size groups);

struct Unfold {
  PerAxis dilation = 1;
  PerAxis padding = 0;  // zeros
  PerAxis stride = 1;
};

// [N, C, h, w] -> [N, C*k, windows]: one column per window, one row per channel and cell of the kernel, all row-major.
// fold adds the same cells back into [N, C, output_size...].
// Fails: no window fits; in fold, columns of another number than output_size has windows. Source: ATen/native/im2col.h.
Result<Tensor> unfold(const View& input, const PerAxis& kernel_size, const Unfold& = {});
Result<Tensor> fold(const View& input, const PerAxis& output_size, const PerAxis& kernel_size, const Unfold& = {});

// --- normalization ----------------------------------------------------------------------------------

struct Norm {
  const View* weight = nullptr;  // one number per channel
  const View* bias = nullptr;
  double eps = 1e-5;
};

struct BatchNorm {
  const View* weight = nullptr;
  const View* bias = nullptr;
  bool training = false;  // mean and variance of this input instead of the running ones
  double eps = 1e-5;
};

// (x - mean) / sqrt(var + eps) * weight + bias, with one number per channel. Fails: no running statistics outside of
// training; one number per channel in training. Source: ATen/native/Normalization.cpp.
Result<Tensor> batch_norm(const View& input, const View* running_mean, const View* running_var, const BatchNorm& = {});

struct InstanceNorm {
  const View* running_mean = nullptr;
  const View* running_var = nullptr;
  const View* weight = nullptr;
  const View* bias = nullptr;
  bool use_input_stats = true;
  double eps = 1e-5;
};

// Mean and variance (the sum divided by the count) of every channel of every example, or the running ones.
// Fails: a single cell per channel. Source: ATen/native/Normalization.cpp.
Result<Tensor> instance_norm(const View& input, const InstanceNorm& = {});
// The same over all spatial axes and the C/num_groups channels of a group. Source: ATen/native/group_norm.cpp.
Result<Tensor> group_norm(const View& input, Size num_groups, const Norm& = {});
// The same over the last axes, whose sizes are normalized_shape; weight and bias have that shape.
// Source: ATen/native/layer_norm.cpp.
Result<Tensor> layer_norm(const View& input, const Sizes& normalized_shape, const Norm& = {});

struct RmsNorm {
  const View* weight = nullptr;
  std::optional<double> eps{};  // absent: the gap behind 1 in the input's type, 2^-23 for float32
};

// x / sqrt(mean(x^2) + eps) * weight over the last axes. Source: ATen/native/layer_norm.cpp.
Result<Tensor> rms_norm(const View& input, const Sizes& normalized_shape, const RmsNorm& = {});

struct LocalResponseNorm {
  double alpha = 1e-4, beta = 0.75, k = 1;
};

// x / (k + alpha/size * s)^beta, s the sum of x^2 over floor(size/2) channels before, the channel itself and
// floor((size - 1)/2) behind it. Source: torch/nn/functional.py.
Result<Tensor> local_response_norm(const View& input, Size size, const LocalResponseNorm& = {});

struct Normalize {
  double p = 2;
  Sizes dim{1};
  double eps = 1e-12;
};

// x / max((sum |x|^p)^(1/p), eps) over `dim`. Source: torch/nn/functional.py.
Result<Tensor> normalize(const View& input, const Normalize& = {});

// --- sums and activations ---------------------------------------------------------------------------

// input [..., in], weight [out, in], bias [out] or none -> [..., out]
Result<Tensor> linear(const View& input, const View& weight, const View* bias = nullptr);

Result<Tensor> relu(const View& input);
Result<Tensor> relu6(const View& input);  // min(max(x, 0), 6)
Result<Tensor> leaky_relu(const View& input, double negative_slope = 0.01);
Result<Tensor> elu(const View& input, double alpha = 1);  // alpha * (exp(x) - 1) below zero
Result<Tensor> selu(const View& input);
Result<Tensor> celu(const View& input, double alpha = 1);  // max(x, 0) + min(0, alpha * (exp(x/alpha) - 1))
Result<Tensor> gelu(const View& input, const std::string& approximate = "none");  // x * Phi(x); or "tanh"
Result<Tensor> silu(const View& input);  // x * sigmoid(x)
Result<Tensor> mish(const View& input);  // x * tanh(softplus(x))
// log(1 + exp(beta*x)) / beta; x itself where beta*x > threshold
Result<Tensor> softplus(const View& input, double beta = 1, double threshold = 20);
Result<Tensor> softsign(const View& input);  // x / (1 + |x|)
Result<Tensor> hardtanh(const View& input, double min_val = -1, double max_val = 1);
Result<Tensor> hardsigmoid(const View& input);  // relu6(x + 3) / 6
Result<Tensor> hardswish(const View& input);  // x * relu6(x + 3) / 6
Result<Tensor> prelu(const View& input, const View& weight);  // weight [1] or one number per channel
Result<Tensor> sigmoid(const View& input);
Result<Tensor> tanh(const View& input);
Result<Tensor> logsigmoid(const View& input);
Result<Tensor> tanhshrink(const View& input);  // x - tanh(x)
Result<Tensor> softshrink(const View& input, double lambd = 0.5);  // x moved toward 0 by lambd
Result<Tensor> hardshrink(const View& input, double lambd = 0.5);  // 0 where |x| <= lambd
Result<Tensor> threshold(const View& input, double threshold, double value);  // value where x <= threshold
// exp(x) / sum(exp(x)) over an axis, of -x, or the logarithm of it. dim left out: 0 for inputs of rank 0, 1 and 3, else 1.
Result<Tensor> softmax(const View& input, std::optional<Size> dim = {});
Result<Tensor> softmin(const View& input, std::optional<Size> dim = {});
Result<Tensor> log_softmax(const View& input, std::optional<Size> dim = {});
// The first half times the sigmoid of the second. Fails: an axis of odd size.
Result<Tensor> glu(const View& input, Size dim = -1);

}  // namespace convoy::torch
