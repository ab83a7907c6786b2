#include "formats/python.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace convoy::python {
namespace {

constexpr std::size_t widest = 100;

constexpr std::array keywords{"False",   "None",     "True",     "and",    "as",   "assert", "async",  "await",
                              "break",   "class",    "continue", "def",    "del",  "elif",   "else",   "except",
                              "finally", "for",      "from",     "global", "if",   "import", "in",     "is",
                              "lambda",  "nonlocal", "not",      "or",     "pass", "raise",  "return", "try",
                              "while",   "with",     "yield",    "match",  "case", "type",   "print"};

bool plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 128; }

// The code point at `at`, moving behind it; a byte that is not UTF-8 counts as U+FFFD.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at++);
  if (first < 0x80) return first;
  const int more = first >= 0xF0 && first < 0xF8   ? 3
                   : first >= 0xE0 && first < 0xF0 ? 2
                   : first >= 0xC2 && first < 0xE0 ? 1
                                                   : 0;
  if (more == 0 || at + static_cast<std::size_t>(more) > text.size()) return 0xFFFD;
  char32_t point = first & (0x3F >> more);
  for (int i = 0; i < more; ++i) {
    if ((byte(at) & 0xC0) != 0x80) return 0xFFFD;
    point = (point << 6) | (byte(at++) & 0x3F);
  }
  return point > 0x10FFFF || (point >= 0xD800 && point < 0xE000) ? U'\xFFFD' : point;
}

// The end of a string literal that starts at `at`.
std::size_t behind_string(const std::string& text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote; ++at)
    if (text[at] == '\\') ++at;
  return at;
}

// The last bracket pair that is not inside another one: what `black` opens first. Where the text in front of it is wider
// than `width`, the widest pair.
struct Brackets {
  std::size_t open = std::string::npos, close = std::string::npos;
};
Brackets outer_brackets(const std::string& text, std::size_t width) {
  Brackets found, current, widest_pair;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') i = behind_string(text, i);
    else if (c == '(' || c == '[' || c == '{') {
      if (depth++ == 0) current.open = i;
    } else if (c == ')' || c == ']' || c == '}') {
      if (--depth == 0) {
        current.close = i;
        if (i > current.open + 1) found = current;
        if (widest_pair.open == std::string::npos || i - current.open > widest_pair.close - widest_pair.open)
          widest_pair = current;
      }
    }
  }
  return found.open != std::string::npos && found.open >= width ? widest_pair : found;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t end = behind_string(text, i);
      parts.back() += text.substr(i, end - i + 1);
      i = end;
      continue;
    }
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
      if (i + 1 < text.size() && text[i + 1] == ' ') ++i;
    } else {
      parts.back() += c;
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

bool are_numbers(const std::vector<std::string>& parts) {
  return parts.size() > 1 && std::ranges::all_of(parts, [](const std::string& part) {
           return part.find_first_not_of("0123456789+-.e") == std::string::npos;
         });
}

// A table: as many to a line as it holds.
std::string filled(int indent, const std::vector<std::string>& parts) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string out, line = margin;
  for (const std::string& part : parts) {
    if (line.size() > margin.size() && line.size() + part.size() + 2 > widest) {
      out += line + "\n";
      line = margin;
    }
    line += (line.size() > margin.size() ? " " : "") + part + ",";
  }
  return out + line + "\n";
}

std::string wrapped(int indent, const std::string& text) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  if (margin.size() + text.size() <= widest) return margin + text + "\n";
  const Brackets at = outer_brackets(text, widest - std::min(widest, margin.size()));
  if (at.open == std::string::npos) return margin + text + "\n";
  const std::string inside = text.substr(at.open + 1, at.close - at.open - 1);
  std::string out = margin + text.substr(0, at.open + 1) + "\n";
  if (margin.size() + 4 + inside.size() <= widest && inside.back() != ',') {
    out += margin + "    " + inside + "\n";
  } else {
    const auto parts = split_at_commas(inside);
    if (are_numbers(parts)) out += filled(indent + 4, parts);
    else
      for (const auto& part : parts) out += wrapped(indent + 4, parts.size() > 1 ? part + "," : part);
  }
  return out + margin + text.substr(at.close) + "\n";
}

}  // namespace

std::string bound(const Expression& e, Binds least) { return e.binds >= least ? e.text : "(" + e.text + ")"; }

std::string identifier(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (plain(c)) text += c;
    else if (!text.empty() && text.back() != '_') text += '_';
  }
  while (!text.empty() && text.back() == '_') text.pop_back();
  if (text.empty()) return "layer";
  if (text.size() > 60) text.resize(60);
  if (std::isdigit(static_cast<unsigned char>(text[0]))) text = "layer_" + text;
  if (std::ranges::find(keywords, text) != keywords.end()) text += '_';
  return text;
}

std::string class_name(std::string_view name) {
  std::string text;
  bool upper = true;
  for (const char c : identifier(name)) {
    if (c == '_') {
      upper = true;
      continue;
    }
    text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return text;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const char32_t point = next_code_point(text, at);
    if (point == U'"' || point == U'\\') (out += '\\') += static_cast<char>(point);
    else if (point >= 0x20 && point < 0x7F) out += static_cast<char>(point);
    else if (point < 0x10000) out += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
    else out += fmt::format("\\U{:08x}", static_cast<unsigned>(point));
  }
  return out + "\"";
}

std::string prose(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t point = next_code_point(text, at);
    const bool safe =
        point >= 0x20 && point < 0x7F && point != U'"' && point != U'\\' && point != U'{' && point != U'}';
    out += safe ? static_cast<char>(point) : '?';
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string number_of_float(float value) {
  if (!std::isfinite(value)) return number(value);
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string tuple(const Sizes& values) {
  return values.size() == 1 ? fmt::format("({},)", values[0]) : fmt::format("({})", fmt::join(values, ", "));
}

std::string tuple_or_one(const Sizes& values) {
  const bool equal = !values.empty() && std::ranges::all_of(values, [&](Size v) { return v == values[0]; });
  return equal ? std::to_string(values[0]) : tuple(values);
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  return fmt::format("{}", fmt::join(parts, between));
}

std::string statement(int indent, const std::string& text, const std::string& comment) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  if (comment.empty()) return wrapped(indent, text);
  if (margin.size() + text.size() + comment.size() + 4 <= widest) return margin + text + "  # " + comment + "\n";
  return margin + "# " + comment + "\n" + wrapped(indent, text);
}

}  // namespace convoy::python
