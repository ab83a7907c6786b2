#include "base/nearest.h"

#include <algorithm>
#include <numeric>

namespace convoy {
namespace {

constexpr std::size_t longest = 64;  // of a word and a name: beyond it there is nothing to guess

// Letters changed, put in, left out or swapped; a change of case counts little.
double edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::vector<double> row(b.size() + 1), above, before;
  std::iota(row.begin(), row.end(), 0.0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = above;
    above = row;
    row[0] = static_cast<double>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const double change = a[i - 1] == b[j - 1] ? 0 : lower(a[i - 1]) == lower(b[j - 1]) ? 0.2 : 1;
      row[j] = std::min({above[j - 1] + change, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

bool continues(std::string_view whole, std::string_view beginning) {
  return beginning.size() >= 3 && whole.size() > beginning.size() && whole.starts_with(beginning);
}

}  // namespace

std::optional<std::size_t> nearest_place(std::string_view word, const std::vector<std::string>& names) {
  if (word.size() > longest) return std::nullopt;
  std::optional<std::size_t> best;
  // Not every letter may be another one: "q" is not "r".
  double least = std::min(1.0 + static_cast<double>(word.size()) / 4, static_cast<double>(word.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() > longest) continue;
    if (const double d = edit_distance(word, names[i]); d < least) least = d, best = i;
  }
  if (best) return best;
  // What was cut short or drawn out: of several, the one of which the least is missing.
  std::size_t apart = longest;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!continues(names[i], word) && !continues(word, names[i])) continue;
    const std::size_t rest = std::max(names[i].size(), word.size()) - std::min(names[i].size(), word.size());
    if (rest < apart) apart = rest, best = i;
  }
  return best;
}

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  const auto place = nearest_place(word, names);
  return place ? names[*place] : std::string();
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, std::string_view otherwise) {
  if (const std::string near = nearest(word, names); !near.empty()) return "; did you mean '" + near + "'?";
  return otherwise.empty() ? std::string() : "; " + std::string(otherwise);
}

}  // namespace convoy
