#include "explain/layer.h"

#include <algorithm>

namespace convoy::explain {

std::string_view name_of(Framework framework) {
  switch (framework) {
    case Framework::Torch: return "PyTorch";
    case Framework::Keras: return "Keras";
    case Framework::TensorFlow: return "TensorFlow";
    case Framework::Onnx:
    case Framework::OnnxRuntime: return "ONNX";
    case Framework::Tflite: return "TFLite";
    case Framework::CoreMl: return "Core ML";
  }
  return {};
}

std::vector<std::optional<Size>> Layer::sizes() const {
  std::vector<std::optional<Size>> all;
  for (const Dim& n : in) all.push_back(n.size());
  return all;
}

bool Layer::size_known() const { return std::ranges::all_of(in, &Dim::known); }

Speaker speaker(Framework framework, const Layer& layer) {
  Windowed windowed = layer.depthwise ? Windowed::Depthwise : Windowed::Convolutions;
  if (layer.does == Does::Maximum) windowed = Windowed::MaxPools;
  if (layer.does == Does::PowerNorm) windowed = Windowed::CountingAverages;  // padding is worth zero
  if (layer.does == Does::Average)
    windowed = layer.counts_padding && !layer.divisor ? Windowed::CountingAverages : Windowed::Averages;
  return {framework == Framework::Onnx ? Framework::OnnxRuntime : framework, windowed};
}

std::string axis_name(std::size_t axis, std::size_t space) {
  static constexpr std::string_view names[] = {"depth", "rows", "cols"};
  if (space == 1) return "time";
  return space <= 3 ? std::string(names[axis + 3 - space]) : "axis " + std::to_string(axis);
}

}  // namespace convoy::explain
