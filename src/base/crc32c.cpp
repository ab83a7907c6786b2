#include "base/crc32c.h"

#include <array>
#include <cstring>

namespace convoy {
namespace {

constexpr std::array<std::uint32_t, 256> castagnoli = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78U : 0);
    table[i] = value;
  }
  return table;
}();

std::uint32_t by_table(Bytes bytes, std::uint32_t crc) {
  for (const std::byte b : bytes) crc = crc >> 8 ^ castagnoli[(crc ^ std::to_integer<std::uint32_t>(b)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(Bytes bytes, std::uint32_t crc) {
  std::uint64_t sum = crc;
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), sizeof eight);
    sum = __builtin_ia32_crc32di(sum, eight);
    bytes = bytes.subspan(sizeof eight);
  }
  return by_table(bytes, static_cast<std::uint32_t>(sum));
}
#endif

}  // namespace

std::uint32_t crc32c_of(Bytes bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~by_instruction(bytes, ~0U);
#endif
  return ~by_table(bytes, ~0U);
}

}  // namespace convoy
