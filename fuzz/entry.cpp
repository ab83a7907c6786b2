// What libFuzzer calls. The target is chosen when this is compiled. Archives are mutated member by member and put together
// again with the right lengths and checksums: flipped bytes of the archive itself would get no further than those.
#include "containers/zip.h"
#include "fuzz/mutated_json.h"
#include "fuzz/targets.h"

#include <algorithm>
#include <random>

using namespace convoy;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

constexpr std::size_t most_growth = 4096;

std::vector<std::byte> mutated(std::string_view name, Bytes content, std::minstd_rand& random) {
  if (name.ends_with(".json") && random() % 4 != 0)
    if (auto document = fuzz::mutated_json(content, random); !document.empty()) return document;
  std::vector<std::byte> copy(content.begin(), content.end());
  copy.resize(content.size() + std::min(content.size() + 64, most_growth));
  copy.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(copy.data()), content.size(), copy.size()));
  return copy;
}

// Members are chosen by their length: what says little is seldom changed.
std::size_t chosen_member(const std::vector<ZipEntry>& entries, std::minstd_rand& random) {
  constexpr Size least = 16;
  Size total = 0;
  for (const auto& entry : entries) total += entry.size + least;
  Size at = static_cast<Size>(random()) % total;
  std::size_t i = 0;
  for (; i + 1 < entries.size() && at >= entries[i].size + least; ++i) at -= entries[i].size + least;
  return i;
}

// The archive with one member changed; empty where it cannot be read.
std::vector<std::byte> with_one_mutated(Bytes archive, unsigned seed) {
  const auto zip = ZipArchive::open({archive, nullptr});
  if (!zip || zip->entries().empty()) return {};
  std::minstd_rand random(seed);
  const std::size_t chosen = chosen_member(zip->entries(), random);
  std::vector<std::byte> made;
  ZipWriter writer([&](Bytes bytes) -> Status {
    made.insert(made.end(), bytes.begin(), bytes.end());
    return {};
  });
  for (std::size_t i = 0; i < zip->entries().size(); ++i) {
    const auto content = zip->read(zip->entries()[i].name);
    if (!content) return {};
    const auto changed =
        i == chosen ? mutated(zip->entries()[i].name, content->bytes, random) : std::vector<std::byte>{};
    if (!writer.add(zip->entries()[i].name, i == chosen ? Bytes(changed) : content->bytes)) return {};
  }
  return writer.finish() ? made : std::vector<std::byte>{};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  if (seed % 8 == 0 || !ZipArchive::begins(bytes)) return LLVMFuzzerMutate(data, size, most);
  const auto made = with_one_mutated(bytes, seed);
  if (made.empty() || made.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::ranges::copy(made, reinterpret_cast<std::byte*>(data));
  return made.size();
}
