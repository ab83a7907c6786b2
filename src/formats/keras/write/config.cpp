// config.json: layers in Keras's own order, each with its arguments and the calls of it.
#include "containers/json.h"
#include "formats/keras/catalogue/layer_text.h"
#include "formats/keras/write/files.h"
#include "formats/keras/write/sink.h"
#include "formats/shortest.h"
#include "ops/expect.h"

#include <cmath>

namespace convoy::keras {
namespace {

Json shape_of(const Shape& shape) {
  Json all = Json::array();
  for (const Dim n : shape) all.push_back(n.known() ? Json(*n) : Json());
  return all;
}

Json number_of(DType dtype, std::int64_t number) { return dtype == DType::Bool ? Json(number != 0) : Json(number); }
Json number_of(DType dtype, double number) {
  return dtype == DType::F64 ? Json(number) : Json(shortest(static_cast<float>(number)));
}

template <class Number>
Json nested(const Tensor& tensor, const std::vector<Number>& numbers, std::size_t axis, std::size_t& at) {
  if (axis == tensor.shape().size()) return number_of(tensor.dtype(), numbers[at++]);
  Json list = Json::array();
  for (Size i = 0; i < tensor.shape()[axis]; ++i) list.push_back(nested(tensor, numbers, axis + 1, at));
  return list;
}

Json array_of(const Tensor& tensor) {
  std::size_t at = 0;
  Json value =
      is_floating(tensor.dtype()) ? nested(tensor, tensor.doubles(), 0, at) : nested(tensor, tensor.integers(), 0, at);
  return {{"class_name", "__numpy__"},
          {"config", {{"value", std::move(value)}, {"dtype", std::string(name_of(tensor.dtype()))}}}};
}

// The order of axes and the type, which Keras takes from the reader's own settings where a file leaves them out.
void say_settings(Json& config, const std::string& class_name, bool is_operation) {
  if (takes_data_format(class_name, is_operation) && !config.contains("data_format"))
    config["data_format"] = "channels_last";
  if (!is_operation && !config.contains("dtype")) config["dtype"] = "float32";
  for (auto& [key, value] : config.items())
    if (value.is_object() && value.contains("class_name") && value.value("module", "") == "keras.layers")
      say_settings(value["config"], value["class_name"].get<std::string>(), false);
}

class Config {
 public:
  Config(const Document& document, bool legacy) : document_(document), legacy_(legacy) {}

  Json model() const {
    const bool chain = document_.is_sequential();
    Json config = Json::object();
    config["name"] = document_.name;
    config["trainable"] = true;
    config["layers"] = Json::array();
    for (const std::size_t at : order_in_keras(document_)) config["layers"].push_back(layer(at, chain));
    if (chain) {
      config["build_input_shape"] = document_.layers[0].arguments["batch_shape"];
    } else {
      config["input_layers"] = ends(document_.inputs, document_.input_keys);
      config["output_layers"] = ends(document_.outputs, document_.output_keys);
    }
    Json all = Json::object();
    if (!legacy_) all["module"] = chain ? "keras" : "keras.src.models.functional";
    all["class_name"] = chain ? "Sequential" : "Functional";
    all["config"] = std::move(config);
    if (!legacy_) all["registered_name"] = chain ? Json() : Json("Functional");
    return all;
  }

 private:
  Json layer(std::size_t at, bool chain) const {
    const DocumentLayer& said = document_.layers[at];
    Json one = Json::object();
    if (!legacy_) one["module"] = said.module;
    one["class_name"] = said.class_name;
    Json config = Json::object();
    config["name"] = said.name;
    if (!said.trainable) config["trainable"] = false;
    for (const auto& [key, value] : said.arguments.items()) config[key] = value;
    say_settings(config, said.class_name, said.is_operation());
    one["config"] = std::move(config);
    if (!legacy_) one["registered_name"] = said.is_operation() ? Json(said.class_name) : Json();
    if (chain) return one;
    one["name"] = said.name;
    one["inbound_nodes"] = Json::array();
    if (said.class_name != "InputLayer")
      for (const DocumentCall& call : said.calls) one["inbound_nodes"].push_back(node(call));
    return one;
  }

  Json node(const DocumentCall& call) const {
    Json args = Json::array(), kwargs = Json::object();
    for (const Argument& argument : call.args) args.push_back(value(argument));
    for (const auto& [key, argument] : call.kwargs) kwargs[key] = value(argument);
    return {{"args", std::move(args)}, {"kwargs", std::move(kwargs)}};
  }

  Json value(const Argument& argument) const {
    if (const auto* one = std::get_if<Reference>(&argument)) return tensor(*one);
    if (const auto* known = std::get_if<Tensor>(&argument)) return array_of(*known);
    if (const auto* plain = std::get_if<Json>(&argument)) return *plain;
    Json list = Json::array();
    for (const Item& item : std::get<std::vector<Item>>(argument)) {
      if (const auto* one = std::get_if<Reference>(&item)) list.push_back(tensor(*one));
      else list.push_back(array_of(std::get<Tensor>(item)));
    }
    return list;
  }

  Json tensor(const Reference& r) const {
    const TensorType& type = document_.type(r);
    Json config = Json::object();
    config["shape"] = shape_of(type.shape);
    config["dtype"] = std::string(name_of(type.dtype));
    config["keras_history"] = place(r);
    return {{"class_name", "__keras_tensor__"}, {"config", std::move(config)}};
  }

  Json place(const Reference& r) const { return Json::array({document_.layers[r.layer].name, r.call, r.tensor}); }

  // One input or output stands by itself.
  Json ends(const std::vector<Reference>& all, const std::vector<std::string>& keys) const {
    if (!keys.empty()) {
      Json named = Json::object();
      for (std::size_t i = 0; i < all.size(); ++i) named[keys[i]] = place(all[i]);
      return named;
    }
    if (all.size() == 1) return legacy_ ? Json::array({place(all[0])}) : place(all[0]);
    Json list = Json::array();
    for (const Reference& r : all) list.push_back(place(r));
    return list;
  }

  const Document& document_;
  bool legacy_;
};

void append_json(const Json& value, std::string& text) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    text += std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  } else if (value.is_array()) {
    text += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) text += ", ";
      append_json(value[i], text);
    }
    text += ']';
  } else if (value.is_object()) {
    text += '{';
    bool first = true;
    for (const auto& [key, inner] : value.items()) {
      text += (first ? "" : ", ") + json_text(key) + ": ";
      append_json(inner, text);
      first = false;
    }
    text += '}';
  } else {
    text += json_text(value);
  }
}

}  // namespace

Json config_of(const Document& document, bool legacy) { return Config(document, legacy).model(); }

std::string python_json(const Json& value) {
  std::string text;
  append_json(value, text);
  return text;
}

}  // namespace convoy::keras
