// One model's trained weights in another model that somebody else wrote, shown to compute the same.
#pragma once
#include "diagnose/carry.h"
#include "diagnose/diagnose.h"
#include "port/port.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace convoy {

struct CopyOptions {
  LoadOptions load_a, load_b;
  std::filesystem::path output;  // what b's kind is written as, see below
  bool overwrites = false;
  bool proves = true;
  std::uint64_t seed = 0;
  int threads = 0;
};

struct CopiedWeights {
  diagnose::CarriedModel carried;
  std::string format_a, format_b;
  std::optional<diagnose::Diagnosis> proof;  // a against what was written; absent: declined
  std::optional<WrittenFile> file;           // absent: the proof does not hold, nothing was written
  std::vector<std::string> notes;
  bool holds() const { return !proof || proof->same; }
};

// Reads both models (pair.h, which may complete the options) and matches them (diagnose/carry.h), without writing.
struct MatchedModels {
  Graph a, b;
  diagnose::CarriedModel carried;
};
Result<MatchedModels> match_models(const std::filesystem::path& a, const std::filesystem::path& b,
                                   CopyOptions& options);

// b is a PyTorch program or source: a state_dict with the names of its module, as .pt, .pth, .safetensors or .npz. Keras:
// the model as .keras or .h5, or its weights as .weights.h5. ONNX: the model.
// What was written is read again, as b with these weights, and compared with a, stretch by stretch, within the bound of
// the proof. A comparison that finds a difference is a result without a file.
// Fails: as the readers, carry and the writers do; Io: an output that exists.
Result<CopiedWeights> copy_weights(const std::filesystem::path& a, const std::filesystem::path& b,
                                   const CopyOptions& options);

}  // namespace convoy
