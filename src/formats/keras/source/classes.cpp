// The classes of Keras: Layer, Model, Sequential, and one for each layer that has a signature.
#include "containers/python/unread.h"
#include "formats/keras/source/library.h"
#include "formats/keras/source/signatures.h"

#include <utility>

namespace convoy::keras {

// A method of ours. Fails where it is called without an instance that was made.
void SourceLibrary::define(Interpreter& in, python::Class* of, const char* name, python::NativeFunction run) {
  const bool makes = std::string_view(name) == "__init__";
  const bool calls = std::string_view(name) == "__call__";
  of->attributes.set(name, in.native(name,
                                     [this, run = std::move(run), makes, calls, word = std::string(name)](
                                         Interpreter& with, Arguments& given) -> Made {
                                       if (given.placed.empty() || !given.placed.front().as<Instance>())
                                         return fail(Fault::Format, "'" + word + "' is called without a layer");
                                       if (!makes && !calls && !state_of(given.placed.front()))
                                         return fail(Fault::Format,
                                                     "'" + word + "' is called before super().__init__()");
                                       return run(with, given);
                                     }));
}

void SourceLibrary::keep(Interpreter& in, Instance& instance, SourceLayer* layer) {
  instance.extra = layer;
  if (!instance.attributes.find("name")) instance.attributes.set("name", in.text(layer->name));
}

void SourceLibrary::prepare(Interpreter& in) {
  if (layer_) return;
  make_layer_class(in);
  make_model_class(in);
  make_sequential_class(in);
}

void SourceLibrary::make_layer_class(Interpreter& in) {
  layer_ = in.make_class("Layer", {});
  layer_->native = "Layer";
  define(in, layer_, "__init__", [this](Interpreter& with, Arguments& given) -> Made {
    auto* instance = given.placed.front().as<Instance>();
    auto* state = with.make<SourceLayer>();
    state->class_name = instance->type->name;
    state->instance = instance;
    const auto name = given.take("name");
    const auto* word = name ? name->as<python::Text>() : nullptr;
    state->name = word ? word->text : fresh_name(instance->type->name);
    if (instance->type == layer_) {  // without a class of its own it hands on what it gets
      state->class_name = "Activation";
      state->config["activation"] = "linear";
    }
    keep(with, *instance, state);
    return Value();
  });
  define(in, layer_, "__call__", [this](Interpreter& with, Arguments& given) { return call_instance(with, given); });
  for (const char* name : {"add_weight", "add_variable"})
    define(in, layer_, name, [this](Interpreter& with, Arguments& given) { return add_weight(with, given); });
  // super().call(x) in a layer that derives from one of Keras.
  define(in, layer_, "call", [this](Interpreter& with, Arguments& given) -> Made {
    SourceLayer* state = state_of(given.placed.front());
    given.placed.erase(given.placed.begin());
    return call(with, *state, given);
  });
  for (const char* name : {"build", "add_loss", "get_config"})
    define(in, layer_, name, [](Interpreter&, Arguments&) -> Made { return Value(); });
  layer_->attributes.set("__getattr__", in.native("__getattr__", [this](Interpreter& with, Arguments& given) -> Made {
    auto* instance = given.placed.size() == 2 ? given.placed[0].as<Instance>() : nullptr;
    const auto* word = instance ? given.placed[1].as<python::Text>() : nullptr;
    if (!word) return Value::ellipsis();
    auto found = asked(with, *instance, word->text);
    if (!found) return pass(found);
    return found->value_or(Value::ellipsis());
  }));
  layer_->attributes.set("__setattr__", in.native("__setattr__", [this](Interpreter& with, Arguments& given) -> Made {
    auto* instance = given.placed.size() == 3 ? given.placed[0].as<Instance>() : nullptr;
    const auto* word = instance ? given.placed[1].as<python::Text>() : nullptr;
    if (!word) return fail(Fault::Format, "__setattr__() wants an attribute's name and value");
    instance->attributes.set(word->text, given.placed[2]);
    SourceLayer* state = state_of(given.placed[0]);
    if (word->text != "trainable" || !state || !given.placed[2].is_truth()) return Value();
    if (auto done = set_trainable(with, *state, given.placed[2].whole() != 0); !done) return pass(done);
    return Value();
  }));
}

void SourceLibrary::make_model_class(Interpreter& in) {
  model_ = in.make_class("Model", {layer_});
  model_->native = "Model";
  define(in, model_, "__init__", [this](Interpreter& with, Arguments& given) { return make_model(with, given); });
  for (const char* name : {"compile", "summary", "save", "save_weights"})
    define(in, model_, name, [](Interpreter&, Arguments&) -> Made { return Value(); });
  // What training gives is no part of the model.
  for (const char* name :
       {"fit", "fit_generator", "evaluate", "evaluate_generator", "predict", "predict_classes", "predict_generator",
        "train_on_batch", "test_on_batch", "predict_on_batch", "to_json", "count_params", "get_config"})
    define(in, model_, name, [name = std::string(name)](Interpreter& with, Arguments&) -> Made {
      return Value::of(with.make<python::Outside>("model." + name + "()"));
    });
  define(in, model_, "load_weights", [this](Interpreter&, Arguments& given) -> Made {
    state_of(given.placed.front())->loads_weights = true;
    return Value();
  });
}

void SourceLibrary::make_sequential_class(Interpreter& in) {
  sequential_ = in.make_class("Sequential", {model_});
  sequential_->native = "Sequential";
  define(in, sequential_, "__init__", [this](Interpreter& with, Arguments& given) -> Made {
    auto* instance = given.placed.front().as<Instance>();
    const Value self = given.placed.front();
    given.placed.erase(given.placed.begin());
    auto taken = python::bound(given, "layers trainable name", 0, "Sequential");
    if (!taken) return pass(taken);
    auto* state = with.make<SourceLayer>();
    state->class_name = "Sequential";
    state->module = "keras";
    state->instance = instance;
    const auto* word = (*taken)[2] ? (*taken)[2]->as<python::Text>() : nullptr;
    state->name = word ? word->text : fresh_name("Sequential");
    keep(with, *instance, state);
    if (!(*taken)[0] || (*taken)[0]->is_none()) return Value();
    const auto all = with.elements(*(*taken)[0]);
    if (!all) return std::unexpected(all.error());
    for (const Value& one : *all) {
      Arguments added{{self, one}, {}};
      if (auto done = add(with, added); !done) return done;
    }
    return Value();
  });
  define(in, sequential_, "add", [this](Interpreter& with, Arguments& given) { return add(with, given); });
  define(in, sequential_, "build", [this](Interpreter& with, Arguments& given) -> Made {
    if (given.placed.size() > 1) {
      auto shape = json_of(with, given.placed[1]);
      if (!shape) return pass(shape);
      state_of(given.placed[0])->config["build_input_shape"] = *shape;
    }
    return Value();
  });
}

// Lambda(function): the function is followed where the layer is called.
Value SourceLibrary::lambda_class(Interpreter& in) {
  python::Class* made = in.make_class("Lambda", {layer_});
  made->native = "Lambda";
  made->attributes.set("__init__", in.native("__init__", [this](Interpreter& with, Arguments& given) -> Made {
    auto* instance = given.placed.empty() ? nullptr : given.placed.front().as<Instance>();
    if (!instance) return fail(Fault::Format, "Lambda() without itself");
    given.placed.erase(given.placed.begin());
    for (const char* word : {"input_shape", "batch_input_shape", "trainable", "dtype"})
      if (const auto argument = given.take(word); argument && std::string_view(word).ends_with("input_shape"))
        instance->attributes.set(std::string("$") + word, *argument);
    const auto taken = python::bound(given, "function output_shape mask arguments name", 1, "Lambda");
    if (!taken) return std::unexpected(taken.error());
    auto* layer = with.make<SourceLayer>();
    layer->class_name = "Lambda";
    layer->instance = instance;
    const auto* word = (*taken)[4] ? (*taken)[4]->as<python::Text>() : nullptr;
    layer->name = word ? word->text : fresh_name("Lambda");
    if (const Value* whole = instance->attributes.find("$batch_input_shape")) {
      auto sizes = json_of(with, *whole);
      if (!sizes) return pass(sizes);
      layer->config["batch_input_shape"] = std::move(*sizes);
    } else if (const Value* sizes_said = instance->attributes.find("$input_shape")) {
      auto sizes = json_of(with, *sizes_said);
      if (!sizes) return pass(sizes);
      if (!sizes->is_array()) *sizes = Json::array({*sizes});
      sizes->insert(sizes->begin(), Json());
      layer->config["batch_input_shape"] = std::move(*sizes);
    }
    instance->attributes.set("$function", *(*taken)[0]);
    if ((*taken)[3]) instance->attributes.set("$arguments", *(*taken)[3]);
    keep(with, *instance, layer);
    return Value();
  }));
  return Value::of(made);
}

std::optional<Value> SourceLibrary::layer_class(Interpreter& in, const std::string& name) {
  prepare(in);
  if (name == "Layer") return Value::of(layer_);
  if (name == "Model" || name == "Functional") return Value::of(model_);
  if (name == "Sequential") return Value::of(sequential_);
  if (name == "Input")
    return in.native(name, [this](Interpreter& with, Arguments& given) { return input_function(with, given); });
  if (const auto known = classes_.find(name); known != classes_.end()) return known->second;
  if (name == "InputLayer") {
    // InputLayer(input_shape=...) in a list of layers.
    return classes_[name] = in.native(name, [this](Interpreter& with, Arguments& given) -> Made {
      for (auto& [word, value] : given.named) {
        if (word == "input_shape") word = "shape";
        if (word == "batch_input_shape") word = "batch_shape";
        if (word == "input_tensor") word = "tensor";
      }
      return input_function(with, given);
    });
  }
  if (name == "Lambda") return classes_[name] = lambda_class(in);
  if (!signature_of(name)) return std::nullopt;
  python::Class* made = in.make_class(name, {layer_});
  made->native = name;
  made->attributes.set("__init__", in.native("__init__", [this, name](Interpreter& with, Arguments& given) -> Made {
    if (given.placed.empty() || !given.placed.front().as<Instance>())
      return fail(Fault::Format, name + "() without itself");
    return make_layer(with, name, given);
  }));
  return classes_[name] = Value::of(made);
}

}  // namespace convoy::keras
