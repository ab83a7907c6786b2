// Keras cases: the layer's config goes through the reader, exactly as a layer of a model file does.
#include "formats/keras/keras.h"

#include "golden/answer.h"

namespace convoy::golden {
namespace {

struct Layer {
  std::string class_name;
  Json config;
  std::vector<Tensor> weights;
};

// "Conv2D" of "keras.layers.Conv2D(2, 3, ...)".
std::string class_of(const Case& c) {
  constexpr std::string_view prefix = "keras.layers.";
  if (!c.call.starts_with(prefix)) return {};
  return c.call.substr(prefix.size(), c.call.find('(') - prefix.size());
}

Layer layer_of(const Case& c) {
  Layer layer{class_of(c), c.attrs, {}};
  layer.config["name"] = "layer";
  const bool convolves =
      c.op == "conv" || c.op == "depthwise_conv" || c.op == "separable_conv" || c.op == "conv_transpose";
  if (convolves) {
    layer.config["use_bias"] = c.input("bias") != nullptr;
    layer.config["activation"] = "linear";
  }
  for (const auto& [name, array] : c.inputs)
    if (name != "x") layer.weights.push_back(array.tensor);
  return layer;
}

// The weights of a layer of a Sequential are the inputs "<layer>.<weight>".
Result<std::vector<Layer>> layers_of(const Case& c) {
  if (c.op != "sequential") return std::vector{layer_of(c)};
  if (!c.attrs.contains("layers") || !c.attrs["layers"].is_array())
    return fail(Fault::Format, "attribute 'layers' is missing");
  std::vector<Layer> layers;
  for (const Json& said : c.attrs["layers"]) {
    Layer layer{said.value("class_name", std::string()), said.value("config", Json::object()), {}};
    const std::string prefix = layer.config.value("name", std::string()) + ".";
    for (const auto& [name, array] : c.inputs)
      if (name.starts_with(prefix)) layer.weights.push_back(array.tensor);
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace

Result<Answer> answer_keras(const Case& c, Way way) {
  const Array* x = c.input("x");
  if (!x) return fail(Fault::Format, "input 'x' is missing");
  auto layers = layers_of(c);
  if (!layers) return pass(layers);
  Answer answer{*x, {}};
  for (const Layer& layer : *layers) {
    // Normalisation over a spatial axis fixes that axis: such a layer is never read with free sizes.
    const bool fixes = layer.class_name == "BatchNormalization";
    const TensorType type = input_type(answer.array, fixes && way == Way::Free ? Way::Torch : way);
    auto graph = keras::graph_of_layer(layer.class_name, layer.config, {type}, layer.weights);
    if (!graph) return pass(graph);
    auto output = answer_of(std::move(*graph), answer.array.tensor, way);
    if (!output) return pass(output);
    answer.array.tensor = std::move(*output);
    if (c.op == "sequential") answer.steps.push_back(answer.array);
  }
  if (c.want) answer.array.layout = c.want->layout;
  return answer;
}

}  // namespace convoy::golden
