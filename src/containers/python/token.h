// Python source as tokens: names, numbers, strings and symbols, each with its place. Nothing is evaluated.
#pragma once
#include "convoy/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::python {

enum class TokenKind : std::uint8_t { Name, Integer, Real, String, Symbol, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::size_t at = 0, end = 0;  // bytes [at, end) of the text
  std::string text;             // Name, Symbol: as written; String: its characters, escapes undone
  std::int64_t integer = 0;
  double real = 0;
};

// The tokens in order, End last. Line ends are blanks, `#` begins a comment. Strings: either quote, triple quotes, the
// prefixes r, b and u; neighbours are not joined here.
// Fails (Format) with the column as place: a character that belongs to no token, a number beyond 2^63 - 1, a string
// without its closing quote, an f-string; Limit: a text over 1 MiB.
Result<std::vector<Token>> tokens_of(std::string_view text);

// "column 12", or "line 2, column 12" where the text has several lines.
std::string place_in(std::string_view text, std::size_t at);

}  // namespace convoy::python
