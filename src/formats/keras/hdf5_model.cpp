// The .h5 of Keras 1, 2 and tf.keras, and of Keras 3 on request: the config as an attribute, the weights in groups.
#include "formats/keras/call.h"
#include "formats/keras/keras.h"

namespace convoy::keras {

Result<Graph> read_hdf5(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper,
                        const LoadOptions& options) {
  auto file = Hdf5File::open({bytes, std::move(keeper)});
  if (!file) return pass(file);
  const Hdf5Object& root = file->root();
  if (!root.has_attribute("model_config"))
    return fail(Fault::Unsupported, "holds weights and no model; give the model's file and this one with --weights");
  auto text = string_of(root, "model_config");
  if (!text) return pass(text);
  auto config = within("attribute 'model_config'", parse_json(*text));
  if (!config) return pass(config);
  auto version = string_of(root, "keras_version");
  if (!version) return pass(version);
  auto backend = string_of(root, "backend");
  if (!backend) return pass(backend);
  if (options.structure_only) return build(*config, version_of(*version), nullptr, options);
  auto weights = weights_of_file(root);
  if (!weights) return pass(weights);
  return build(*config, version_of(*version), weights->get(), options, *backend == "theano");
}

Result<std::vector<LoadedTensor>> weights_of_hdf5(std::span<const std::byte> bytes,
                                                  std::shared_ptr<const void> keeper) {
  auto file = Hdf5File::open({bytes, std::move(keeper)});
  if (!file) return pass(file);
  return list_weights(file->root());
}

}  // namespace convoy::keras
