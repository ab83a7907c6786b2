// model.json: the config alone, with the weights in a file beside it that the user names; and single layers.
#include "base/mapped_file.h"
#include "formats/keras/call.h"
#include "formats/keras/keras.h"

namespace convoy::keras {
namespace {

Version version_in(const Json& model) {
  if (const auto argument = model.find("keras_version"); argument != model.end() && argument->is_string())
    return version_of(argument->get<std::string>());
  // Keras 3 writes no version here, but the module of every object; Keras 1 wrote neither.
  return version_of(model.is_object() && model.contains("module") ? "3.0.0" : "");
}

}  // namespace

Result<Graph> read_json(std::string_view text, const LoadOptions& options) {
  auto model = parse_json(text);
  if (!model) return pass(model);
  if (!model->is_object() || !model->contains("class_name") || !model->contains("config"))
    return fail(Fault::Format, "is JSON, but no Keras model: class_name or config is missing");
  const Version version = version_in(*model);
  const auto backend = model->find("backend");
  const bool theano = backend != model->end() && *backend == "theano";
  if (!options.weights) {
    if (!options.structure_only && !options.weights_may_lack)
      return fail(Fault::Usage, "holds a model without weights; give them with --weights FILE");
    return build(*model, version, nullptr, options, theano);
  }
  auto bytes = open_file(options.weights->string());
  if (!bytes) return pass(bytes);
  const std::string name = options.weights->filename().string();
  auto file = within(name, Hdf5File::open(blob_of(*bytes)));
  if (!file) return pass(file);
  auto weights = within(name, weights_of_file(file->root()));
  if (!weights) return pass(weights);
  return build(*model, version, weights->get(), options, theano);
}

Result<Graph> graph_of_layer(const std::string& class_name, const Json& config, const std::vector<TensorType>& inputs,
                             const std::vector<Tensor>& weights) {
  Json object = Json::object();
  object["class_name"] = class_name;
  object["config"] = config.is_object() ? config : Json::object();
  Builder builder;
  builder.version = version_of("3.15.1");
  auto layer = read_layer(object, builder.version);
  if (!layer) return pass(layer);
  const auto given = weights_given(weights);
  if (!weights.empty()) builder.weights = given.get();
  builder.graph.name = layer->name;
  builder.graph.rules = tensorflow_rules;
  builder.graph.source_format = name_of(builder.version);
  Values values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.push_back(builder.graph.input(inputs.size() == 1 ? "input" : "input_" + std::to_string(i), inputs[i]));
  auto made = run_layer(builder, *layer, nullptr, values, {}, "", {"", {layer->name}});
  if (!made) return pass(made);
  builder.graph.outputs = *made;
  builder.graph.output_names.assign(made->size(), layer->name);
  return std::move(builder.graph);
}

}  // namespace convoy::keras
