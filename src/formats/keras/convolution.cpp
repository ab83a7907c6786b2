// Convolutions, depthwise and separable ones, and their transposes. Kernels stay as the file stores them.
#include "formats/keras/call.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

// The words of Keras 1 beside today's.
Size filters_of(Call& call) {
  const Size filters = call.attrs.integer_of(call.attrs.raw({"filters", "nb_filter"}), "filters");
  if (!call.failed() && filters < 1) call.refuse(Fault::Format, "attribute 'filters' is " + std::to_string(filters));
  return filters;
}

bool uses_bias(Call& call) {
  if (call.attrs.has("bias")) return call.attrs.truth("bias");
  return call.attrs.truth("use_bias", true);
}

Sizes kernel_of(Call& call, std::size_t space) {
  if (call.attrs.has("nb_row")) return {call.attrs.integer("nb_row"), call.attrs.integer("nb_col")};
  if (call.attrs.has("kernel_dim1"))
    return {call.attrs.integer("kernel_dim1"), call.attrs.integer("kernel_dim2"), call.attrs.integer("kernel_dim3")};
  return call.attrs.sizes_of(call.attrs.raw({"kernel_size", "filter_length"}), "kernel_size", space);
}

Spelling padding_of(Call& call, bool causal_too) {
  const Json* argument = call.attrs.raw({"padding", "border_mode"});
  const std::string word = !argument ? "valid" : argument->is_string() ? argument->get<std::string>() : "";
  if (word == "valid") return Spelling::Valid;
  if (word == "same") return Spelling::SameUpper;
  if (word == "causal" && causal_too) return Spelling::Causal;
  call.refuse(Fault::Unsupported,
              "attribute 'padding' is '" + word + "', expected 'valid' or 'same'" + (causal_too ? " or 'causal'" : ""));
  return Spelling::Valid;
}

std::vector<Window> windows_of(Call& call, const Sizes& kernel, bool may_stride_dilated) {
  const std::size_t space = kernel.size();
  const Sizes strides =
      call.attrs.sizes_of(call.attrs.raw({"strides", "subsample", "subsample_length"}), "strides", space, 1);
  const Sizes dilations =
      call.attrs.sizes_of(call.attrs.raw({"dilation_rate", "atrous_rate"}), "dilation_rate", space, 1);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < space; ++i) {
    windows.push_back({kernel[i], strides[i], dilations[i]});
    if (!call.failed() && !windows.back().sane())
      call.refuse(Fault::Format, "kernel " + std::to_string(kernel[i]) + ", stride " + std::to_string(strides[i]) +
                                     " and dilation " + std::to_string(dilations[i]) + " are no window");
  }
  const bool strided = std::ranges::any_of(strides, [](Size s) { return s > 1; });
  const bool dilated = std::ranges::any_of(dilations, [](Size d) { return d > 1; });
  if (strided && dilated && !may_stride_dilated)
    call.refuse(Fault::Unsupported, "has both strides and dilation, which Keras does not run");
  return windows;
}

Shape shape_of_kernel(const Sizes& kernel, Dim in, Dim out) {
  Shape shape(kernel.begin(), kernel.end());
  shape.push_back(in);
  shape.push_back(out);
  return shape;
}

Dim divided(Dim n, Size by) { return n.known() && by > 0 && *n % by == 0 ? Dim(*n / by) : Dim::unknown(); }

// Kernels of Theano models are true convolutions: every spatial axis runs the other way.
Tensor flipped(const Tensor& kernel, std::size_t first, std::size_t space) {
  const auto from = kernel.floats();
  std::vector<float> to(from.size());
  const Sizes& shape = kernel.shape();
  Sizes at(shape.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    Size place = 0;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const bool turned = a >= first && a < first + space;
      place = place * shape[a] + (turned ? shape[a] - 1 - at[a] : at[a]);
    }
    to[static_cast<std::size_t>(place)] = from[i];
    for (std::size_t a = shape.size(); a-- > 0;)
      if (++at[a] < shape[a]) break;
      else at[a] = 0;
  }
  return Tensor::of(shape, std::move(to));
}

struct Kernel {
  ValueId value;
  KernelOrder order;
};

// Keras 1 stores channels-first kernels as [O, I, k...], and 1-D kernels with an axis of size 1.
Kernel old_kernel(Call& call, const Sizes& kernel, Dim in, Size filters, Order order) {
  const bool theano = call.builder().theano;
  KernelOrder stored = KernelOrder::SpaceInOut;
  Shape expected = shape_of_kernel(kernel, in, filters);
  if (kernel.size() == 1) {
    expected = {kernel[0], 1, in, filters};
  } else if (order == Order::ChannelsFirst) {
    stored = KernelOrder::OutInSpace;
    expected = {filters, in};
    expected.insert(expected.end(), kernel.begin(), kernel.end());
  }
  if (const auto known = call.bound("kernel")) return {*known, stored};
  Tensor tensor = call.take("kernel", kernel.size() == 1 ? Shape(4) : expected);
  if (call.failed()) return {};
  if (kernel.size() == 1) {
    const Sizes& s = tensor.shape();
    if (s[0] == filters && s[3] == 1 && (s[1] != 1 || filters == kernel[0]))
      tensor = tensor.permuted(Sizes{2, 3, 1, 0});
    if (tensor.shape()[0] != kernel[0] || tensor.shape()[1] != 1 || tensor.shape()[3] != filters) {
      call.refuse(Fault::Format,
                  "kernel is not [" + std::to_string(kernel[0]) + ", 1, channels, " + std::to_string(filters) + "]");
      return {};
    }
    tensor = tensor.reshaped({kernel[0], tensor.shape()[2], filters});
  }
  if (theano) tensor = flipped(tensor, stored == KernelOrder::OutInSpace ? 2 : 0, kernel.size());
  return {call.constant("kernel", std::move(tensor), true), stored};
}

Kernel kernel_value(Call& call, std::string_view name, const Shape& expected, KernelOrder order, std::size_t space) {
  if (!call.builder().theano) return {call.weight(name, expected), order};
  if (const auto known = call.bound(name)) return {*known, order};
  const Tensor tensor = call.take(name, expected);
  if (call.failed()) return {};
  return {call.constant(name, flipped(tensor, 0, space), true), order};
}

std::vector<Padding> paddings_of(Call& call, Spelling spelling, const std::vector<Window>& windows) {
  std::vector<Padding> paddings(windows.size(), Padding{spelling});
  if (spelling == Spelling::SameUpper && call.builder().theano)
    std::ranges::transform(windows, paddings.begin(), theano_same);
  return paddings;
}

void add_bias(Call& call, Values& inputs, Size filters, bool used) {
  if (used) inputs.push_back(call.weight("bias", {filters}));
}

Values conv(Call& call, Size space) {
  const ValueId x = call.x();
  const auto rank = static_cast<std::size_t>(space);
  const Size filters = filters_of(call);
  const Sizes kernel = kernel_of(call, rank);
  const auto windows = windows_of(call, kernel, false);
  const Spelling spelling = padding_of(call, space == 1);
  const Axes axes{call.order(), space};
  const Size groups = call.attrs.integer("groups", 1);
  const bool bias = uses_bias(call);
  if (!call.expect_rank(x, axes.rank())) return {};
  const Dim channels = call.dim(x, axes.channel());
  if (groups < 1 || filters % groups != 0 || (channels.known() && *channels % groups != 0)) {
    call.refuse(Fault::Format, "groups is " + std::to_string(groups) + ", which does not divide the channels");
    return {};
  }
  const Kernel k = call.version.major == 1
                       ? old_kernel(call, kernel, channels, filters, axes.order)
                       : kernel_value(call, "kernel", shape_of_kernel(kernel, divided(channels, groups), filters),
                                      KernelOrder::SpaceInOut, rank);
  Values inputs{x, k.value};
  add_bias(call, inputs, filters, bias);
  const Conv op{axes, k.order, windows, paddings_of(call, spelling, windows), groups};
  return {call.activated(call.add(op, inputs, call.step("conv")))};
}

Values conv_1d(Call& call) { return conv(call, 1); }
Values conv_2d(Call& call) { return conv(call, 2); }
Values conv_3d(Call& call) { return conv(call, 3); }

// The depthwise part of a depthwise or separable layer, without a bias.
ValueId depthwise_part(Call& call, ValueId x, const Axes& axes, std::string_view name, Size multiplier, bool bias,
                       std::string_view step, Spelling spelling) {
  const auto space = static_cast<std::size_t>(axes.space);
  const Sizes kernel = kernel_of(call, space);
  const auto windows = windows_of(call, kernel, call.version.major >= 3);
  if (!call.expect_rank(x, axes.rank())) return {};
  const Dim channels = call.dim(x, axes.channel());
  const Kernel k =
      kernel_value(call, name, shape_of_kernel(kernel, channels, multiplier), KernelOrder::SpaceInMultiplier, space);
  if (call.failed()) return {};
  const Size groups = *call.type(k.value).shape[space];
  Values inputs{x, k.value};
  add_bias(call, inputs, groups * multiplier, bias);
  return call.add(Conv{axes, k.order, windows, paddings_of(call, spelling, windows), groups}, inputs, step);
}

Size multiplier_of(Call& call) {
  const Size multiplier = call.attrs.integer("depth_multiplier", 1);
  if (!call.failed() && (multiplier < 1 || multiplier > (1 << 24)))
    call.refuse(Fault::Format, "attribute 'depth_multiplier' is " + std::to_string(multiplier));
  return multiplier;
}

Values depthwise(Call& call, Size space) {
  call.attrs.ignore({"groups", "filters"});
  const ValueId x = call.x();
  const Axes axes{call.order(), space};
  const bool bias = uses_bias(call);
  const Size multiplier = multiplier_of(call);
  const Spelling spelling = padding_of(call, false);
  const bool newer = call.version.major >= 3;
  return {call.activated(depthwise_part(call, x, axes, newer ? "kernel" : "depthwise_kernel", multiplier, bias,
                                        call.step("conv"), spelling))};
}

Values depthwise_1d(Call& call) { return depthwise(call, 1); }
Values depthwise_2d(Call& call) { return depthwise(call, 2); }

Values separable(Call& call, Size space) {
  call.attrs.ignore({"groups"});
  const ValueId x = call.x();
  const Axes axes{call.order(), space};
  const Size filters = filters_of(call), multiplier = multiplier_of(call);
  const bool bias = uses_bias(call);
  const Spelling spelling = padding_of(call, space == 1 && call.version.major < 3);
  const ValueId between = depthwise_part(call, x, axes, "depthwise_kernel", multiplier, false, "depthwise", spelling);
  if (call.failed()) return {};
  const Sizes ones(static_cast<std::size_t>(space), 1);
  const Kernel k =
      kernel_value(call, "pointwise_kernel", shape_of_kernel(ones, call.dim(between, axes.channel()), filters),
                   KernelOrder::SpaceInOut, ones.size());
  Values inputs{between, k.value};
  add_bias(call, inputs, filters, bias);
  const Conv op{axes, k.order, std::vector<Window>(ones.size()), std::vector<Padding>(ones.size()), 1};
  return {call.activated(call.add(op, inputs, call.step("pointwise")))};
}

Values separable_1d(Call& call) { return separable(call, 1); }
Values separable_2d(Call& call) { return separable(call, 2); }

std::optional<Sizes> output_padding_of(Call& call, std::size_t space) {
  const Json* argument = call.attrs.raw("output_padding");
  if (!argument) return std::nullopt;
  return call.attrs.sizes_of(argument, "output_padding", space);
}

Values conv_transpose(Call& call, Size space) {
  const ValueId x = call.x();
  const auto rank = static_cast<std::size_t>(space);
  call.attrs.ignore({"groups"});
  const Size filters = filters_of(call);
  const Sizes kernel = kernel_of(call, rank);
  const auto spelling = padding_of(call, false) == Spelling::Valid ? CropSpelling::KerasValid : CropSpelling::KerasSame;
  auto windows = windows_of(call, kernel, false);
  // Keras 2 reads the attribute and never uses it in three dimensions.
  if (space == 3 && call.version.major < 3)
    for (Window& window : windows) window.dilation = 1;
  const Axes axes{call.order(), space};
  const auto extra = output_padding_of(call, rank);
  const bool bias = uses_bias(call);
  if (!call.expect_rank(x, axes.rank())) return {};
  std::vector<TransposedPadding> paddings(rank, TransposedPadding{spelling, 0, 0, {}});
  for (std::size_t i = 0; extra && i < rank; ++i) {
    paddings[i].output_padding = (*extra)[i];
    if ((*extra)[i] < 0 || (*extra)[i] >= windows[i].stride)
      call.refuse(Fault::Format, "output_padding is " + std::to_string((*extra)[i]) +
                                     ", expected less than the stride " + std::to_string(windows[i].stride));
  }
  const Kernel k = kernel_value(call, "kernel", shape_of_kernel(kernel, filters, call.dim(x, axes.channel())),
                                KernelOrder::SpaceOutIn, rank);
  Values inputs{x, k.value};
  add_bias(call, inputs, filters, bias);
  return {call.activated(call.add(ConvTranspose{axes, k.order, windows, paddings, 1}, inputs, call.step("conv")))};
}

Values conv_transpose_1d(Call& call) { return conv_transpose(call, 1); }
Values conv_transpose_2d(Call& call) { return conv_transpose(call, 2); }
Values conv_transpose_3d(Call& call) { return conv_transpose(call, 3); }

// Keras 1: the kernel is [k..., I, O] or, channels first, [I, O, k...]; output_shape is said, not computed.
Values deconvolution_2d(Call& call) {
  call.attrs.ignore({"output_shape"});
  const ValueId x = call.x();
  const Size filters = filters_of(call);
  const Sizes kernel = kernel_of(call, 2);
  const auto spelling = padding_of(call, false) == Spelling::Valid ? CropSpelling::KerasValid : CropSpelling::KerasSame;
  const auto windows = windows_of(call, kernel, false);
  const Axes axes{call.order(), 2};
  const bool bias = uses_bias(call);
  if (!call.expect_rank(x, 4)) return {};
  const Dim channels = call.dim(x, axes.channel());
  const bool first = axes.order == Order::ChannelsFirst;
  const KernelOrder order = first ? KernelOrder::InOutSpace : KernelOrder::SpaceOutIn;
  std::optional<ValueId> value = call.bound("kernel");
  if (!value) {
    Tensor tensor = call.take("kernel", first ? Shape{channels, filters, kernel[0], kernel[1]}
                                              : Shape{kernel[0], kernel[1], channels, filters});
    if (call.failed()) return {};
    if (!first) tensor = tensor.permuted(Sizes{0, 1, 3, 2});
    if (call.builder().theano) tensor = flipped(tensor, first ? 2 : 0, 2);
    value = call.constant("kernel", std::move(tensor), true);
  }
  Values inputs{x, *value};
  add_bias(call, inputs, filters, bias);
  const ConvTranspose op{axes, order, windows, std::vector<TransposedPadding>(2, {spelling, 0, 0, {}}), 1};
  return {call.activated(call.add(op, inputs, call.step("conv")))};
}

constexpr std::array convolution_table{
    LayerRow{"Conv1D", conv_1d},
    LayerRow{"Conv2D", conv_2d},
    LayerRow{"Conv3D", conv_3d},
    LayerRow{"DepthwiseConv1D", depthwise_1d},
    LayerRow{"DepthwiseConv2D", depthwise_2d},
    LayerRow{"SeparableConv1D", separable_1d},
    LayerRow{"SeparableConv2D", separable_2d},
    LayerRow{"Conv1DTranspose", conv_transpose_1d},
    LayerRow{"Conv2DTranspose", conv_transpose_2d},
    LayerRow{"Conv3DTranspose", conv_transpose_3d},
    LayerRow{"Convolution1D", conv_1d},
    LayerRow{"Convolution2D", conv_2d},
    LayerRow{"Convolution3D", conv_3d},
    LayerRow{"AtrousConvolution1D", conv_1d},
    LayerRow{"AtrousConvolution2D", conv_2d},
    LayerRow{"SeparableConvolution2D", separable_2d},
    LayerRow{"Deconvolution2D", deconvolution_2d},
};

}  // namespace

std::span<const LayerRow> convolution_rows() { return convolution_table; }

}  // namespace convoy::keras
