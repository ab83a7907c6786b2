// The tensors of a weights or model file together with the kind of file they come from.
#pragma once
#include "formats/format.h"

#include <filesystem>
#include <vector>

namespace convoy {

enum class WeightsKind { PyTorch, Keras, Onnx, TFLite, Safetensors, Numpy, TensorFlow };

struct WeightsFile {
  WeightsKind kind;
  std::vector<LoadedTensor> tensors;  // in the file's own names and order
};

Result<WeightsFile> load_weights_file(const std::filesystem::path& file);

}  // namespace convoy
