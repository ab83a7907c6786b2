// What may be asked of reading a model and of porting it. The command's options are parsed into these, and the Python module's
// arguments as well: each thing that can be asked for stands here once.
#pragma once
#include "convoy/size.h"
#include "convoy/tensor.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

// Of a model whose numbers are rounded to whole ones of a scale and a zero: what a port takes along of that.
enum class Quantized : std::uint8_t {
  Keep,  // whole numbers in the target's own words for them
  Fake,  // float32 numbers, rounded to the same steps in single operators
  Float  // float32 numbers, kept within the same ranges and not rounded
};
// "keep", "fake" or "float". Nothing: none of them.
std::optional<Quantized> quantized_named(std::string_view word);
// A type that all real numbers of a model can be carried as: "float16", "bfloat16" or "float32". Nothing: none of them.
std::optional<DType> real_type_named(std::string_view name);

// Binaries built against another version do not link by mistake.
inline namespace v0 {

// Sizes of each axis; nothing where a size is free until the model runs.
using ModelShape = std::vector<std::optional<Size>>;

// What a file alone does not tell.
struct ReadOptions {
  std::filesystem::path weights;  // for a file that holds none: model.json, source
  ModelShape size;  // of the image inputs, channels left out: {224, 224}
  std::map<std::string, ModelShape> shapes;  // whole shapes by input; "": that of the only input
  // Source and scripted TorchScript: element types of inputs that are not float32; "": that of the only input.
  std::map<std::string, DType> types;
  std::vector<std::string> outputs;  // cut the model at these layers or values
  bool dequantizes = false;  // TFLite: quantised numbers stand for the real ones that they mean
  std::vector<std::filesystem::path> import_roots;  // source: folders below which imports are found as well
  std::optional<std::uint64_t> seed;  // source: what weights that no file gives are drawn with (0)
  std::string signature;  // which of a SavedModel's; empty: serving_default
  // Source: "NAME=VALUE", in Python's words, of names that it does not define, or not to a known value: "img_size=(32, 32, 3)".
  // ONNX: of inputs, which are constants then: "sr=16000".
  std::vector<std::string> names;
};

// How a model is carried over.
struct PortSettings {
  std::string to;  // "torch", "keras", "onnx", "tflite"; empty: told by the output's extension
  bool overwrites = false;  // replace files that exist
  bool proves = true;
  std::vector<std::string> without;  // passes left out
  bool source_axes = false;  // inputs and outputs keep the source's axes instead of the target's convention
  std::string weights_format = "safetensors";  // PyTorch: or "pt"
  std::optional<Size> opset;  // ONNX; nothing: the usual one
  bool optimizes = false;  // ONNX: normalisations are taken into the layers before them
  bool external_data = false;  // ONNX: the larger tensors in a file beside the model
  bool rounds_to_halves = false;  // TFLite: weights are rounded to float16 and stored so
  std::optional<DType>
      reals;  // the model is carried with all real numbers of this type (F16, BF16, F32); nothing: as they are
  std::optional<Quantized> quantized;  // nothing: as much as the target can say
  std::uint64_t seed = 0;  // for the numbers that the proof feeds
  int threads = 0;  // of the proof; 0: as many as the machine has
};

}  // namespace v0
}  // namespace convoy
