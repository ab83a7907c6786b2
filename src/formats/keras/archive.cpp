// The .keras archive: metadata.json, config.json and model.weights.h5 in one zip.
#include "containers/zip.h"
#include "formats/keras/call.h"
#include "formats/keras/keras.h"

namespace convoy::keras {
namespace {

Result<Json> member(const ZipArchive& zip, std::string_view name) {
  auto blob = zip.read(name);
  if (!blob) return pass(blob);
  return within(name, parse_json(text_of(blob->bytes)));
}

Result<Hdf5File> weights_member(const ZipArchive& zip) {
  if (!zip.find("model.weights.h5")) {
    if (zip.find("model.weights.npz"))
      return fail(Fault::Unsupported, "keeps its weights as pickled numpy objects, which Keras itself no longer reads");
    return fail(Fault::Format, "holds no model.weights.h5");
  }
  auto blob = zip.read("model.weights.h5");
  if (!blob) return pass(blob);
  return within("model.weights.h5", Hdf5File::open(std::move(*blob)));
}

}  // namespace

Result<Graph> read_archive(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper,
                           const LoadOptions& options) {
  auto zip = ZipArchive::open({bytes, std::move(keeper)});
  if (!zip) return pass(zip);
  auto config = member(*zip, "config.json");
  if (!config) return pass(config);
  Version version = version_of("3.0.0");
  if (zip->find("metadata.json")) {
    auto metadata = member(*zip, "metadata.json");
    if (!metadata) return pass(metadata);
    if (const auto argument = metadata->find("keras_version"); argument != metadata->end() && argument->is_string())
      version = version_of(argument->get<std::string>());
  }
  if (options.structure_only) return build(*config, version, nullptr, options);
  auto file = weights_member(*zip);
  if (!file) return pass(file);
  auto weights = weights_v3(file->root(), true);
  if (!weights) return pass(weights);
  return build(*config, version, weights->get(), options);
}

Result<std::vector<LoadedTensor>> weights_of_archive(std::span<const std::byte> bytes,
                                                     std::shared_ptr<const void> keeper) {
  auto zip = ZipArchive::open({bytes, std::move(keeper)});
  if (!zip) return pass(zip);
  auto file = weights_member(*zip);
  if (!file) return pass(file);
  return within("model.weights.h5", list_weights(file->root()));
}

}  // namespace convoy::keras
