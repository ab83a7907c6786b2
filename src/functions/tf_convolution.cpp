// The convolutions of convoy/tf.h.
#include "functions/tf_arguments.h"

namespace convoy::tf::nn {
namespace {

template <class Options>
Json json_of(const PerAxis& strides, const Padding& padding, const Options& o) {
  return {{"strides", convoy::json_of(strides)},
          {"padding", tf::json_of(padding)},
          {"data_format", o.data_format},
          {"dilations", convoy::json_of(o.dilations)}};
}

template <class Options>
Result<Tensor> transposed(const char* name, const View& input, const View& filters, const Sizes& output_shape,
                          const PerAxis& strides, const Options& o) {
  Json arguments = json_of(strides, o.padding, o);
  arguments["output_shape"] = output_shape;
  return evaluate_one(functions(), name, {{"input", &input}, {"filters", &filters}}, arguments);
}

}  // namespace

Result<Tensor> conv1d(const View& input, const View& filters, const PerAxis& stride, const Padding& padding,
                      const Conv1d& o) {
  Json arguments = json_of(stride, padding, o);
  arguments["stride"] = arguments["strides"];
  arguments.erase("strides");
  return evaluate_one(functions(), "nn.conv1d", {{"input", &input}, {"filters", &filters}}, arguments);
}
Result<Tensor> conv2d(const View& input, const View& filters, const PerAxis& strides, const Padding& padding,
                      const Conv2d& o) {
  return evaluate_one(functions(), "nn.conv2d", {{"input", &input}, {"filters", &filters}},
                      json_of(strides, padding, o));
}
Result<Tensor> conv3d(const View& input, const View& filters, const PerAxis& strides, const Padding& padding,
                      const Conv3d& o) {
  return evaluate_one(functions(), "nn.conv3d", {{"input", &input}, {"filters", &filters}},
                      json_of(strides, padding, o));
}

Result<Tensor> convolution(const View& input, const View& filters, const Convolution& o) {
  return evaluate_one(functions(), "nn.convolution", {{"input", &input}, {"filters", &filters}},
                      json_of(o.strides, o.padding, o));
}

Result<Tensor> atrous_conv2d(const View& value, const View& filters, const PerAxis& rate, const Padding& padding) {
  return evaluate_one(functions(), "nn.atrous_conv2d", {{"value", &value}, {"filters", &filters}},
                      {{"rate", convoy::json_of(rate)}, {"padding", tf::json_of(padding)}});
}

Result<Tensor> depthwise_conv2d(const View& input, const View& filter, const PerAxis& strides, const Padding& padding,
                                const Conv2d& o) {
  return evaluate_one(functions(), "nn.depthwise_conv2d", {{"input", &input}, {"filter", &filter}},
                      json_of(strides, padding, o));
}

Result<Tensor> separable_conv2d(const View& input, const View& depthwise_filter, const View& pointwise_filter,
                                const PerAxis& strides, const Padding& padding, const Conv2d& o) {
  return evaluate_one(
      functions(), "nn.separable_conv2d",
      {{"input", &input}, {"depthwise_filter", &depthwise_filter}, {"pointwise_filter", &pointwise_filter}},
      json_of(strides, padding, o));
}

Result<Tensor> conv1d_transpose(const View& input, const View& filters, const Sizes& output_shape,
                                const PerAxis& strides, const Conv1dTranspose& o) {
  return transposed("nn.conv1d_transpose", input, filters, output_shape, strides, o);
}
Result<Tensor> conv2d_transpose(const View& input, const View& filters, const Sizes& output_shape,
                                const PerAxis& strides, const Conv2dTranspose& o) {
  return transposed("nn.conv2d_transpose", input, filters, output_shape, strides, o);
}
Result<Tensor> conv3d_transpose(const View& input, const View& filters, const Sizes& output_shape,
                                const PerAxis& strides, const Conv3dTranspose& o) {
  return transposed("nn.conv3d_transpose", input, filters, output_shape, strides, o);
}

}  // namespace convoy::tf::nn
