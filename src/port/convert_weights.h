// Carries the tensors of one file into a weights file of another kind: the same names, types and bytes.
#pragma once
#include "base/atomic_output.h"
#include "formats/weights.h"
#include "port/port.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

// The tensors as the kind of file that the name tells: .safetensors, .weights.h5, .npz, .pt (or .pth).
// Fails: Usage: a name of none of these; as the writer does.
Status write_weights_file(const std::filesystem::path& name, const WeightsFile& file, const Append& append);

struct ConvertedTensor {
  std::string source;   // its name in the file that was read; of a weight made of two, "NAME and NAME"
  std::string target;   // and in the one that was written
  Sizes shape;
  DType read = DType::F32, written = DType::F32;  // unlike where another is asked for, or the target has no such type
  std::string sha256;  // of the bytes as written
};

struct ConvertedWeights {
  std::vector<ConvertedTensor> tensors;
  WrittenFile file;
  std::vector<std::string> notes;  // what the user must know of the file, one sentence each
};

struct WeightsOptions {
  std::filesystem::path output;  // its extension tells the kind: .safetensors, .weights.h5, .npz, .pt (or .pth)
  std::string below;  // only tensors below this name, which is taken off: "state_dict.module"
  bool plain = false;  // pairs of weight_norm become the weights they make (formats/torch/weight_norm.h)
  bool overwrites = false;
  std::optional<DType> reals{};  // real numbers are rounded to this type; absent: as they are
};

// What is left of a tensor's name below `below` in a hierarchy of '.' or '/': "module.conv.weight" below "module" is
// "conv.weight"; nothing where it is not there. An empty `below` leaves the name whole.
std::optional<std::string> name_below(std::string_view name, std::string_view below);

// The file is read back and compared, tensor by tensor, before it is put in place.
// .weights.h5: names of Keras 3's own layout ("layers/dense/vars/0") make a file that load_weights takes; any other names
// are kept as they are, and a note says that Keras cannot place them.
// Fails: as the reader and the writer do; Usage: an extension of none of these, no tensor below the name, a number beyond the
// range of the type that is asked for; Io: an output that exists.
Result<ConvertedWeights> convert_weights(const std::filesystem::path& source, const WeightsOptions& options);

}  // namespace convoy
