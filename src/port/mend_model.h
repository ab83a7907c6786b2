// `convoy diff A B --fix -o DIR`: b put right, written as what it is, and shown to be the same as a.
#pragma once
#include "diagnose/diagnose.h"
#include "port/port.h"

#include <filesystem>

namespace convoy {

// Where the mended model would stand. Fails: Unsupported: what convoy does not write; Io: it exists, without `overwrites`.
Result<std::filesystem::path> place_for_mended(const Graph& b, const std::filesystem::path& file_b,
                                               const std::filesystem::path& folder, bool overwrites);

// b in a folder, under its own name: .keras, .h5 and .onnx as they were, an exported PyTorch program or source as a module
// (.py) with its weights. What is written is proved twice: a with the mended model, stretch by stretch, and the mended
// model with the file as it is read back.
// `accompany`: as of PortOptions.
// Fails (Proof): the mended model still differs from a, and nothing is written; (Unsupported): as diagnose/mend.h does, and
// where the model would take its inputs in another order of axes; Io: a file that exists, without `overwrites`.
Result<PortReport> mend_model(const Graph& a, const Graph& b, const std::filesystem::path& file_b,
                              const std::filesystem::path& folder, bool overwrites,
                              const diagnose::Diagnosis& diagnosis, const diagnose::Options& options,
                              std::function<Result<OutputSet>(const PortReport&)> accompany = {});

}  // namespace convoy
