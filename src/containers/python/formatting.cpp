// Values as texts: str() and format().
#include "containers/python/interpreter.h"

#include <charconv>
#include <cstdio>

namespace convoy::python {

Result<std::string> Interpreter::string_of(Value value) {
  if (const auto* text = value.as<Text>()) return text->text;
  return repr(*this, value);
}

// [[fill]align][sign][0][width][,][.precision][type]
Result<std::string> Interpreter::formatted(Value value, const std::string& specification) {
  if (specification.empty()) return string_of(value);
  std::string s = specification;
  char fill = ' ', align = 0, as = 0;
  if (s.size() > 1 && std::string_view("<>^").find(s[1]) != std::string_view::npos)
    fill = s[0], align = s[1], s.erase(0, 2);
  else if (std::string_view("<>^").find(s[0]) != std::string_view::npos) align = s[0], s.erase(0, 1);
  if (!s.empty() && std::string_view("dsfeEgGx%r").find(s.back()) != std::string_view::npos)
    as = s.back(), s.pop_back();
  bool plus = false, commas = false;
  if (!s.empty() && (s[0] == '+' || s[0] == ' ' || s[0] == '-')) plus = s[0] == '+', s.erase(0, 1);
  if (!s.empty() && s[0] == '0') fill = '0', align = align ? align : '>', s.erase(0, 1);
  std::erase_if(s, [&](char c) { return (c == ',' || c == '_') && (commas = true); });
  const std::string width_text = s.substr(0, s.find('.'));
  const std::string precision_text = width_text.size() < s.size() ? s.substr(width_text.size() + 1) : "";
  int width = 0, precision = -1;
  const auto number = [](const std::string& text, int& into) {
    return text.empty() ||
           (std::from_chars(text.data(), text.data() + text.size(), into).ptr == text.data() + text.size() &&
            into >= 0 && into <= 1000);
  };
  if (!number(width_text, width) || !number(precision_text, precision))
    return fail(Fault::Unsupported, "the format '" + specification + "' is not read");
  std::string words;
  if (value.is_number() && (as == 'f' || as == 'e' || as == 'g' || as == 'E' || as == 'G' || as == '%' ||
                            (value.is_real() && precision >= 0))) {
    char buffer[1500];
    const char how[] = {'%', '.', '*',
                        as == 'e' || as == 'E'              ? as
                        : as == 'g' || as == 'G' || as == 0 ? 'g'
                                                            : 'f',
                        '\0'};
    const double x = as == '%' ? value.real() * 100 : value.real();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    std::snprintf(buffer, sizeof buffer, how, precision < 0 ? 6 : precision, x);
#pragma GCC diagnostic pop
    words = buffer;
    if (as == '%') words += '%';
  } else {
    auto plain = as == 'r' ? Result<std::string>(repr(*this, value)) : string_of(value);
    if (!plain) return plain;
    words = *plain;
    if (precision >= 0 && !value.is_number()) words = words.substr(0, static_cast<std::size_t>(precision));
    if (commas && value.is_whole())
      for (Size at = static_cast<Size>(words.size()) - 3; at > (words[0] == '-' ? 1 : 0); at -= 3)
        words.insert(static_cast<std::size_t>(at), ",");
  }
  if (plus && value.is_number() && words[0] != '-') words = "+" + words;
  const auto wanted = static_cast<std::size_t>(width);
  if (words.size() >= wanted) return words;
  const std::size_t gap = wanted - words.size();
  if (!align) align = value.is_number() ? '>' : '<';
  const std::size_t before = align == '>' ? gap : align == '^' ? gap / 2 : 0;
  return std::string(before, fill) + words + std::string(gap - before, fill);
}

}  // namespace convoy::python
