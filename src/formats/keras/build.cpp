// Walks a model in its order of computation and calls every layer that an output needs.
#include "base/nearest.h"
#include "containers/json.h"
#include "formats/keras/catalogue/catalogue.h"
#include "formats/keras/functions.h"
#include "formats/keras/masks.h"
#include "formats/keras/source_values.h"
#include "formats/recorded_type.h"
#include "ops/expect.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace convoy::keras {
namespace {

constexpr std::size_t most_calls = 100000;

const Json* find(const Json* object, std::initializer_list<const char*> keys) {
  if (!object || !object->is_object()) return nullptr;
  for (const char* key : keys)
    if (const auto it = object->find(key); it != object->end() && !it->is_null()) return &*it;
  return nullptr;
}

// What the layer does in training alone and a graph has no word for. Nothing: whatever it does is carried.
std::optional<std::string> left_to_training(const Layer& layer) {
  const std::string of = " of '" + layer.name + "'";
  if (layer.class_name == "SpectralNormalization") return "the normalisation" + of;
  if (!layer.config || !layer.config->is_object()) return std::nullopt;
  for (const char* word : {"dropout", "recurrent_dropout", "dropout_W", "dropout_U"})
    if (const auto rate = layer.config->find(word); rate != layer.config->end() && rate->is_number() && *rate > 0)
      return std::string(word) + of;
  return std::nullopt;
}

// The layer's result, not a step in front of it, has the layer's name: "add", or "add.1" where it is called once more.
void name_result(Graph& graph, std::size_t first, const Values& made, const std::string& name) {
  const auto is_named = [&](const Value& value) {
    const std::string_view behind =
        value.name.starts_with(name) ? std::string_view(value.name).substr(name.size()) : "no";
    return behind.empty() || (behind[0] == '.' && behind.find_first_not_of("0123456789", 1) == behind.npos);
  };
  if (made.empty() || !made[0] || made[0].slot() < first || !is_named(graph[made[0]])) return;
  const auto own = graph.values.begin() + static_cast<std::ptrdiff_t>(first);
  std::swap(std::find_if(own, graph.values.end(), is_named)->name, graph[made[0]].name);
}

Result<Values> call_layer(Builder& builder, const Layer& layer, const LayerCall* call, Values inputs,
                          const std::vector<Scope>& scopes, const std::string& prefix, const Location& location,
                          std::shared_ptr<Variables> shared) {
  if (auto known = source_value(builder, layer, prefix + layer.name, location); !known || *known) {
    if (!known) return pass(known);
    return Values{**known};
  }
  if (layer.class_name == source_mask) return mask_behind(builder, layer, inputs);
  const CatalogueRow* row = row_of(layer);
  if (!row) return fail(Fault::Unsupported, refusal_of(layer));
  const bool operation = is_operation(layer);
  const NamedMask mask(builder, operation ? nullptr : call, inputs);
  Call one(builder, layer, call, inputs, scopes, prefix, location, std::move(shared));
  if (mask.given()) one.understands("mask", 1);
  Values made;
  const std::size_t first = builder.graph.values.size();
  if (!one.failed())
    made = one.in_policy(read_catalogued({one, *row, operation ? Use::Kind::Operation : Use::Kind::Layer}));
  name_result(builder.graph, first, made, prefix + layer.name);
  if (auto ok = follow_masks(one, inputs, made); !ok) return pass(ok);
  if (auto ok = one.done(); !ok) return pass(ok);
  if (auto what = operation ? std::nullopt : left_to_training(layer))
    builder.graph.left_to_training.push_back(*std::move(what));
  return made;
}

// Keras's files name this class otherwise than Python does, which the groups are called after.
std::string class_in_python(const std::string& class_name) {
  return class_name == "GroupQueryAttention" ? "GroupedQueryAttention" : class_name;
}

Result<Shape> shape_of(const Json& value) {
  const Json& list = *Attrs::tuple_of(&value);
  if (!list.is_array() || list.size() > 16) return fail(Fault::Format, "the input shape is no list of sizes");
  Shape shape;
  for (const Json& size : list) {
    if (size.is_null()) {
      shape.push_back(Dim::unknown());
    } else if (size.is_number_integer() && size >= 0 && size <= (std::int64_t{1} << 40)) {
      shape.push_back(Dim(size.get<Size>()));
    } else {
      return fail(Fault::Format, "the input shape holds " + json_text(size) + ", expected a size or null");
    }
  }
  return shape;
}

Result<DType> dtype_of(const Json* argument) {
  if (argument && argument->is_object()) {
    const Json* config = find(argument, {"config"});
    argument = find(config, {"name"});
  }
  return input_dtype(argument && argument->is_string() ? argument->get<std::string>() : "float32");
}

// Of a tensor that a layer reads: Keras's own rules gave its shape and dtype when the model was built.
Status check_recorded(const Builder& builder, const TensorRef& ref, ValueId value) {
  const Json *sizes = find(ref.recorded, {"shape"}), *dtype = find(ref.recorded, {"dtype"});
  if (!sizes || !dtype || is_outside_graph(value)) return {};
  const TensorType& read = builder.graph[value].type;
  auto shape = builder.resized ? read.shape : shape_of(*sizes);
  if (!shape) return pass(shape);
  auto type = dtype_of(dtype);
  return type ? expect_recorded(read, {*type, std::move(*shape)}) : pass(type);
}

// The groups of a model's layers, counted per class in the order of the list.
std::vector<std::string> groups_of(const Model& model, const std::string& group) {
  std::map<std::string, int> counts;
  std::vector<std::string> groups;
  for (const Layer& layer : model.layers) {
    if (const Json* argument = find(layer.config, {group_key}); argument && argument->is_string()) {
      const auto path = argument->get<std::string>();
      groups.push_back(group.empty() || path.empty() ? group + path : group + "/" + path);
      continue;
    }
    const std::string base = snake_case(class_in_python(layer.class_name));
    if (is_operation(layer)) {  // has no arrays, and no group: one of the same class would be another layer's
      groups.push_back("operations/" + layer.name);
      continue;
    }
    const int n = counts[base]++;
    groups.push_back((group.empty() ? "layers/" : group + "/layers/") + base + (n ? "_" + std::to_string(n) : ""));
  }
  return groups;
}

Location below(const Location& location, const std::string& group, const std::string& name) {
  Location inner{group, location.names};
  inner.names.push_back(name);
  return inner;
}

// Which calls the wanted tensors need, and an order in which each comes after what it reads: the file's where possible.
class Schedule {
 public:
  Schedule(const Model& model, const std::vector<TensorRef>& wanted) : model_(model) {
    first_.reserve(model.layers.size() + 1);
    std::size_t n = 0;
    for (const Layer& layer : model.layers) {
      first_.push_back(n);
      n += std::max<std::size_t>(layer.calls.size(), 1);
    }
    first_.push_back(n);
    needed_.assign(n, 0);
    std::vector<std::size_t> open;
    const auto need = [&](const TensorRef& ref) {
      const std::size_t at = index(ref);
      if (needed_[at]) return;
      needed_[at] = 1;
      open.push_back(at);
    };
    for (const TensorRef& ref : wanted) need(ref);
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (const LayerCall* call = call_at(at))
        for (const TensorRef& ref : call->tensors) need(ref);
    }
  }

  std::size_t index(const TensorRef& ref) const { return first_[ref.layer] + ref.call; }
  std::size_t layer_at(std::size_t at) const {
    return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), at) - first_.begin()) - 1;
  }
  const LayerCall* call_at(std::size_t at) const {
    const std::size_t layer = layer_at(at), call = at - first_[layer];
    const auto& calls = model_.layers[layer].calls;
    return call < calls.size() ? &calls[call] : nullptr;
  }
  std::size_t size() const { return needed_.size(); }

  // The calls of a layer come in their order, where that does not make them wait for each other. Fails on a cycle, naming a
  // layer in it.
  Result<std::vector<std::size_t>> order() const {
    auto by_calls = order(true);
    return by_calls ? by_calls : order(false);
  }

 private:
  Result<std::vector<std::size_t>> order(bool by_calls) const {
    std::vector<std::size_t> waits(size(), 0);
    std::vector<std::vector<std::size_t>> readers(size());
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t at = 0; at < size(); ++at) {
      if (!needed_[at]) continue;
      if (const LayerCall* call = call_at(at))
        for (const TensorRef& ref : call->tensors) readers[index(ref)].push_back(at), ++waits[at];
      if (by_calls && at > 0 && needed_[at - 1] && layer_at(at - 1) == layer_at(at))
        readers[at - 1].push_back(at), ++waits[at];
      if (waits[at] == 0) ready.push(at);
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      const std::size_t at = ready.top();
      ready.pop();
      order.push_back(at);
      for (const std::size_t reader : readers[at])
        if (--waits[reader] == 0) ready.push(reader);
    }
    for (std::size_t at = 0; at < size(); ++at)
      if (needed_[at] && waits[at] > 0)
        return fail(Fault::Format,
                    "layer '" + model_.layers[layer_at(at)].name + "' reads what it makes: the layers form a cycle");
    return order;
  }

  const Model& model_;
  std::vector<std::size_t> first_;
  std::vector<char> needed_;
};

Result<Values> run_functional(Builder& builder, const Model& model, const Values& inputs,
                              const std::vector<TensorRef>& wanted, const std::vector<Scope>& scopes,
                              const std::string& prefix, const Location& location) {
  const Schedule schedule(model, wanted);
  std::vector<Values> made(schedule.size());
  std::vector<char> given(schedule.size(), 0);
  for (std::size_t i = 0; i < model.inputs.size() && i < inputs.size(); ++i) {
    const std::size_t at = schedule.index(model.inputs[i]);
    made[at] = {inputs[i]}, given[at] = 1;
  }
  const auto value_of = [&](const TensorRef& ref) -> Result<ValueId> {
    const Values& all = made[schedule.index(ref)];
    if (ref.tensor < all.size()) return all[ref.tensor];
    return fail(Fault::Format, "reads output " + std::to_string(ref.tensor) + " of layer '" +
                                   model.layers[ref.layer].name + "', which has " + std::to_string(all.size()));
  };
  const auto groups = groups_of(model, location.group);
  auto order = schedule.order();
  if (!order) return pass(order);
  for (const std::size_t at : *order) {
    if (given[at]) continue;
    const std::size_t index = schedule.layer_at(at);
    const Layer& layer = model.layers[index];
    const LayerCall* call = schedule.call_at(at);
    const auto place = place_of(layer);
    if (!call)
      return within(place, Result<Values>(fail(Fault::Format, "has no inbound nodes and is no input of the model")));
    Values arguments;
    for (const TensorRef& ref : call->tensors) {
      auto value = value_of(ref);
      if (!value) return within(place, Result<Values>(pass(value)));
      if (auto s = check_recorded(builder, ref, *value); !s)
        return within(place_of(model.layers[ref.layer]), Result<Values>(pass(s)));
      arguments.push_back(*value);
    }
    const int number = static_cast<int>(at - schedule.index({index, 0, 0}));
    auto out = run_layer(builder, layer, call, std::move(arguments), scopes, prefix,
                         below(location, groups[index], layer.name), nullptr, number);
    if (!out) return pass(out);
    made[at] = std::move(*out);
  }
  Values outputs;
  for (const TensorRef& ref : wanted) {
    auto value = value_of(ref);
    if (!value) return pass(value);
    outputs.push_back(*value);
  }
  return outputs;
}

Result<Values> run_sequential(Builder& builder, const Model& model, Values values, const std::vector<Scope>& scopes,
                              const std::string& prefix, const Location& location, std::size_t count) {
  const auto groups = groups_of(model, location.group);
  for (std::size_t i = 0; i < count; ++i) {
    const Layer& layer = model.layers[i];
    if (layer.class_name == "InputLayer" && i == 0) continue;
    auto out =
        run_layer(builder, layer, nullptr, std::move(values), scopes, prefix, below(location, groups[i], layer.name));
    if (!out) return pass(out);
    values = std::move(*out);
  }
  return values;
}

// ---- inputs of the whole model

// The shape of a Sequential that no InputLayer opens: its first layer's, or the one it was built with.
Result<Shape> sequential_shape(const Model& model) {
  const Layer& first = model.layers.front();
  if (const Json* shape = find(first.config, {"batch_shape", "batch_input_shape"})) return shape_of(*shape);
  if (!model.input_shape.empty()) {
    auto shape = shape_of(model.input_shape.front());
    if (shape && !shape->empty()) shape->front() = Dim::unknown();  // the batch it happened to be built with
    return shape;
  }
  if (first.model && first.model->sequential && !first.model->layers.empty()) return sequential_shape(*first.model);
  if (const Json* size = find(first.config, {"input_dim"}); size && size->is_number_integer())
    return Shape{Dim::unknown(), Dim(size->get<Size>())};
  return fail(Fault::Unsupported, "the file does not say the model's input shape");
}

// Where the spatial axes of images lie: as the first layer says that says anything.
bool channels_first(const Model& model) {
  for (const Layer& layer : model.layers) {
    if (layer.model && channels_first(*layer.model)) return true;
    if (const Json* word = find(layer.config, {"data_format", "dim_ordering"}))
      return *word == "channels_first" || *word == "th";
  }
  return false;
}

void resize(Shape& shape, const LoadOptions& options, bool first) {
  if (options.size.empty() || shape.size() != options.size.size() + 2) return;
  for (std::size_t i = 0; i < options.size.size(); ++i)
    shape[i + (first ? 2 : 1)] = options.size[i] ? Dim(*options.size[i]) : Dim::unknown();
}

// One of so many inputs.
Result<ValueId> add_input(Builder& builder, const std::string& name, Shape shape, const Json* dtype, bool first,
                          const LoadOptions& options, std::size_t inputs) {
  auto type = dtype_of(dtype);
  if (!type) return pass(type);
  resize(shape, options, first);
  if (const Shape* given = options.shape_of(name, inputs)) shape = *given;
  return builder.graph.input(name, TensorType{*type, std::move(shape)});
}

Result<Values> functional_inputs(Builder& builder, const Model& model, const LoadOptions& options) {
  Values inputs;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const TensorRef& ref = model.inputs[i];
    const Layer& layer = model.layers[ref.layer];
    const std::string& name = model.input_keys.empty() ? layer.name : model.input_keys[i];
    const Json* argument = find(layer.config, {"batch_shape", "batch_input_shape"});
    if (layer.class_name != "InputLayer" || !argument)
      return within(place_of(layer), Result<Values>(fail(Fault::Format, "is an input of the model but says no shape")));
    auto shape = shape_of(*argument);
    if (!shape) return within(place_of(layer), Result<Values>(pass(shape)));
    auto value = add_input(builder, name, std::move(*shape), find(layer.config, {"dtype"}), channels_first(model),
                           options, model.inputs.size());
    if (!value) return within(place_of(layer), Result<Values>(pass(value)));
    inputs.push_back(*value);
  }
  return inputs;
}

Result<Values> sequential_inputs(Builder& builder, const Model& model, const LoadOptions& options) {
  if (model.layers.empty()) return fail(Fault::Format, "the model has no layers");
  const Layer& first = model.layers.front();
  if (first.model && !first.model->sequential) return functional_inputs(builder, *first.model, options);
  std::string name = first.class_name == "InputLayer" ? first.name : first.name + "_input";
  Result<Shape> shape = Shape{};
  // A shape the user gives for the one input also serves a file that says none.
  if (const Shape* given = options.shape_of(name, 1)) shape = *given;
  else shape = sequential_shape(model);
  if (!shape) return pass(shape);
  const Json* dtype = first.class_name == "InputLayer" ? find(first.config, {"dtype"}) : nullptr;
  auto value = add_input(builder, name, std::move(*shape), dtype, channels_first(model), options, 1);
  if (!value) return pass(value);
  return Values{*value};
}

Error no_such_output(const Model& model, const std::string& name) {
  std::string known;
  std::vector<std::string> names;
  for (const Layer& layer : model.layers) names.push_back(layer.name);
  for (const Layer& layer : model.layers) {
    if (known.size() > 200) {
      known += ", ...";
      break;
    }
    known += (known.empty() ? "" : ", ") + layer.name;
  }
  return Error{Fault::Usage,
               "the model has no layer '" + name + "' to cut at" + did_you_mean(name, names, "it has " + known),
               {}};
}

Result<std::size_t> layer_named(const Model& model, const std::string& name) {
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    if (model.layers[i].name == name) return i;
  return std::unexpected(no_such_output(model, name));
}

Status run_whole(Builder& builder, const Model& model, const LoadOptions& options) {
  Graph& graph = builder.graph;
  if (model.sequential) {
    auto inputs = sequential_inputs(builder, model, options);
    if (!inputs) return pass(inputs);
    std::size_t last = model.layers.size();
    if (options.outputs.size() > 1)
      return fail(Fault::Usage, "a Sequential is cut at one layer, --outputs names several");
    if (!options.outputs.empty()) {
      auto at = layer_named(model, options.outputs.front());
      if (!at) return pass(at);
      last = *at + 1;
    }
    auto outputs = run_sequential(builder, model, *inputs, {}, "", {}, last);
    if (!outputs) return pass(outputs);
    graph.outputs = std::move(*outputs);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) graph.output_names.push_back(model.layers[last - 1].name);
    return {};
  }
  std::vector<TensorRef> wanted = model.outputs;
  if (!options.outputs.empty()) {
    wanted.clear();
    for (const std::string& name : options.outputs) {
      auto at = layer_named(model, name);
      if (!at) return pass(at);
      wanted.push_back({*at, 0, 0});
    }
  }
  auto inputs = functional_inputs(builder, model, options);
  if (!inputs) return pass(inputs);
  auto outputs = run_functional(builder, model, *inputs, wanted, {}, "", {});
  if (!outputs) return pass(outputs);
  graph.outputs = std::move(*outputs);
  for (Value& value : graph.values) value.trainable = value.trainable && !model.stands_still;
  graph.inputs_by_name = !model.input_keys.empty();
  graph.outputs_by_name = !model.output_keys.empty() && options.outputs.empty();
  for (std::size_t i = 0; i < wanted.size(); ++i)
    graph.output_names.push_back(graph.outputs_by_name ? model.output_keys[i] : model.layers[wanted[i].layer].name);
  return {};
}

// None, False, or a structure of nothing else: the masks of several inputs that have none.
bool says_nothing(const Json& value) {
  if (value.is_structured()) return std::ranges::all_of(value, [](const Json& inner) { return says_nothing(inner); });
  return value.is_null() || value == false;
}

// Whether a model inside the model is called with the sizes that its own inputs declare.
bool as_declared(const Graph& graph, const Model& model, const Values& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_outside_graph(inputs[i])) return false;
    const Json* sizes = find(model.layers[model.inputs[i].layer].config, {"batch_shape"});
    const auto shape = sizes ? shape_of(*sizes) : Result<Shape>(Shape{});
    if (!shape || !agree(*shape, graph[inputs[i]].type.shape)) return false;
  }
  return true;
}

void list_layers(const Model& model, const std::string& path, std::vector<ListedLayer>& all) {
  for (const Layer& layer : model.layers) {
    all.push_back({path + layer.name, layer.class_name});
    if (layer.model) list_layers(*layer.model, path + layer.name + "/", all);
  }
}

}  // namespace

Result<DType> input_dtype(const std::string& word) {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::I16, DType::I32,
                            DType::I64, DType::U8, DType::U16, DType::Bool})
    if (word == convoy::name_of(dtype)) return dtype;
  return fail(Fault::Unsupported, "the input is " + word + ", which this version does not carry");
}

namespace {

// A model inside the model turns what it is called with into the types that its own inputs declare.
// Source: keras/src/models/functional.py, _convert_inputs_to_tensors; tf_keras: _conform_to_reference_input.
Result<Values> as_its_inputs(Builder& builder, const Model& model, Values values, const std::vector<Scope>& scopes,
                             const std::string& prefix) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = model.sequential ? 0 : model.inputs[i].layer;
    if (at >= model.layers.size()) return values;
    const Layer& input = model.layers[at];
    const Json* said = input.class_name == "InputLayer" ? find(input.config, {"dtype"}) : nullptr;
    if (!said || is_outside_graph(values[i])) continue;
    auto dtype = dtype_of(said);
    if (!dtype) return within(place_of(input), Result<Values>(pass(dtype)));
    if (*dtype == builder.graph[values[i]].type.dtype) continue;
    auto made = builder.graph.add(Cast{*dtype}, {values[i]}, prefix + input.name, input.class_name);
    if (!made) return pass(made);
    Node& node = builder.graph.nodes.back();
    node.layer = input.name, node.kind = input.class_name, node.scopes = scopes;
    builder.hand_mask_on(values[i], made->front());
    values[i] = made->front();
  }
  return values;
}

}  // namespace

Result<Values> run_model(Builder& builder, const Model& model, Values inputs, const std::vector<Scope>& scopes,
                         const std::string& prefix, const Location& location) {
  if (!model.sequential && model.inputs.size() != inputs.size())
    return fail(Fault::Format, "is called with " + std::to_string(inputs.size()) + " inputs, it has " +
                                   std::to_string(model.inputs.size()));
  auto taken = as_its_inputs(builder, model, std::move(inputs), scopes, prefix);
  if (!taken) return pass(taken);
  inputs = *std::move(taken);
  if (model.sequential) return run_sequential(builder, model, inputs, scopes, prefix, location, model.layers.size());
  const bool outside = builder.resized;
  builder.resized = outside || !as_declared(builder.graph, model, inputs);
  auto outputs = run_functional(builder, model, inputs, model.outputs, scopes, prefix, location);
  builder.resized = outside;
  return outputs;
}

Result<Values> run_layer(Builder& builder, const Layer& layer, const LayerCall* call, Values inputs,
                         const std::vector<Scope>& scopes, const std::string& prefix, const Location& location,
                         std::shared_ptr<Variables> shared, int scope_call) {
  if (++builder.calls > most_calls) return fail(Fault::Limit, "the model has more than 100000 calls of layers");
  std::string path;
  for (const Scope& scope : scopes) path += scope.name + "/";
  const std::string place = "layer '" + path + layer.name + "' (" + layer.class_name + ")";
  if (calls_function(layer) && call)
    return within(place, call_function(builder, layer, *call, inputs, scopes, prefix, scope_call));
  if (std::ranges::any_of(inputs, is_outside_graph))
    return within(place, Result<Values>(fail(Fault::Unsupported, "reads sizes that a function of TensorFlow gives")));
  if (!layer.model)
    return within(place,
                  call_layer(builder, layer, call, std::move(inputs), scopes, prefix, location, std::move(shared)));
  const NamedMask mask(builder, call, inputs);
  if (call)
    for (const auto& [key, value] : call->kwargs.items())
      if (!says_nothing(value) && !(key == "mask" && mask.given()))
        return within(place, Result<Values>(fail(Fault::Unsupported, "call argument '" + key + "' is not understood")));
  auto inner = scopes;
  inner.push_back({layer.name, scope_call});
  auto made = run_model(builder, *layer.model, inputs, inner, prefix + layer.name + "/", location);
  if (made && mask.given())  // behind a model's own last layer, what its layers make of the mask; else nobody knows
    for (const ValueId v : *made) builder.masks.try_emplace(v.index, Mask{{}, {}, false, true});
  return made;
}

Result<Graph> build(const Json& object, const Version& version, WeightSource* weights, const LoadOptions& options,
                    bool theano) {
  auto model = read_model(object, version);
  if (!model) return pass(model);
  if (options.listing) list_layers(*model, "", *options.listing);
  Builder builder;
  builder.version = version;
  builder.weights = weights;
  builder.theano = theano;
  builder.resized = !options.size.empty() || !options.shapes.empty();
  builder.graph.name = model->name;
  builder.graph.rules = tensorflow_rules;
  builder.graph.source_format = name_of(version);
  if (auto ok = run_whole(builder, *model, options); !ok) return pass(ok);
  if (builder.graph.outputs.empty()) return fail(Fault::Format, "the model has no outputs");
  if (std::ranges::any_of(builder.graph.outputs, is_outside_graph))
    return fail(Fault::Unsupported, "gives sizes, which a function of TensorFlow makes, as an output");
  if (!builder.masks.empty()) prune(builder.graph);  // of masks that nobody looked at
  return std::move(builder.graph);
}

}  // namespace convoy::keras
