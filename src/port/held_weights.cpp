#include "port/held_weights.h"

#include "base/mapped_file.h"
#include "formats/onnx/onnx.h"
#include "formats/source.h"

namespace convoy {
namespace {

namespace fs = std::filesystem;

HeldWeights held_weights_of_values(const fs::path& source, const PortOptions& options) {
  LoadOptions told = options.load;
  told.keeps_quantized = true;
  HeldWeights all;
  const auto graph = load(source, told);
  if (!graph) return all;
  for (const Value& value : graph->values)
    if (value.constant && value.quantization) all.emplace(value.name, HeldWeight{*value.constant, *value.quantization});
  return all;
}

}  // namespace

HeldWeights held_weights_in(const fs::path& source, const PortOptions& options) {
  if (options.quantized.value_or(Quantized::Keep) != Quantized::Keep) return {};
  const auto file = open_file(source.string());
  if (source.extension() == ".tflite")
    return options.quantized ? held_weights_of_values(source, options) : HeldWeights();
  if (!file || !onnx::begins_model(blob_of(*file).bytes)) return {};
  return onnx::held_weights_of_model(blob_of(*file), source.parent_path());
}

}  // namespace convoy
