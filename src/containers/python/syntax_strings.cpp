// Texts: neighbours that are one, and f-strings with the expressions inside them.
#include "containers/python/syntax_parser.h"

namespace convoy::python {

// Neighbouring strings are one.
SyntaxParser::Made SyntaxParser::strings() {
  const std::size_t at = here();
  Syntax plain = leaf(SyntaxKind::String);
  std::vector<Syntax> parts;
  while (token().kind == TokenKind::String || token().kind == TokenKind::Formatted) {
    if (token().kind == TokenKind::String) {
      plain.text += token().text;
      plain.integer = token().integer;
    } else {
      auto one = formatted(token());
      if (!one) return one;
      if (!plain.text.empty()) parts.push_back(std::exchange(plain, leaf(SyntaxKind::String)));
      for (Syntax& part : one->parts) parts.push_back(std::move(part));
    }
    ++next_;
  }
  if (parts.empty()) return plain;
  if (!plain.text.empty()) parts.push_back(std::move(plain));
  return node(SyntaxKind::Formatted, at, std::move(parts));
}

SyntaxParser::Made SyntaxParser::formatted(const Token& t) { return formatted_text(t.text, t.inside + shift_, 0); }

namespace {

// An expression goes up to ':', '!' or '}' outside of brackets and strings.
std::size_t end_of_expression(std::string_view body, std::size_t end) {
  int open = 0;
  char quote = 0;
  for (; end < body.size(); ++end) {
    const char d = body[end];
    if (quote) quote = d == quote ? char{0} : quote;
    else if (d == '\'' || d == '"') quote = d;
    else if (d == '(' || d == '[' || d == '{') ++open;
    else if (open > 0 && (d == ')' || d == ']' || d == '}')) --open;
    else if (open == 0 && (d == '}' || d == ':' || (d == '!' && (end + 1 >= body.size() || body[end + 1] != '='))))
      break;
  }
  return end;
}

}  // namespace

// "{expression!r:format}" of an f-string, whose brace stands at `i`, which goes behind it; `plain` is the text in front.
SyntaxParser::Made SyntaxParser::replacement(std::string_view body, std::size_t& i, std::size_t at, int level,
                                             std::string& plain) {
  std::size_t end = end_of_expression(body, i + 1);
  std::string_view inner = body.substr(i + 1, end - i - 1);
  // f"{x=}" writes the expression in front of its value.
  std::string_view trimmed = inner;
  while (trimmed.ends_with(' ')) trimmed.remove_suffix(1);
  const bool says_itself = trimmed.size() > 1 && trimmed.ends_with('=') &&
                           std::string_view("=!<>").find(trimmed[trimmed.size() - 2]) == std::string_view::npos;
  if (says_itself) {
    plain += inner;
    inner = trimmed.substr(0, trimmed.size() - 1);
  }
  auto tokens = tokens_of(inner);
  if (!tokens) return wrong(at + i, tokens.error().what, tokens.error().fault);
  SyntaxParser parser(text_, std::move(*tokens), at + i + 1, depth_ + 1);
  auto value = nested([&] { return parser.whole_expression(); });
  if (!value) return value;
  std::string conversion;
  if (end < body.size() && body[end] == '!') conversion = body.substr(end + 1, 1), end += 2;
  const bool has_format = end < body.size() && body[end] == ':';
  if (says_itself && conversion.empty() && !has_format) conversion = "r";
  Syntax format = leaf(SyntaxKind::Absent);
  if (end < body.size() && body[end] == ':') {
    const std::size_t first = ++end;
    for (int deep = 0; end < body.size() && (deep > 0 || body[end] != '}'); ++end)
      deep += body[end] == '{' ? 1 : body[end] == '}' ? -1 : 0;
    auto said = formatted_text(body.substr(first, end - first), at + first, level + 1);
    if (!said) return said;
    format = std::move(*said);
  }
  if (end >= body.size() || body[end] != '}') return wrong(at + i, "an f-string without its closing '}'");
  const std::size_t open = std::exchange(i, end + 1);
  return node(SyntaxKind::Replacement, at + open, {std::move(*value), std::move(format)}, std::move(conversion));
}

SyntaxParser::Made SyntaxParser::formatted_text(std::string_view body, std::size_t at, int level) {
  if (level > 2) return wrong(at, "a format inside a format inside a format", Fault::Limit);
  std::vector<Syntax> parts;
  Syntax plain = leaf(SyntaxKind::String);
  for (std::size_t i = 0; i < body.size();) {
    const char c = body[i];
    if ((c == '{' || c == '}') && i + 1 < body.size() && body[i + 1] == c && level == 0) {
      plain.text += c;
      i += 2;
    } else if (c == '\\' && i + 1 < body.size()) {
      plain.text += body[i + 1] == 'n' ? '\n' : body[i + 1];
      i += 2;
    } else if (c != '{') {
      plain.text += c;
      ++i;
    } else {
      auto part = replacement(body, i, at, level, plain.text);
      if (!part) return part;
      if (!plain.text.empty()) parts.push_back(std::exchange(plain, leaf(SyntaxKind::String)));
      parts.push_back(std::move(*part));
    }
  }
  if (!plain.text.empty()) parts.push_back(std::move(plain));
  return node(SyntaxKind::Formatted, at, std::move(parts));
}

}  // namespace convoy::python
