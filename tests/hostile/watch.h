// Loads hostile files in a child process and watches it: time, memory, signals.
#pragma once
#include "hostile/series.h"

namespace convoy::hostile {

struct Limits {
  double seconds = 1;
  long kibibytes = 256 * 1024;  // resident memory beyond what the process had before
};

struct Finding {
  std::size_t index = 0;
  std::string what;
};

struct Outcome {
  std::size_t errors = 0, graphs = 0;
  std::vector<Finding> findings;
};

// Loads inputs `first`, `first` + 1, ... of the series; a crash costs one input, not the rest. Files are written to
// `folder`.
Outcome watch(const Series& series, const std::filesystem::path& folder, const Limits& limits);

}  // namespace convoy::hostile
