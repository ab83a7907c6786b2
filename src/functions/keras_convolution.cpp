// The convolutions of convoy/keras.h. What a layer says by `filters` and `kernel_size`, a kernel says by its shape.
#include "functions/keras_layer.h"

namespace convoy::keras {
namespace {

// What the shape of a kernel says.
struct Kernel {
  Sizes shape;
  std::size_t space;
  Size last() const { return shape.back(); }
  Size before_last() const { return shape[space]; }
  Sizes size() const { return {shape.begin(), shape.begin() + static_cast<Sizes::difference_type>(space)}; }
};

Result<Kernel> kernel_of(const char* function, const char* argument, const View& kernel, Size space) {
  const auto& tensor = kernel.tensor();
  if (!tensor) return within(function, Result<Kernel>(std::unexpected(tensor.error())));
  if (tensor->rank() != space + 2)
    return within(function,
                  Result<Kernel>(fail(Fault::Usage, std::string(argument) + " has " + std::to_string(tensor->rank()) +
                                                        " axes, expected " + std::to_string(space + 2))));
  return Kernel{tensor->shape(), static_cast<std::size_t>(space)};
}

template <class Options>
Json config_of(const Kernel& kernel, const View* bias, const Options& o) {
  return {{"kernel_size", kernel.size()},
          {"strides", json_of(o.strides)},
          {"padding", o.padding},
          {"data_format", o.data_format},
          {"dilation_rate", json_of(o.dilation_rate)},
          {"activation", o.activation},
          {"use_bias", bias != nullptr}};
}

Result<Tensor> conv(const char* layer, const char* function, Size space, const View& x, const View& kernel,
                    const View* bias, const Conv& o) {
  const auto k = kernel_of(function, "kernel", kernel, space);
  if (!k) return std::unexpected(k.error());
  Json config = config_of(*k, bias, o);
  config["filters"] = k->last();
  config["groups"] = o.groups;
  return evaluate_layer(layer, function, std::move(config), x, {&kernel, bias});
}

Result<Tensor> depthwise(const char* layer, const char* function, Size space, const View& x, const View& kernel,
                         const View* bias, const DepthwiseConv& o) {
  const auto k = kernel_of(function, "kernel", kernel, space);
  if (!k) return std::unexpected(k.error());
  Json config = config_of(*k, bias, o);
  config["depth_multiplier"] = k->last();
  return evaluate_layer(layer, function, std::move(config), x, {&kernel, bias});
}

Result<Tensor> separable(const char* layer, const char* function, Size space, const View& x, const View& depthwise,
                         const View& pointwise, const View* bias, const DepthwiseConv& o) {
  const auto k = kernel_of(function, "depthwise_kernel", depthwise, space);
  const auto p = kernel_of(function, "pointwise_kernel", pointwise, space);
  if (!k) return std::unexpected(k.error());
  if (!p) return std::unexpected(p.error());
  Json config = config_of(*k, bias, o);
  config["depth_multiplier"] = k->last();
  config["filters"] = p->last();
  return evaluate_layer(layer, function, std::move(config), x, {&depthwise, &pointwise, bias});
}

Result<Tensor> transposed(const char* layer, const char* function, Size space, const View& x, const View& kernel,
                          const View* bias, const ConvTranspose& o) {
  const auto k = kernel_of(function, "kernel", kernel, space);
  if (!k) return std::unexpected(k.error());
  Json config = config_of(*k, bias, o);
  config["filters"] = k->before_last();
  config["output_padding"] = o.output_padding ? json_of(*o.output_padding) : Json();
  return evaluate_layer(layer, function, std::move(config), x, {&kernel, bias});
}

}  // namespace

Result<Tensor> conv1d(const View& x, const View& kernel, const View* bias, const Conv& o) {
  return conv("Conv1D", "conv1d", 1, x, kernel, bias, o);
}
Result<Tensor> conv2d(const View& x, const View& kernel, const View* bias, const Conv& o) {
  return conv("Conv2D", "conv2d", 2, x, kernel, bias, o);
}
Result<Tensor> conv3d(const View& x, const View& kernel, const View* bias, const Conv& o) {
  return conv("Conv3D", "conv3d", 3, x, kernel, bias, o);
}

Result<Tensor> depthwise_conv1d(const View& x, const View& kernel, const View* bias, const DepthwiseConv& o) {
  return depthwise("DepthwiseConv1D", "depthwise_conv1d", 1, x, kernel, bias, o);
}
Result<Tensor> depthwise_conv2d(const View& x, const View& kernel, const View* bias, const DepthwiseConv& o) {
  return depthwise("DepthwiseConv2D", "depthwise_conv2d", 2, x, kernel, bias, o);
}

Result<Tensor> separable_conv1d(const View& x, const View& depthwise_kernel, const View& pointwise_kernel,
                                const View* bias, const DepthwiseConv& o) {
  return separable("SeparableConv1D", "separable_conv1d", 1, x, depthwise_kernel, pointwise_kernel, bias, o);
}
Result<Tensor> separable_conv2d(const View& x, const View& depthwise_kernel, const View& pointwise_kernel,
                                const View* bias, const DepthwiseConv& o) {
  return separable("SeparableConv2D", "separable_conv2d", 2, x, depthwise_kernel, pointwise_kernel, bias, o);
}

Result<Tensor> conv1d_transpose(const View& x, const View& kernel, const View* bias, const ConvTranspose& o) {
  return transposed("Conv1DTranspose", "conv1d_transpose", 1, x, kernel, bias, o);
}
Result<Tensor> conv2d_transpose(const View& x, const View& kernel, const View* bias, const ConvTranspose& o) {
  return transposed("Conv2DTranspose", "conv2d_transpose", 2, x, kernel, bias, o);
}
Result<Tensor> conv3d_transpose(const View& x, const View& kernel, const View* bias, const ConvTranspose& o) {
  return transposed("Conv3DTranspose", "conv3d_transpose", 3, x, kernel, bias, o);
}

}  // namespace convoy::keras
