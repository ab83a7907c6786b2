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

// Arrays in the weights' file, text in the folder assets, both by the place of the layer.
class Members : public WeightSource {
 public:
  Members(std::unique_ptr<WeightSource> arrays, const ZipArchive& zip) : arrays_(std::move(arrays)), zip_(zip) {}
  Result<Variables> of(const Location& location) override { return arrays_->of(location); }
  bool nests() const override { return arrays_->nests(); }
  Result<std::optional<std::string>> text(const Location& location, std::string_view file) override {
    const std::string name = "assets/" + location.group + "/" + std::string(file);
    if (!zip_.find(name)) return std::nullopt;
    auto blob = zip_.read(name);
    if (!blob) return within(name, Result<std::optional<std::string>>(pass(blob)));
    return std::string(text_of(blob->bytes));
  }

 private:
  std::unique_ptr<WeightSource> arrays_;
  const ZipArchive& zip_;
};

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
  Members members(*std::move(weights), *zip);
  return build(*config, version, &members, options);
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
