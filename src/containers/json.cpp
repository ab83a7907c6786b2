#include "containers/json.h"

#include "base/budget.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace convoy {

namespace {

constexpr std::size_t depth_limit = 512;
constexpr std::size_t string_limit = std::size_t{64} << 20;
constexpr std::size_t values_at_once = 1024;  // that are paid for
// A value with what the vector that holds it takes while it grows, and an empty container of its own.
constexpr Size bytes_of_value = 64;
constexpr double steps_of_value = 60;

// An array or object that is still open. Members are collected here and moved into the value once their
// number is known: the value's own container would copy them, key and all, each time it grows.
struct Open {
  bool object = false;
  std::size_t at = 0;
  std::string key;
  std::vector<std::pair<std::string, Json>> members;
  std::vector<Json> items;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Json> parse() {
    Json value;
    if (auto done = values(value); !done) return pass(done);
    skip_space();
    if (at_ != text_.size()) return wrong(at_, "text after the end of the value");
    return value;
  }

 private:
  std::unexpected<Error> wrong(std::size_t at, std::string what, Fault fault = Fault::Format) const {
    const auto before = text_.substr(0, std::min(at, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto start = before.rfind('\n');
    const auto column = start == std::string_view::npos ? before.size() + 1 : before.size() - start;
    if (at >= text_.size() && fault == Fault::Format) {
      fault = Fault::Truncated;
      what = "ends where " + what;
    }
    return std::unexpected(
        Error{fault, std::move(what), "line " + std::to_string(line) + ", column " + std::to_string(column)});
  }

  Status pay() {
    if (++count_ % values_at_once != 0) return {};
    if (auto paid = budget::spend(steps_of_value * values_at_once, "reading JSON"); !paid) return paid;
    const Size made = static_cast<Size>(count_) * bytes_of_value;
    if (made > granted_) {  // asked for in doubling steps: what is held is known only to who counts all memory
      if (auto paid = budget::afford(made, std::to_string(count_) + " values of JSON"); !paid) return paid;
      granted_ = 2 * made;
    }
    return {};
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // One value with all that it holds; depth is the length of open_, not of the call stack.
  Status values(Json& result) {
    for (;;) {
      skip_space();
      Json value;
      bool opened = false;
      if (auto begun = begin(value, opened); !begun) return pass(begun);
      if (opened) {
        if (auto key = next_key(); !key) return pass(key);
        continue;
      }
      for (;;) {  // hand the finished value to what holds it, which may finish that too
        if (open_.empty()) {
          result = std::move(value);
          return {};
        }
        Open& holder = open_.back();
        if (holder.object) holder.members.emplace_back(std::move(holder.key), std::move(value));
        else holder.items.push_back(std::move(value));
        skip_space();
        if (accept(',')) {
          skip_space();
          if (auto key = next_key(); !key) return pass(key);
          break;
        }
        if (!accept(holder.object ? '}' : ']')) {
          return wrong(at_, holder.object ? "',' or '}' is expected" : "',' or ']' is expected");
        }
        if (auto closed = close(value); !closed) return pass(closed);
      }
    }
  }

  // A scalar or an empty container into `value`; or a container is opened and `opened` set.
  Status begin(Json& value, bool& opened) {
    if (auto paid = pay(); !paid) return paid;
    if (at_ >= text_.size()) return wrong(at_, "a value is expected");
    const char c = text_[at_];
    if (c == '{' || c == '[') {
      const std::size_t start = at_++;
      skip_space();
      if (accept(c == '{' ? '}' : ']')) {
        value = c == '{' ? Json::object() : Json::array();
        return {};
      }
      if (open_.size() >= depth_limit) return wrong(start, "nested deeper than 512", Fault::Limit);
      open_.push_back({.object = c == '{', .at = start, .key = {}, .members = {}, .items = {}});
      opened = true;
      return {};
    }
    if (c == '"') {
      auto string = parse_string();
      if (!string) return pass(string);
      value = *std::move(string);
      return {};
    }
    if (c == '-' || (c >= '0' && c <= '9')) return number(value);
    return word(value);
  }

  // Inside an object: the key and the colon in front of the next value.
  Status next_key() {
    Open& holder = open_.back();
    if (!holder.object) return {};
    if (at_ >= text_.size() || text_[at_] != '"') return wrong(at_, "a key in quotes is expected");
    if (auto paid = pay(); !paid) return paid;
    auto key = parse_string();
    if (!key) return pass(key);
    holder.key = *std::move(key);
    skip_space();
    if (!accept(':')) return wrong(at_, "':' is expected");
    return {};
  }

  Status close(Json& value) {
    Open holder = std::move(open_.back());
    open_.pop_back();
    if (!holder.object) {
      value = Json::array();
      holder.items.shrink_to_fit();
      value.get_ref<Json::array_t&>() = std::move(holder.items);
      return {};
    }
    std::vector<std::string_view> keys;
    for (const auto& member : holder.members) keys.push_back(member.first);
    std::sort(keys.begin(), keys.end());
    if (const auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end()) {
      return wrong(holder.at, "key '" + std::string(twice->substr(0, 100)) + "' occurs twice in the object");
    }
    value = Json::object();
    auto& object = value.get_ref<Json::object_t&>();
    object.reserve(holder.members.size());
    for (auto& [key, member] : holder.members) object.emplace_back(std::move(key), std::move(member));
    return {};
  }

  Status word(Json& value) {
    const auto rest = text_.substr(at_);
    const auto is = [&](std::string_view name) {
      if (!rest.starts_with(name)) return false;
      at_ += name.size();
      return true;
    };
    if (is("true")) value = true;
    else if (is("false")) value = false;
    else if (is("null")) value = nullptr;
    else if (is("NaN")) value = std::numeric_limits<double>::quiet_NaN();
    else if (is("Infinity")) value = std::numeric_limits<double>::infinity();
    else {
      for (const std::string_view name : {"true", "false", "null", "NaN", "Infinity"}) {
        if (name.starts_with(rest)) return wrong(text_.size(), "'" + std::string(name) + "' is expected");
      }
      return wrong(at_, "a value is expected");
    }
    return {};
  }

  std::size_t digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ - start;
  }

  Status number(Json& value) {
    const std::size_t start = at_;
    const bool negative = accept('-');
    if (negative && text_.substr(at_).starts_with("Infinity")) {
      at_ += 8;
      value = -std::numeric_limits<double>::infinity();
      return {};
    }
    const std::size_t first = at_;
    const std::size_t whole = digits();
    if (whole == 0) return wrong(at_, "a digit is expected");
    if (whole > 1 && text_[first] == '0') return wrong(first, "a number begins with 0");
    bool integral = true;
    if (accept('.')) {
      integral = false;
      if (digits() == 0) return wrong(at_, "a digit is expected after '.'");
    }
    if (accept('e') || accept('E')) {
      integral = false;
      if (!accept('+')) accept('-');
      if (digits() == 0) return wrong(at_, "a digit is expected in the exponent");
    }
    const char* from = text_.data() + start;
    const char* to = text_.data() + at_;
    if (integral) {
      std::int64_t integer = 0;
      if (std::from_chars(from, to, integer).ec == std::errc{}) {
        value = integer;
        return {};
      }
      std::uint64_t natural = 0;
      if (!negative && std::from_chars(from, to, natural).ec == std::errc{}) {
        value = natural;
        return {};
      }
    }
    double real = 0;
    if (std::from_chars(from, to, real).ec != std::errc{}) {
      return wrong(start, "number " + std::string(text_.substr(start, std::min<std::size_t>(at_ - start, 40))) +
                              " is outside the range of a double");
    }
    value = real;
    return {};
  }

  Result<std::string> parse_string() {
    const std::size_t start = at_++;
    std::string result;
    for (;;) {
      const std::size_t plain = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' && byte() >= 0x20 && byte() < 0x80) ++at_;
      result.append(text_.substr(plain, at_ - plain));
      if (result.size() > string_limit) return wrong(start, "string longer than 64 MiB", Fault::Limit);
      if (at_ >= text_.size()) return wrong(at_, "a string is not closed");
      if (accept('"')) return result;
      if (byte() < 0x20) return wrong(at_, "a control character stands in a string");
      const auto part = text_[at_] == '\\' ? escape(result) : multibyte(result);
      if (!part) return std::unexpected(part.error());
    }
  }

  unsigned byte(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? static_cast<unsigned char>(text_[at_ + ahead]) : 0U;
  }

  // One character of more than one byte: shortest form, no surrogates, at most U+10FFFF.
  Status multibyte(std::string& result) {
    const unsigned lead = byte();
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    bool good = lead >= 0xC2 && lead <= 0xF4;
    for (std::size_t i = 1; i < length; ++i) good = good && (byte(i) & 0xC0) == 0x80;
    if (lead == 0xE0) good = good && byte(1) >= 0xA0;
    if (lead == 0xED) good = good && byte(1) < 0xA0;
    if (lead == 0xF0) good = good && byte(1) >= 0x90;
    if (lead == 0xF4) good = good && byte(1) < 0x90;
    if (!good) return wrong(at_, "a string is not UTF-8");
    result.append(text_.substr(at_, length));
    at_ += length;
    return {};
  }

  Result<unsigned> four_digits() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const unsigned c = byte();
      const unsigned lower = c | 0x20;
      if (c >= '0' && c <= '9') code = code * 16 + (c - '0');
      else if (lower >= 'a' && lower <= 'f') code = code * 16 + (lower - 'a' + 10);
      else return wrong(at_, "four hexadecimal digits are expected after \\u");
    }
    return code;
  }

  Status escape(std::string& result) {
    const std::size_t start = at_++;
    constexpr std::string_view names = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (at_ >= text_.size()) return wrong(at_, "a string is not closed");
    if (const auto i = names.find(text_[at_]); i != std::string_view::npos) {
      result += meanings[i];
      ++at_;
      return {};
    }
    if (!accept('u')) return wrong(start, "unknown escape in a string");
    const auto first = four_digits();
    if (!first) return std::unexpected(first.error());
    unsigned code = *first;
    if (code >= 0xDC00 && code < 0xE000) return wrong(start, "second half of a surrogate pair without the first");
    if (code >= 0xD800 && code < 0xDC00) {
      if (!accept('\\') || !accept('u')) return wrong(start, "first half of a surrogate pair without the second");
      const auto second = four_digits();
      if (!second) return std::unexpected(second.error());
      if (*second < 0xDC00 || *second >= 0xE000) {
        return wrong(start, "first half of a surrogate pair without the second");
      }
      code = 0x10000 + ((code - 0xD800) << 10) + (*second - 0xDC00);
    }
    const auto tail = [](unsigned bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
    if (code < 0x80) {
      result += static_cast<char>(code);
    } else if (code < 0x800) {
      result += {static_cast<char>(0xC0 | (code >> 6)), tail(code)};
    } else if (code < 0x10000) {
      result += {static_cast<char>(0xE0 | (code >> 12)), tail(code >> 6), tail(code)};
    } else {
      result += {static_cast<char>(0xF0 | (code >> 18)), tail(code >> 12), tail(code >> 6), tail(code)};
    }
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t count_ = 0;
  Size granted_ = 0;
  std::vector<Open> open_;
};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  try {
    return Parser(text).parse();
  } catch (const std::bad_alloc&) {
    return fail(Fault::Limit, "not enough memory for " + std::to_string(text.size()) + " bytes of JSON");
  } catch (const Json::exception& e) { return fail(Fault::Internal, e.what()); }
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace convoy
