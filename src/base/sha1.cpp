#include "base/sha1.h"

#include <array>
#include <bit>
#include <cstring>

namespace convoy {
namespace {

using Sha1State = std::array<std::uint32_t, 5>;

void add_block(Sha1State& state, const std::byte* block) {
  std::array<std::uint32_t, 80> words{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 4; ++j) words[i] = words[i] << 8 | std::to_integer<std::uint32_t>(block[4 * i + j]);
  for (std::size_t i = 16; i < 80; ++i)
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t mixed = 0, constant = 0;
    if (i < 20) mixed = (b & c) | (~b & d), constant = 0x5a827999;
    else if (i < 40) mixed = b ^ c ^ d, constant = 0x6ed9eba1;
    else if (i < 60) mixed = (b & c) | (b & d) | (c & d), constant = 0x8f1bbcdc;
    else mixed = b ^ c ^ d, constant = 0xca62c1d6;
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const std::uint32_t sums[] = {a, b, c, d, e};
  for (std::size_t i = 0; i < 5; ++i) state[i] += sums[i];
}

}  // namespace

std::string sha1_hex(Bytes bytes) {
  Sha1State state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  const std::size_t whole = bytes.size() / 64 * 64, rest = bytes.size() - whole;
  for (std::size_t at = 0; at < whole; at += 64) add_block(state, bytes.data() + at);
  // The end: the bytes left, a one bit, zeros, and the length in bits.
  std::array<std::byte, 128> end{};
  if (rest > 0) std::memcpy(end.data(), bytes.data() + whole, rest);
  end[rest] = std::byte{0x80};
  const std::size_t length = rest < 56 ? 64 : 128;
  const std::uint64_t bits = static_cast<std::uint64_t>(bytes.size()) * 8;
  for (std::size_t i = 0; i < 8; ++i) end[length - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  for (std::size_t at = 0; at < length; at += 64) add_block(state, end.data() + at);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) text += digits[word >> shift & 15];
  return text;
}

}  // namespace convoy
