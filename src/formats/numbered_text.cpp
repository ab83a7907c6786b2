#include "formats/numbered_text.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace convoy::python {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// The end of 1e-05 or 0.5, whose digits end at `to`.
std::size_t end_of_real(std::string_view text, std::size_t at) {
  while (at < text.size() && (in_word(text[at]) || ((text[at] == '-' || text[at] == '+') && text[at - 1] == 'e'))) ++at;
  return at;
}

// The end of "(1, 7)", which begins at `at`; `at` where that is no tuple of numbers.
std::size_t end_of_tuple(std::string_view text, std::size_t at) {
  if (text[at] != '(' || at == 0 || (text[at - 1] != ' ' && text[at - 1] != '=' && text[at - 1] != '(')) return at;
  std::size_t to = at + 1, numbers = 0;
  while (to < text.size() && is_digit(text[to])) {
    while (to < text.size() && is_digit(text[to])) ++to;
    ++numbers;
    if (text.substr(to).starts_with(", ")) to += 2;
    else return numbers > 1 && to < text.size() && text[to] == ')' ? to + 1 : at;
  }
  return at;
}

// The end of "same" or "valid" where they say a padding: they stand for its numbers. `at`: that is no such word.
std::size_t end_of_choice(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  if (!before.ends_with("padding=") && !before.ends_with(", ")) return at;
  for (const std::string_view word : {"\"same\"", "\"valid\""})
    if (text.substr(at).starts_with(word)) return at + word.size();
  return at;
}

}  // namespace

std::string Numbered::skeleton() const {
  std::string all;
  for (const std::string& word : words) (all += word) += '\0';
  return all;
}

Numbered numbered(std::string_view text, std::string_view counted, bool takes_reals) {
  Numbered made;
  std::string word;
  char quote = 0;
  bool counts = false;  // in quotes whose digits are numbers
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (const auto end = !quote && takes_reals ? end_of_choice(text, i) : i; end > i) {
      made.words.push_back(std::exchange(word, {}));
      made.numbers.emplace_back(text.substr(i, end - i));
      i = end - 1;
      continue;
    }
    if (!quote && (c == '"' || c == '\'')) {
      quote = c;
      std::string_view before = text.substr(0, i);
      if (before.ends_with('f')) before.remove_suffix(1);
      counts = !counted.empty() && before.ends_with(counted);
    } else if (quote && c == quote) {
      quote = '\0';
    }
    if (const auto end = !quote && takes_reals ? end_of_tuple(text, i) : i; end > i) {
      made.words.push_back(std::exchange(word, {}));
      made.numbers.emplace_back(text.substr(i, end - i));
      i = end - 1;
      continue;
    }
    const bool begins = is_digit(c) && (quote ? counts && !is_digit(text[i - 1]) : i == 0 || !in_word(text[i - 1]));
    if (!begins) {
      word += c;
      continue;
    }
    std::size_t to = i;
    while (to < text.size() && is_digit(text[to])) ++to;
    const bool padded = quote && c == '0' && to > i + 1;  // "conv_01": no number says it
    const bool real = !quote && to < text.size() && in_word(text[to]);
    if (real) to = end_of_real(text, i);
    if (padded || (real && !takes_reals)) {
      word += text.substr(i, to - i);
    } else {
      made.words.push_back(std::exchange(word, {}));
      made.numbers.emplace_back(text.substr(i, to - i));
    }
    i = to - 1;
  }
  made.words.push_back(std::move(word));
  return made;
}

Variation variation(const std::vector<Numbered>& texts) {
  Variation made;
  for (std::size_t i = 0; i < texts[0].numbers.size(); ++i) {
    std::vector<std::string> values;
    for (const Numbered& one : texts) values.push_back(one.numbers[i]);
    const bool varies = std::ranges::any_of(values, [&](const std::string& v) { return v != values[0]; });
    if (!varies) {
      made.places.emplace_back();
      continue;
    }
    const auto known = std::ranges::find(made.parameters, values);
    made.places.emplace_back(static_cast<std::size_t>(known - made.parameters.begin()));
    if (known == made.parameters.end()) made.parameters.push_back(std::move(values));
  }
  return made;
}

ArgumentPlace argument_behind(std::string_view before) {
  const auto word_before = [&](std::size_t end) {
    std::size_t from = end;
    while (from > 0 && in_word(before[from - 1])) --from;
    return std::string(before.substr(from, end - from));
  };
  if (before.ends_with("="))
    if (auto keyword = word_before(before.size() - 1); !keyword.empty()) return {std::move(keyword), {}, 0};
  std::size_t at = before.size(), place = 0;
  for (int open = 0; at > 0; --at) {
    const char c = before[at - 1];
    if (c == ')' || c == ']') ++open;
    if ((c == '(' || c == '[') && open-- == 0) break;
    if (c == ',' && open == 0) ++place;
  }
  if (at == 0) return {};
  if (before.substr(0, at - 1).ends_with("=")) return {word_before(at - 2), {}, place};  // in a tuple
  return {{}, word_before(at - 1), place};
}

}  // namespace convoy::python
