#include "containers/python/expression.h"

#include "containers/python/arithmetic.h"

#include <array>
#include <utility>

namespace convoy::python {
namespace {

constexpr int deepest = 64;

struct Binary {
  std::string_view symbol;
  int binds;
};
constexpr std::array constant_binaries{Binary{"|", 1}, Binary{"^", 2}, Binary{"&", 3}, Binary{"<<", 4}, Binary{">>", 4},
                                       Binary{"+", 5}, Binary{"-", 5}, Binary{"*", 6}, Binary{"/", 6},  Binary{"//", 6},
                                       Binary{"%", 6}, Binary{"@", 6}, Binary{"**", 8}};
constexpr int unary_binds = 7;

class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens) : text_(text), tokens_(std::move(tokens)) {}

  Result<Expression> statement() {
    skip_target();
    if (token().kind == TokenKind::End) return expected("a layer or a call of a function");
    auto value = expression();
    if (!value) return value;
    while (is(",") || is(";")) ++next_;
    if (token().kind != TokenKind::End) return expected("the end of the text");
    return value;
  }

 private:
  const Token& token(std::size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  bool is(std::string_view symbol, std::size_t ahead = 0) const {
    return token(ahead).kind == TokenKind::Symbol && token(ahead).text == symbol;
  }
  bool accept(std::string_view symbol) {
    if (!is(symbol)) return false;
    ++next_;
    return true;
  }
  std::string found() const {
    if (token().kind == TokenKind::End) return "the text ends";
    return "there is '" + std::string(text_.substr(token().at, token().end - token().at)) + "'";
  }
  std::unexpected<Error> wrong(std::size_t at, std::string what, Fault fault = Fault::Format) const {
    return std::unexpected(Error{fault, std::move(what), place_in(text_, at)});
  }
  std::unexpected<Error> expected(std::string_view what) const {
    return wrong(token().at, found() + " where " + std::string(what) + " is expected");
  }
  std::size_t last_end() const { return next_ == 0 ? 0 : tokens_[next_ - 1].end; }

  // "self.conv = ", "return ": what stands in front of the value of a statement.
  void skip_target() {
    if (token().kind == TokenKind::Name && token().text == "return") {
      ++next_;
      return;
    }
    std::size_t ahead = 0;
    if (token(ahead).kind != TokenKind::Name) return;
    for (++ahead; is(".", ahead) && token(ahead + 1).kind == TokenKind::Name;) ahead += 2;
    if (is("=", ahead)) next_ += ahead + 1;
  }

  // Whether an argument, an item or the whole ends here.
  bool at_end_of_value() const {
    return token().kind == TokenKind::End || is(",") || is(")") || is("]") || is("}") || is(":") || is("=") || is(";");
  }

  // Any expression; what is no arithmetic, such as a comparison or a lambda, is kept as it is written.
  Result<Expression> expression() {
    const std::size_t from = next_;
    if (token().kind == TokenKind::Name && (token().text == "lambda" || token().text == "not")) return opaque(from);
    auto value = binary(0);
    if (!value || at_end_of_value()) return value;
    if (token().kind != TokenKind::Name && token().kind != TokenKind::Symbol) return expected("a comma or a bracket");
    if (token().kind == TokenKind::Name) {
      const std::string& word = token().text;
      if (word != "if" && word != "in" && word != "is" && word != "and" && word != "or" && word != "not" &&
          word != "for")
        return expected("a comma or a bracket");
    }
    return opaque(from);
  }

  Result<Expression> opaque(std::size_t from) {
    int open = 0;
    while (token().kind != TokenKind::End) {
      if (open == 0 && (is(",") || is(")") || is("]") || is("}") || is(";"))) break;
      if (is("(") || is("[") || is("{")) ++open;
      if (is(")") || is("]") || is("}")) --open;
      ++next_;
    }
    return made_opaque(tokens_[from].at);
  }
  Expression made_opaque(std::size_t from) const {
    Expression e;
    e.kind = Kind::Opaque;
    e.at = from;
    e.end = last_end();
    e.text = text_.substr(from, e.end - from);
    return e;
  }

  static const Binary* binary_of(const Token& t) {
    if (t.kind == TokenKind::Symbol)
      for (const Binary& b : constant_binaries)
        if (b.symbol == t.text) return &b;
    return nullptr;
  }

  Result<Expression> binary(int least) {
    auto left = unary();
    if (!left) return left;
    for (;;) {
      const Binary* operation = binary_of(token());
      if (!operation || operation->binds < least) return left;
      const std::size_t place = token().at;
      ++next_;
      const bool from_the_right = operation->symbol == "**";
      auto right = nested([&] { return binary(from_the_right ? operation->binds : operation->binds + 1); });
      if (!right) return right;
      const std::size_t from = left->at;
      if (operation->symbol == "^" && left->kind == Kind::Integer && right->kind == Kind::Integer)
        return wrong(place, "'^' is no power in Python; write **");
      auto done = combine(*left, operation->symbol, *right);
      if (!done) return wrong(from, done.error().what);
      if (!*done) left = made_opaque(from);
      left->at = from;
      left->end = last_end();
    }
  }

  Result<Expression> unary() {
    const std::size_t from = token().at;
    if (!is("-") && !is("+") && !is("~")) return postfix();
    const std::string sign = token().text;
    ++next_;
    auto value = nested([&] { return binary(unary_binds); });
    if (!value) return value;
    Result<bool> done = sign == "+" && (value->kind == Kind::Integer || value->kind == Kind::Real);
    if (sign == "-") done = negate(*value);
    if (!done) return wrong(from, done.error().what);
    if (!*done) return made_opaque(from);
    value->at = from;
    return value;
  }

  Result<Expression> postfix() {
    auto value = atom();
    int chained = 0;
    while (value && (is("(") || is("[") || is("."))) {
      if (++chained + depth_ > deepest) return too_deep();
      Expression outer;
      outer.at = value->at;
      if (accept(".")) {
        if (token().kind != TokenKind::Name) return expected("a name");
        const std::string name = token().text;
        ++next_;
        if (value->kind == Kind::Name) {
          value->text += "." + name;
          value->end = last_end();
          --chained;
          continue;
        }
        outer.kind = Kind::Attribute;
        outer.text = name;
      } else if (is("(")) {
        outer.kind = Kind::Call;
        auto given = nested([&] { return arguments(); });
        if (!given) return pass(given);
        outer.arguments = std::move(*given);
      } else {
        outer.kind = Kind::Subscript;
        ++next_;
        auto items = nested([&] { return items_until("]", true); });
        if (!items) return pass(items);
        outer.items = std::move(*items);
      }
      outer.end = last_end();
      outer.base.push_back(std::move(*value));
      value = std::move(outer);
    }
    return value;
  }

  Result<Expression> atom() {
    const Token& t = token();
    Expression e;
    e.at = t.at;
    switch (t.kind) {
      case TokenKind::Integer: e.kind = Kind::Integer, e.integer = t.integer; break;
      case TokenKind::Real: e.kind = Kind::Real, e.real = t.real; break;
      case TokenKind::Imaginary:
        return wrong(t.at, "'" + t.text + "' is a complex number, which is not carried", Fault::Unsupported);
      case TokenKind::String:
        e.kind = Kind::String;
        for (; token().kind == TokenKind::String; ++next_) e.text += token().text;
        --next_;
        break;
      case TokenKind::Name:
        e.kind = Kind::Name;
        e.text = t.text;
        if (t.text == "None") e.kind = Kind::None;
        if (t.text == "True" || t.text == "False") e.kind = Kind::Truth, e.truth = t.text == "True";
        break;
      case TokenKind::Symbol:
        if (is("...")) {
          e.kind = Kind::Opaque;
          e.text = "...";
          break;
        }
        if (is("(") || is("[") || is("{")) return nested([&] { return bracketed(); });
        return expected("a value");
      default: return expected("a value");
    }
    ++next_;
    e.end = last_end();
    return e;
  }

  Result<Expression> bracketed() {
    Expression e;
    e.at = token().at;
    const std::string open = token().text, close = open == "(" ? ")" : open == "[" ? "]" : "}";
    ++next_;
    if (open == "{") {
      e.kind = Kind::Dict;
      auto items = entries();
      if (!items) return pass(items);
      e.items = std::move(*items);
    } else {
      bool comma = false;
      auto items = items_until(close, false, &comma);
      if (!items) return pass(items);
      if (open == "(" && items->size() == 1 && !comma) {  // a value in brackets
        (*items)[0].at = e.at;
        (*items)[0].end = last_end();
        return std::move((*items)[0]);
      }
      e.kind = open == "(" ? Kind::Tuple : Kind::List;
      e.items = std::move(*items);
    }
    e.end = last_end();
    return e;
  }

  // Values between commas up to the closing bracket, which is consumed.
  Result<std::vector<Expression>> items_until(std::string_view close, bool slices, bool* comma = nullptr) {
    std::vector<Expression> items;
    while (!accept(close)) {
      if (accept("*")) {}  // unpacking: what is unpacked is kept
      auto item = slices ? slice() : expression();
      if (!item) return pass(item);
      items.push_back(std::move(*item));
      if (accept(",")) {
        if (comma) *comma = true;
      } else if (!is(close)) {
        return expected("',' or '" + std::string(close) + "'");
      }
    }
    return items;
  }

  Result<std::vector<Expression>> entries() {
    std::vector<Expression> items;
    while (!accept("}")) {
      auto key = expression();
      if (!key) return pass(key);
      items.push_back(std::move(*key));
      if (accept(":")) {
        auto value = expression();
        if (!value) return pass(value);
        items.push_back(std::move(*value));
      }
      if (!accept(",") && !is("}")) return expected("',' or '}'");
    }
    return items;
  }

  // "2", "1:", ":-1", "::2"
  Result<Expression> slice() {
    Expression e;
    e.kind = Kind::Slice;
    e.at = token().at;
    e.items.resize(3);
    for (std::size_t part = 0; part < 3; ++part) {
      if (!is(":") && !is(",") && !is("]")) {
        auto value = expression();
        if (!value) return value;
        if (part == 0 && !is(":")) return value;
        e.items[part] = std::move(*value);
      }
      if (part == 2 || !accept(":")) break;
    }
    e.end = last_end();
    return e;
  }

  Result<std::vector<Argument>> arguments() {
    std::vector<Argument> given;
    ++next_;
    while (!accept(")")) {
      Argument one;
      if (is("*") || is("**")) {
        one.keyword = token().text;
        ++next_;
      } else if (token().kind == TokenKind::Name && is("=", 1)) {
        one.keyword = token().text;
        for (const Argument& other : given)
          if (other.keyword == one.keyword) return wrong(token().at, "'" + one.keyword + "' is given twice");
        next_ += 2;
      } else if (!given.empty() && !given.back().keyword.empty() && given.back().keyword[0] != '*' && !is(",")) {
        return wrong(token().at, "an argument without its name stands behind '" + given.back().keyword + "='");
      }
      auto value = expression();
      if (!value) return pass(value);
      one.value = std::move(*value);
      given.push_back(std::move(one));
      if (!accept(",") && !is(")")) return expected("',' or ')'");
    }
    return given;
  }

  std::unexpected<Error> too_deep() const {
    return wrong(token().at, "brackets and operators are nested over " + std::to_string(deepest) + " deep",
                 Fault::Limit);
  }
  template <class Parse>
  auto nested(Parse parse) -> decltype(parse()) {
    if (depth_ >= deepest) return too_deep();
    ++depth_;
    auto made = parse();
    --depth_;
    return made;
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Expression> parse_expression(std::string_view text) {
  auto tokens = tokens_of(text);
  if (!tokens) return pass(tokens);
  return Parser(text, std::move(*tokens)).statement();
}

std::string source_of(const Expression& expression, std::string_view text) {
  return std::string(text.substr(expression.at, expression.end - expression.at));
}

}  // namespace convoy::python
