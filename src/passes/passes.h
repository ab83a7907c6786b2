// The passes, in the order in which they run toward a target. Each has a name, returns a patch and can be switched off.
#pragma once
#include "graph/patch.h"
#include "ops/vocabulary.h"
#include "passes/interface.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

struct Target;

struct Pass {
  std::string_view name;
  std::string_view purpose;  // one line for `convoy ops` and the documentation
  Result<Patch> (*rewrite)(const Graph&, const Target&);
  bool required;  // the target's writer refuses the graph without it
};

// Into whose words a graph is brought, and by which passes, in the order in which they run.
struct Target {
  Framework framework = Framework::Torch;
  int opset = 0;  // of ONNX
  std::span<const Pass> passes;
  Outside outside = Outside::Target;
  bool lite = false;  // Keras's words as TFLite has them: its resizes know corners
  std::optional<Interface> interface{};  // of the graph to be rewritten; nothing: as `outside` says
};
// How a graph's inputs and outputs lie behind the target's passes.
Interface interface_of(const Graph& graph, const Target& target);

// What was done: the passes that changed something, with how often and why.
struct PassReport {
  std::string_view name;
  std::vector<Remark> remarks;
};

// PyTorch: channels first, kernels OutInSpace, one pad for both sides of an axis.
Target torch_target();
// ONNX: channels first, kernels OutInSpace, explicit pads; what ONNX Runtime runs as the specification means it.
Target onnx_target(int opset);
// Keras 3: channels last, kernels SpaceInOut, `same` and `valid`; what its TensorFlow backend runs on any processor.
Target keras_target();

// TFLite: as Keras, whose kernels it shares.
Target tflite_target();

// Runs the target's passes in order, the checker after each. In a graph whose inputs have no
// origin yet, every value gets its own name as origin first.
// `without`: names to leave out; an unknown name is a Usage error.
Result<std::vector<PassReport>> run_passes(Graph& graph, const Target& target,
                                           const std::vector<std::string>& without = {});

}  // namespace convoy
