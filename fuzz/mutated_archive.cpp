#include "fuzz/mutated_archive.h"

#include "containers/zip.h"
#include "fuzz/mutated_json.h"

namespace convoy::fuzz {
namespace {

std::vector<std::byte> mutated(std::string_view name, Bytes content, std::minstd_rand& random,
                               const ChangeBytes& change) {
  if (name.ends_with(".json") && random() % 4 != 0)
    if (auto document = mutated_json(content, random); !document.empty()) return document;
  return change(content);
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

}  // namespace

std::vector<std::byte> with_one_mutated(Bytes archive, std::minstd_rand& random, const ChangeBytes& change) {
  const auto zip = ZipArchive::open({archive, nullptr});
  if (!zip || zip->entries().empty()) return {};
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
        i == chosen ? mutated(zip->entries()[i].name, content->bytes, random, change) : std::vector<std::byte>{};
    if (!writer.add(zip->entries()[i].name, i == chosen ? Bytes(changed) : content->bytes)) return {};
  }
  return writer.finish() ? made : std::vector<std::byte>{};
}

}  // namespace convoy::fuzz
