#include "base/shown.h"

#include <cstdint>

namespace convoy {
namespace {

struct Letter {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: these bytes are no UTF-8
};

// Source: RFC 3629, whose shortest forms and gaps are kept.
Letter letter_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < bytes) return {};
  std::uint32_t code = first & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  if (bytes == 3 && (code < 0x800 || (code >= 0xD800 && code < 0xE000))) return {};
  if (bytes == 4 && (code < 0x10000 || code > 0x10FFFF)) return {};
  return {code, bytes};
}

// Ends of lines of other alphabets, and marks that turn what stands behind them.
bool steers(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200E && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

void append_hex(std::string& to, std::uint32_t value, int digits) {
  for (int i = digits; i-- > 0;) to += "0123456789abcdef"[value >> (4 * i) & 0xFU];
}

enum class Ends : std::uint8_t { Written, Kept, KeptBeforeIndents };

std::string shown_with(std::string_view text, Ends ends) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = letter_at(text, at);
    const bool indents = text.substr(at + 1).starts_with("    ");
    if (letter.bytes == 0) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(text[at]), 2);
    } else if (letter.code == '\n' && (ends == Ends::Kept || (ends == Ends::KeptBeforeIndents && indents))) {
      out += '\n';
    } else if (steers(letter.code)) {
      const bool has_word = letter.code == '\n' || letter.code == '\t' || letter.code == '\r';
      out += letter.code > 0xFF ? "\\u" : has_word ? "\\" : "\\x";
      if (has_word) out += letter.code == '\n' ? 'n' : letter.code == '\t' ? 't' : 'r';
      else append_hex(out, letter.code, letter.code > 0xFF ? 4 : 2);
    } else {
      out += text.substr(at, letter.bytes);
    }
    at += letter.bytes == 0 ? 1 : letter.bytes;
  }
  return out;
}

}  // namespace

std::string shown(std::string_view text) { return shown_with(text, Ends::Written); }
std::string shown_lines(std::string_view text) { return shown_with(text, Ends::Kept); }
std::string shown_sentence(std::string_view text) { return shown_with(text, Ends::KeptBeforeIndents); }

std::string as_utf8(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = letter_at(text, at);
    out += letter.bytes == 0 ? "\xEF\xBF\xBD" : text.substr(at, letter.bytes);
    at += letter.bytes == 0 ? 1 : letter.bytes;
  }
  return out;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = letter_at(text, at);
    if (letter.bytes == 0) return false;
    at += letter.bytes;
  }
  return true;
}

}  // namespace convoy
