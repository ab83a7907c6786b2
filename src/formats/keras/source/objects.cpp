// Tensors without numbers, and layers as JSON.
#include "formats/keras/source/objects.h"
#include "containers/python/unread.h"

#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/source/free_size.h"
#include "formats/keras/source/groups.h"
#include "formats/keras/source/library.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <set>

namespace convoy::keras {

namespace {

struct Operator {
  std::string_view symbol, class_name;
};
constexpr std::array symbols_of_operators{
    Operator{"+", "Add"},     Operator{"-", "Subtract"},      Operator{"*", "Multiply"},   Operator{"/", "Divide"},
    Operator{"**", "Power"},  Operator{"@", "Matmul"},        Operator{"<", "Less"},       Operator{"<=", "LessEqual"},
    Operator{">", "Greater"}, Operator{">=", "GreaterEqual"}, Operator{"&", "LogicalAnd"}, Operator{"|", "LogicalOr"}};

Value shape_of(Interpreter& in, const Shape& shape) {
  ValueList sizes;
  for (const Dim n : shape) sizes.push_back(n.known() ? Value::of(*n) : Value());
  return in.tuple(std::move(sizes));
}

}  // namespace

Result<std::optional<Value>> SourceTensor::attribute(Interpreter& in, const std::string& name) {
  if (name == "shape" || name == "_keras_shape") return shape_of(in, type.shape);
  if (name == "get_shape")
    return in.native(name,
                     [this](Interpreter& with, Arguments&) -> Result<Value> { return shape_of(with, type.shape); });
  if (name == "ndim") return Value::of(type.rank());
  if (name == "name") return in.text(layer->name);
  if (name == "dtype") return in.text(std::string(convoy::name_of(type.dtype)));
  return std::nullopt;
}

Result<Value> SourceTensor::item(Interpreter& in, Value key) {
  return library.operate(in, "GetItem", Arguments{{Value::of(this), key}, {}});
}

Result<std::optional<Value>> SourceTensor::binary(Interpreter& in, std::string_view symbol, Value other,
                                                  bool reversed) {
  const auto found = std::ranges::find(symbols_of_operators, symbol, &Operator::symbol);
  if (found == symbols_of_operators.end() ||
      !(other.is_number() || other.as<SourceTensor>() || is_known_array(in, other)))
    return std::nullopt;
  ValueList both{Value::of(this), other};
  if (reversed) std::swap(both[0], both[1]);
  auto made = library.operate(in, std::string(found->class_name), Arguments{std::move(both), {}});
  if (!made) return pass(made);
  return *made;
}

Result<std::optional<Value>> SourceTensor::unary(Interpreter& in, std::string_view symbol) {
  if (symbol != "-" && symbol != "~") return std::nullopt;
  auto made = library.operate(in, symbol == "-" ? "Negative" : "LogicalNot", Arguments{{Value::of(this)}, {}});
  if (!made) return pass(made);
  return *made;
}

Result<bool> SourceTensor::truth(Interpreter&) {
  return fail(
      Fault::Unsupported,
      "a decision by the numbers of a tensor, which come only when the model runs: keras.ops.where(condition, a, b) "
      "computes both ways, and chooses");
}

// ---- JSON

namespace {

struct Node {
  SourceLayer* layer;
  std::size_t call;
  friend auto operator<=>(const Node&, const Node&) = default;
};

const SourceCall* call_of(const Node& node) {
  return node.call < node.layer->calls.size() ? &node.layer->calls[node.call] : nullptr;
}

void tensor_places(const Json& value, std::vector<std::size_t>& into) {
  if (!value.is_structured()) return;
  if (const auto one = value.is_object() ? value.find("$tensor") : value.end(); one != value.end())
    into.push_back(one->get<std::size_t>());
  else
    for (const Json& inner : value) tensor_places(inner, into);
}

// Arguments by name in the order in which Keras flattens them: those of a layer by their names, those of a function as it hands
// them on, one by one.
std::vector<std::string> names_in_order(const SourceLayer& layer, const SourceCall& call) {
  std::vector<std::string> names;
  for (const auto& [name, value] : call.kwargs.items()) names.push_back(name);
  std::ranges::sort(names);
  const CatalogueRow* function = layer.module == "keras.src.ops" ? catalogued_operation(layer.class_name) : nullptr;
  if (!function) return names;
  const auto parameters = parameters_of(*function);
  std::ranges::stable_sort(names, {}, [&](const std::string& name) {
    return std::ranges::find(parameters, std::string_view(name), &CatalogueParameter::name) - parameters.begin();
  });
  return names;
}

// What a call reads, as Keras flattens its arguments.
std::vector<SourceTensor*> read_by(const Node& node) {
  const SourceCall* call = call_of(node);
  if (!call) return {};
  std::vector<std::size_t> places;
  tensor_places(call->args, places);
  for (const std::string& name : names_in_order(*node.layer, *call)) tensor_places(call->kwargs[name], places);
  std::vector<SourceTensor*> tensors;
  for (const std::size_t place : places) tensors.push_back(call->tensors[place]);
  return tensors;
}

// The calls between a model's inputs and outputs, in the order of the program.
Result<std::vector<Node>> nodes_of(const SourceLayer& model) {
  std::set<Node> inputs, seen;
  std::vector<Node> open, found;
  for (SourceTensor* t : model.inputs) inputs.insert({t->layer, t->call_number});
  for (SourceTensor* t : model.outputs) open.push_back({t->layer, t->call_number});
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    found.push_back(node);
    if (inputs.contains(node)) continue;
    const SourceCall* call = call_of(node);
    if (node.layer->is_known()) continue;
    if (!call || call->tensors.empty())
      return fail(Fault::Format, "the model's outputs read '" + node.layer->name + "', which is none of its inputs");
    for (SourceTensor* t : call->tensors) open.push_back({t->layer, t->call_number});
  }
  for (const Node& input : inputs)
    if (seen.insert(input).second) found.push_back(input);
  std::ranges::stable_sort(found, {}, [](const Node& node) {
    const SourceCall* call = call_of(node);
    return call ? call->order : 0;
  });
  return found;
}

Json layer_object(const SourceLayer& layer) {
  Json object = Json::object();
  object["class_name"] = layer.class_name;
  object["module"] = layer.module;
  object["config"] = layer.config;
  object["config"]["name"] = layer.name;
  object["name"] = layer.name;
  return object;
}

class Functional {
 public:
  explicit Functional(const SourceLayer& model) : model_(model) {}

  Result<Json> run() {
    auto nodes = nodes_of(model_);
    if (!nodes) return pass(nodes);
    for (const Node& node : *nodes) places_[node] = counts_[node.layer]++;
    find_groups(*nodes);
    const std::vector<SourceLayer*> layers = in_order();
    for (SourceLayer* layer : layers) name(*layer);
    Json list = Json::array();
    for (SourceLayer* layer : layers) {
      auto object = layer->is_model() ? json_of(*layer) : Result<Json>(layer_object(*layer));
      if (!object) return object;
      (*object)["name"] = (*object)["config"]["name"] = names_[layer];
      if (const auto group = groups_.find(layer); group != groups_.end())
        (*object)["config"][group_key] = group->second;
      Json inbound = Json::array();
      const bool is_input =
          std::ranges::any_of(model_.inputs, [&](const SourceTensor* t) { return t->layer == layer; });
      for (const Node& node : *nodes)
        if (node.layer == layer && !is_input) inbound.push_back(written(layer->calls[node.call]));
      (*object)["inbound_nodes"] = std::move(inbound);
      list.push_back(std::move(*object));
    }
    Json config{{"name", model_.name}, {"layers", std::move(list)}};
    if (const auto trains = model_.config.find("trainable"); trains != model_.config.end())
      config["trainable"] = *trains;
    config["input_layers"] = border(model_.inputs, model_.input_keys);
    config["output_layers"] = border(model_.outputs, model_.output_keys);
    return Json{{"class_name", "Functional"}, {"module", "keras"}, {"config", std::move(config)}};
  }

 private:
  // Layers inside others of the program's own may have the names of those elsewhere.
  void name(SourceLayer& layer) {
    std::string wanted = layer.name;
    for (int n = 1; taken_.contains(wanted); ++n) wanted = layer.name + "_" + std::to_string(n);
    taken_.insert(wanted);
    names_[&layer] = wanted;
  }

  // Groups are said where layers of the program's own are among them, which stand in a file as one layer each.
  void find_groups(const std::vector<Node>& nodes) {
    if (model_.root) add_groups(*model_.root, "", groups_);
    else if (std::ranges::any_of(nodes, [](const Node& node) { return node.layer->is_weight() || within(node); })) {
      std::vector<SourceLayer*> kept;
      for (SourceLayer* layer : ordered(
               [](const Node& node) {
                 const auto& followed = node.layer->followed;
                 if (node.call < followed.size()) return followed[node.call];
                 return read_by(node);
               },
               [](const SourceTensor& t) {
                 const SourceCall* call = call_of({t.layer, t.call_number});
                 return call && call->within ? Node{call->within, call->within_call} : Node{t.layer, t.call_number};
               }))
        if (!layer->is_known()) kept.push_back(layer);
      const auto names = numbered(kept);
      for (std::size_t i = 0; i < kept.size(); ++i)
        if (kept[i]->module != "keras.src.ops") add_groups(*kept[i], "layers/" + names[i], groups_);
    }
    for (const auto& [layer, path] : groups_) {
      // Trained ones stand before the others.
      std::size_t place = 0;
      for (const bool trained : {true, false})
        for (SourceLayer* weight : layer->variables)
          if (weight->config["trainable"] == trained) weight->config["index"] = place++;
      for (SourceLayer* weight : layer->variables) weight->config["count"] = place;
    }
  }
  static bool within(const Node& node) {
    const SourceCall* call = call_of(node);
    return call && call->within;
  }

 public:
  std::vector<SourceLayer*> in_order() {
    return ordered([](const Node& node) { return read_by(node); },
                   [](const SourceTensor& t) { return Node{t.layer, t.call_number}; });
  }

 private:
  // A dictionary by its keys.
  std::vector<SourceTensor*> outputs_as_keras_flattens_them() const {
    if (model_.output_keys.empty()) return model_.outputs;
    std::map<std::string, SourceTensor*> sorted;
    for (std::size_t i = 0; i < model_.outputs.size(); ++i) sorted.emplace(model_.output_keys[i], model_.outputs[i]);
    const auto values = std::views::values(sorted);
    return {values.begin(), values.end()};
  }

  // As Keras keeps them, which decides how weights in a file are counted: from the inputs down by the longest way to an
  // output, those of one depth in the order in which a walk up from the outputs meets them. Source:
  // keras/src/ops/function.py, map_graph.
  template <class Reads, class NodeOf>
  std::vector<SourceLayer*> ordered(const Reads& reads, const NodeOf& node_of) {
    std::vector<Node> finished;  // every node behind those that it reads
    std::map<SourceLayer*, std::size_t> met;
    std::set<Node> inputs, seen;
    for (SourceTensor* t : model_.inputs) inputs.insert({t->layer, t->call_number});
    struct Visit {
      Node node;
      std::vector<SourceTensor*> read;
      std::size_t next = 0;
    };
    const auto read_inside = [&](const Node& node) {
      return inputs.contains(node) ? std::vector<SourceTensor*>() : reads(node);
    };
    std::vector<Visit> open;
    const auto enter = [&](const SourceTensor& t) {
      const Node node = node_of(t);
      if (!seen.insert(node).second) return;
      met.try_emplace(node.layer, met.size());
      open.push_back({node, read_inside(node), 0});
    };
    for (SourceTensor* output : outputs_as_keras_flattens_them()) {
      enter(*output);
      while (!open.empty()) {
        Visit& visit = open.back();
        if (visit.next < visit.read.size()) {
          const SourceTensor& read = *visit.read[visit.next++];
          enter(read);
        } else {
          finished.push_back(visit.node);
          open.pop_back();
        }
      }
    }
    std::map<Node, std::size_t> depth;
    std::map<SourceLayer*, std::size_t> deepest;
    for (auto node = finished.rbegin(); node != finished.rend(); ++node) {
      std::size_t& own = depth[*node];
      own = deepest[node->layer] = std::max(own, deepest[node->layer]);
      for (const SourceTensor* t : read_inside(*node)) {
        std::size_t& read = depth[node_of(*t)];
        read = std::max(read, own + 1);
      }
    }
    std::vector<SourceLayer*> layers;
    for (SourceTensor* t : model_.inputs)  // one that no output reads
      if (!met.contains(t->layer) && std::ranges::find(layers, t->layer) == layers.end()) layers.push_back(t->layer);
    for (const auto& [layer, number] : met) layers.push_back(layer);
    std::ranges::stable_sort(layers, [&](SourceLayer* a, SourceLayer* b) {
      return deepest[a] != deepest[b] ? deepest[a] > deepest[b] : met[a] < met[b];
    });
    return layers;
  }

  // Functional models inside this one count their calls at its border from 1.
  Json border(const std::vector<SourceTensor*>& tensors, const std::vector<std::string>& keys) {
    Json all = Json::array();
    for (const SourceTensor* t : tensors) {
      Json one = triple(*t);
      if (t->layer->class_name == "Functional") one[1] = one[1].get<std::size_t>() + 1;
      all.push_back(std::move(one));
    }
    if (keys.empty()) return all;
    Json named = Json::object();
    for (std::size_t i = 0; i < keys.size(); ++i) named[keys[i]] = std::move(all[i]);
    return named;
  }
  Json triple(const SourceTensor& t) {
    return Json::array({names_[t.layer], places_[{t.layer, t.call_number}], t.tensor});
  }
  Json written(const SourceCall& call) {
    return Json{{"args", with_tensors(call.args, call)}, {"kwargs", with_tensors(call.kwargs, call)}};
  }
  Json with_tensors(const Json& value, const SourceCall& call) {
    if (value.is_object() && value.contains("$tensor")) {
      const SourceTensor& t = *call.tensors[value["$tensor"].get<std::size_t>()];
      return Json{{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", triple(t)}}}};
    }
    if (!value.is_structured()) return value;
    Json copy = value.is_array() ? Json::array() : Json::object();
    for (const auto& [key, inner] : value.items()) {
      if (value.is_array()) copy.push_back(with_tensors(inner, call));
      else copy[key] = with_tensors(inner, call);
    }
    return copy;
  }

  const SourceLayer& model_;
  std::map<Node, std::size_t> places_;
  std::map<SourceLayer*, std::size_t> counts_;
  std::map<SourceLayer*, std::string> names_;
  std::set<std::string> taken_;
  Groups groups_;
};

}  // namespace

std::vector<SourceLayer*> layers_of(const SourceLayer& functional) { return Functional(functional).in_order(); }

Result<Json> json_of(const SourceLayer& layer) {
  if (layer.class_name == "Functional") return Functional(layer).run();
  if (layer.class_name != "Sequential") return layer_object(layer);
  Json list = Json::array();
  for (const SourceLayer* inner : layer.layers) {
    auto object = json_of(*inner);
    if (!object) return object;
    list.push_back(std::move(*object));
  }
  Json config{{"name", layer.name}, {"layers", std::move(list)}};
  if (layer.config.contains("build_input_shape")) config["build_input_shape"] = layer.config["build_input_shape"];
  return Json{{"class_name", "Sequential"}, {"module", "keras"}, {"config", std::move(config)}};
}

Result<Json> json_of(Interpreter& in, Value value, int depth) {
  if (depth > 16) return fail(Fault::Limit, "an argument is nested over 16 deep");
  if (value.is_none()) return Json();
  if (value.is_truth()) return Json(value.whole() != 0);
  if (value.is_whole()) return Json(value.whole());
  if (value.is_real()) return Json(value.real());
  if (value.type() == Value::Type::Ellipsis) return Json{{"class_name", "__ellipsis__"}};
  if (const auto* text = value.as<python::Text>()) return Json(text->text);
  if (const auto* all = value.as<python::Sequence>()) {
    Json list = Json::array();
    for (const Value& one : all->items) {
      auto inner = json_of(in, one, depth + 1);
      if (!inner) return inner;
      list.push_back(std::move(*inner));
    }
    return list;
  }
  if (const auto* map = value.as<python::Mapping>(); map && !map->is_set) {
    Json object = Json::object();
    for (const auto& [key, one] : map->entries) {
      auto inner = json_of(in, one, depth + 1);
      if (!inner) return inner;
      const auto word = in.string_of(key);
      object[word.value_or("")] = std::move(*inner);
    }
    return object;
  }
  if (const auto* cut = value.as<python::Cut>()) {
    Json config = Json::object();
    for (const auto& [word, bound] : {std::pair{"start", cut->start}, {"stop", cut->stop}, {"step", cut->step}}) {
      auto inner = json_of(in, bound, depth + 1);
      if (!inner) return inner;
      config[word] = std::move(*inner);
    }
    return Json{{"class_name", "__slice__"}, {"config", std::move(config)}};
  }
  if (const auto* function = value.as<python::Native>()) return Json(function->name);
  if (const auto* instance = value.as<python::Instance>())
    if (auto* layer = dynamic_cast<SourceLayer*>(instance->extra)) return json_of(*layer);
  if (const auto* size = value.as<FreeSize>()) return depends_on(*size);
  if (const auto* unread = value.as<python::NotRead>()) return unread->refused(in);
  return fail(Fault::Unsupported,
              "an argument is a " + python::type_name(value) + ", which a file of Keras cannot hold");
}

}  // namespace convoy::keras
