#include "formats/keras/topology.h"

#include "formats/keras/call.h"
#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/functions.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace convoy::keras {
namespace {

using Places = std::unordered_map<std::string, std::size_t>;

std::string word(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}
const Json* part(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

bool is_index(const Json& value) { return value.is_number_integer() && value >= 0 && value <= 1000000; }
// ["conv1", 0, 0], and in Keras 2 nodes ["conv1", 0, 0, {...}].
bool is_reference(const Json& value) {
  return value.is_array() && value.size() >= 3 && value.size() <= 4 && value[0].is_string() && is_index(value[1]) &&
         is_index(value[2]);
}

// How many calls before the first that counts: a nested model has a built-in node 0 in some places of some grammars.
Result<TensorRef> reference(const Json& triple, const Places& places, const std::vector<Layer>& layers, int grammar,
                            bool at_border) {
  const auto name = triple[0].get<std::string>();
  const auto found = places.find(name);
  if (found == places.end()) return fail(Fault::Format, "refers to layer '" + name + "', which does not exist");
  TensorRef ref{found->second, triple[1].get<std::size_t>(), triple[2].get<std::size_t>(), nullptr};
  const Layer& layer = layers[ref.layer];
  if (layer.model) {
    const bool shifted = grammar == 2 || (at_border && !layer.model->sequential);
    if (shifted) {
      if (ref.call == 0) return fail(Fault::Format, "refers to call 0 of model '" + name + "', which counts from 1");
      --ref.call;
    }
  }
  return ref;
}

// Copies a value, with every tensor in it taken out into `call.tensors`.
Status extract(const Json& value, LayerCall& call, Json& out, const Places& places, const std::vector<Layer>& layers,
               int grammar) {
  const auto take = [&](const Json& triple, const Json* recorded = nullptr) -> Status {
    auto ref = reference(triple, places, layers, grammar, false);
    if (!ref) return pass(ref);
    ref->recorded = recorded;
    out = Json::object();
    out["$tensor"] = call.tensors.size();
    call.tensors.push_back(*ref);
    return {};
  };
  if (value.is_object()) {
    if (word(value, "class_name") == "__keras_tensor__") {
      const Json* config = part(value, "config");
      const Json* history = config ? part(*config, "keras_history") : nullptr;
      if (!history || !is_reference(*history)) return fail(Fault::Format, "has a tensor without a history");
      return take(*history, config);
    }
    out = Json::object();
    for (const auto& [key, inner] : value.items()) {
      Json copy;
      if (auto ok = extract(inner, call, copy, places, layers, grammar); !ok) return ok;
      out[key] = std::move(copy);
    }
    return {};
  }
  if (grammar == 2 && is_reference(value) && places.contains(value[0].get<std::string>())) return take(value);
  if (value.is_array()) {
    out = Json::array();
    for (const Json& inner : value) {
      Json copy;
      if (auto ok = extract(inner, call, copy, places, layers, grammar); !ok) return ok;
      out.push_back(std::move(copy));
    }
    return {};
  }
  out = value;
  return {};
}

// ["_CONSTANT_VALUE", -1, number, {...}]: what a function is called with that is no tensor.
bool is_constant(const Json& value) {
  return value.is_array() && value.size() >= 3 && value.size() <= 4 && value[0] == "_CONSTANT_VALUE";
}

// [["a", 0, 0, {}], ["b", 0, 0, {}]]; a model called with one tensor may drop the outer list.
Result<LayerCall> read_old_call(const Json& node, const Places& places, const std::vector<Layer>& layers) {
  LayerCall call;
  const auto one = [&](const Json& entry) -> Status {
    if (is_constant(entry)) {
      call.args.push_back(entry[2]);
    } else {
      if (!is_reference(entry)) return fail(Fault::Format, "has an inbound node that is no [layer, node, tensor]");
      auto ref = reference(entry, places, layers, 2, false);
      if (!ref) return pass(ref);
      call.args.push_back(Json{{"$tensor", call.tensors.size()}});
      call.tensors.push_back(*ref);
    }
    if (entry.size() < 4 || !entry[3].is_object()) return {};
    for (const auto& [key, value] : entry[3].items()) {
      Json copy;
      if (auto ok = extract(value, call, copy, places, layers, 2); !ok) return ok;
      call.kwargs[key] = std::move(copy);
    }
    return {};
  };
  if (is_reference(node) || is_constant(node)) {
    if (auto ok = one(node); !ok) return pass(ok);
    return call;
  }
  if (node.is_object()) {
    for (const auto& [key, entry] : node.items())
      if (auto ok = one(entry); !ok) return pass(ok);
    return call;
  }
  if (!node.is_array()) return fail(Fault::Format, "has an inbound node that is no list");
  for (const Json& entry : node)
    if (auto ok = one(entry); !ok) return pass(ok);
  return call;
}

// The entries of a dictionary as Keras flattens it: sorted by key.
std::map<std::string, const Json*> sorted_entries(const Json& object) {
  std::map<std::string, const Json*> sorted;
  for (const auto& [key, value] : object.items()) sorted.emplace(key, &value);
  return sorted;
}

// What a model inside this one is called with, in the order of its inputs.
void sort_tensors(LayerCall& call) {
  if (call.args.size() != 1 || !call.args[0].is_object() || call.args[0].contains("$tensor")) return;
  std::vector<TensorRef> sorted;
  for (const auto& [key, value] : sorted_entries(call.args[0])) {
    const auto place = value->is_object() ? value->find("$tensor") : value->end();
    if (place == value->end()) return;
    sorted.push_back(call.tensors[place->get<std::size_t>()]);
  }
  if (sorted.size() != call.tensors.size()) return;
  std::size_t next = 0;
  for (const auto& [key, unused] : sorted_entries(call.args[0])) call.args[0][key] = Json{{"$tensor", next++}};
  call.tensors = std::move(sorted);
}

Status read_calls(const Json& nodes, Layer& layer, const Places& places, const std::vector<Layer>& layers) {
  if (!nodes.is_array()) return fail(Fault::Format, "inbound_nodes is not a list");
  for (const Json& node : nodes) {
    if (!node.is_object() || !node.contains("args")) {
      auto call = read_old_call(node, places, layers);
      if (!call) return pass(call);
      // A function takes a list as one argument.
      if (calls_function(layer) && !is_reference(node) && !is_constant(node)) call->args = Json::array({call->args});
      layer.calls.push_back(std::move(*call));
      continue;
    }
    LayerCall call;
    if (auto ok = extract(node["args"], call, call.args, places, layers, 3); !ok) return ok;
    if (const Json* kwargs = part(node, "kwargs"))
      if (auto ok = extract(*kwargs, call, call.kwargs, places, layers, 3); !ok) return ok;
    if (!call.args.is_array() || !call.kwargs.is_object())
      return fail(Fault::Format, "has an inbound node whose args are no list or whose kwargs are no object");
    if (layer.model) sort_tensors(call);
    layer.calls.push_back(std::move(call));
  }
  return {};
}

// The keys of a dictionary of tensors; none: it is something else.
std::vector<std::string> keys_of(const Json& border) {
  std::vector<std::string> keys;
  if (!border.is_object() || word(border, "class_name") == "__tuple__") return keys;
  for (const auto& [key, value] : sorted_entries(border)) {
    if (!is_reference(*value)) return {};
    keys.push_back(key);
  }
  return keys;
}

// Every reference inside a structure of lists, tuples and dictionaries, in the order in which Keras flattens it.
Status collect(const Json& value, std::vector<TensorRef>& out, const Places& places, const std::vector<Layer>& layers,
               int grammar) {
  if (is_reference(value)) {
    auto ref = reference(value, places, layers, grammar, true);
    if (!ref) return pass(ref);
    out.push_back(*ref);
    return {};
  }
  if (!value.is_array() && !value.is_object())
    return fail(Fault::Format, "input_layers or output_layers is no list of layers");
  if (word(value, "class_name") == "__tuple__") {
    const Json* items = part(value, "items");
    return items ? collect(*items, out, places, layers, grammar) : Status(fail(Fault::Format, "has an empty tuple"));
  }
  if (value.is_object()) {
    for (const auto& [key, inner] : sorted_entries(value))
      if (auto ok = collect(*inner, out, places, layers, grammar); !ok) return ok;
    return {};
  }
  for (const Json& inner : value)
    if (auto ok = collect(inner, out, places, layers, grammar); !ok) return ok;
  return {};
}

// Keras 3 nodes are objects, older ones lists; a model without nodes is judged by the version.
int grammar_of(const Json& layers, const Version& version) {
  for (const Json& entry : layers)
    if (const Json* nodes = part(entry, "inbound_nodes"); nodes && nodes->is_array() && !nodes->empty())
      return (*nodes)[0].is_object() && (*nodes)[0].contains("args") ? 3 : 2;
  return version.major >= 3 ? 3 : 2;
}

Status read_layers(const Json& list, Model& model, Places& places, const Version& version) {
  if (!list.is_array()) return fail(Fault::Format, "model '" + model.name + "': layers is not a list");
  for (const Json& entry : list) {
    auto layer = read_layer(entry, version);
    if (!layer) return pass(layer);
    if (!places.emplace(layer->name, model.layers.size()).second)
      return fail(Fault::Format, "model '" + model.name + "' has two layers named '" + layer->name + "'");
    model.layers.push_back(std::move(*layer));
  }
  return {};
}

Status check_references(const Model& model) {
  const auto good = [&](const TensorRef& ref) -> Status {
    const Layer& to = model.layers[ref.layer];
    const bool input = to.class_name == "InputLayer" && to.calls.empty();
    if (ref.call >= to.calls.size() && !(input && ref.call == 0))
      return fail(Fault::Format, "refers to call " + std::to_string(ref.call) + " of layer '" + to.name +
                                     "', which has " + std::to_string(to.calls.size()));
    return {};
  };
  for (const Layer& layer : model.layers)
    for (const LayerCall& call : layer.calls)
      for (const TensorRef& ref : call.tensors)
        if (auto ok = good(ref); !ok) return within(place_of(layer), std::move(ok));
  for (const auto* border : {&model.inputs, &model.outputs})
    for (const TensorRef& ref : *border)
      if (auto ok = good(ref); !ok) return ok;
  return {};
}

Result<Model> read_sequential(const Json& config, Model model, const Version& version) {
  const Json* list = config.is_array() ? &config : part(config, "layers");
  if (!list) return fail(Fault::Format, "model '" + model.name + "' has no layers");
  Places places;
  if (auto ok = read_layers(*list, model, places, version); !ok) return pass(ok);
  for (const char* key : {"build_input_shape", "batch_input_shape"})
    if (const Json* shape = part(config, key); shape && model.input_shape.empty()) model.input_shape.push_back(*shape);
  return model;
}

Result<Model> read_functional(const Json& config, Model model, const Version& version) {
  const Json* list = part(config, "layers");
  if (!list)
    return fail(Fault::Unsupported,
                "model '" + model.name + "' (" + model.class_name +
                    ") lists no layers: it was written as Python code, which the file does not hold");
  Places places;
  if (auto ok = read_layers(*list, model, places, version); !ok) return pass(ok);
  const int grammar = grammar_of(*list, version);
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    if (const Json* nodes = part((*list)[i], "inbound_nodes")) {
      Layer& layer = model.layers[i];
      if (auto ok = within(place_of(layer), read_calls(*nodes, layer, places, model.layers)); !ok) return pass(ok);
    }
  const Json* in = part(config, "input_layers");
  const Json* out = part(config, "output_layers");
  if (!in || !out) return fail(Fault::Format, "model '" + model.name + "' has no input_layers or no output_layers");
  if (auto ok = collect(*in, model.inputs, places, model.layers, grammar); !ok) return pass(ok);
  if (auto ok = collect(*out, model.outputs, places, model.layers, grammar); !ok) return pass(ok);
  if (model.outputs.empty()) return fail(Fault::Format, "model '" + model.name + "' has an empty output_layers");
  const Json* trains = part(config, "trainable");
  model.stands_still = trains && trains->is_boolean() && !trains->get<bool>();
  model.input_keys = keys_of(*in);
  model.output_keys = keys_of(*out);
  if (auto ok = check_references(model); !ok) return pass(ok);
  return model;
}

}  // namespace

// The module of an object's class. Keras writes null for a class of the program itself, a notebook's, beside the name that it has
// there, which may be a stock layer's.
std::string module_of(const Json& object) {
  const bool of_the_program = object.is_object() && object.contains("module") && object["module"].is_null() &&
                              !word(object, "registered_name").empty();
  return of_the_program ? "__main__" : word(object, "module");
}

bool is_model_class(const std::string& class_name) {
  return class_name == "Functional" || class_name == "Model" || class_name == "Sequential" || class_name == "Container";
}

Result<Layer> read_layer(const Json& object, const Version& version) {
  Layer layer;
  layer.class_name = word(object, "class_name");
  if (!object.is_object() || layer.class_name.empty()) return fail(Fault::Format, "a layer has no class_name");
  layer.config = part(object, "config");
  layer.module = module_of(object);
  // Before Keras 3 functions were no nodes of their own: what goes by a layer's name is the layer.
  if (layer.module.empty() && version.major < 3 && catalogued_layer(layer.class_name)) layer.module = "keras.layers";
  layer.registered_name = word(object, "registered_name");
  layer.name = word(object, "name");
  if (layer.name.empty() && layer.config) layer.name = word(layer.config->is_object() ? *layer.config : object, "name");
  if (layer.name.empty()) layer.name = layer.class_name;
  if (is_model_class(layer.class_name) && of_keras(layer.module)) {
    auto model = read_model(object, version);
    if (!model) return pass(model);
    layer.model = std::make_shared<Model>(std::move(*model));
    if (layer.name == layer.class_name) layer.name = layer.model->name;
  }
  return layer;
}

Result<Model> read_model(const Json& object, const Version& version) {
  Model model;
  model.class_name = word(object, "class_name");
  const Json* config = part(object, "config");
  if (model.class_name.empty() || !config) return fail(Fault::Format, "the model has no class_name or no config");
  model.name = config->is_object() ? word(*config, "name") : "";
  if (model.name.empty()) model.name = model.class_name;
  if (!of_keras(module_of(object)) || !is_model_class(model.class_name))
    return fail(Fault::Unsupported,
                "model '" + model.name + "' (" + model.class_name +
                    ") is a class of its own, written as Python code, which the file does not hold");
  model.sequential = model.class_name == "Sequential";
  if (model.sequential) return read_sequential(*config, std::move(model), version);
  return read_functional(*config, std::move(model), version);
}

}  // namespace convoy::keras
