// What gives names to a module: functions, classes and imports.
#include "containers/python/syntax_parser.h"

#include <utility>

namespace convoy::python {

SyntaxParser::Made SyntaxParser::decorated() {
  std::vector<Syntax> decorators;
  while (accept("@")) {
    auto one = expression();
    if (!one) return one;
    if (token().kind == TokenKind::Newline) ++next_;
    decorators.push_back(std::move(*one));
  }
  if (is_word("def")) return nested([&] { return definition(std::move(decorators)); });
  if (is_word("class")) return nested([&] { return class_definition(std::move(decorators)); });
  return expected("'def' or 'class'");
}

SyntaxParser::Made SyntaxParser::definition(std::vector<Syntax> decorators) {
  ++next_;
  const std::size_t at = here();
  auto said = name("a name");
  if (!said) return pass(said);
  if (!accept("(")) return expected("'('");
  auto taken = parameters(")", true);
  if (!taken) return taken;
  if (!accept(")")) return expected("')'");
  if (accept("->"))
    if (auto typed = skip_type({":"}); !typed) return pass(typed);
  const bool around = std::exchange(yields_, false);
  auto body = block();
  const bool yields = std::exchange(yields_, around);
  if (!body) return body;
  std::vector<Syntax> parts{std::move(*taken), std::move(*body)};
  for (Syntax& one : decorators) parts.push_back(std::move(one));
  auto made = node(SyntaxKind::Def, at, std::move(parts), std::move(*said));
  if (made) made->integer = yields ? 1 : 0;
  return made;
}

// Up to the closing symbol, which stays.
SyntaxParser::Made SyntaxParser::parameters(std::string_view close, bool typed) {
  const std::size_t at = here();
  std::vector<Syntax> all;
  auto kind = ParameterKind::Usual;
  while (!is(close)) {
    if (is("/")) {
      ++next_;
    } else if (is("*") && (is(",", 1) || is(close, 1))) {
      ++next_;
      kind = ParameterKind::NameOnly;
    } else {
      ParameterKind own = kind;
      if (accept("**")) own = ParameterKind::RestNamed;
      else if (accept("*")) own = ParameterKind::Rest, kind = ParameterKind::NameOnly;
      const std::size_t from = here();
      auto said = name("a name");
      if (!said) return pass(said);
      for (const Syntax& other : all)
        if (other.text == *said) return wrong(from, "two parameters are named '" + *said + "'");
      if (typed && accept(":"))
        if (auto skipped = skip_type({"=", ","}); !skipped) return pass(skipped);
      Syntax otherwise = leaf(SyntaxKind::Absent);
      if (accept("=")) {
        auto value = expression();
        if (!value) return value;
        otherwise = std::move(*value);
      }
      auto one = node(SyntaxKind::Parameter, from, {std::move(otherwise)}, std::move(*said));
      if (!one) return one;
      one->integer = static_cast<std::int64_t>(own);
      all.push_back(std::move(*one));
    }
    if (!accept(",") && !is(close)) return expected("',' or '" + std::string(close) + "'");
  }
  return node(SyntaxKind::Parameters, at, std::move(all));
}

SyntaxParser::Made SyntaxParser::class_definition(std::vector<Syntax> decorators) {
  ++next_;
  const std::size_t at = here();
  auto said = name("a name");
  if (!said) return pass(said);
  std::vector<Syntax> bases;
  if (is("(")) {
    auto call = arguments(leaf(SyntaxKind::Absent));
    if (!call) return call;
    bases = std::move(call->parts);
    bases.erase(bases.begin());
  }
  auto body = block();
  if (!body) return body;
  auto marks = node(SyntaxKind::Decorators, at, std::move(decorators));
  if (!marks) return marks;
  std::vector<Syntax> parts{std::move(*body), std::move(*marks)};
  for (Syntax& one : bases) parts.push_back(std::move(one));
  return node(SyntaxKind::Class, at, std::move(parts), std::move(*said));
}

Result<std::string> SyntaxParser::dotted() {
  auto said = name("the name of a module");
  while (said && accept(".")) {
    auto next = name("a name");
    if (!next) return next;
    *said += "." + *next;
  }
  return said;
}

// The name behind `as`, if there is one.
Status SyntaxParser::rename(Syntax& alias) {
  if (!accept_word("as")) return {};
  Syntax as = leaf(SyntaxKind::Name);
  auto word = name("a name");
  if (!word) return pass(word);
  as.text = std::move(*word);
  alias.parts.push_back(std::move(as));
  return {};
}

SyntaxParser::Made SyntaxParser::import() {
  const std::size_t at = here();
  std::vector<Syntax> aliases;
  do {
    ++next_;
    Syntax alias = leaf(SyntaxKind::Alias);
    auto said = dotted();
    if (!said) return pass(said);
    alias.text = std::move(*said);
    if (auto s = rename(alias); !s) return pass(s);
    aliases.push_back(std::move(alias));
  } while (is(","));
  return node(SyntaxKind::Import, at, std::move(aliases));
}

SyntaxParser::Made SyntaxParser::import_from() {
  const std::size_t at = here();
  ++next_;
  std::int64_t dots = 0;
  for (;; ++next_) {
    if (is(".")) ++dots;
    else if (is("...")) dots += 3;
    else break;
  }
  std::string module;
  if (!is_word("import")) {
    auto said = dotted();
    if (!said) return pass(said);
    module = std::move(*said);
  }
  if (!accept_word("import")) return expected("'import'");
  std::vector<Syntax> aliases;
  if (is("*")) {
    aliases.push_back(leaf(SyntaxKind::Alias, "*"));
    ++next_;
  } else {
    const bool bracket = accept("(");
    do {
      if (is(")") && bracket) break;
      Syntax alias = leaf(SyntaxKind::Alias);
      auto said = name("a name");
      if (!said) return pass(said);
      alias.text = std::move(*said);
      if (auto s = rename(alias); !s) return pass(s);
      aliases.push_back(std::move(alias));
    } while (accept(","));
    if (bracket && !accept(")")) return expected("',' or ')'");
  }
  auto made = node(SyntaxKind::ImportFrom, at, std::move(aliases), std::move(module));
  if (made) made->integer = dots;
  return made;
}

}  // namespace convoy::python
