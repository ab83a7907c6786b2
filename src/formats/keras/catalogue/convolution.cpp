// Convolutions, depthwise and separable ones, and their transposes; kernels stay as the file stores them. In keras.ops the
// kernel is a tensor like others. Source: keras/src/layers/convolutional and ops/nn.py of Keras 3.15.
#include "formats/keras/catalogue/old_kernels.h"
#include "formats/keras/catalogue/windows.h"
#include "formats/keras/catalogue/write.h"
#include "ops/vocabulary.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

// What all of these layers take beside the word for their padding. Keras 1 has words of its own for it.
struct Layout {
  ValueId x;
  Axes axes;
  Sizes kernel;
  std::vector<Window> windows;
  bool bias = true;
};

Sizes kernel_of(Use& use) {
  Attrs& attrs = use.call.attrs;
  if (attrs.has("nb_row")) return {attrs.integer("nb_row"), attrs.integer("nb_col")};
  if (attrs.has("kernel_dim1"))
    return {attrs.integer("kernel_dim1"), attrs.integer("kernel_dim2"), attrs.integer("kernel_dim3")};
  return use.sizes("kernel_size", static_cast<std::size_t>(use.space()));
}

Layout layout_of(Use& use) {
  Layout made{use.call.x(), {use.call.order(), use.space()}, kernel_of(use), {}, use.truth("use_bias")};
  made.windows = windows_of(use, made.kernel);
  use.call.expect_rank(made.x, made.axes.rank());
  return made;
}

// A count of channels; the greatest is far beyond any model's.
Size count_of(Use& use, std::string_view name) {
  const Size count = use.whole(name);
  if (!use.call.failed() && (count < 1 || count > (1 << 24)))
    use.call.refuse(Fault::Format, use.called(name) + " is " + std::to_string(count));
  return count;
}

Shape shape_of_kernel(const Sizes& kernel, Dim in, Dim out) {
  Shape shape(kernel.begin(), kernel.end());
  shape.push_back(in);
  shape.push_back(out);
  return shape;
}

Dim divided(Dim n, Size by) { return n.known() && by > 0 && *n % by == 0 ? Dim(*n / by) : Dim::unknown(); }

std::vector<Padding> paddings_of(Call& call, Spelling spelling, const std::vector<Window>& windows) {
  std::vector<Padding> paddings(windows.size(), Padding{spelling});
  if (spelling == Spelling::SameUpper && call.builder().theano)
    std::ranges::transform(windows, paddings.begin(), theano_same);
  return paddings;
}

void add_bias(Call& call, Values& inputs, Size filters, bool used) {
  if (used) inputs.push_back(call.weight("bias", {filters}));
}

Values conv(Use& use) {
  Call& call = use.call;
  const Size filters = count_of(use, "filters");
  const Layout at = layout_of(use);
  expect_no_strided_dilation(use, at.windows);
  const Spelling spelling = padding_of(use, at.axes.space == 1);
  const Size groups = use.whole("groups");
  if (call.failed()) return {};
  const Dim channels = call.dim(at.x, at.axes.channel());
  if (groups < 1 || filters % groups != 0 || (channels.known() && *channels % groups != 0)) {
    call.refuse(Fault::Format, "groups is " + std::to_string(groups) + ", which does not divide the channels");
    return {};
  }
  const Kernel k = call.version.major == 1
                       ? kernel_of_keras_1(call, at.kernel, channels, filters, at.axes.order)
                       : kernel_value(call, "kernel", shape_of_kernel(at.kernel, divided(channels, groups), filters),
                                      KernelOrder::SpaceInOut, at.kernel.size());
  Values inputs{at.x, k.value};
  add_bias(call, inputs, filters, at.bias);
  const Conv op{at.axes, k.order, at.windows, paddings_of(call, spelling, at.windows), groups};
  return {call.activated(call.add(op, inputs, call.step("conv")))};
}

// The depthwise part of a depthwise or separable layer.
ValueId depthwise_part(Use& use, const Layout& at, std::string_view name, Size multiplier, bool bias,
                       std::string_view step, Spelling spelling) {
  Call& call = use.call;
  if (call.version.major < 3) expect_no_strided_dilation(use, at.windows);
  if (call.failed()) return {};
  const Dim channels = call.dim(at.x, at.axes.channel());
  const Kernel k = kernel_value(call, name, shape_of_kernel(at.kernel, channels, multiplier),
                                KernelOrder::SpaceInMultiplier, at.kernel.size());
  if (call.failed()) return {};
  const Size groups = *call.type(k.value).shape[at.kernel.size()];
  Values inputs{at.x, k.value};
  add_bias(call, inputs, groups * multiplier, bias);
  return call.add(Conv{at.axes, k.order, at.windows, paddings_of(call, spelling, at.windows), groups}, inputs, step);
}

Values depthwise(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"groups", "filters"});
  const Layout at = layout_of(use);
  const Size multiplier = count_of(use, "depth_multiplier");
  const Spelling spelling = padding_of(use);
  return {call.activated(depthwise_part(use, at, call.version.major >= 3 ? "kernel" : "depthwise_kernel", multiplier,
                                        at.bias, call.step("conv"), spelling))};
}

Values separable(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"groups"});
  const Size filters = count_of(use, "filters"), multiplier = count_of(use, "depth_multiplier");
  const Layout at = layout_of(use);
  const Spelling spelling = padding_of(use, at.axes.space == 1 && call.version.major < 3);
  const ValueId between = depthwise_part(use, at, "depthwise_kernel", multiplier, false, "depthwise", spelling);
  if (call.failed()) return {};
  const Sizes ones(at.kernel.size(), 1);
  const Kernel k =
      kernel_value(call, "pointwise_kernel", shape_of_kernel(ones, call.dim(between, at.axes.channel()), filters),
                   KernelOrder::SpaceInOut, ones.size());
  Values inputs{between, k.value};
  add_bias(call, inputs, filters, at.bias);
  const Conv op{at.axes, k.order, std::vector<Window>(ones.size()), std::vector<Padding>(ones.size()), 1};
  return {call.activated(call.add(op, inputs, call.step("pointwise")))};
}

std::vector<TransposedPadding> crops_of(Use& use, const std::vector<Window>& windows) {
  const auto spelling = padding_of(use) == Spelling::Valid ? CropSpelling::KerasValid : CropSpelling::KerasSame;
  std::vector<TransposedPadding> paddings(windows.size(), TransposedPadding{spelling, 0, 0, {}});
  if (!use.option("output_padding")) return paddings;
  const Sizes extra = use.sizes("output_padding", windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    paddings[i].output_padding = extra[i];
    if (extra[i] < 0 || extra[i] >= windows[i].stride)
      use.call.refuse(Fault::Format, "output_padding is " + std::to_string(extra[i]) +
                                         ", expected less than the stride " + std::to_string(windows[i].stride));
  }
  return paddings;
}

Values conv_transpose(Use& use) {
  Call& call = use.call;
  const bool old = call.layer.class_name == "Deconvolution2D";  // says its output_shape, which is also computed
  call.attrs.ignore({"groups"});
  if (old) call.attrs.ignore({"output_shape"});
  const Size filters = count_of(use, "filters");
  Layout at = layout_of(use);
  expect_no_strided_dilation(use, at.windows);
  // Keras 2 reads the attribute and never uses it in three dimensions.
  if (at.axes.space == 3 && call.version.major < 3)
    for (Window& window : at.windows) window.dilation = 1;
  const auto paddings = crops_of(use, at.windows);
  if (call.failed()) return {};
  const Dim channels = call.dim(at.x, at.axes.channel());
  const Kernel k = old ? kernel_of_deconvolution(call, at.kernel, channels, filters, at.axes.order)
                       : kernel_value(call, "kernel", shape_of_kernel(at.kernel, filters, channels),
                                      KernelOrder::SpaceOutIn, at.kernel.size());
  Values inputs{at.x, k.value};
  add_bias(call, inputs, filters, at.bias);
  const ConvTranspose op{at.axes, k.order, at.windows, paddings, 1};
  return {call.activated(call.add(op, inputs, call.step("conv")))};
}

// What the functions take: a tensor, and one that is the kernel.
Layout layout_of_function(Use& use, ValueId kernel) {
  Call& call = use.call;
  Layout made;
  made.x = use.operand("inputs");
  const Size space = call.rank(made.x) - 2;
  if (call.failed()) return made;
  if (space < 1 || space > 3 || call.rank(kernel) != space + 2) {
    call.refuse(Fault::Unsupported, "convolves a tensor of rank " + std::to_string(call.rank(made.x)) +
                                        " with a kernel of rank " + std::to_string(call.rank(kernel)));
    return made;
  }
  made.axes = {use.order(), space};
  for (Size i = 0; i < space; ++i) {
    const Dim n = call.dim(kernel, i);
    if (!n.known()) call.refuse(Fault::Unsupported, "convolves with a kernel whose size is free");
    made.kernel.push_back(n.known() ? *n : 1);
  }
  made.windows = windows_of(use, made.kernel);
  return made;
}

// ops.conv(inputs, kernel, ...): the kernel is [*window, channels per group, filters]; ops.depthwise_conv's [*window,
// channels, multiplier].
template <bool depthwise>
Values convolve(Use& use) {
  Call& call = use.call;
  const ValueId kernel = use.operand("kernel");
  const Layout at = layout_of_function(use, kernel);
  const std::vector<Padding> paddings(at.windows.size(), Padding{padding_of(use)});
  if (call.failed()) return {};
  const Dim channels = call.dim(at.x, at.axes.channel()), in = call.dim(kernel, at.axes.space);
  if (depthwise && !in.known()) call.refuse(Fault::Unsupported, "convolves with a kernel whose size is free");
  if (!depthwise && channels.known() && in.known() && *in > 0 && *channels % *in != 0)
    call.refuse(Fault::Format, "the kernel's channels do not divide those of the input");
  if (call.failed()) return {};
  Conv op{at.axes, depthwise ? KernelOrder::SpaceInMultiplier : KernelOrder::SpaceInOut, at.windows, paddings, 1};
  if (depthwise) op.groups = *in;
  else if (channels.known() && in.known() && *in > 0) op.groups = *channels / *in;
  return use.add(op, {at.x, kernel});
}

// ops.conv_transpose(inputs, kernel, ...): the kernel is [*window, filters, channels].
Values convolve_transposed(Use& use) {
  const ValueId kernel = use.operand("kernel");
  const Layout at = layout_of_function(use, kernel);
  const auto paddings = crops_of(use, at.windows);
  return use.add(ConvTranspose{at.axes, KernelOrder::SpaceOutIn, at.windows, paddings, 1}, {at.x, kernel});
}

constexpr std::string_view convolution =
    "filters|nb_filter kernel_size|filter_length strides|subsample|subsample_length=1 padding|border_mode=valid "
    "data_format= dilation_rate|atrous_rate=1 groups=1 activation= use_bias|bias=True kernel_initializer= "
    "bias_initializer= kernel_regularizer= bias_regularizer= activity_regularizer= kernel_constraint= bias_constraint=";
constexpr std::string_view depthwise_convolution =
    "kernel_size|filter_length strides|subsample|subsample_length=1 padding|border_mode=valid depth_multiplier=1 "
    "data_format= dilation_rate|atrous_rate=1 activation= use_bias|bias=True depthwise_initializer= bias_initializer= "
    "depthwise_regularizer= bias_regularizer= activity_regularizer= depthwise_constraint= bias_constraint=";
constexpr std::string_view separable_convolution =
    "filters|nb_filter kernel_size|filter_length strides|subsample|subsample_length=1 padding|border_mode=valid "
    "data_format= dilation_rate|atrous_rate=1 depth_multiplier=1 activation= use_bias|bias=True depthwise_initializer= "
    "pointwise_initializer= bias_initializer= depthwise_regularizer= pointwise_regularizer= bias_regularizer= "
    "activity_regularizer= depthwise_constraint= pointwise_constraint= bias_constraint=";
constexpr std::string_view transposed_convolution =
    "filters|nb_filter kernel_size strides|subsample=1 padding|border_mode=valid output_padding= data_format= "
    "dilation_rate|atrous_rate=1 activation= use_bias|bias=True kernel_initializer= bias_initializer= "
    "kernel_regularizer= bias_regularizer= activity_regularizer= kernel_constraint= bias_constraint=";
constexpr std::string_view transposed_convolution_3d =
    "filters|nb_filter kernel_size strides|subsample=1 padding|border_mode=valid data_format= output_padding= "
    "dilation_rate|atrous_rate=1 activation= use_bias|bias=True kernel_initializer= bias_initializer= "
    "kernel_regularizer= bias_regularizer= activity_regularizer= kernel_constraint= bias_constraint=";
constexpr std::string_view function = "inputs kernel strides=1 padding=valid data_format= dilation_rate=1";

constexpr std::array rows_of_convolutions{
    CatalogueRow{"layers.Conv1D|Convolution1D|AtrousConvolution1D layers.Conv2D|Convolution2D|AtrousConvolution2D "
                 "layers.Conv3D|Convolution3D",
                 convolution, conv},
    CatalogueRow{"layers.DepthwiseConv1D layers.DepthwiseConv2D", depthwise_convolution, depthwise},
    CatalogueRow{"layers.SeparableConv1D|SeparableConvolution1D layers.SeparableConv2D|SeparableConvolution2D",
                 separable_convolution, separable},
    CatalogueRow{"layers.Conv1DTranspose layers.Conv2DTranspose|Convolution2DTranspose|Deconvolution2D",
                 transposed_convolution, conv_transpose},
    CatalogueRow{"layers.Conv3DTranspose|Convolution3DTranspose", transposed_convolution_3d, conv_transpose},
    CatalogueRow{"nn.Conv", function, convolve<false>},
    CatalogueRow{"nn.DepthwiseConv", function, convolve<true>},
    CatalogueRow{"nn.ConvTranspose",
                 "inputs kernel strides=1 padding=valid output_padding= data_format= dilation_rate=1",
                 convolve_transposed},
    CatalogueRow{"keras1.Convolution1D",
                 "nb_filter filter_length init activation weights border_mode subsample_length"},
    CatalogueRow{"keras1.Convolution2D",
                 "nb_filter nb_row nb_col init activation weights border_mode subsample dim_ordering"},
    CatalogueRow{"keras1.Convolution3D",
                 "nb_filter kernel_dim1 kernel_dim2 kernel_dim3 init activation weights border_mode subsample "
                 "dim_ordering"},
    CatalogueRow{"keras1.AtrousConvolution1D",
                 "nb_filter filter_length init activation weights border_mode subsample_length atrous_rate"},
    CatalogueRow{"keras1.AtrousConvolution2D",
                 "nb_filter nb_row nb_col init activation weights border_mode subsample atrous_rate dim_ordering"},
    CatalogueRow{"keras1.SeparableConvolution2D",
                 "nb_filter nb_row nb_col init activation weights border_mode subsample depth_multiplier dim_ordering"},
    CatalogueRow{"keras1.Deconvolution2D",
                 "nb_filter nb_row nb_col output_shape init activation weights border_mode subsample dim_ordering"},
};

}  // namespace

std::span<const CatalogueRow> convolution_operators() { return rows_of_convolutions; }

namespace writing {
namespace {

Status check_axes(const Sink& sink, Axes axes, const char* what) {
  if (axes.space < 1 || axes.space > 3)
    return sink.refused(std::string(what) + " over " + std::to_string(axes.space) + " spatial axes");
  if (axes.order != Order::ChannelsLast) return sink.broken(std::string(what) + " with channels first");
  if (!sink.constant(1)) return sink.refused("a kernel that the model computes");
  if (!sink.dim(axes.channel()).known()) return sink.refused(std::string(what) + " of channels whose number is free");
  return {};
}

struct Sliding {
  Json kernel, strides, dilations;
};
Sliding sliding(const std::vector<Window>& windows) {
  Sizes kernel, strides, dilations;
  for (const Window& w : windows) {
    kernel.push_back(w.kernel);
    strides.push_back(w.stride);
    dilations.push_back(w.dilation);
  }
  return {one_or_all(kernel), one_or_all(strides), one_or_all(dilations)};
}

Status write_with_weights(LayerConfig config, Sink& sink) {
  if (auto ok = sink.weigh(config, 1, "kernel"); !ok) return ok;
  if (sink.has(2))
    if (auto ok = sink.weigh(config, 2, "bias"); !ok) return ok;
  return sink.last(std::move(config));
}

Status write_conv(const Conv& conv, Sink& sink) {
  if (auto ok = check_axes(sink, conv.axes, "a convolution"); !ok) return ok;
  const bool depthwise = conv.kernel_order == KernelOrder::SpaceInMultiplier;
  if (!depthwise && conv.kernel_order != KernelOrder::SpaceInOut)
    return sink.broken("a kernel in another framework's order");
  if (depthwise && conv.axes.space > 2) return sink.refused("a depthwise convolution over three axes");
  const auto form = form_of({Framework::Keras, depthwise ? Windowed::Depthwise : Windowed::Convolutions}, conv.paddings,
                            conv.windows);
  if (form != Form::SameUpper && form != Form::Causal && form != Form::Valid) return sink.broken("a padding");
  const char* padding = form == Form::SameUpper ? "same" : form == Form::Causal ? "causal" : "valid";
  const auto [kernel, strides, dilations] = sliding(conv.windows);
  const Size last = sink.constant(1)->shape().back();
  const bool bias = sink.has(2);
  if (depthwise)
    return write_with_weights(layer_as(sink, "layers." + class_of("DepthwiseConv", conv.axes.space),
                                       {{"kernel_size", kernel},
                                        {"strides", strides},
                                        {"dilation_rate", dilations},
                                        {"padding", padding},
                                        {"depth_multiplier", last},
                                        {"use_bias", bias}}),
                              sink);
  return write_with_weights(layer_as(sink, "layers." + class_of("Conv", conv.axes.space),
                                     {{"filters", last},
                                      {"kernel_size", kernel},
                                      {"strides", strides},
                                      {"dilation_rate", dilations},
                                      {"padding", padding},
                                      {"groups", conv.groups},
                                      {"use_bias", bias}}),
                            sink);
}

Status write_transposed(const ConvTranspose& conv, Sink& sink) {
  if (auto ok = check_axes(sink, conv.axes, "a transposed convolution"); !ok) return ok;
  if (conv.kernel_order != KernelOrder::SpaceOutIn) return sink.broken("a kernel in another framework's order");
  if (conv.groups != 1) return sink.refused("a transposed convolution in groups");
  const CropSpelling spelling = conv.paddings.front().spelling;
  const bool given = conv.paddings.front().output_padding.has_value();
  Sizes extra;
  for (const TransposedPadding& p : conv.paddings) {
    if (p.spelling != spelling || p.output_padding.has_value() != given || spelling == CropSpelling::Explicit)
      return sink.broken("crops of a transposed convolution");
    extra.push_back(p.output_padding.value_or(0));
  }
  const auto [kernel, strides, dilations] = sliding(conv.windows);
  return write_with_weights(layer_as(sink, "layers." + class_of("Conv", conv.axes.space, "Transpose"),
                                     {{"filters", sink.constant(1)->shape()[static_cast<std::size_t>(conv.axes.space)]},
                                      {"kernel_size", kernel},
                                      {"strides", strides},
                                      {"dilation_rate", dilations},
                                      {"padding", spelling == CropSpelling::KerasSame ? "same" : "valid"},
                                      {"output_padding", given ? one_or_all(extra) : Json()},
                                      {"use_bias", sink.has(2)}}),
                            sink);
}

constexpr std::array convolution_table{writes<write_conv>(), writes<write_transposed>()};
static_assert(decides<Convolution>(convolution_table));

}  // namespace

std::span<const Row> convolution_rows() { return convolution_table; }

}  // namespace writing
}  // namespace convoy::keras
