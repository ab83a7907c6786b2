// What libFuzzer calls. The target is chosen when this is compiled.
#include "containers/zip.h"
#include "fuzz/mutated_archive.h"
#include "fuzz/targets.h"

#include <algorithm>
#include <random>

using namespace convoy;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Its library is without writers.
void fuzz::write_everywhere(const Graph&) {}

namespace {

constexpr std::size_t most_growth = 4096;

std::vector<std::byte> mutated(Bytes content) {
  std::vector<std::byte> copy(content.begin(), content.end());
  copy.resize(content.size() + std::min(content.size() + 64, most_growth));
  copy.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(copy.data()), content.size(), copy.size()));
  return copy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  if (seed % 8 == 0 || !ZipArchive::begins(bytes)) return LLVMFuzzerMutate(data, size, most);
  std::minstd_rand random(seed);
  const auto made = fuzz::with_one_mutated(bytes, random, mutated);
  if (made.empty() || made.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::ranges::copy(made, reinterpret_cast<std::byte*>(data));
  return made.size();
}
