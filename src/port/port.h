// The whole journey of one model: read, rewrite, write, read back, prove, put in place. Nothing stands at the target
// unless the port was shown to be equal (or the proof was declined outright).
#pragma once
#include "base/atomic_output.h"
#include "convoy/settings.h"
#include "formats/format.h"
#include "passes/passes.h"
#include "prove/prove.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convoy {

struct PortReport;

// What was asked for, and what the library itself adds to it.
struct PortOptions : PortSettings {
  LoadOptions load;
  std::optional<Graph> graph;  // what the source says, read already and perhaps changed; else it is read
  std::filesystem::path output;  // empty: beside nothing, in the current directory, named after the source
  std::optional<Convention> convention{};  // how inputs and outputs of the port have to lie; port() says it
  // Asked when all is written and proved and nothing stands in place: what it gives appears together with the port, and
  // what it fails with ends the port.
  std::function<Result<OutputSet>(const PortReport&)> accompany;

  ProofOptions proof() const { return {.seed = seed, .threads = threads, .convention = convention}; }
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
