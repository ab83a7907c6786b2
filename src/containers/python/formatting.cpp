#include "containers/python/formatting.h"

#include "containers/python/unread.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace convoy::python {
namespace {

// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct Pattern {
  std::string fill = " ";
  char align = 0, sign = '-', grouping = 0, type = 0;
  bool alternate = false;
  int width = 0, precision = -1;
};

bool take_number(std::string_view& s, int& into) {
  const auto read = std::from_chars(s.data(), s.data() + s.size(), into);
  if (read.ec != std::errc() || into < 0 || into > 1000) return false;
  s.remove_prefix(static_cast<std::size_t>(read.ptr - s.data()));
  return true;
}

bool is_one_of(char c, std::string_view all) { return all.find(c) != std::string_view::npos; }

char take_one_of(std::string_view& s, std::string_view all) {
  if (s.empty() || !is_one_of(s[0], all)) return 0;
  const char c = s[0];
  s.remove_prefix(1);
  return c;
}

std::optional<Pattern> pattern_of(std::string_view s) {
  Pattern p;
  const auto letters = Text(std::string(s.substr(0, 5))).letters();
  const std::size_t filled = letters.empty() ? 0 : letters[0].size();
  const bool is_filled = s.size() > filled && filled > 0 && is_one_of(s[filled], "<>^=");
  if (is_filled) {
    p.fill = s.substr(0, filled);
    s.remove_prefix(filled);
  }
  p.align = take_one_of(s, "<>^=");
  if (const char sign = take_one_of(s, "+- ")) p.sign = sign;
  p.alternate = take_one_of(s, "#") != 0;
  if (!s.empty() && s[0] == '0' && !is_filled) p.fill = "0";
  if (!s.empty() && s[0] == '0' && p.align == 0) p.align = '=';
  if (!s.empty() && is_one_of(s[0], "0123456789") && !take_number(s, p.width)) return std::nullopt;
  p.grouping = take_one_of(s, ",_");
  if (take_one_of(s, ".") && !take_number(s, p.precision)) return std::nullopt;
  p.type = take_one_of(s, "sdfFeEgGxXobc%");
  return s.empty() ? std::optional(p) : std::nullopt;
}

// 1234567 as 1,234,567: the digits in front of the point.
std::string grouped(std::string digits, char by) {
  if (!by) return digits;
  for (auto at = static_cast<Size>(std::min(digits.find_first_not_of("0123456789"), digits.size())) - 3; at > 0;
       at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, by);
  return digits;
}

std::string padded(const std::string& sign, const std::string& words, const Pattern& p, char usual) {
  const std::size_t size = sign.size() + Text(words).letters().size();
  const auto wanted = static_cast<std::size_t>(p.width);
  const std::size_t gap = wanted > size ? wanted - size : 0;
  const char align = p.align ? p.align : usual;
  const std::size_t before = align == '>' || align == '=' ? gap : align == '^' ? gap / 2 : 0;
  std::string left, right;
  for (std::size_t i = 0; i < gap; ++i) (i < before ? left : right) += p.fill;
  return (align == '=' ? sign + left : left + sign) + words + right;
}

std::string printed(double x, char how, int precision) {
  std::array<char, 1500> buffer{};
  const char format[] = {'%', '.', '*', how, '\0'};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::snprintf(buffer.data(), buffer.size(), format, precision, x);
#pragma GCC diagnostic pop
  return buffer.data();
}

// '.3' without a type: as 'g', but 1e+02 from a hundred on, and with a digit behind the point.
std::string rounded_off(double x, int precision) {
  const int most = std::max(precision, 1);
  const std::string scientific = printed(x, 'e', most - 1);
  const auto e = scientific.find('e');
  if (e == std::string::npos) return scientific;  // inf, nan
  const int exponent = std::atoi(scientific.c_str() + e + 1);
  if (exponent >= -4 && exponent < most - 1) {
    std::string plain = printed(x, 'g', most);
    return plain.find('.') == std::string::npos ? plain + ".0" : plain;
  }
  std::string digits = scientific.substr(0, e);
  if (digits.find('.') != std::string::npos) digits.erase(digits.find_last_not_of("0") + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits + scientific.substr(e);
}

Result<std::string> magnitude_of_real(double x, const Pattern& p) {
  if (p.alternate || is_one_of(p.type, "dxXobcs")) return wrong("a float in the format of another type");
  if (p.type == 0 && p.precision < 0) return text_of_real(x);
  if (p.type == 0) return rounded_off(x, p.precision);
  const char how = p.type == '%' || p.type == 'F' ? 'f' : p.type;
  const std::string words = printed(p.type == '%' ? x * 100 : x, how, p.precision < 0 ? 6 : p.precision);
  return p.type == '%' ? words + "%" : words;
}

Result<std::string> magnitude_of_whole(std::uint64_t n, const Pattern& p) {
  if (p.precision >= 0 || p.type == 's') return wrong("a whole number in the format of another type");
  if (p.type == 'c') return fail(Fault::Unsupported, "a letter by its number in a format");
  if (p.type == 0 || p.type == 'd') return std::to_string(n);
  const unsigned base = p.type == 'b' ? 2 : p.type == 'o' ? 8 : 16;
  const std::string_view letters = p.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), letters[n % base]);
    n /= base;
  } while (n != 0);
  return digits;
}

Result<std::string> number_as(const Value& value, const Pattern& p) {
  const bool whole = value.is_whole() && !(p.type != 0 && is_one_of(p.type, "fFeEgG%"));
  const bool negative = whole ? value.whole() < 0 : std::signbit(value.real()) && !std::isnan(value.real());
  const auto bits = static_cast<std::uint64_t>(value.whole());
  auto words = whole ? magnitude_of_whole(negative ? 0 - bits : bits, p) : magnitude_of_real(std::abs(value.real()), p);
  if (!words) return words;
  if (p.grouping && p.align == '=' && p.fill == "0")
    return fail(Fault::Unsupported, "digits in groups behind leading zeros");
  std::string sign = negative ? "-" : p.sign == '-' ? "" : std::string(1, p.sign);
  if (whole && p.alternate && is_one_of(p.type, "bxXo")) sign += std::string("0") + p.type;
  return padded(sign, grouped(*words, p.grouping), p, '>');
}

}  // namespace

Result<std::string> Interpreter::formatted(Value value, const std::string& specification) {
  if (const auto* instance = value.as<Instance>())
    if (const Value* method = instance->own_method("__format__")) {
      const auto made = call(*method, ValueList{value, text(specification)});
      if (!made) return std::unexpected(made.error());
      if (const auto* words = made->as<Text>()) return words->text;
      return wrong("__format__() gives a " + python::type_name(*made));
    }
  if (specification.empty()) return string_of(value);
  const auto pattern = pattern_of(specification);
  if (!pattern) return fail(Fault::Unsupported, "the format '" + specification + "' is not read");
  if (value.is_number()) return number_as(value, *pattern);
  const auto* words = value.as<Text>();
  if (!words) return fail(Fault::Unsupported, "a " + python::type_name(value) + " in a format");
  if ((pattern->type != 0 && pattern->type != 's') || pattern->align == '=' || pattern->grouping)
    return wrong("a text in the format of a number");
  std::string kept;
  int left = pattern->precision;
  for (const auto letter : words->letters())
    if (pattern->precision < 0 || left-- > 0) kept += letter;
  return padded("", kept, *pattern, '<');
}

Result<Value> Interpreter::formatted_as(Value value, const std::string& conversion, const std::string& specification) {
  if (conversion.empty()) return text_or_outside(formatted(value, specification));
  auto words = conversion == "r"   ? written(value)
               : conversion == "s" ? string_of(value)
                                   : Result<std::string>(fail(Fault::Unsupported, "'!" + conversion + "' in a format"));
  if (!words || specification.empty()) return text_or_outside(std::move(words));
  return text_or_outside(formatted(text(std::move(*words)), specification));
}

Result<Value> Interpreter::text_or_outside(Result<std::string> words) {
  if (words) return text(std::move(*words));
  if (words.error().fault != Fault::Unsupported || placed_ || forbidden_) return std::unexpected(words.error());
  return Value::of(make<Outside>(words.error().what));
}

namespace {

// The value as a mark of '%' wants it: whole numbers are cut off, what is no number is written.
Result<std::string> marked(Interpreter& in, const Value& value, const std::string& how, char as) {
  if (as == 's' || as == 'r') {
    auto words = as == 's' ? in.string_of(value) : in.written(value);
    return words ? in.formatted(in.text(std::move(*words)), how) : words;
  }
  if (!is_one_of(as, "diuxXoeEfFgG")) return fail(Fault::Unsupported, std::string("'%") + as + "' in a format");
  const bool whole = is_one_of(as, "diuxXo");
  if (whole && how.find('.') != std::string::npos) return fail(Fault::Unsupported, "'%" + how + as + "' in a format");
  if (!value.is_number() || (value.is_real() && is_one_of(as, "xXo"))) {
    if (!value.is_object()) return wrong(std::string("'%") + as + "' of a " + type_name(value));
    return fail(Fault::Unsupported, std::string("'%") + as + "' of a " + type_name(value));
  }
  if (whole && !(std::abs(value.real()) < 0x1p63)) return wrong("'%d' of a number that is too large");
  const Value number = whole && value.is_real() ? Value::of(static_cast<std::int64_t>(value.real())) : value;
  return in.formatted(number, how + (as == 'i' || as == 'u' ? 'd' : as));
}

// "-05.2" of "%-05.2f" as format() has it: to the right, unless it is said otherwise.
std::string how_of_mark(std::string_view said, bool is_text) {
  std::string flags, sign;
  while (!said.empty() && is_one_of(said[0], "-+ 0#")) {
    flags += said[0];
    said.remove_prefix(1);
  }
  const auto has = [&](char c) { return flags.find(c) != std::string::npos; };
  const bool zeros = has('0') && !has('-') && !is_text;
  std::string how = zeros ? "0=" : has('-') ? "<" : ">";
  if (!is_text) how += has('+') ? "+" : has(' ') ? " " : "";
  if (has('#')) how += "#";
  return how + std::string(said);
}

}  // namespace

Result<std::string> marks_filled(Interpreter& in, const std::string& text, const Value& given) {
  ValueList values{given};
  const auto* names = given.as<Mapping>();
  if (const auto* tuple = tuple_in(given)) values = tuple->items;
  std::string words;
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || (i + 1 < text.size() && text[i + 1] == '%')) {
      words += text[i];
      i += text[i] == '%';
      continue;
    }
    std::optional<Value> value;
    std::size_t start = i + 1;
    if (start < text.size() && text[start] == '(') {
      const std::size_t close = std::min(text.find(')', start), text.size());
      const auto named = names ? in.item(given, in.text(text.substr(start + 1, close - start - 1)))
                               : Result<Value>(wrong("'%(name)' of what is no dictionary"));
      if (!named) return std::unexpected(named.error());
      value = *named;
      next = values.size();
      start = close + 1;
    }
    const std::size_t end = text.find_first_not_of("0123456789.-+ #", std::min(start, text.size()));
    if (end == std::string::npos || (!value && next >= values.size())) return wrong("'%' finds no value to write");
    if (!value) value = values[next++];
    const char as = text[end];
    const std::string how = how_of_mark(std::string_view(text).substr(start, end - start), as == 's' || as == 'r');
    auto one = marked(in, *value, how, as);
    if (!one) return one;
    words += *one;
    if (auto paid = in.charge(static_cast<Size>(one->size())); !paid) return pass(paid);
    i = end;
  }
  if (next < values.size() && !names) return wrong("'%' has more values than marks");
  return words;
}

}  // namespace convoy::python
