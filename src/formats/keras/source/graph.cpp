// What a program built becomes a graph, with the weights of a file or those that Keras starts with.
#include "base/mapped_file.h"
#include "formats/keras/call.h"
#include "formats/keras/keras.h"
#include "formats/keras/source/library.h"

#include <algorithm>

namespace convoy::keras {

namespace {

Result<Graph> with_weights(const Json& object, const LoadOptions& options) {
  const Version version = version_of(source_version);
  if (!options.weights) {
    if (!options.structure_only && options.seed.value_or(0) > 0xFFFFFFFFU)
      return fail(Fault::Usage, "--seed: keras.utils.set_random_seed() takes 0 to 4294967295");
    if (!options.structure_only) return build(object, version, nullptr, options);
    Json unfilled = object;
    leave_unfilled(unfilled);
    return build(unfilled, version, nullptr, options);
  }
  auto bytes = open_file(options.weights->string());
  if (!bytes) return pass(bytes);
  const std::string name = options.weights->filename().string();
  auto file = within(name, Hdf5File::open(blob_of(*bytes)));
  if (!file) return pass(file);
  auto weights = within(name, weights_of_file(file->root()));
  if (!weights) return pass(weights);
  return build(object, version, weights->get(), options);
}

}  // namespace

bool SourceLibrary::is_model(Value value) const {
  const SourceLayer* state = state_of(value);
  return state && (state->is_model() || state->class_name == "Model");
}

bool SourceLibrary::is_model_class(Value value) const {
  const auto* type = value.as<python::Class>();
  return type && model_ && type != model_ && type != sequential_ && type->derives_from(model_);
}

// Inputs of the shapes that --shape gives, or that the first layer of a Sequential says.
Result<std::vector<SourceTensor*>> SourceLibrary::model_inputs(Interpreter& in, SourceLayer& model) {
  std::vector<SourceTensor*> inputs;
  std::map<std::string, Shape> shapes = options_.shapes;
  const SourceLayer* first = model.layers.empty() ? nullptr : model.layers.front();
  if (shapes.empty() && first)  // Merge([left, right]) of Keras 1: the inputs of both
    for (SourceLayer* branch : branches_of(*first)) {
      auto some = model_inputs(in, *branch);
      if (!some) return some;
      inputs.insert(inputs.end(), some->begin(), some->end());
    }
  if (!inputs.empty()) return inputs;
  const auto argument = [&](const char* word) {
    return first && first->config.contains(word) ? first->config[word] : Json();
  };
  for (const Json& sizes : {argument("batch_shape"), argument("batch_input_shape")}) {
    if (!shapes.empty() || !sizes.is_array()) continue;
    Shape shape;
    for (const Json& n : sizes) shape.push_back(n.is_number_integer() && n >= 0 ? Dim(n.get<Size>()) : Dim::unknown());
    shapes[first->class_name == "InputLayer" ? first->name : first->name + "_input"] = std::move(shape);
  }
  if (const Json width = argument("input_dim");
      shapes.empty() && width.is_number_integer() && first->class_name == "Dense")
    shapes[first->name + "_input"] = {Dim::unknown(), Dim(width.get<Size>())};
  if (shapes.empty())
    return fail(Fault::Usage,
                "the source does not say the shape of the model's input; give it with --shape x=?,32,32,3");
  for (const auto& [name, shape] : shapes) {
    auto tensor = input(in, shape, name, "");
    if (!tensor) return pass(tensor);
    inputs.push_back(*tensor);
  }
  return inputs;
}

// A model with a call() of its own, or a Sequential of such layers, followed from its inputs on.
Result<SourceLayer*> SourceLibrary::traced(Interpreter& in, Value model) {
  SourceLayer* state = state_of(model);
  auto* made = in.make<SourceLayer>();
  made->class_name = "Functional";
  made->module = "keras";
  made->name = state->name;
  made->root = state;
  auto inputs = model_inputs(in, *state);
  if (!inputs) return pass(inputs);
  made->inputs = std::move(*inputs);
  Arguments given;
  for (SourceTensor* tensor : made->inputs) given.placed.push_back(Value::of(tensor));
  const auto outputs = in.call(model, std::move(given));
  if (!outputs) return std::unexpected(outputs.error());
  ValueList all{*outputs};
  if (const auto* map = outputs->as<python::Mapping>(); map && !map->is_set) {
    all.clear();
    for (const auto& [key, one] : map->entries) all.push_back(one);
  } else if (!outputs->as<SourceTensor>()) {
    auto some = in.elements(*outputs);
    if (!some) return pass(some);
    all = std::move(*some);
  }
  for (const Value& one : all) {
    if (!one.as<SourceTensor>())
      return fail(Fault::Unsupported, "the model's call() gives a " + python::type_name(one));
    made->outputs.push_back(one.as<SourceTensor>());
  }
  return made;
}

Result<Graph> SourceLibrary::graph_of(Interpreter& in, Value model) {
  SourceLayer* state = state_of(model);
  if (auto* last = model.as<SourceTensor>()) {
    // A tensor without a model around it: from the inputs that it reads.
    state = in.make<SourceLayer>();
    state->class_name = "Functional";
    state->module = "keras";
    state->name = "model";
    state->outputs = {last};
    std::vector<SourceTensor*> open{last};
    std::vector<const SourceTensor*> seen;
    while (!open.empty()) {
      SourceTensor* t = open.back();
      open.pop_back();
      if (std::ranges::find(seen, t) != seen.end()) continue;
      seen.push_back(t);
      const SourceCall& call = t->layer->calls[t->call_number];
      if (call.tensors.empty() && !t->layer->is_known()) state->inputs.push_back(t);
      open.insert(open.end(), call.tensors.begin(), call.tensors.end());
    }
  }
  if (!state) return fail(Fault::Internal, "a value that is no model");
  if (sets_weights_ && !options_.weights && !options_.structure_only)
    return fail(Fault::Usage,
                "the program gives layers weights with set_weights(), which is not followed; give the model's weights "
                "with --weights");
  if (state->loads_weights && !options_.weights && !options_.structure_only)
    return fail(Fault::Usage,
                "the program loads the model's weights from a file; give it with --weights, or build the model without "
                "(--args weights=None)");
  if (state->class_name == "Model" || (state->class_name == "Sequential" && state->holds_own())) {
    auto followed = traced(in, model);
    if (!followed) return pass(followed);
    state = *followed;
  }
  if (state->class_name == "Sequential" && state->layers.empty()) return fail(Fault::Format, "the model has no layers");
  if (state->class_name == "Sequential" && options_.shapes.size() == 1) {
    // The one input of a Sequential that says no shape.
    SourceLayer& first = *state->layers.front();
    if (first.class_name != "InputLayer" && !first.config.contains("batch_input_shape") && !first.is_model() &&
        !state->config.contains("build_input_shape")) {
      Json sizes = Json::array();
      for (const Dim n : options_.shapes.begin()->second) sizes.push_back(n.known() ? Json(*n) : Json());
      first.config["batch_input_shape"] = std::move(sizes);
    }
  }
  if (auto same = check_captured(in); !same) return std::unexpected(same.error());
  auto object = json_of(*state);
  if (!object) return pass(object);
  auto graph = with_weights(*object, options_);
  if (!graph && graph.error().what.starts_with("the file does not say"))
    return fail(Fault::Usage,
                "the source does not say the shape of the model's input; give it with --shape x=?,32,32,3");
  if (graph) graph->source_format = "Keras source";
  return graph;
}

}  // namespace convoy::keras
