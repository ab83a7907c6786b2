#include "containers/python/token.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace convoy::python {
namespace {

constexpr std::size_t longest_source = std::size_t{1} << 20;

constexpr std::size_t deepest_block = 100;

// Longest first: the first that matches is the token.
constexpr std::array<std::string_view, 47> symbols{
    "**=", "//=", ">>=", "<<=", "...", "**", "//", "==", "!=", "<=", ">=", "->", "+=", "-=", "*=", "/=",
    "%=",  "@=",  "&=",  "|=",  "^=",  ":=", "<<", ">>", "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":",
    ";",   ".",   "=",   "+",   "-",   "*",  "/",  "%",  "@",  "&",  "|",  "^",  "~",  "<",  ">"};

constexpr bool digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80);
}

// What word processors put where a program has a quote, a minus or a blank.
struct Lookalike {
  std::string_view bytes, is, write;
};
constexpr std::array lookalikes{
    Lookalike{"\xE2\x80\x98", "a typographic quote", "'"},   Lookalike{"\xE2\x80\x99", "a typographic quote", "'"},
    Lookalike{"\xE2\x80\x9C", "a typographic quote", "\""},  Lookalike{"\xE2\x80\x9D", "a typographic quote", "\""},
    Lookalike{"\xE2\x88\x92", "a typographic minus", "-"},   Lookalike{"\xE2\x80\x93", "a dash", "-"},
    Lookalike{"\xC3\x97", "a multiplication sign", "x or *"}};

class Reader {
 public:
  Reader(std::string_view text, Layout layout) : text_(text), lines_(layout == Layout::Lines) {}

  Result<std::vector<Token>> read() {
    if (text_.size() > longest_source) return fail(Fault::Limit, "the text is longer than 1 MiB");
    if (lines_ && here("\xEF\xBB\xBF")) at_ = 3;  // a byte order mark
    if (auto made = lines_ ? indentation() : Status{}; !made) return pass(made);
    for (;;) {
      skip();
      if (at_ >= text_.size()) break;
      if (auto made = lines_ && text_[at_] == '\n' ? line_end() : next(); !made) return pass(made);
    }
    if (lines_) {
      end_line();
      for (; indents_.size() > 1; indents_.pop_back()) keep(TokenKind::Dedent, at_, {});
    }
    tokens_.push_back({TokenKind::End, text_.size(), text_.size(), {}, 0, 0});
    return std::move(tokens_);
  }

 private:
  std::unexpected<Error> wrong(std::size_t at, std::string what) const {
    return std::unexpected(Error{Fault::Format, std::move(what), place_in(text_, at)});
  }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool here(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  void keep(TokenKind kind, std::size_t from, std::string text, std::int64_t integer = 0, double real = 0) {
    tokens_.push_back({kind, from, at_, std::move(text), integer, real});
  }

  void skip() {
    while (at_ < text_.size()) {
      if (lines_ && text_[at_] == '\n' && open_ == 0) break;
      if (std::string_view(" \t\r\n\f").find(text_[at_]) != std::string_view::npos) ++at_;
      else if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      else if (here("\\\n")) at_ += 2;
      else if (here("\\\r\n")) at_ += 3;
      else if (here("\xC2\xA0")) at_ += 2;  // a blank of a web page
      else break;
    }
  }

  void end_line() {
    if (!tokens_.empty() && tokens_.back().kind != TokenKind::Newline && tokens_.back().kind != TokenKind::Indent &&
        tokens_.back().kind != TokenKind::Dedent)
      keep(TokenKind::Newline, at_, {});
  }

  Status line_end() {
    end_line();
    ++at_;
    return indentation();
  }

  // What opens or closes in front of the next line that holds anything. A tab goes to the next multiple of 8.
  Status indentation() {
    for (;;) {
      std::size_t width = 0;
      const std::size_t from = at_;
      for (; at_ < text_.size(); ++at_) {
        if (text_[at_] == ' ') ++width;
        else if (text_[at_] == '\t') width = (width / 8 + 1) * 8;
        else if (text_[at_] == '\f') width = 0;
        else if (here("\xC2\xA0")) ++width, ++at_;
        else if (text_[at_] != '\r') break;
      }
      if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ >= text_.size()) return {};
      if (text_[at_] == '\n') {
        ++at_;
        continue;
      }
      if (tokens_.empty() && width > 0) indents_[0] = width;  // a block pasted as a whole
      if (width > indents_.back()) {
        if (indents_.size() > deepest_block)
          return std::unexpected(Error{Fault::Limit, "blocks are nested over 100 deep", place_in(text_, from)});
        indents_.push_back(width);
        keep(TokenKind::Indent, from, {});
      }
      for (; indents_.size() > 1 && width < indents_.back(); indents_.pop_back()) keep(TokenKind::Dedent, at_, {});
      if (width != indents_.back()) return wrong(at_, "the line is indented like no block around it");
      return {};
    }
  }

  Status next() {
    for (const auto& [bytes, is, write] : lookalikes)
      if (here(bytes)) return wrong(at_, std::string(is) + "; write " + std::string(write));
    const char c = peek();
    if (digit(c) || (c == '.' && digit(peek(1)))) return number();
    if (c == '\'' || c == '"') return string("");
    if (letter(c)) return name();
    for (const auto symbol : symbols)
      if (here(symbol)) {
        const std::size_t from = at_;
        at_ += symbol.size();
        if (symbol == "(" || symbol == "[" || symbol == "{") ++open_;
        if ((symbol == ")" || symbol == "]" || symbol == "}") && open_ > 0) --open_;
        keep(TokenKind::Symbol, from, std::string(symbol));
        return {};
      }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return wrong(at_, "a control character");
    return wrong(at_, std::string("'") + c + "' has no meaning here");
  }

  Status name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && (letter(text_[at_]) || digit(text_[at_]))) {
      // Letters beyond ASCII are left as they are, but for what only looks like punctuation.
      if (at_ > from && std::ranges::any_of(lookalikes, [&](const Lookalike& l) { return here(l.bytes); })) break;
      ++at_;
    }
    std::string word(text_.substr(from, at_ - from));
    if ((peek() == '\'' || peek() == '"') && word.size() <= 2) {
      std::ranges::transform(word, word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
      if (lines_ && (word == "f" || word == "rf" || word == "fr")) return formatted(from);
      if (word.find('f') != std::string::npos)
        return wrong(from, "an f-string is computed by a program; write the word");
      if (word.find_first_not_of("rbu") == std::string::npos) return string(word);
      return wrong(from, "'" + word + "' in front of a string");
    }
    keep(TokenKind::Name, from, std::move(word));
    return {};
  }

  Status number() {
    const std::size_t from = at_;
    int base = 10;
    if (peek() == '0' && (peek(1) | 0x20) == 'x') base = 16;
    if (peek() == '0' && (peek(1) | 0x20) == 'o') base = 8;
    if (peek() == '0' && (peek(1) | 0x20) == 'b') base = 2;
    std::string digits;
    bool real = false;
    if (base != 10) at_ += 2;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '_') {
        ++at_;
        continue;
      }
      const bool exponent = base == 10 && (c == 'e' || c == 'E');
      if (!(letter(c) || digit(c) || (c == '.' && base == 10))) break;
      digits += c;
      real = real || exponent || c == '.';
      ++at_;
      if (exponent && (peek() == '+' || peek() == '-')) digits += text_[at_++];
    }
    std::string written(text_.substr(from, at_ - from));
    if (written.size() > 40) written = written.substr(0, 40) + "...";
    std::int64_t whole = 0;
    double value = 0;
    const char *first = digits.data(), *last = first + digits.size();
    const bool imaginary = base == 10 && (digits.back() == 'j' || digits.back() == 'J');
    if (real || imaginary) {
      last -= imaginary;
      const auto [end, fault] = std::from_chars(first, last, value);
      if (end != last || fault == std::errc::invalid_argument) return wrong(from, "'" + written + "' is not a number");
      if (fault != std::errc{}) return wrong(from, written + " is beyond what a number can hold");
      keep(imaginary ? TokenKind::Imaginary : TokenKind::Real, from, written, 0, value);
      return {};
    }
    const auto [end, fault] = std::from_chars(first, last, whole, base);
    if (end != last || digits.empty()) return wrong(from, "'" + written + "' is not a number");
    if (fault != std::errc{}) return wrong(from, written + " is beyond 2^63 - 1, the largest whole number");
    keep(TokenKind::Integer, from, written, whole);
    return {};
  }

  // An f-string as it is written: its parser finds the expressions.
  Status formatted(std::size_t from) {
    const char quote = peek();
    const std::string close(std::string(here(std::string(3, quote)) ? 3 : 1, quote));
    at_ += close.size();
    const std::size_t inside = at_;
    while (!here(close)) {
      if (at_ >= text_.size() || (close.size() == 1 && peek() == '\n'))
        return wrong(from, "a string without its closing " + close);
      at_ = std::min(text_.size(), at_ + (peek() == '\\' ? 2 : 1));
    }
    std::string body(text_.substr(inside, at_ - inside));
    at_ += close.size();
    keep(TokenKind::Formatted, from, std::move(body));
    tokens_.back().inside = inside;
    return {};
  }

  Status string(std::string_view prefix) {
    const std::size_t from = at_ - prefix.size();
    const bool raw = prefix.find('r') != std::string_view::npos, of_bytes = prefix.find('b') != std::string_view::npos;
    const char quote = peek();
    const std::string close(std::string(here(std::string(3, quote)) ? 3 : 1, quote));
    at_ += close.size();
    std::string value;
    while (!here(close)) {
      if (at_ >= text_.size() || (close.size() == 1 && peek() == '\n'))
        return wrong(from, "a string without its closing " + close);
      if (peek() == '\\' && at_ + 1 < text_.size()) {
        const std::string numbered = raw || of_bytes ? std::string() : numbered_character();
        if (!numbered.empty()) {
          value += numbered;
          continue;
        }
        if (raw) value += text_.substr(at_, 2);
        else value += unescaped(peek(1));
        at_ += 2;
      } else {
        value += text_[at_++];
      }
    }
    at_ += close.size();
    keep(TokenKind::String, from, std::move(value));
    tokens_.back().integer = of_bytes ? 1 : 0;
    return {};
  }

  // A character that is written by its number, \x41, \u00e9 or \U0001f600, in UTF-8. Empty, and nothing is read: there is none here,
  // or half of a pair of UTF-16, which is no character.
  std::string numbered_character() {
    const char kind = peek(1);
    const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (digits == 0 || text_.size() - at_ < 2 + digits) return {};
    const char* first = text_.data() + at_ + 2;
    std::uint32_t number = 0;
    const auto [end, fault] = std::from_chars(first, first + digits, number, 16);
    if (fault != std::errc{} || end != first + digits || number == 0) return {};
    if (number > 0x10FFFF || (number >= 0xD800 && number < 0xE000)) return {};
    at_ += 2 + digits;
    const auto behind = [&](int shift) { return static_cast<char>(0x80 | (number >> shift & 0x3F)); };
    if (number < 0x80) return {static_cast<char>(number)};
    if (number < 0x800) return {static_cast<char>(0xC0 | number >> 6), behind(0)};
    if (number < 0x10000) return {static_cast<char>(0xE0 | number >> 12), behind(6), behind(0)};
    return {static_cast<char>(0xF0 | number >> 18), behind(12), behind(6), behind(0)};
  }

  // The short escapes; others stay as they are written.
  static std::string unescaped(char c) {
    switch (c) {
      case 'n': return "\n";
      case 't': return "\t";
      case 'r': return "\r";
      case '\n': return "";
      case '\\':
      case '\'':
      case '"': return std::string(1, c);
      default: return std::string("\\") + c;
    }
  }

  std::string_view text_;
  bool lines_ = false;
  std::size_t at_ = 0, open_ = 0;
  std::vector<std::size_t> indents_{0};
  std::vector<Token> tokens_;
};

}  // namespace

std::string place_in(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto start = before.rfind('\n');
  const std::string_view line = start == std::string_view::npos ? before : before.substr(start + 1);
  // Code points, as an editor counts them.
  const auto column =
      1 + std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  std::string place = "column " + std::to_string(column);
  if (text.find('\n') == std::string_view::npos) return place;
  return "line " + std::to_string(1 + std::ranges::count(before, '\n')) + ", " + place;
}

Result<std::vector<Token>> tokens_of(std::string_view text, Layout layout) { return Reader(text, layout).read(); }

}  // namespace convoy::python
