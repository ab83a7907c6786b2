// Python source as tokens: names, numbers, strings and symbols, each with its place. Nothing is evaluated.
#pragma once
#include "convoy/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::python {

// Newline, Indent and Dedent only where lines count; Imaginary: 2.5j; Formatted: an f-string, as it is written between its quotes.
enum class TokenKind : std::uint8_t {
  Name,
  Integer,
  Real,
  Imaginary,
  String,
  Formatted,
  Symbol,
  Newline,
  Indent,
  Dedent,
  End
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::size_t at = 0, end = 0;  // bytes [at, end) of the text
  std::string text;  // Name, Symbol, numbers: as written; String: its characters, escapes undone
  std::int64_t integer = 0;  // of a String: 1 where it is bytes
  double real = 0;
  std::size_t inside = 0;  // Formatted: where its text begins
};

// Whether a text is one expression over any number of lines, or a program in which line ends and indentation count.
enum class Layout : std::uint8_t { Free, Lines };

// The tokens in order, End last. In a free layout line ends are blanks; `#` begins a comment. Strings: either quote, triple quotes, the
// prefixes r, b and u; neighbours are not joined here.
// Fails (Format) with the column as place: a character that belongs to no token, a number beyond 2^63 - 1, a string
// without its closing quote, an f-string in a free layout, indentation that fits no block; Limit: a text over 1 MiB,
// blocks over 100 deep.
Result<std::vector<Token>> tokens_of(std::string_view text, Layout layout = Layout::Free);

// "column 12", or "line 2, column 12" where the text has several lines.
std::string place_in(std::string_view text, std::size_t at);

}  // namespace convoy::python
