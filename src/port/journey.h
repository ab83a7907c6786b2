// The steps that a port to any target takes, and the targets.
#pragma once
#include "base/atomic_output.h"
#include "port/port.h"

namespace convoy {

// Reads the source and rewrites a copy of it for the target; says how inputs and outputs lie there.
Result<PortReport> rewritten(const std::filesystem::path& source, const PortOptions& options, const Target& target);
// The files that a port must not overwrite: what it reads.
std::vector<std::filesystem::path> sources_of(const std::filesystem::path& source, const PortOptions& options);
// Closes every file and puts all in place, in the order of `targets`.
Status put_in_place(OutputSet& out, const std::vector<std::filesystem::path>& targets, PortReport& report);

Result<PortReport> port_to_torch(const std::filesystem::path& source, const PortOptions& options);
Result<PortReport> port_to_onnx(const std::filesystem::path& source, const PortOptions& options);

}  // namespace convoy
