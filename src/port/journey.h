// The steps that a port to any target takes, and the targets.
#pragma once
#include "base/atomic_output.h"
#include "graph/quantized_steps.h"
#include "port/port.h"

#include <map>
#include <string>
#include <vector>

namespace convoy {

// Reads the source and rewrites a copy of it for the target; says how inputs and outputs lie there.
// `whole`: whole numbers that weights are held as by a target whose kernels compute with them; biases are rounded to what these take.
Result<PortReport> rewritten(const std::filesystem::path& source, const PortOptions& options, const Target& target,
                             const HeldWeights* whole = nullptr);
// The files that a port must not overwrite: what it reads.
std::vector<std::filesystem::path> sources_of(const std::filesystem::path& source, const PortOptions& options);
// The model as the file says it that was just written from `target`: each value with the origin of the one that `names`
// says it is, by the name it has in the file. Whole numbers that `options` keeps become rounded real ones, which are `names`'s in front
// of the rounding and `widened`'s behind it.
Result<Graph> read_back(const Graph& target, const std::filesystem::path& written, const LoadOptions& options,
                        const std::map<std::string, ValueId>& names,
                        const std::map<std::string, ValueId>& widened = {});
// A dictionary is read in the order of its keys: inputs and outputs of `read` in the order that the target has them.
Status follow_keys(Graph& read, const Graph& target);
// Compares the source with a whole model that was read back, which is then the report's target. Fails as prove() does;
// a difference stands in the report's proof.
Status prove_read_back(PortReport& report, Graph read, const ProofOptions& options);
// Closes every file and puts all in place, with what accompanies them.
Status put_in_place(OutputSet& out, const std::vector<std::filesystem::path>& targets, const PortOptions& options,
                    PortReport& report);
// The end of a port to one model: it is read back from `written` as read_back() does, compared with the source, and put in
// place with the other files unless it differs.
Result<PortReport> finished(PortReport report, OutputSet& out, const std::vector<std::filesystem::path>& files,
                            const PortOptions& options, std::size_t written, const LoadOptions& load,
                            const std::map<std::string, ValueId>& names,
                            const std::map<std::string, ValueId>& widened = {});

Result<PortReport> port_to_torch(const std::filesystem::path& source, const PortOptions& options);
Result<PortReport> port_to_keras(const std::filesystem::path& source, const PortOptions& options);
Result<PortReport> port_to_keras_source(const std::filesystem::path& source, const PortOptions& options);
Result<PortReport> port_to_tflite(const std::filesystem::path& source, const PortOptions& options);
Result<PortReport> port_to_onnx(const std::filesystem::path& source, const PortOptions& options);

}  // namespace convoy
