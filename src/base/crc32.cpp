#include "base/crc32.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace convoy {

namespace {

// Eight tables: table[k][b] is the effect of byte b followed by k zero bytes.
constexpr auto tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> t{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t c = b;
    for (int i = 0; i < 8; ++i) c = (c >> 1) ^ ((c & 1) != 0 ? 0xEDB88320U : 0U);
    t[0][b] = c;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 0xFF];
  }
  return t;
}();

// `crc` is the register, inverted against the public value.
std::uint32_t by_tables(Bytes bytes, std::uint32_t crc) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const std::uint32_t low = crc ^ (byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24);
    crc = tables[7][low & 0xFF] ^ tables[6][(low >> 8) & 0xFF] ^ tables[5][(low >> 16) & 0xFF] ^ tables[4][low >> 24] ^
          tables[3][byte(i + 4)] ^ tables[2][byte(i + 5)] ^ tables[1][byte(i + 6)] ^ tables[0][byte(i + 7)];
  }
  for (; i < bytes.size(); ++i) crc = (crc >> 8) ^ tables[0][(crc ^ byte(i)) & 0xFF];
  return crc;
}

#if defined(__x86_64__)

__attribute__((target("pclmul,sse4.1"))) __m128i fold(__m128i x, __m128i next, __m128i constants) {
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, constants, 0x00), next),
                       _mm_clmulepi64_si128(x, constants, 0x11));
}

// Folds 64 bytes at a time into four registers, those into one, and reduces that by the tables: the four
// registers are the polynomial remainder of all that went before. Constants: x^(n) mod P, bit-reflected
// (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009).
__attribute__((target("pclmul,sse4.1"))) std::uint32_t by_folding(Bytes bytes, std::uint32_t crc) {
  const auto load = [&](std::size_t at) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data() + at));
  };
  const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i a = _mm_xor_si128(load(0), _mm_cvtsi32_si128(static_cast<int>(crc)));
  __m128i b = load(16), c = load(32), d = load(48);
  std::size_t at = 64;
  for (; at + 64 <= bytes.size(); at += 64) {
    a = fold(a, load(at), by_64);
    b = fold(b, load(at + 16), by_64);
    c = fold(c, load(at + 32), by_64);
    d = fold(d, load(at + 48), by_64);
  }
  a = fold(fold(fold(a, b, by_16), c, by_16), d, by_16);
  for (; at + 16 <= bytes.size(); at += 16) a = fold(a, load(at), by_16);
  alignas(16) std::array<std::byte, 16> rest{};
  _mm_store_si128(reinterpret_cast<__m128i*>(rest.data()), a);
  return by_tables(bytes.subspan(at), by_tables(rest, 0));
}

#endif

}  // namespace

std::uint32_t crc32_of(Bytes bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool folds = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  if (folds && bytes.size() >= 64) return ~by_folding(bytes, ~before);
#endif
  return ~by_tables(bytes, ~before);
}

}  // namespace convoy
