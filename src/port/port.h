// The whole journey of one model: read, rewrite, write, read back, prove, put in place. Nothing stands at the target
// unless the port was shown to be equal (or the proof was declined outright).
#pragma once
#include "base/atomic_output.h"
#include "formats/format.h"
#include "passes/passes.h"
#include "port/quantized.h"
#include "prove/prove.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convoy {

struct PortReport;

struct PortOptions {
  LoadOptions load;
  std::optional<Graph> graph;            // what the source says, read already and perhaps changed; else it is read
  std::string to;                        // target format; empty: told by the extension of `output`
  std::filesystem::path output;          // empty: beside nothing, in the current directory, named after the source
  Outside outside = Outside::Target;     // --interface: whose axes the port has outside
  bool overwrites = false;               // --force
  bool proves = true;                    // --no-proof
  std::vector<std::string> without;      // passes left out
  std::string weights_format = "safetensors";
  std::optional<Size> opset;             // ONNX alone; absent: the usual one
  bool optimizes = false;                // ONNX alone: normalisations are taken into the layers before them
  bool external_data = false;            // ONNX alone: the larger tensors in a file beside the model
  bool rounds_to_halves = false;         // TFLite alone: weights are rounded to float16 and stored so
  std::optional<DType> reals;  // the model is carried with all real numbers of this type; absent: as they are
  std::optional<Quantized>
      quantized;  // what of rounding to steps is taken along; absent: as much as the target can say
  ProofOptions proof;
  // Asked when all is written and proved and nothing stands in place: what it gives appears together with the port, and
  // what it fails with ends the port.
  std::function<Result<OutputSet>(const PortReport&)> accompany;
};

struct WrittenFile {
  std::filesystem::path path;
  Size bytes = 0;
  std::string sha256;
};

// How an input or output of the source lies in the port: axis i of the port is axis permutation[i] of the source.
struct PortedValue {
  std::string name;
  Shape source, target;
  DType dtype = DType::F32;
  Sizes permutation;
  std::string channels_of;  // the source's layer by which the axis that moved is known for channels
};

struct PortReport {
  Graph source, target;
  std::vector<PassReport> passes;
  std::vector<PortedValue> inputs, outputs;
  std::optional<Proof> proof;  // absent: declined
  std::vector<WrittenFile> files;  // empty when the proof does not hold
  std::string source_sha256;
  std::vector<std::string> remarks;  // what the source says and is not so, or was not read, one sentence each
  std::vector<std::string> read_back;  // what of the files was read back and proved, in words, one line each

  bool holds() const { return !proof || proof->holds; }
};

// Fails: what the reader, a pass or the writer refuses; an output that exists (without `overwrites`), before any work.
// A proof that does not hold is a report without files, so that its evidence can be kept.
Result<PortReport> port(const std::filesystem::path& source, const PortOptions& options);

// ".py" of "torch". Fails (Usage): no such target.
Result<std::string> extension_of_target(const std::string& to);

}  // namespace convoy
