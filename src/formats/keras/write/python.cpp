#include "formats/keras/write/python.h"

#include "containers/json.h"
#include "formats/keras/catalogue/layer_text.h"
#include "formats/keras/weights.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

using namespace python;  // the words of Python text

// Arguments that a person writes without their name, where they come first in the constructor.
constexpr std::array bare{"filters",  "kernel_size", "units",      "pool_size", "rate",       "target_shape", "dims",
                          "cropping", "size",        "equation",   "input_dim", "output_dim", "output_size",  "layer",
                          "scale",    "stddev",      "activation", "height",    "width"};

std::string slice_part(const Json& bound) { return bound.is_null() ? "" : std::to_string(bound.get<Size>()); }

bool is_slice(const Json& value) { return value.is_object() && value.value("class_name", "") == "__slice__"; }

// Inside [...]: 1:-1, ::2
std::string index_text(const Json& value) {
  if (!is_slice(value)) return value_text(value);
  const Json& c = value["config"];
  std::string text = slice_part(c["start"]) + ":" + slice_part(c["stop"]);
  if (!c["step"].is_null()) text += ":" + slice_part(c["step"]);
  return text;
}

// Where Keras keeps it: "keras.layers" is imported as layers.
std::string module_text(const std::string& module) { return module == "keras.layers" ? "layers" : module; }

void append_named(std::vector<std::string>& parts, const std::string& key, const Json& value) {
  parts.push_back(key + "=" + value_text(value));
}

std::string object_text(const Json& value) {
  const Json config = value.contains("config") ? value["config"] : Json::object();
  if (is_slice(value)) {
    std::vector<std::string> parts;
    for (const char* key : {"start", "stop", "step"}) parts.push_back(value_text(config[key]));
    return "slice(" + joined(parts) + ")";
  }
  if (value.contains("__python__")) return value["__python__"].get<std::string>();
  if (!value.contains("class_name")) {
    std::vector<std::string> parts;
    for (const auto& [key, inner] : value.items()) parts.push_back(python::quoted(key) + ": " + value_text(inner));
    return "{" + joined(parts) + "}";
  }
  DocumentLayer inner;
  inner.class_name = value["class_name"].get<std::string>();
  inner.module = value.value("module", "keras.layers");
  std::string name;
  for (const auto& [key, argument] : config.items())
    if (key == "name") name = argument == snake_case(inner.class_name) ? "" : value_text(argument);
    else inner.arguments[key] = argument;
  return constructor_text(inner, name);
}

std::string item_text(const Item& item, const Spoken& spoken) {
  if (const auto* reference = std::get_if<Reference>(&item)) return spoken.tensor(*reference);
  return spoken.numbers(std::get<Tensor>(item));
}

std::string argument_text(const Argument& argument, const Spoken& spoken) {
  if (const auto* reference = std::get_if<Reference>(&argument)) return spoken.tensor(*reference);
  if (const auto* numbers = std::get_if<Tensor>(&argument)) return spoken.numbers(*numbers);
  if (const auto* plain = std::get_if<Json>(&argument)) return value_text(*plain);
  std::vector<std::string> parts;
  for (const Item& item : std::get<std::vector<Item>>(argument)) parts.push_back(item_text(item, spoken));
  return "[" + joined(parts) + "]";
}

std::vector<std::string> call_parts(const DocumentCall& call, const Spoken& spoken) {
  std::vector<std::string> parts;
  for (const Argument& argument : call.args) parts.push_back(argument_text(argument, spoken));
  for (const auto& [key, argument] : call.kwargs) parts.push_back(key + "=" + argument_text(argument, spoken));
  return parts;
}

}  // namespace

Json verbatim(std::string_view python) {
  Json all = Json::object();
  all["__python__"] = std::string(python);
  return all;
}

std::string value_text(const Json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number_integer()) return json_text(value);
  if (value.is_number()) return number(value.get<double>());
  if (value.is_string()) return python::quoted(value.get<std::string>());
  if (value.is_object()) return object_text(value);
  std::vector<std::string> parts;
  for (const Json& one : value) parts.push_back(value_text(one));
  return "(" + joined(parts) + (parts.size() == 1 ? ",)" : ")");
}

std::string constructor_text(const DocumentLayer& layer, const std::string& name) {
  std::vector<std::string> parts;
  bool first = true;
  for (const auto& [key, value] : layer.arguments.items()) {
    const bool zeros = key == "padding" && layer.class_name.starts_with("ZeroPadding");
    const bool known = zeros || std::ranges::find(bare, key) != bare.end();
    // The same words stand further behind in other layers.
    const bool softly = (key == "activation" && layer.class_name != "Activation") ||
                        (key == "scale" && layer.class_name != "Rescaling");
    first = first && known && !softly;
    if (first) parts.push_back(value_text(value));
    else append_named(parts, key, value);
  }
  if (!layer.trainable) parts.emplace_back("trainable=False");
  if (!name.empty()) parts.push_back("name=" + name);
  return module_text(layer.module) + "." + layer.class_name + "(" + joined(parts) + ")";
}

std::string input_text(const DocumentLayer& layer) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : layer.arguments.items()) {
    if (key == "batch_shape" && value.is_array() && !value.empty() && value[0].is_null()) {
      Json shape = Json::array();
      for (std::size_t i = 1; i < value.size(); ++i) shape.push_back(value[i]);
      parts.push_back(value_text(shape));
    } else if (key != "dtype" || value != "float32") {
      append_named(parts, key, value);
    }
  }
  parts.push_back("name=" + python::quoted(layer.name));
  return "keras.Input(" + joined(parts) + ")";
}

std::string arguments_text(const DocumentCall& call, const Spoken& spoken) {
  return "(" + joined(call_parts(call, spoken)) + ")";
}

std::string operation_text(const DocumentLayer& layer, const DocumentCall& call, const Spoken& spoken) {
  std::vector<std::string> parts = call_parts(call, spoken);
  if (layer.class_name == "GetItem" && parts.size() == 2) {
    std::vector<std::string> indices;
    for (const Json& one : std::get<Json>(call.args[1])) indices.push_back(index_text(one));
    if (indices.size() == 1) indices.push_back("...");  // Keras refuses a slice by itself
    return parts[0] + "[" + joined(indices) + "]";
  }
  if (layer.class_name == "Einsum" && layer.arguments.contains("subscripts")) {
    parts.insert(parts.begin(), value_text(layer.arguments["subscripts"]));
    return "ops.einsum(" + joined(parts) + ")";
  }
  // The words of the constructor are those of the function.
  for (const auto& [key, value] : layer.arguments.items()) append_named(parts, key, value);
  const bool image = layer.module.ends_with(".image");
  const std::string function = layer.class_name == "RMSNorm" ? "rms_normalization" : snake_case(layer.class_name);
  return std::string(image ? "ops.image." : "ops.") + function + "(" + joined(parts) + ")";
}

}  // namespace convoy::keras
