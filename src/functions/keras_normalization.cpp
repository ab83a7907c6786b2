// Normalization, dense layers and activations of convoy/keras.h.
#include "functions/keras_layer.h"

namespace convoy::keras {

Result<Tensor> batch_normalization(const View& x, const View& moving_mean, const View& moving_variance,
                                   const View* gamma, const View* beta, const BatchNormalization& o) {
  return evaluate_layer(
      "BatchNormalization", "batch_normalization",
      {{"axis", o.axis}, {"epsilon", o.epsilon}, {"scale", gamma != nullptr}, {"center", beta != nullptr}}, x,
      {gamma, beta, &moving_mean, &moving_variance});
}

Result<Tensor> layer_normalization(const View& x, const View* gamma, const View* beta, const LayerNormalization& o) {
  return evaluate_layer(
      "LayerNormalization", "layer_normalization",
      {{"axis", o.axis}, {"epsilon", o.epsilon}, {"scale", gamma != nullptr}, {"center", beta != nullptr}}, x,
      {gamma, beta});
}

Result<Tensor> group_normalization(const View& x, const View* gamma, const View* beta, const GroupNormalization& o) {
  return evaluate_layer("GroupNormalization", "group_normalization",
                        {{"groups", o.groups},
                         {"axis", o.axis},
                         {"epsilon", o.epsilon},
                         {"scale", gamma != nullptr},
                         {"center", beta != nullptr}},
                        x, {gamma, beta});
}

Result<Tensor> dense(const View& x, const View& kernel, const View* bias, const std::string& activation) {
  const auto& tensor = kernel.tensor();
  const Size units = tensor && tensor->rank() == 2 ? tensor->shape()[1] : 0;
  if (tensor && tensor->rank() != 2)
    return within("dense", Result<Tensor>(fail(Fault::Usage,
                                               "kernel has " + std::to_string(tensor->rank()) + " axes, expected 2")));
  return evaluate_layer("Dense", "dense", {{"units", units}, {"activation", activation}, {"use_bias", bias != nullptr}},
                        x, {&kernel, bias});
}

Result<Tensor> activation(const View& x, const std::string& word) {
  return evaluate_layer("Activation", "activation", {{"activation", word}}, x);
}

Result<Tensor> relu(const View& x, const Relu& o) {
  return evaluate_layer("ReLU", "relu",
                        {{"max_value", o.max_value ? Json(*o.max_value) : Json()},
                         {"negative_slope", o.negative_slope},
                         {"threshold", o.threshold}},
                        x);
}
Result<Tensor> leaky_relu(const View& x, double negative_slope) {
  return evaluate_layer("LeakyReLU", "leaky_relu", {{"negative_slope", negative_slope}}, x);
}
Result<Tensor> elu(const View& x, double alpha) { return evaluate_layer("ELU", "elu", {{"alpha", alpha}}, x); }
Result<Tensor> softmax(const View& x, const Sizes& axis) {
  return evaluate_layer("Softmax", "softmax", {{"axis", axis}}, x);
}
Result<Tensor> prelu(const View& x, const View& alpha, const Sizes& shared_axes) {
  return evaluate_layer("PReLU", "prelu", {{"shared_axes", shared_axes}}, x, {&alpha});
}

}  // namespace convoy::keras
