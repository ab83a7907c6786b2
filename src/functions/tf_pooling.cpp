// The pools of convoy/tf.h.
#include "functions/tf_arguments.h"

namespace convoy::tf::nn {
namespace {

Json json_of(const PerAxis& ksize, const PerAxis& strides, const Padding& padding) {
  return {{"ksize", convoy::json_of(ksize)}, {"strides", convoy::json_of(strides)}, {"padding", tf::json_of(padding)}};
}

Result<Tensor> pooled(const char* name, const View& input, const PerAxis& ksize, const PerAxis& strides,
                      const Padding& padding, const std::string& data_format) {
  Json arguments = json_of(ksize, strides, padding);
  arguments["data_format"] = data_format;
  return evaluate_one(functions(), name, {{"input", &input}}, arguments);
}

}  // namespace

Result<Tensor> max_pool1d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format) {
  return pooled("nn.max_pool1d", input, ksize, strides, padding, data_format);
}
Result<Tensor> max_pool2d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format) {
  return pooled("nn.max_pool2d", input, ksize, strides, padding, data_format);
}
Result<Tensor> max_pool3d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format) {
  return pooled("nn.max_pool3d", input, ksize, strides, padding, data_format);
}
Result<Tensor> avg_pool1d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format) {
  return pooled("nn.avg_pool1d", input, ksize, strides, padding, data_format);
}
Result<Tensor> avg_pool2d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format) {
  return pooled("nn.avg_pool2d", input, ksize, strides, padding, data_format);
}
Result<Tensor> avg_pool3d(const View& input, const PerAxis& ksize, const PerAxis& strides, const Padding& padding,
                          const std::string& data_format) {
  return pooled("nn.avg_pool3d", input, ksize, strides, padding, data_format);
}

Result<Tensor> pool(const View& input, const Sizes& window_shape, const std::string& pooling_type, const Pool& o) {
  Json arguments{{"window_shape", window_shape},
                 {"pooling_type", pooling_type},
                 {"padding", tf::json_of(o.padding)},
                 {"data_format", o.data_format}};
  if (!o.strides.empty()) arguments["strides"] = o.strides;
  if (!o.dilations.empty()) arguments["dilations"] = o.dilations;
  return evaluate_one(functions(), "nn.pool", {{"input", &input}}, arguments);
}

Result<MaxPoolWithArgmax> max_pool_with_argmax(const View& input, const PerAxis& ksize, const PerAxis& strides,
                                               const Padding& padding, bool include_batch_in_index) {
  Json arguments = json_of(ksize, strides, padding);
  arguments["include_batch_in_index"] = include_batch_in_index;
  auto results = evaluate(functions(), "nn.max_pool_with_argmax", {{"input", &input}}, arguments);
  if (!results) return pass(results);
  return MaxPoolWithArgmax{std::move((*results)[0]), std::move((*results)[1])};
}

}  // namespace convoy::tf::nn
