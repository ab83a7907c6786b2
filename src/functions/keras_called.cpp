#include "functions/keras_called.h"

#include "base/nearest.h"
#include "formats/keras/keras.h"

#include <algorithm>
#include <cctype>

namespace convoy::keras {
namespace {

// A weight; of one that may be left out, the word of the config that says whether it is there.
struct Weight {
  std::string_view name, flag = {};
};

// In the order in which the layer holds them.
std::vector<Weight> weights_of(std::string_view layer) {
  if (layer.starts_with("SeparableConv")) return {{"depthwise_kernel"}, {"pointwise_kernel"}, {"bias", "use_bias"}};
  if (layer.find("Conv") != std::string_view::npos || layer == "Dense") return {{"kernel"}, {"bias", "use_bias"}};
  if (layer == "BatchNormalization")
    return {{"gamma", "scale"}, {"beta", "center"}, {"moving_mean"}, {"moving_variance"}};
  if (layer == "LayerNormalization" || layer == "GroupNormalization") return {{"gamma", "scale"}, {"beta", "center"}};
  if (layer == "PReLU") return {{"alpha"}};
  return {};
}

// Layers of one input whose weights are known above, and the ones that have none.
constexpr std::string_view families[] = {"Conv1D",
                                         "Conv2D",
                                         "Conv3D",
                                         "Conv1DTranspose",
                                         "Conv2DTranspose",
                                         "Conv3DTranspose",
                                         "DepthwiseConv1D",
                                         "DepthwiseConv2D",
                                         "SeparableConv1D",
                                         "SeparableConv2D",
                                         "Dense",
                                         "BatchNormalization",
                                         "LayerNormalization",
                                         "GroupNormalization",
                                         "PReLU",
                                         "ReLU",
                                         "LeakyReLU",
                                         "ELU",
                                         "Softmax",
                                         "Activation",
                                         "Flatten",
                                         "Reshape",
                                         "Permute",
                                         "RepeatVector",
                                         "Resizing",
                                         "Rescaling",
                                         "CenterCrop"};
constexpr std::string_view families_by_rank[] = {"MaxPooling",           "AveragePooling",     "GlobalMaxPooling",
                                                 "GlobalAveragePooling", "AdaptiveMaxPooling", "AdaptiveAveragePooling",
                                                 "ZeroPadding",          "Cropping",           "UpSampling"};

bool is_callable(std::string_view layer) {
  if (std::ranges::find(families, layer) != std::end(families)) return true;
  return std::ranges::any_of(families_by_rank, [&](std::string_view family) {
    return layer.starts_with(family) && layer.size() == family.size() + 2;
  });
}

// "Conv2DTranspose" -> "conv2d_transpose", "LeakyReLU" -> "leaky_relu"
std::string function_name(std::string_view layer) {
  std::string name;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    const char c = layer[i];
    const auto is = [&](std::size_t at, int (*kind)(int)) {
      return at < layer.size() && kind(static_cast<unsigned char>(layer[at])) != 0;
    };
    const bool begins = i > 0 && is(i, std::isupper) && layer.substr(i) != "LU" &&
                        (is(i - 1, std::islower) || (is(i + 1, std::islower) && i > 1 && is(i - 2, std::isdigit)));
    if (begins) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string_view layer_called(std::string_view function) {
  for (const std::string_view layer : layer_classes())
    if (is_callable(layer) && function_name(layer) == function) return layer;
  return {};
}

// What the shape of the first weight says in place of a constructor.
Status say_shape(Json& config, std::string_view layer, const std::vector<const Tensor*>& weights) {
  const bool convolves = layer.find("Conv") != std::string_view::npos;
  if ((!convolves && layer != "Dense") || weights.empty()) return {};
  const Sizes& shape = weights[0]->shape();
  const std::size_t space = convolves ? static_cast<std::size_t>(layer[layer.find_first_of("123")] - '0') : 0;
  if (shape.size() != space + 2)
    return fail(Fault::Usage,
                "the kernel has " + std::to_string(shape.size()) + " axes, expected " + std::to_string(space + 2));
  if (!convolves) {
    config["units"] = shape[1];
    return {};
  }
  config["kernel_size"] = Sizes(shape.begin(), shape.begin() + static_cast<Sizes::difference_type>(space));
  const bool by_depth = layer.starts_with("Depthwise") || layer.starts_with("Separable");
  if (by_depth) config["depth_multiplier"] = shape.back();
  if (layer.starts_with("Separable")) config["filters"] = weights[1]->shape().empty() ? 0 : weights[1]->shape().back();
  else if (!by_depth) config["filters"] = layer.ends_with("Transpose") ? shape[space] : shape.back();
  return {};
}

struct Given {
  const Tensor* x = nullptr;
  std::vector<const Tensor*> weights;
};

// The arrays in the layer's own order; the config says which of its weights there are.
Result<Given> given_to(std::string_view layer, const std::vector<NamedArray>& arrays, Json& config) {
  Given given;
  const auto find = [&](std::string_view name) -> const Tensor* {
    const auto found = std::ranges::find(arrays, name, &NamedArray::name);
    return found == arrays.end() ? nullptr : &found->tensor;
  };
  given.x = find("x");
  if (!given.x) return fail(Fault::Usage, "argument 'x' is missing");
  std::vector<std::string_view> known{"x"};
  for (const auto& [name, flag] : weights_of(layer)) {
    known.push_back(name);
    const Tensor* const weight = find(name);
    if (!weight && flag.empty()) return fail(Fault::Usage, "argument '" + std::string(name) + "' is missing");
    if (weight) given.weights.push_back(weight);
    if (!flag.empty()) config[std::string(flag)] = weight != nullptr;
  }
  for (const NamedArray& one : arrays)
    if (std::ranges::find(known, one.name) == known.end())
      return fail(Fault::Usage, "argument '" + one.name + "' is an array; there is none of this name");
  return given;
}

}  // namespace

std::vector<CallableFunction> callable_layers() {
  std::vector<CallableFunction> all;
  for (const std::string_view layer : layer_classes()) {
    if (!is_callable(layer)) continue;
    CallableFunction function{function_name(layer), {"x"}};
    for (const bool needed : {true, false})
      for (const Weight& weight : weights_of(layer))
        if (weight.flag.empty() == needed) function.parameters.emplace_back(weight.name);
    all.push_back(std::move(function));
  }
  return all;
}

Result<std::vector<Tensor>> call_layer(const std::string& function, const std::vector<NamedArray>& arrays, Json config,
                                       const RunOptions& options) {
  const std::string layer(layer_called(function));
  if (layer.empty()) {
    std::vector<std::string> names;
    for (const CallableFunction& one : callable_layers()) names.push_back(one.name);
    return fail(Fault::Usage, "there is no function '" + function + "'" + did_you_mean(function, names));
  }
  const auto given = within(function, given_to(layer, arrays, config));
  if (!given) return std::unexpected(given.error());
  if (auto said = within(function, say_shape(config, layer, given->weights)); !said) return pass(said);
  std::vector<Tensor> weights;
  for (const Tensor* one : given->weights) weights.push_back(*one);
  config["name"] = function;
  auto graph = graph_of_layer(layer, config, {type_of(*given->x)}, weights);
  if (!graph) return pass(graph);
  auto values = within(function, run(*graph, {*given->x}, options));
  if (!values) return pass(values);
  return std::vector{values->at(graph->outputs.front())};
}

}  // namespace convoy::keras
