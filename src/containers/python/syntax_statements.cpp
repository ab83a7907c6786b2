// Statements, blocks and definitions. Type hints are read over.
#include "containers/python/syntax_parser.h"

#include <algorithm>
#include <array>

namespace convoy::python {
namespace {

constexpr std::array<std::string_view, 13> augmented{
    "+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", "<<=", ">>=", "**="};

bool is_target(const Syntax& s) {
  switch (s.kind) {
    case SyntaxKind::Name:
    case SyntaxKind::Attribute:
    case SyntaxKind::Subscript: return true;
    case SyntaxKind::Starred: return is_target(s.parts[0]);
    case SyntaxKind::Tuple:
    case SyntaxKind::List: return std::ranges::all_of(s.parts, is_target);
    default: return false;
  }
}

}  // namespace

SyntaxParser::Made SyntaxParser::program() {
  std::vector<Syntax> statements;
  while (token().kind != TokenKind::End)
    if (auto s = statement(statements); !s) return pass(s);
  return node(SyntaxKind::Block, 0, std::move(statements));
}

Status SyntaxParser::statement(std::vector<Syntax>& into) {
  for (const std::string_view word : {"if", "for", "while", "def", "class", "with", "try", "async"})
    if (is_word(word)) {
      auto made = nested([&] { return compound(); });
      if (!made) return pass(made);
      into.push_back(std::move(*made));
      return {};
    }
  if (begins_match()) return nested([&] { return match_statement(into); });
  if (is("@")) {
    auto made = decorated();
    if (!made) return pass(made);
    into.push_back(std::move(*made));
    return {};
  }
  if (token().kind == TokenKind::Indent) return wrong(here(), "the line is indented, but no block begins here");
  return simple(into);
}

// a; b; c
Status SyntaxParser::simple(std::vector<Syntax>& into) {
  for (;;) {
    auto made = simple_statement();
    if (!made) return pass(made);
    into.push_back(std::move(*made));
    if (accept(";")) {
      if (token().kind == TokenKind::Newline || token().kind == TokenKind::End) break;
      continue;
    }
    break;
  }
  if (token().kind == TokenKind::Newline) ++next_;
  else if (token().kind != TokenKind::End) return expected("the end of the line");
  return {};
}

SyntaxParser::Made SyntaxParser::simple_statement() {
  // Python 2: print x, y
  if (is_word("print") && !at_line_end() && token(1).kind != TokenKind::Symbol && token(1).kind != TokenKind::Newline &&
      token(1).kind != TokenKind::End) {
    Syntax made = leaf(SyntaxKind::Pass);
    while (!at_line_end()) ++next_;
    return made;
  }
  const std::size_t at = here();
  if (accept_word("pass")) return node(SyntaxKind::Pass, at, {});
  if (accept_word("break")) return node(SyntaxKind::Break, at, {});
  if (accept_word("continue")) return node(SyntaxKind::Continue, at, {});
  if (is_word("import")) return import();
  if (is_word("from")) return import_from();
  if (is_word("return") || is_word("raise")) {
    const SyntaxKind kind = is_word("return") ? SyntaxKind::Return : SyntaxKind::Raise;
    ++next_;
    if (at_line_end()) return node(kind, at, {leaf(SyntaxKind::Absent)});
    auto value = expression_list();
    if (!value) return value;
    if (kind == SyntaxKind::Raise && accept_word("from"))
      if (auto cause = expression(); !cause) return cause;
    return node(kind, at, {std::move(*value)});
  }
  if (accept_word("assert")) {
    auto condition = expression();
    if (!condition) return condition;
    if (accept(","))
      if (auto said = expression(); !said) return said;
    return node(SyntaxKind::Assert, at, {std::move(*condition)});
  }
  if (accept_word("del")) {
    auto targets = expression_list(false);
    if (!targets) return targets;
    return node(SyntaxKind::Delete, at, {std::move(*targets)});
  }
  if (is_word("global") || is_word("nonlocal")) {
    const std::string word = token().text;
    std::vector<Syntax> names;
    do {
      ++next_;
      Syntax one = leaf(SyntaxKind::Name);
      auto said = name("a name");
      if (!said) return pass(said);
      one.text = std::move(*said);
      names.push_back(std::move(one));
    } while (is(","));
    return node(SyntaxKind::Scope, at, std::move(names), word);
  }
  return assignment();
}

SyntaxParser::Made SyntaxParser::assignment() {
  const std::size_t at = here();
  auto first = expression_list();
  if (!first) return first;
  if (accept(":")) {
    if (!is_target(*first)) return wrong(at, "only a name, an attribute or an item may have a type");
    std::string kind;
    for (const char* word : {"ClassVar", "InitVar", "KW_ONLY"})
      if (is_word(word) || (is(".", 1) && is_word(word, 2))) kind = word;
    if (auto typed = skip_type({"="}); !typed) return pass(typed);
    Syntax value = leaf(SyntaxKind::Absent);
    if (accept("=")) {
      auto said = expression_list();
      if (!said) return said;
      value = std::move(*said);
    }
    return node(SyntaxKind::Annotated, at, {std::move(*first), std::move(value)}, std::move(kind));
  }
  for (const std::string_view symbol : augmented)
    if (is(symbol)) {
      if (!is_target(*first)) return wrong(at, "cannot be assigned to");
      const std::size_t place = here();
      ++next_;
      auto value = expression_list();
      if (!value) return value;
      return node(SyntaxKind::Augmented, place, {std::move(*first), std::move(*value)},
                  std::string(symbol.substr(0, symbol.size() - 1)));
    }
  if (!is("=")) return node(SyntaxKind::Expression, at, {std::move(*first)});
  std::vector<Syntax> parts{std::move(*first)};
  while (accept("=")) {
    if (!is_target(parts.back())) return wrong(parts.back().at, "cannot be assigned to; '==' compares");
    auto value = expression_list();
    if (!value) return value;
    parts.push_back(std::move(*value));
  }
  return node(SyntaxKind::Assign, at, std::move(parts));
}

// Reads over a type up to one of `ends` or the end of the line, outside of brackets.
Status SyntaxParser::skip_type(std::initializer_list<std::string_view> ends) {
  int open = 0;
  for (; token().kind != TokenKind::End; ++next_) {
    if (open == 0) {
      if (token().kind == TokenKind::Newline) return {};
      for (const std::string_view end : ends)
        if (is(end)) return {};
      if (is(")") || is("]") || is("}")) return {};
    }
    if (is("(") || is("[") || is("{")) ++open;
    if (is(")") || is("]") || is("}")) --open;
  }
  return {};
}

SyntaxParser::Made SyntaxParser::block() {
  if (!accept(":")) return expected("':'");
  const std::size_t at = here();
  std::vector<Syntax> statements;
  if (token().kind != TokenKind::Newline) {
    if (auto s = simple(statements); !s) return pass(s);
    return node(SyntaxKind::Block, at, std::move(statements));
  }
  ++next_;
  if (token().kind != TokenKind::Indent) return expected("an indented block");
  ++next_;
  while (token().kind != TokenKind::Dedent && token().kind != TokenKind::End)
    if (auto s = statement(statements); !s) return pass(s);
  if (token().kind == TokenKind::Dedent) ++next_;
  return node(SyntaxKind::Block, at, std::move(statements));
}

SyntaxParser::Made SyntaxParser::compound() {
  if (is_word("if")) return if_statement();
  if (is_word("for")) return for_statement();
  if (is_word("while")) return while_statement();
  if (is_word("def")) return definition({});
  if (is_word("class")) return class_definition({});
  if (is_word("with")) return with_statement();
  if (is_word("try")) return try_statement();
  return wrong(here(), "'async' is not read", Fault::Unsupported);
}

SyntaxParser::Made SyntaxParser::if_statement() {
  const std::size_t at = here();
  std::vector<Syntax> parts;
  do {
    ++next_;
    auto condition = expression();
    if (!condition) return condition;
    auto then = block();
    if (!then) return then;
    parts.push_back(std::move(*condition));
    parts.push_back(std::move(*then));
  } while (is_word("elif"));
  if (accept_word("else")) {
    auto otherwise = block();
    if (!otherwise) return otherwise;
    parts.push_back(std::move(*otherwise));
  }
  return node(SyntaxKind::If, at, std::move(parts));
}

SyntaxParser::Made SyntaxParser::for_statement() {
  const std::size_t at = here();
  ++next_;
  auto target = target_list();
  if (!target) return target;
  if (!accept_word("in")) return expected("'in'");
  auto iterable = expression_list();
  if (!iterable) return iterable;
  auto body = block();
  if (!body) return body;
  std::vector<Syntax> parts{std::move(*target), std::move(*iterable), std::move(*body)};
  if (accept_word("else")) {
    auto otherwise = block();
    if (!otherwise) return otherwise;
    parts.push_back(std::move(*otherwise));
  }
  return node(SyntaxKind::For, at, std::move(parts));
}

SyntaxParser::Made SyntaxParser::while_statement() {
  const std::size_t at = here();
  ++next_;
  auto condition = expression();
  if (!condition) return condition;
  auto body = block();
  if (!body) return body;
  std::vector<Syntax> parts{std::move(*condition), std::move(*body)};
  if (accept_word("else")) {
    auto otherwise = block();
    if (!otherwise) return otherwise;
    parts.push_back(std::move(*otherwise));
  }
  return node(SyntaxKind::While, at, std::move(parts));
}

SyntaxParser::Made SyntaxParser::with_statement() {
  const std::size_t at = here();
  std::vector<Syntax> parts;
  do {
    ++next_;
    const std::size_t from = here();
    auto value = expression();
    if (!value) return value;
    std::string as;
    if (accept_word("as")) {
      auto said = name("a name");
      if (!said) return pass(said);
      as = std::move(*said);
    }
    auto one = node(SyntaxKind::Argument, from, {std::move(*value)}, std::move(as));
    if (!one) return one;
    parts.push_back(std::move(*one));
  } while (is(","));
  auto body = block();
  if (!body) return body;
  parts.push_back(std::move(*body));
  return node(SyntaxKind::With, at, std::move(parts));
}

SyntaxParser::Made SyntaxParser::try_statement() {
  const std::size_t at = here();
  ++next_;
  auto body = block();
  if (!body) return body;
  std::vector<Syntax> parts{std::move(*body)};
  while (is_word("except")) {
    const std::size_t from = here();
    ++next_;
    Syntax caught = leaf(SyntaxKind::Absent);
    std::string said;
    if (!is(":")) {
      auto type = expression_list();
      if (!type) return type;
      caught = std::move(*type);
      if (accept_word("as")) {
        auto as = name("a name");
        if (!as) return pass(as);
        said = std::move(*as);
      }
    }
    auto handler = block();
    if (!handler) return handler;
    auto made = node(SyntaxKind::Handler, from, {std::move(caught), std::move(*handler)}, std::move(said));
    if (!made) return made;
    parts.push_back(std::move(*made));
  }
  for (const std::string_view word : {"else", "finally"}) {
    Syntax last = leaf(SyntaxKind::Absent);
    if (accept_word(word)) {
      auto block_of_it = block();
      if (!block_of_it) return block_of_it;
      last = std::move(*block_of_it);
    }
    parts.push_back(std::move(last));
  }
  return node(SyntaxKind::Try, at, std::move(parts));
}

Result<Syntax> parse_program(std::string_view text) {
  auto tokens = tokens_of(text, Layout::Lines);
  if (!tokens) return pass(tokens);
  return SyntaxParser(text, std::move(*tokens)).program();
}

std::string line_around(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  const auto before = text.substr(0, at).rfind('\n');
  std::size_t first = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t last = std::min(text.find('\n', at), text.size());
  while (first < last && (text[first] == ' ' || text[first] == '\t')) ++first;
  std::string line(text.substr(first, std::min<std::size_t>(last - first, 120)));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

}  // namespace convoy::python
