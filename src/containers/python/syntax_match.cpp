// match and case, as the comparisons that they stand for.
#include "containers/python/syntax_parser.h"

namespace convoy::python {
namespace {

constexpr const char* subject_name = "$subject";  // no program can say it

}  // namespace

// `match` is a name like others but where a line that it begins ends in a colon, and cases stand below.
bool SyntaxParser::begins_match() const {
  if (!is_word("match")) return false;
  std::size_t ahead = 1;
  while (token(ahead).kind != TokenKind::Newline && token(ahead).kind != TokenKind::End) ++ahead;
  return is(":", ahead - 1) && token(ahead + 1).kind == TokenKind::Indent && is_word("case", ahead + 2);
}

// One value, or a name that takes what is matched; `captured` is that name, "_" for none.
SyntaxParser::Made SyntaxParser::case_value(std::string& captured) {
  const std::size_t at = here();
  auto value = unary();
  if (!value) return value;
  Syntax subject = leaf(SyntaxKind::Name, subject_name);
  switch (value->kind) {
    case SyntaxKind::Name: {
      captured = value->text;
      Syntax always = leaf(SyntaxKind::Truth);
      always.integer = 1;
      return always;
    }
    case SyntaxKind::None:
    case SyntaxKind::Truth:
    case SyntaxKind::Integer:
    case SyntaxKind::Real:
    case SyntaxKind::String:
    case SyntaxKind::Unary:
    case SyntaxKind::Attribute: break;
    default: return wrong(at, "a case of other than values, names and '_' is not read", Fault::Unsupported);
  }
  const bool is_constant = value->kind == SyntaxKind::None || value->kind == SyntaxKind::Truth;
  auto operand = node(SyntaxKind::Operand, at, {std::move(*value)}, is_constant ? "is" : "==");
  if (!operand) return operand;
  return node(SyntaxKind::Compare, at, {std::move(subject), std::move(*operand)});
}

// case A.B | "c" if guard: -> its condition and block.
Status SyntaxParser::one_case(std::vector<Syntax>& into) {
  const std::size_t at = here();
  ++next_;
  std::string captured;
  std::vector<Syntax> values;
  do {
    auto value = case_value(captured);
    if (!value) return pass(value);
    values.push_back(std::move(*value));
  } while (accept("|"));
  Made condition = values.size() == 1 ? Made(std::move(values[0])) : node(SyntaxKind::Or, at, std::move(values));
  const bool binds = !captured.empty() && captured != "_";
  if (condition && accept_word("if")) {
    if (binds) return wrong(at, "a case that binds a name and asks more is not read", Fault::Unsupported);
    auto guard = expression();
    if (!guard) return pass(guard);
    condition = node(SyntaxKind::And, at, {std::move(*condition), std::move(*guard)});
  }
  if (!condition) return pass(condition);
  auto body = block();
  if (!body) return pass(body);
  if (binds) {
    auto bound = node(SyntaxKind::Assign, at, {leaf(SyntaxKind::Name, captured), leaf(SyntaxKind::Name, subject_name)});
    if (!bound) return pass(bound);
    body->parts.insert(body->parts.begin(), std::move(*bound));
  }
  into.push_back(std::move(*condition));
  into.push_back(std::move(*body));
  return {};
}

Status SyntaxParser::match_statement(std::vector<Syntax>& into) {
  const std::size_t at = here();
  ++next_;
  Syntax name = leaf(SyntaxKind::Name, subject_name);
  auto subject = expression_list();
  if (!subject) return pass(subject);
  next_ += 3;  // the colon, the end of the line, the indentation: begins_match has seen them
  std::vector<Syntax> parts;
  while (is_word("case"))
    if (auto done = one_case(parts); !done) return done;
  if (token().kind != TokenKind::Dedent && token().kind != TokenKind::End) return expected("'case'");
  if (token().kind == TokenKind::Dedent) ++next_;
  auto kept = node(SyntaxKind::Assign, at, {std::move(name), std::move(*subject)});
  if (!kept) return pass(kept);
  auto chosen = node(SyntaxKind::If, at, std::move(parts));
  if (!chosen) return pass(chosen);
  into.push_back(std::move(*kept));
  into.push_back(std::move(*chosen));
  return {};
}

}  // namespace convoy::python
