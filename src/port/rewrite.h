// A model that was read, changed and is written again as what it was: in the words of its own framework.
#pragma once
#include "base/atomic_output.h"
#include "formats/format.h"

#include <filesystem>
#include <string>

namespace convoy {

enum class Kind { Torch, Keras, Onnx };
// Fails (Unsupported): a graph that none of these formats gave.
Result<Kind> kind_of(const Graph& graph);

// A Keras model (.keras, .h5), its weights alone (.weights.h5), or an ONNX model, as the name tells.
// Fails: as the passes and the writer do; Usage: a name that this kind is not written under.
Status write_as_it_was(const Graph& graph, Kind kind, const std::filesystem::path& name, const Append& append);

}  // namespace convoy
