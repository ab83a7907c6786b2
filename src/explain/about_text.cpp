// A page about a framework in text and in JSON.
#include "explain/about.h"
#include "explain/examples.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::explain {

std::string text_of(const AboutPage& page) {
  std::size_t words = 0, meaning = 0;
  for (const auto& row : page.rows) {
    words = std::max(words, row.words.size());
    meaning = std::max(meaning, row.meaning.size());
  }
  std::string text = fmt::format("Padding in {}      x = {}   w = {}   (transposed: x = {})\n\n", page.framework,
                                 text_of(four), text_of(kernel_of_three), text_of(three));
  for (const auto& row : page.rows) {
    std::string line = fmt::format("  {:<{}}  {:<{}}", row.words, words, row.meaning, meaning);
    for (const auto& shown : row.shown)
      line +=
          "  " + (shown.of.empty() ? "" : shown.of + ": ") + shown.numbers + (&shown == &row.shown.back() ? "" : "  ");
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  if (!page.notes.empty()) text += "\n";
  for (const auto& note : page.notes) text += "  " + note + "\n";
  return text;
}

Json json_of(const AboutPage& page) {
  Json rows = Json::array();
  for (const auto& row : page.rows) {
    Json shown = Json::array();
    for (const auto& one : row.shown) {
      Json result{{"numbers", one.numbers}};
      if (!one.of.empty()) result["of"] = one.of;
      shown.push_back(std::move(result));
    }
    rows.push_back({{"words", row.words}, {"meaning", row.meaning}, {"results", std::move(shown)}});
  }
  return {{"schema", 1}, {"framework", page.framework}, {"rows", std::move(rows)}, {"notes", page.notes}};
}

}  // namespace convoy::explain
