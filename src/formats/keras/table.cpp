// Which function reads which class, and what is said of the classes that none reads.
#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/functions.h"
#include "formats/keras/keras.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

struct Refusal {
  std::string_view name, why;
};
constexpr std::string_view python =
    "holds Python code, which has no meaning outside Python; cut the model before it with --outputs";
constexpr std::array refusals{
    Refusal{"Lambda", python},
    Refusal{"TFSMLayer", "runs a TensorFlow SavedModel, which this version does not read"},
    Refusal{"CuDNNLSTM", "has its weights in the order of cuDNN, which this version does not carry"},
    Refusal{"CuDNNGRU", "has its weights in the order of cuDNN, which this version does not carry"},
};

}  // namespace

bool is_operation(const Layer& layer) {
  if (!catalogued_operation(layer.class_name)) return false;
  if (!layer.module.empty()) return layer.module.find(".ops") != std::string::npos;
  if (!catalogued_layer(layer.class_name)) return !catalogued("activations", layer.class_name);
  // Old files give no module: a layer takes its tensors as one list or has a config of its own.
  const bool has_config = layer.config && layer.config->is_object();
  if (layer.class_name == "Reshape") return has_config && layer.config->contains("newshape");
  if (layer.class_name == "Softmax" || layer.class_name == "Concatenate") return false;
  return !layer.calls.empty() && layer.calls.front().args.size() > 1;
}

namespace {

bool is_function_of_tensorflow(const Layer& layer) {
  return layer.class_name == "TFOpLambda" || layer.class_name == "SlicingOpLambda" ||
         layer.class_name == "TensorFlowOpLayer";
}

}  // namespace

bool calls_function(const Layer& layer) { return is_function_of_tensorflow(layer) || is_operation_in_words(layer); }

bool is_operation_in_words(const Layer& layer) {
  if (is_function_of_tensorflow(layer) || !of_keras(layer.module) || catalogued_operation(layer.class_name))
    return false;
  if (!layer.module.empty()) return layer.module.find(".ops") != std::string::npos;
  // An .h5 file gives no module; every layer says whether it trains, and no operation does.
  return !layer.model && !layer.calls.empty() && !catalogued_layer(layer.class_name) && layer.config &&
         layer.config->is_object() && !layer.config->contains("trainable") && !layer.config->contains("batch_shape");
}

bool of_keras(const std::string& module) {
  return module.empty() || module == "keras" || module.starts_with("keras.") || module.starts_with("keras_core") ||
         module.starts_with("tensorflow.") || module.starts_with("tf_keras") || module == "builtins";
}

const CatalogueRow* row_of(const Layer& layer) {
  if (!of_keras(layer.module) || layer.registered_name.find('>') != std::string::npos) return nullptr;
  if (is_operation(layer)) return catalogued_operation(layer.class_name);
  if (layer.module.find(".ops") != std::string::npos) return nullptr;
  return catalogued_layer(layer.class_name);
}

std::string refusal_of(const Layer& layer) {
  if (layer.class_name.find('>') != std::string::npos)
    return "is a class of its own, and its Python code is not in the file; cut the model before it with --outputs";
  if (!of_keras(layer.module) || layer.registered_name.find('>') != std::string::npos)
    return "is a class of its own ('" + (layer.registered_name.empty() ? layer.module : layer.registered_name) +
           "'), and its Python code is not in the file; cut the model before it with --outputs";
  for (const Refusal& known : refusals)
    if (known.name == layer.class_name) return std::string(known.why);
  if (is_function_of_tensorflow(layer))
    return "calls a TensorFlow function, which this version does not carry; cut the model before it with --outputs";
  return "is a class that this version does not carry; cut the model before it with --outputs";
}

std::vector<std::string_view> layer_classes() {
  std::vector<std::string_view> names{"InputLayer",      "Functional",       "Model", "Sequential", "TFOpLambda",
                                      "SlicingOpLambda", "TensorFlowOpLayer"};
  for (const auto kind : {"layers", "saved", "ops"})
    for (const auto name : names_of(kind))
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

}  // namespace convoy::keras
