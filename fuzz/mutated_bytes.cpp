#include "fuzz/mutated_bytes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <string>

namespace convoy::fuzz {
namespace {

constexpr std::size_t longest = std::size_t{64} << 10;

std::size_t below(std::minstd_rand& random, std::size_t most) { return most == 0 ? 0 : random() % most; }

constexpr std::array<std::uint64_t, 12> telling{0,
                                                1,
                                                2,
                                                0x7F,
                                                0x80,
                                                0xFF,
                                                0x7FFF'FFFF,
                                                0x8000'0000,
                                                0xFFFF'FFFF,
                                                0x3FFF'FFFF'FFFF'FFFF,
                                                0x7FFF'FFFF'FFFF'FFFF,
                                                0xFFFF'FFFF'FFFF'FFFF};

void change_once(std::vector<std::byte>& bytes, Bytes other, std::minstd_rand& random) {
  const std::size_t at = below(random, bytes.size());
  const auto here = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const std::size_t length = 1 + below(random, std::min<std::size_t>(bytes.size() - at, 32));
  switch (random() % 7) {
    case 0: *here ^= std::byte{1} << static_cast<int>(random() % 8); break;
    case 1: *here = static_cast<std::byte>(random()); break;
    case 2: bytes.erase(here, here + static_cast<std::ptrdiff_t>(length)); break;
    case 3: {
      const std::vector<std::byte> part(here, here + static_cast<std::ptrdiff_t>(length));
      for (std::size_t times = 1 + random() % 8; times-- > 0;) bytes.insert(bytes.end() - 1, part.begin(), part.end());
      break;
    }
    case 4: {
      const std::vector<std::byte> part(here, here + static_cast<std::ptrdiff_t>(length));
      bytes.insert(here, part.begin(), part.end());
      break;
    }
    case 5: {
      const std::uint64_t number = telling[random() % telling.size()];
      const std::size_t width = std::min<std::size_t>(std::size_t{1} << random() % 4, bytes.size() - at);
      std::memcpy(bytes.data() + at, &number, width);
      break;
    }
    default:
      if (!other.empty()) {
        const std::size_t from = below(random, other.size());
        const std::size_t much = 1 + below(random, std::min<std::size_t>(other.size() - from, 64));
        const Bytes part = other.subspan(from, much);
        bytes.insert(here, part.begin(), part.end());
      }
  }
}

std::vector<std::string> parts_of(std::string_view text, bool words) {
  std::vector<std::string> parts(1);
  bool was_word = false;
  for (const char c : text) {
    const bool is_word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (words ? !is_word || !was_word : !parts.back().empty() && parts.back().back() == '\n') parts.emplace_back();
    parts.back() += c;
    was_word = is_word;
  }
  return parts;
}

constexpr std::array words{
    "0",        "-1",          "1000000000", "2**31",  "2**63 - 1",    "range(10**9)", "[0] * 10**7",
    "self",     "list",        "hash",       "x",      "None",         "()",           "[]",
    "{}",       "*x",          "'a'",        "1e308",  "float('nan')", "-2**63",       "lambda: x",
    "True",     "sum",         "prod",       "tuple",  "x.shape",      "torch",        "yield",
    "__iter__", "__len__",     "__hash__",   "__eq__", "__add__",      "__getitem__",  "__call__",
    "__bool__", "__getattr__", "return self"};

}  // namespace

std::vector<std::byte> mutated_bytes(Bytes bytes, Bytes other, std::minstd_rand& random) {
  std::vector<std::byte> made(bytes.begin(), bytes.end());
  for (std::size_t times = 1 + random() % 4; times-- > 0 && !made.empty();) change_once(made, other, random);
  if (made.size() > longest) made.resize(std::max(longest, bytes.size()));
  return made;
}

std::vector<std::byte> mutated_lines(Bytes bytes, Bytes other, std::minstd_rand& random) {
  const bool by_word = random() % 3 != 0;
  auto parts = parts_of(text_of(bytes), by_word);
  const auto others = parts_of(text_of(other), by_word);
  for (std::size_t times = 1 + random() % 4; times-- > 0;) {
    const std::size_t at = below(random, parts.size());
    const auto here = parts.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 5) {
      case 0: parts.insert(here, std::string(parts[below(random, parts.size())])); break;
      case 1:
        if (parts.size() > 1) parts.erase(here);
        break;
      case 2: std::swap(parts[at], parts[below(random, parts.size())]); break;
      case 3: parts[at] = others[below(random, others.size())]; break;
      default:
        if (by_word) parts[at] = words[random() % words.size()];
        else parts.insert(here, others[below(random, others.size())]);
    }
  }
  std::string text;
  for (const std::string& part : parts) text += part;
  text.resize(std::min(text.size(), longest));
  const Bytes made = bytes_of(text);
  return {made.begin(), made.end()};
}

}  // namespace convoy::fuzz
