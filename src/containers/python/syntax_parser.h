// The parser behind syntax.h: expressions and statements share their tokens and their limits.
#pragma once
#include "containers/python/syntax.h"

#include <initializer_list>
#include <utility>

namespace convoy::python {

// Whether the language keeps the word for itself.
bool is_keyword(std::string_view word);

class SyntaxParser {
 public:
  SyntaxParser(std::string_view text, std::vector<Token> tokens, std::size_t shift = 0, int depth = 0)
      : text_(text),
        tokens_(std::move(tokens)),
        shift_(shift),
        depth_(depth) {}

  Result<Syntax> program();
  // One expression that takes all tokens: the inside of an f-string.
  Result<Syntax> whole_expression();

 private:
  using Made = Result<Syntax>;

  // ---- tokens
  const Token& token(std::size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  bool is(std::string_view symbol, std::size_t ahead = 0) const {
    return token(ahead).kind == TokenKind::Symbol && token(ahead).text == symbol;
  }
  bool is_word(std::string_view word, std::size_t ahead = 0) const {
    return token(ahead).kind == TokenKind::Name && token(ahead).text == word;
  }
  bool accept(std::string_view symbol) { return is(symbol) && ++next_; }
  bool accept_word(std::string_view word) { return is_word(word) && ++next_; }
  bool at_line_end() const { return token().kind == TokenKind::Newline || token().kind == TokenKind::End || is(";"); }
  std::size_t here() const { return token().at + shift_; }
  std::unexpected<Error> wrong(std::size_t at, std::string what, Fault fault = Fault::Format) const;
  std::unexpected<Error> expected(std::string_view what) const;
  Result<std::string> name(std::string_view what);

  // ---- trees
  Syntax leaf(SyntaxKind kind, std::string words = {}) const;
  Made node(SyntaxKind kind, std::size_t at, std::vector<Syntax> parts, std::string words = {}) const;
  template <class Inner>
  auto nested(Inner inner) -> decltype(inner()) {
    if (++depth_ > 100) return too_deep();
    auto made = inner();
    --depth_;
    return made;
  }
  std::unexpected<Error> too_deep() const;

  // ---- expressions
  Made expression_list(bool starred = true);  // a, b, *c
  Made expression();  // with `if`, lambda and :=
  Made disjunction();
  Made conjunction();
  Made negation();
  Made comparison();
  Made binary(int least);
  Made unary();
  Made postfix();
  Made atom();
  Made strings();
  Made formatted(const Token& token);
  Made formatted_text(std::string_view body, std::size_t at, int level);
  Made replacement(std::string_view body, std::size_t& i, std::size_t at, int level, std::string& plain);
  Made bracketed();
  Made braces();
  Made comprehension(std::size_t at, std::string kind, std::vector<Syntax> element);
  Made arguments(Syntax function);
  Made subscript(Syntax object);
  Made slice();
  Made lambda();
  Made yield();
  Made target_list();

  // ---- statements
  Status statement(std::vector<Syntax>& into);
  Status simple(std::vector<Syntax>& into);
  Made simple_statement();
  Made assignment();
  Made block();
  Made compound();
  Made if_statement();
  bool begins_match() const;
  Made case_value(std::string& captured);
  Status one_case(std::vector<Syntax>& into);
  Status match_statement(std::vector<Syntax>& into);
  Made for_statement();
  Made while_statement();
  Made definition(std::vector<Syntax> decorators);
  Made class_definition(std::vector<Syntax> decorators);
  Made decorated();
  Made parameters(std::string_view close, bool typed);
  Made with_statement();
  Made try_statement();
  Made import();
  Made import_from();
  Result<std::string> dotted();
  Status rename(Syntax& alias);
  Status skip_type(std::initializer_list<std::string_view> ends);

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0, shift_ = 0;
  int depth_ = 0;
  bool yields_ = false;  // the function that is being read has a `yield`
};

}  // namespace convoy::python
