// What every target does with an answer.
#pragma once
#include "base/bytes.h"
#include "convoy/result.h"
#include "formats/format.h"
#include "fuzz/targets.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace convoy::fuzz {

// The bytes as a reader gets them: with nobody behind who keeps them, so that every use after the call is seen.
inline Blob blob_of(Bytes bytes) { return {bytes, nullptr}; }

// A file may be refused, but not by a fault of ours. Returns whether there is a value.
template <class T>
bool answered(const Result<T>& result) {
  if (!result && result.error().fault == Fault::Internal) {
    std::fprintf(stderr, "a fault of ours: %s\n", message(result.error()).c_str());
    std::abort();
  }
  return result.has_value();
}

// The same of a model, which is then shown and written in every way.
inline void answered_and_written(const Result<Graph>& graph) {
  if (answered(graph)) write_everywhere(*graph);
}

// Reads every byte of every tensor once.
inline void touch(const std::vector<LoadedTensor>& tensors) {
  unsigned sum = 0;
  for (const auto& one : tensors)
    for (const std::byte b : one.tensor.bytes()) sum += std::to_integer<unsigned>(b);
  volatile unsigned kept = sum;
  static_cast<void>(kept);
}

}  // namespace convoy::fuzz
