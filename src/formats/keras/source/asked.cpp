// What a program asks of a layer or a model that it made: its layers, where its tensors lie, their shapes.
#include "containers/python/unread.h"
#include "formats/keras/source/library.h"

#include <algorithm>
#include <array>

namespace convoy::keras {

namespace {

// The shape of a tensor, or a list of those of several.
Made shapes_of(Interpreter& in, const Value& tensors) {
  const auto* several = tensors.as<python::Sequence>();
  if (!several) return in.attribute(tensors, "shape");
  ValueList shapes;
  for (const Value& one : several->items) {
    auto shape = in.attribute(one, "shape");
    if (!shape) return shape;
    shapes.push_back(*shape);
  }
  return in.list(std::move(shapes));
}

Value tensors_of(Interpreter& in, const std::vector<SourceTensor*>& all) {
  if (all.size() == 1) return Value::of(all.front());
  ValueList tensors;
  for (SourceTensor* t : all) tensors.push_back(Value::of(t));
  return in.list(std::move(tensors));
}

// The sizes that a Sequential says for its input; null: it says none.
Json input_sizes(const SourceLayer& model) {
  if (model.config.contains("build_input_shape")) return model.config["build_input_shape"];
  if (model.layers.empty()) return {};
  const SourceLayer& first = *model.layers.front();
  for (const char* word : {"batch_shape", "batch_input_shape"})
    if (first.config.contains(word)) return first.config[word];
  if (first.class_name == "Sequential") return input_sizes(first);
  if (first.inputs.size() != 1) return {};
  Json sizes = Json::array();
  for (const Dim n : first.inputs.front()->type.shape) sizes.push_back(n.known() ? Json(*n) : Json());
  return sizes;
}

}  // namespace

// Calls the layers of a Sequential one after the other, each once, as Keras does when its input is known.
Status SourceLibrary::unroll(Interpreter& in, SourceLayer& model) {
  if (model.inputs.empty()) {
    const Json sizes = input_sizes(model);
    if (!sizes.is_array())
      return fail(Fault::Unsupported, "model '" + model.name +
                                          "' does not know the shape of its input yet: give its first layer "
                                          "input_shape, or begin it with Input(shape)");
    Shape shape;
    for (const Json& n : sizes) shape.push_back(n.is_number_integer() && n >= 0 ? Dim(n.get<Size>()) : Dim::unknown());
    SourceLayer& first = *model.layers.front();
    if (first.class_name == "InputLayer") {
      TensorType type;
      type.shape = shape;
      model.inputs = {in.make<SourceTensor>(*this, &first, 0, 0, std::move(type))};
    } else {
      const auto made = input(in, std::move(shape), first.name + "_input", "");
      if (!made) return std::unexpected(made.error());
      model.inputs = {*made};
    }
  }
  while (model.steps.size() < model.layers.size()) {
    SourceTensor* before = model.steps.empty() ? model.inputs.front() : model.steps.back();
    SourceLayer& layer = *model.layers[model.steps.size()];
    if (layer.class_name == "InputLayer") {
      model.steps.push_back(before);
      continue;
    }
    const auto after = in.call(Value::of(instance_of(in, layer)), ValueList{Value::of(before)});
    if (!after) return std::unexpected(after.error());
    auto* tensor = after->as<SourceTensor>();
    if (!tensor) return fail(Fault::Unsupported, "layer '" + layer.name + "' of a Sequential gives several tensors");
    model.steps.push_back(tensor);
  }
  model.outputs = {model.steps.back()};
  return {};
}

// The object that a program holds a layer by; inputs of a model have none before somebody asks.
Instance* SourceLibrary::instance_of(Interpreter& in, SourceLayer& layer) {
  if (!layer.instance) {
    layer.instance = in.make<Instance>(layer_);
    keep(in, *layer.instance, &layer);
  }
  return layer.instance;
}

// Model.layers: those of a Sequential without its input.
Result<ValueList> SourceLibrary::layers_in(Interpreter& in, SourceLayer& model) {
  ValueList all;
  if (model.class_name == "Sequential") {
    const bool knows = input_sizes(model).is_array() && !model.layers.empty();
    if (knows)
      if (auto done = unroll(in, model); !done) return pass(done);
    for (SourceLayer* layer : model.layers)
      if (layer->class_name != "InputLayer") all.push_back(Value::of(instance_of(in, *layer)));
    return all;
  }
  if (model.class_name != "Functional")
    return fail(Fault::Unsupported, "the layers of a model with a call() of its own are asked for");
  for (SourceLayer* layer : layers_of(model)) {
    auto* instance = instance_of(in, *layer);
    const bool is_input = std::ranges::any_of(model.inputs, [&](const SourceTensor* t) { return t->layer == layer; });
    if (is_input && !instance->attributes.find("$output"))
      for (SourceTensor* t : model.inputs)
        if (t->layer == layer) instance->attributes.set("$output", Value::of(t));
    all.push_back(Value::of(instance));
  }
  return all;
}

Made SourceLibrary::border(Interpreter& in, SourceLayer& layer, bool output) {
  if (layer.class_name == "Sequential" && !layer.layers.empty()) {
    if (auto done = unroll(in, layer); !done) return pass(done);
    return tensors_of(in, output ? layer.outputs : layer.inputs);
  }
  if (layer.class_name == "Functional") return tensors_of(in, output ? layer.outputs : layer.inputs);
  const auto called = [&] {
    return layer.instance ? layer.instance->attributes.find(output ? "$output" : "$input") : nullptr;
  };
  const Value* made = called();
  if (const auto holder = holders_.find(&layer); !made && holder != holders_.end())
    if (auto done = unroll(in, *holder->second); done) made = called();
  if (!made)
    return fail(Fault::Unsupported,
                "layer '" + layer.name + "' has no " + (output ? "output" : "input") + " yet: nothing has called it");
  return *made;
}

Made SourceLibrary::layer_named(Interpreter& in, SourceLayer& model, Arguments given) {
  const auto taken = python::bound(given, "name index", 1, "get_layer");
  if (!taken) return std::unexpected(taken.error());
  const auto all = layers_in(in, model);
  if (!all) return std::unexpected(all.error());
  if ((*taken)[1] && (*taken)[1]->is_whole()) return in.item(in.list(*all), *(*taken)[1]);
  const auto* wanted = (*taken)[0] ? (*taken)[0]->as<python::Text>() : nullptr;
  std::string known;
  for (const Value& one : *all) {
    const std::string& name = state_of(one)->name;
    if (wanted && name == wanted->text) return one;
    known += (known.empty() ? "" : ", ") + name;
  }
  return fail(Fault::Format, "model '" + model.name + "' has no layer " +
                                 (wanted ? "'" + wanted->text + "'" : "of this name") + "; it has " + known);
}

// compute_output_shape(input_shape): that of the layer called on such a tensor, which leaves no trace.
Made SourceLibrary::shape_behind(Interpreter& in, const SourceLayer& layer, const Arguments& given) {
  const auto* sizes = given.placed.size() == 1 ? given.placed[0].as<python::Sequence>() : nullptr;
  if (!sizes) return fail(Fault::Unsupported, "compute_output_shape() of other than one shape");
  Shape shape;
  for (const Value& n : sizes->items) {
    if (!n.is_none() && (!n.is_whole() || n.whole() < 0))
      return fail(Fault::Format, "compute_output_shape(): the shape holds " + python::repr(in, n));
    shape.push_back(n.is_none() ? Dim::unknown() : Dim(n.whole()));
  }
  auto* trial = in.make<SourceLayer>();
  trial->name = layer.name, trial->class_name = layer.class_name;
  trial->module = layer.module, trial->config = layer.config;
  auto* like = in.make<SourceTensor>(*this, trial, 0, 0, TensorType{DType::F32, std::move(shape)});
  Arguments on{{Value::of(like)}, {}};
  const auto made = call(in, *trial, on);
  return made ? shapes_of(in, *made) : made;
}

// An attribute that is not the instance's own. Nothing: there is none.
namespace {

// layer.units and its like: a number that a constructor takes and keeps as it is.
std::optional<Value> number_said(const SourceLayer& layer, const std::string& word) {
  constexpr std::array<std::string_view, 8> kept{"units",   "filters",   "rate",       "num_heads",
                                                 "key_dim", "input_dim", "output_dim", "depth_multiplier"};
  const auto said = layer.config.find(word);
  if (std::ranges::find(kept, word) == kept.end() || said == layer.config.end()) return std::nullopt;
  if (said->is_number_integer()) return Value::of(said->get<std::int64_t>());
  return said->is_number() ? std::optional(Value::of(said->get<double>())) : std::nullopt;
}

}  // namespace

Result<std::optional<Value>> SourceLibrary::asked(Interpreter& in, Instance& instance, const std::string& word) {
  SourceLayer* state = state_of(Value::of(&instance));
  const auto answer = [](Made made) -> Result<std::optional<Value>> {
    if (!made) return pass(made);
    return *made;
  };
  if (!state) return std::nullopt;
  const bool is_model = state->is_model() || state->class_name == "Model";
  if (word == "trainable") return Value::of(true);
  if (word == "output" || word == "input") return answer(border(in, *state, word == "output"));
  if (is_model && (word == "outputs" || word == "inputs")) {
    auto tensors = border(in, *state, word == "outputs");
    if (!tensors) return pass(tensors);
    return tensors->as<python::Sequence>() ? *tensors : in.list({*tensors});
  }
  if (word == "output_shape" || word == "input_shape") {
    auto tensors = border(in, *state, word == "output_shape");
    return tensors ? answer(shapes_of(in, *tensors)) : answer(tensors);
  }
  if (is_model && word == "layers") {
    auto all = layers_in(in, *state);
    if (!all) return pass(all);
    return in.list(std::move(*all));
  }
  if (is_model && word == "get_layer")
    return in.native(word, [this, state](Interpreter& with, Arguments& given) {
      return layer_named(with, *state, std::move(given));
    });
  if (state->class_name == "Sequential" && word == "pop")
    return in.native(word, [state](Interpreter&, Arguments&) -> Made {
      if (state->layers.empty()) return fail(Fault::Format, "pop() of a model without layers");
      state->layers.pop_back();
      state->steps.resize(std::min(state->steps.size(), state->layers.size()));
      return Value();
    });
  if (const auto number = number_said(*state, word)) return number;
  if (word == "compute_output_shape" && !is_model)
    return in.native(word,
                     [this, state](Interpreter& with, Arguments& given) { return shape_behind(with, *state, given); });
  if (word == "count_params" || word == "get_weights" || word == "get_config")
    return in.native(word, [word](Interpreter& with, Arguments&) -> Made {
      return Value::of(with.make<python::Outside>("layer." + word + "()"));
    });
  if (word == "set_weights")
    return in.native(word, [this](Interpreter&, Arguments&) -> Made {
      sets_weights_ = true;
      return Value();
    });
  return std::nullopt;
}

// layer.trainable = False: of a model, for every layer that it has now.
Status SourceLibrary::set_trainable(Interpreter& in, SourceLayer& layer, bool trains) {
  layer.config["trainable"] = trains;
  for (SourceLayer* weight : layer.variables)
    if (!trains) weight->config["trainable"] = false;
  if (!layer.is_model()) return {};
  const auto all = layers_in(in, layer);
  if (!all) return std::unexpected(all.error());
  for (const Value& one : *all)
    if (auto done = set_trainable(in, *state_of(one), trains); !done) return done;
  return {};
}

}  // namespace convoy::keras
