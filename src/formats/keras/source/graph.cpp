// What a program built becomes a graph, with the weights of a file or those that Keras starts with.
#include "base/mapped_file.h"
#include "formats/keras/call.h"
#include "formats/keras/keras.h"
#include "formats/keras/source/library.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace convoy::keras {

namespace {

// What Keras starts with: Glorot's uniform numbers for kernels, ones for scales and variances, small numbers for tables,
// and zeros. Source: keras/src/initializers/random_initializers.py.
void initialise(Graph& graph) {
  std::mt19937 generator(0);
  for (convoy::Value& value : graph.values) {
    if (!value.constant || value.constant->dtype() != DType::F32) continue;
    const std::string word = value.name.substr(value.name.rfind('/') + 1);
    const Sizes& shape = value.constant->shape();
    const auto count = static_cast<std::size_t>(value.constant->count());
    const bool ones = word == "gamma" || word == "moving_variance" || word == "scale";
    double most = word == "embeddings" ? 0.05 : 0;
    if (word.ends_with("kernel") && shape.size() >= 2) {
      double receptive = 1;
      for (std::size_t i = 0; i + 2 < shape.size(); ++i) receptive *= static_cast<double>(shape[i]);
      const double both = receptive * static_cast<double>(shape[shape.size() - 1] + shape[shape.size() - 2]);
      most = both > 0 ? std::sqrt(6 / both) : 0;
    }
    if (!ones && most == 0) continue;
    std::vector<float> numbers(count, 1.0F);
    if (!ones)
      for (float& x : numbers)
        x = static_cast<float>((static_cast<double>(generator() >> 8U) * 0x1p-24 * 2 - 1) * most);
    value.constant = Tensor::of(shape, std::move(numbers));
  }
}

Result<Graph> with_weights(const Json& object, const LoadOptions& options) {
  const Version version = version_of(source_version);
  if (!options.weights) {
    auto graph = build(object, version, nullptr, options);
    if (graph && !options.structure_only) initialise(*graph);
    return graph;
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

// A model with a call() of its own, called on inputs of the shapes that --shape gives.
Result<SourceLayer*> SourceLibrary::traced(Interpreter& in, Value model) {
  SourceLayer* state = state_of(model);
  if (options_.shapes.empty())
    return fail(Fault::Usage,
                "the source does not say the shape of the model's input; give it with --shape x=?,32,32,3");
  auto* made = in.make<SourceLayer>();
  made->class_name = "Functional";
  made->module = "keras";
  made->name = state->name;
  Arguments given;
  for (const auto& [name, shape] : options_.shapes) {
    auto tensor = input(in, shape, name, "");
    if (!tensor) return pass(tensor);
    made->inputs.push_back(*tensor);
    given.placed.push_back(Value::of(*tensor));
  }
  const auto outputs = in.call(model, std::move(given));
  if (!outputs) return std::unexpected(outputs.error());
  ValueList all{*outputs};
  if (!outputs->as<SourceTensor>()) {
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
      if (call.tensors.empty()) state->inputs.push_back(t);
      open.insert(open.end(), call.tensors.begin(), call.tensors.end());
    }
  }
  if (!state) return fail(Fault::Internal, "a value that is no model");
  if (state->loads_weights && !options_.weights && !options_.structure_only)
    return fail(Fault::Usage,
                "the program loads the model's weights from a file; give it with --weights, or build the model without "
                "(--args weights=None)");
  if (state->class_name == "Model") {
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
