// Tokens, errors and trees, as expressions and statements share them.
#include "containers/python/syntax_parser.h"
#include "base/words.h"

#include <algorithm>
#include <array>

namespace convoy::python {
namespace {

constexpr std::array<std::string_view, 29> keywords{
    "and",      "as",      "assert", "break", "class",  "continue", "def",    "del",   "elif", "else",
    "except",   "finally", "for",    "from",  "global", "if",       "import", "in",    "is",   "lambda",
    "nonlocal", "not",     "or",     "pass",  "raise",  "return",   "try",    "while", "with"};

}  // namespace

bool is_keyword(std::string_view word) { return is_among(keywords, word); }

std::unexpected<Error> SyntaxParser::wrong(std::size_t at, std::string what, Fault fault) const {
  return std::unexpected(Error{fault, std::move(what), place_in(text_, at)});
}

std::unexpected<Error> SyntaxParser::expected(std::string_view what) const {
  const Token& t = token();
  std::string found = "the text ends";
  if (t.kind == TokenKind::Newline) found = "the line ends";
  else if (t.kind == TokenKind::Indent) found = "a block opens";
  else if (t.kind == TokenKind::Dedent) found = "the block ends";
  else if (t.kind != TokenKind::End)
    found = "there is '" + std::string(text_.substr(t.at + shift_, std::min<std::size_t>(t.end - t.at, 40))) + "'";
  return wrong(here(), found + " where " + std::string(what) + " is expected");
}

std::unexpected<Error> SyntaxParser::too_deep() const {
  return wrong(here(), "brackets and operators are nested over 100 deep", Fault::Limit);
}

Result<std::string> SyntaxParser::name(std::string_view what) {
  if (token().kind != TokenKind::Name || is_keyword(token().text)) return expected(what);
  return tokens_[next_++].text;
}

Syntax SyntaxParser::leaf(SyntaxKind kind, std::string words) const {
  Syntax made;
  made.kind = kind;
  made.at = here();
  made.text = std::move(words);
  return made;
}

SyntaxParser::Made SyntaxParser::node(SyntaxKind kind, std::size_t at, std::vector<Syntax> parts,
                                      std::string words) const {
  Syntax made;
  made.kind = kind;
  made.at = at;
  made.text = std::move(words);
  for (const Syntax& part : parts) made.height = std::max(made.height, part.height + 1);
  if (made.height > 400) return wrong(at, "an expression of more than 400 steps", Fault::Limit);
  made.parts = std::move(parts);
  return made;
}

}  // namespace convoy::python
