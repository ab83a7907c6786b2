// Expressions, from the loosest binding to the tightest. Source: the grammar in Python's language reference.
#include "containers/python/syntax_parser.h"

#include <algorithm>
#include <array>

namespace convoy::python {
namespace {

struct BinaryOperator {
  std::string_view symbol;
  int binds;
};
constexpr std::array binaries{BinaryOperator{"|", 1},  BinaryOperator{"^", 2},  BinaryOperator{"&", 3},
                              BinaryOperator{"<<", 4}, BinaryOperator{">>", 4}, BinaryOperator{"+", 5},
                              BinaryOperator{"-", 5},  BinaryOperator{"*", 6},  BinaryOperator{"/", 6},
                              BinaryOperator{"//", 6}, BinaryOperator{"%", 6},  BinaryOperator{"@", 6}};

}  // namespace

SyntaxParser::Made SyntaxParser::whole_expression() {
  auto value = expression_list();
  if (value && token().kind != TokenKind::End) return expected("the end of the expression");
  return value;
}

SyntaxParser::Made SyntaxParser::expression_list(bool starred) {
  const std::size_t at = here();
  std::vector<Syntax> items;
  bool comma = false;
  for (;;) {
    const std::size_t from = here();
    const bool star = starred && accept("*");
    auto item = expression();
    if (item && star) item = node(SyntaxKind::Starred, from, {std::move(*item)});
    if (!item) return item;
    items.push_back(std::move(*item));
    if (!accept(",")) break;
    comma = true;
    if (at_line_end() || is("=") || is(")") || is("]") || is("}") || is(":")) break;
  }
  if (items.size() == 1 && !comma && items[0].kind != SyntaxKind::Starred) return std::move(items[0]);
  return node(SyntaxKind::Tuple, at, std::move(items));
}

SyntaxParser::Made SyntaxParser::expression() {
  return nested([&]() -> Made {
    if (is_word("lambda")) return lambda();
    if (is_word("yield")) return yield();
    if (is_word("await") || is_word("async"))
      return wrong(here(), "'" + token().text + "' is not read: write a loop or a list", Fault::Unsupported);
    const std::size_t at = here();
    if (token().kind == TokenKind::Name && is(":=", 1)) {
      std::string target = token().text;
      next_ += 2;
      auto value = expression();
      if (!value) return value;
      return node(SyntaxKind::Walrus, at, {std::move(*value)}, std::move(target));
    }
    auto value = disjunction();
    if (!value || !accept_word("if")) return value;
    auto condition = disjunction();
    if (!condition) return condition;
    if (!accept_word("else")) return expected("'else'");
    auto otherwise = expression();
    if (!otherwise) return otherwise;
    return node(SyntaxKind::Conditional, at, {std::move(*condition), std::move(*value), std::move(*otherwise)});
  });
}

SyntaxParser::Made SyntaxParser::yield() {
  const std::size_t at = here();
  ++next_;
  yields_ = true;
  const bool from = accept_word("from");
  Syntax given = leaf(SyntaxKind::Absent);
  if (!at_line_end() && !is(")")) {
    auto value = expression_list();
    if (!value) return value;
    given = std::move(*value);
  }
  return node(SyntaxKind::Yield, at, {std::move(given)}, from ? "from" : "");
}

SyntaxParser::Made SyntaxParser::lambda() {
  const std::size_t at = here();
  ++next_;
  auto taken = parameters(":", false);
  if (!taken) return taken;
  if (!accept(":")) return expected("':'");
  auto body = expression();
  if (!body) return body;
  return node(SyntaxKind::Lambda, at, {std::move(*taken), std::move(*body)});
}

SyntaxParser::Made SyntaxParser::disjunction() {
  const std::size_t at = here();
  auto first = conjunction();
  if (!first || !is_word("or")) return first;
  std::vector<Syntax> parts{std::move(*first)};
  while (accept_word("or")) {
    auto next = conjunction();
    if (!next) return next;
    parts.push_back(std::move(*next));
  }
  return node(SyntaxKind::Or, at, std::move(parts));
}

SyntaxParser::Made SyntaxParser::conjunction() {
  const std::size_t at = here();
  auto first = negation();
  if (!first || !is_word("and")) return first;
  std::vector<Syntax> parts{std::move(*first)};
  while (accept_word("and")) {
    auto next = negation();
    if (!next) return next;
    parts.push_back(std::move(*next));
  }
  return node(SyntaxKind::And, at, std::move(parts));
}

SyntaxParser::Made SyntaxParser::negation() {
  const std::size_t at = here();
  if (!accept_word("not")) return comparison();
  auto value = nested([&] { return negation(); });
  if (!value) return value;
  return node(SyntaxKind::Unary, at, {std::move(*value)}, "not");
}

SyntaxParser::Made SyntaxParser::comparison() {
  const std::size_t at = here();
  auto first = binary(0);
  if (!first) return first;
  std::vector<Syntax> parts;
  for (;;) {
    std::string word;
    for (const std::string_view symbol : {"<=", ">=", "==", "!=", "<", ">"})
      if (is(symbol)) word = symbol;
    if (is_word("in") || is_word("is")) word = token().text;
    if (is_word("not") && is_word("in", 1)) word = "not in";
    if (is_word("is") && is_word("not", 1)) word = "is not";
    if (word.empty()) break;
    if (parts.empty()) parts.push_back(std::move(*first));
    const std::size_t from = here();
    next_ += word.find(' ') == std::string::npos ? 1 : 2;
    auto value = binary(0);
    if (value) value = node(SyntaxKind::Operand, from, {std::move(*value)}, std::move(word));
    if (!value) return value;
    parts.push_back(std::move(*value));
  }
  if (parts.empty()) return first;
  return node(SyntaxKind::Compare, at, std::move(parts));
}

SyntaxParser::Made SyntaxParser::binary(int least) {
  auto left = unary();
  while (left) {
    const auto found = std::ranges::find_if(binaries, [&](const BinaryOperator& b) { return is(b.symbol); });
    if (found == binaries.end() || found->binds < least) return left;
    const std::size_t at = here();
    ++next_;
    auto right = nested([&] { return binary(found->binds + 1); });
    if (!right) return right;
    left = node(SyntaxKind::Binary, at, {std::move(*left), std::move(*right)}, std::string(found->symbol));
  }
  return left;
}

SyntaxParser::Made SyntaxParser::unary() {
  const std::size_t at = here();
  if (is("-") || is("+") || is("~")) {
    std::string sign = token().text;
    ++next_;
    auto value = nested([&] { return unary(); });
    if (!value) return value;
    return node(SyntaxKind::Unary, at, {std::move(*value)}, std::move(sign));
  }
  auto value = postfix();
  if (!value || !is("**")) return value;
  const std::size_t place = here();
  ++next_;
  auto exponent = nested([&] { return unary(); });
  if (!exponent) return exponent;
  return node(SyntaxKind::Binary, place, {std::move(*value), std::move(*exponent)}, "**");
}

SyntaxParser::Made SyntaxParser::postfix() {
  auto value = atom();
  while (value) {
    if (is("(")) {
      value = nested([&] { return arguments(std::move(*value)); });
    } else if (is("[")) {
      value = nested([&] { return subscript(std::move(*value)); });
    } else if (is(".")) {
      ++next_;
      const std::size_t at = here();
      auto word = name("a name");
      if (!word) return pass(word);
      value = node(SyntaxKind::Attribute, at, {std::move(*value)}, std::move(*word));
    } else {
      return value;
    }
  }
  return value;
}

SyntaxParser::Made SyntaxParser::atom() {
  const Token& t = token();
  Syntax made = leaf(SyntaxKind::None);
  switch (t.kind) {
    case TokenKind::Integer: made.kind = SyntaxKind::Integer, made.integer = t.integer; break;
    case TokenKind::Real: made.kind = SyntaxKind::Real, made.real = t.real; break;
    case TokenKind::Imaginary: made.kind = SyntaxKind::Imaginary, made.text = t.text; break;
    case TokenKind::String:
    case TokenKind::Formatted: return strings();
    case TokenKind::Name:
      if (t.text == "None") break;
      if (t.text == "True" || t.text == "False") {
        made.kind = SyntaxKind::Truth, made.integer = t.text == "True";
        break;
      }
      if (is_keyword(t.text)) return expected("a value");
      made.kind = SyntaxKind::Name, made.text = t.text;
      break;
    case TokenKind::Symbol:
      if (is("(") || is("[")) return nested([&] { return bracketed(); });
      if (is("{")) return nested([&] { return braces(); });
      if (!is("...")) return expected("a value");
      made.kind = SyntaxKind::Ellipsis;
      break;
    default: return expected("a value");
  }
  ++next_;
  return made;
}

// (...) and [...]: a value, items, or a comprehension.
SyntaxParser::Made SyntaxParser::bracketed() {
  const std::size_t at = here();
  const bool list = is("[");
  const std::string_view close = list ? "]" : ")";
  ++next_;
  std::vector<Syntax> items;
  bool comma = false;
  while (!accept(close)) {
    const std::size_t from = here();
    const bool star = accept("*");
    auto item = expression();
    if (item && star) item = node(SyntaxKind::Starred, from, {std::move(*item)});
    if (!item) return item;
    if (items.empty() && !star && is_word("for")) {
      auto all = comprehension(at, list ? "list" : "generator", {std::move(*item)});
      if (all && !accept(close)) return expected("'" + std::string(close) + "'");
      return all;
    }
    items.push_back(std::move(*item));
    if (accept(",")) comma = true;
    else if (!is(close)) return expected("',' or '" + std::string(close) + "'");
  }
  if (!list && items.size() == 1 && !comma) return std::move(items[0]);
  return node(list ? SyntaxKind::List : SyntaxKind::Tuple, at, std::move(items));
}

// {...}: a dictionary, a set, or a comprehension.
SyntaxParser::Made SyntaxParser::braces() {
  const std::size_t at = here();
  ++next_;
  std::vector<Syntax> items;
  bool dictionary = is("}");
  while (!accept("}")) {
    if (accept("**")) {
      dictionary = true;
      items.push_back(leaf(SyntaxKind::Absent));
      auto mapping = binary(0);
      if (!mapping) return mapping;
      items.push_back(std::move(*mapping));
    } else {
      auto key = expression();
      if (!key) return key;
      const bool first = items.empty();
      items.push_back(std::move(*key));
      if (accept(":")) {
        dictionary = true;
        auto value = expression();
        if (!value) return value;
        items.push_back(std::move(*value));
      }
      if (first && is_word("for")) {
        auto all = comprehension(at, dictionary ? "dict" : "set", std::move(items));
        if (all && !accept("}")) return expected("'}'");
        return all;
      }
    }
    if (!accept(",") && !is("}")) return expected("',' or '}'");
  }
  if (dictionary && items.size() % 2 != 0) return wrong(at, "a dictionary with a key that has no value");
  return node(dictionary ? SyntaxKind::Dict : SyntaxKind::Set, at, std::move(items));
}

SyntaxParser::Made SyntaxParser::comprehension(std::size_t at, std::string kind, std::vector<Syntax> parts) {
  while (is_word("for")) {
    const std::size_t from = here();
    ++next_;
    auto target = target_list();
    if (!target) return target;
    if (!accept_word("in")) return expected("'in'");
    auto iterable = disjunction();
    if (!iterable) return iterable;
    std::vector<Syntax> clause{std::move(*target), std::move(*iterable)};
    while (accept_word("if")) {
      auto condition = disjunction();
      if (!condition) return condition;
      clause.push_back(std::move(*condition));
    }
    auto made = node(SyntaxKind::Clause, from, std::move(clause));
    if (!made) return made;
    parts.push_back(std::move(*made));
  }
  return node(SyntaxKind::Comprehension, at, std::move(parts), std::move(kind));
}

// What stands between `for` and `in`.
SyntaxParser::Made SyntaxParser::target_list() {
  const std::size_t at = here();
  std::vector<Syntax> items;
  bool comma = false;
  while (!is_word("in")) {
    const std::size_t from = here();
    const bool star = accept("*");
    auto item = postfix();
    if (item && star) item = node(SyntaxKind::Starred, from, {std::move(*item)});
    if (!item) return item;
    items.push_back(std::move(*item));
    if (!accept(",")) break;
    comma = true;
  }
  if (items.empty()) return expected("a name");
  if (items.size() == 1 && !comma) return std::move(items[0]);
  return node(SyntaxKind::Tuple, at, std::move(items));
}

SyntaxParser::Made SyntaxParser::arguments(Syntax function) {
  const std::size_t at = here();
  std::vector<Syntax> parts{std::move(function)};
  ++next_;
  while (!accept(")")) {
    const std::size_t from = here();
    std::string keyword;
    if (is("*") || is("**")) {
      keyword = token().text;
      ++next_;
    } else if (token().kind == TokenKind::Name && is("=", 1)) {
      keyword = token().text;
      for (std::size_t i = 1; i < parts.size(); ++i)
        if (parts[i].text == keyword) return wrong(from, "'" + keyword + "' is given twice");
      next_ += 2;
    } else if (parts.size() > 1 && !parts.back().text.empty() && parts.back().text[0] != '*' && !is(",")) {
      return wrong(from, "an argument without its name stands behind '" + parts.back().text + "='");
    }
    auto value = expression();
    if (value && keyword.empty() && is_word("for")) value = comprehension(from, "generator", {std::move(*value)});
    if (value) value = node(SyntaxKind::Argument, from, {std::move(*value)}, std::move(keyword));
    if (!value) return value;
    parts.push_back(std::move(*value));
    if (!accept(",") && !is(")")) return expected("',' or ')'");
  }
  return node(SyntaxKind::Call, at, std::move(parts));
}

SyntaxParser::Made SyntaxParser::subscript(Syntax object) {
  const std::size_t at = here();
  ++next_;
  std::vector<Syntax> keys;
  bool comma = false;
  while (!accept("]")) {
    auto key = slice();
    if (!key) return key;
    keys.push_back(std::move(*key));
    if (accept(",")) comma = true;
    else if (!is("]")) return expected("',' or ']'");
  }
  if (keys.empty()) return wrong(at, "an index is missing");
  Made key = keys.size() == 1 && !comma ? Made(std::move(keys[0])) : node(SyntaxKind::Tuple, at, std::move(keys));
  if (!key) return key;
  return node(SyntaxKind::Subscript, at, {std::move(object), std::move(*key)});
}

// "2", "1:", ":-1", "::2"
SyntaxParser::Made SyntaxParser::slice() {
  const std::size_t at = here();
  std::vector<Syntax> bounds(3, leaf(SyntaxKind::Absent));
  for (std::size_t part = 0; part < 3; ++part) {
    if (!is(":") && !is(",") && !is("]")) {
      const bool star = part == 0 && accept("*");
      auto value = expression();
      if (value && star) return node(SyntaxKind::Starred, at, {std::move(*value)});
      if (!value || (part == 0 && !is(":"))) return value;
      bounds[part] = std::move(*value);
    }
    if (part == 2 || !accept(":")) break;
  }
  return node(SyntaxKind::Slice, at, std::move(bounds));
}

}  // namespace convoy::python
