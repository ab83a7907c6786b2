// The functions of convoy/tf.h that are neither convolutions nor pools.
#include "functions/tf_arguments.h"

namespace convoy::tf {

Result<Tensor> pad(const View& tensor, const Pairs& paddings, const Pad& o) {
  return evaluate_one(functions(), "pad", {{"tensor", &tensor}},
                      {{"paddings", json_of(paddings)}, {"mode", o.mode}, {"constant_values", o.constant_values}});
}

Result<Tensor> space_to_batch(const View& input, const Sizes& block_shape, const Pairs& paddings) {
  return evaluate_one(functions(), "space_to_batch", {{"input", &input}},
                      {{"block_shape", block_shape}, {"paddings", json_of(paddings)}});
}
Result<Tensor> batch_to_space(const View& input, const Sizes& block_shape, const Pairs& crops) {
  return evaluate_one(functions(), "batch_to_space", {{"input", &input}},
                      {{"block_shape", block_shape}, {"crops", json_of(crops)}});
}

namespace nn {
namespace {

Result<Tensor> activation(const char* name, const View& features, const Json& arguments = Json::object()) {
  return evaluate_one(functions(), name, {{"features", &features}}, arguments);
}

}  // namespace

Result<Tensor> depth_to_space(const View& input, Size block_size, const std::string& data_format) {
  return evaluate_one(functions(), "nn.depth_to_space", {{"input", &input}},
                      {{"block_size", block_size}, {"data_format", data_format}});
}
Result<Tensor> space_to_depth(const View& input, Size block_size, const std::string& data_format) {
  return evaluate_one(functions(), "nn.space_to_depth", {{"input", &input}},
                      {{"block_size", block_size}, {"data_format", data_format}});
}

Result<Tensor> batch_normalization(const View& x, const View& mean, const View& variance, const View* offset,
                                   const View* scale, double variance_epsilon) {
  return evaluate_one(functions(), "nn.batch_normalization",
                      {{"x", &x}, {"mean", &mean}, {"variance", &variance}, {"offset", offset}, {"scale", scale}},
                      {{"variance_epsilon", variance_epsilon}});
}

Result<Tensor> local_response_normalization(const View& input, const LocalResponseNormalization& o) {
  return evaluate_one(functions(), "nn.local_response_normalization", {{"input", &input}},
                      {{"depth_radius", o.depth_radius}, {"bias", o.bias}, {"alpha", o.alpha}, {"beta", o.beta}});
}

Result<Tensor> relu(const View& features) { return activation("nn.relu", features); }
Result<Tensor> relu6(const View& features) { return activation("nn.relu6", features); }
Result<Tensor> leaky_relu(const View& features, double alpha) {
  return activation("nn.leaky_relu", features, {{"alpha", alpha}});
}
Result<Tensor> elu(const View& features) { return activation("nn.elu", features); }
Result<Tensor> selu(const View& features) { return activation("nn.selu", features); }
Result<Tensor> gelu(const View& features, bool approximate) {
  return activation("nn.gelu", features, {{"approximate", approximate}});
}
Result<Tensor> silu(const View& features, double beta) { return activation("nn.silu", features, {{"beta", beta}}); }
Result<Tensor> swish(const View& features, double beta) { return activation("nn.swish", features, {{"beta", beta}}); }
Result<Tensor> crelu(const View& features, Size axis) { return activation("nn.crelu", features, {{"axis", axis}}); }
Result<Tensor> softplus(const View& features) { return activation("nn.softplus", features); }
Result<Tensor> softsign(const View& features) { return activation("nn.softsign", features); }

Result<Tensor> softmax(const View& logits, Size axis) {
  return evaluate_one(functions(), "nn.softmax", {{"logits", &logits}}, {{"axis", axis}});
}
Result<Tensor> log_softmax(const View& logits, Size axis) {
  return evaluate_one(functions(), "nn.log_softmax", {{"logits", &logits}}, {{"axis", axis}});
}

Result<Tensor> bias_add(const View& value, const View& bias, const std::string& data_format) {
  return evaluate_one(functions(), "nn.bias_add", {{"value", &value}, {"bias", &bias}}, {{"data_format", data_format}});
}

}  // namespace nn

Result<Tensor> image::resize(const View& images, const Sizes& size, const Resize& o) {
  return evaluate_one(functions(), "image.resize", {{"images", &images}},
                      {{"size", size},
                       {"method", o.method},
                       {"preserve_aspect_ratio", o.preserve_aspect_ratio},
                       {"antialias", o.antialias}});
}

namespace compat::v1 {
namespace {

Result<Tensor> resized(const char* name, const View& images, const Sizes& size, const image::Resize& o) {
  return evaluate_one(
      functions(), name, {{"images", &images}},
      {{"size", size}, {"align_corners", o.align_corners}, {"half_pixel_centers", o.half_pixel_centers}});
}

}  // namespace

Result<Tensor> image::resize_nearest_neighbor(const View& images, const Sizes& size, const Resize& o) {
  return resized("compat.v1.image.resize_nearest_neighbor", images, size, o);
}
Result<Tensor> image::resize_bilinear(const View& images, const Sizes& size, const Resize& o) {
  return resized("compat.v1.image.resize_bilinear", images, size, o);
}
Result<Tensor> image::resize_bicubic(const View& images, const Sizes& size, const Resize& o) {
  return resized("compat.v1.image.resize_bicubic", images, size, o);
}

Result<Tensor> nn::fused_batch_norm(const View& x, const View& scale, const View& offset, const View& mean,
                                    const View& variance, const FusedBatchNorm& o) {
  auto results = evaluate(functions(), "compat.v1.nn.fused_batch_norm",
                          {{"x", &x}, {"scale", &scale}, {"offset", &offset}, {"mean", &mean}, {"variance", &variance}},
                          {{"epsilon", o.epsilon}, {"data_format", o.data_format}, {"is_training", false}});
  if (!results) return pass(results);
  return std::move(results->front());
}

}  // namespace compat::v1
}  // namespace convoy::tf
