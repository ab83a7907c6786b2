// An explanation as a person reads it.
#include "explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

std::string by_axis(const Sizes& numbers) {
  return all_are(numbers, numbers.front()) && numbers.size() > 1 ? std::to_string(numbers.front())
                                                                 : fmt::format("{}", fmt::join(numbers, "x"));
}

std::string sizes(const std::vector<AxisFacts>& axes, bool out) {
  std::string all;
  for (const AxisFacts& a : axes) {
    const auto n = out ? a.out : a.size.size();
    all += (all.empty() ? "" : "x") + (n ? std::to_string(*n) : "?");
  }
  return all;
}

// "[.] 0  1": padding in brackets, with the cell that it repeats if it does.
std::string drawn(const std::vector<Tap>& taps, std::size_t width) {
  std::string all;
  for (std::size_t i = 0; i < taps.size(); ++i) {
    if (taps.size() > 9 && i == 4) {
      all += " ..";
      i = taps.size() - 4;
    }
    const Tap& t = taps[i];
    if (t.padding) all += "[" + (t.cell ? std::to_string(*t.cell) : ".") + "]";
    else all += fmt::format(" {:>{}} ", *t.cell, width);
  }
  while (!all.empty() && all.back() == ' ') all.pop_back();
  return all;
}

// Columns of a table, aligned to the right but for the first and the drawings.
std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t left_from) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string all;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? "" : "  ";
      line += i == 0 || i >= left_from ? fmt::format("{:<{}}", row[i], widths[i])
                                       : fmt::format("{:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + "\n";
  }
  return all;
}

std::string windows_table(const Explanation& e) {
  std::vector<std::vector<std::string>> rows{{"", "size", "reach", "stride", "before", "after", "out"}};
  for (const AxisFacts& a : e.axes) {
    const std::string reach = std::to_string(a.window.reach()), stride = std::to_string(a.window.stride);
    if (a.size.known()) {
      std::vector<std::string> row{a.name,
                                   std::to_string(*a.size),
                                   reach,
                                   stride,
                                   std::to_string(a.placed[0].before),
                                   std::to_string(a.placed[0].after),
                                   std::to_string(*a.out)};
      const bool draws = a.placed[0].before > 0 || a.placed[0].after > 0 || a.window.dilation > 1;
      if (draws) {
        row.push_back(" first " + drawn(a.first, 1));
        row.push_back(" last " + drawn(a.last, 1));
      }
      rows.push_back(std::move(row));
      continue;
    }
    if (a.placed.empty()) rows.push_back({a.name, "any", reach, stride, "by size", "by size", "by size"});
    for (std::size_t i = 0; i < a.placed.size(); ++i)
      rows.push_back({i == 0 ? a.name : "", a.placed[i].when.empty() ? "any n" : a.placed[i].when, reach, stride,
                      std::to_string(a.placed[i].before), std::to_string(a.placed[i].after), i == 0 ? a.formula : ""});
  }
  return table(rows, 7);
}

std::string scatter_table(const Explanation& e) {
  std::vector<std::vector<std::string>> rows{{"", "size", "reach", "stride", "scatter", "cut before", "after", "out"}};
  for (const AxisFacts& a : e.axes)
    rows.push_back({a.name, a.size.known() ? std::to_string(*a.size) : "any n", std::to_string(a.window.reach()),
                    std::to_string(a.window.stride), a.scatter ? std::to_string(*a.scatter) : "",
                    std::to_string(a.placed[0].before), std::to_string(a.placed[0].after),
                    a.out ? std::to_string(*a.out) : a.formula});
  return table(rows, 8);
}

std::string numbers(const std::vector<double>& all) { return fmt::format("{}", fmt::join(all, " ")); }

std::string comparison(const Comparison& c) {
  std::size_t width = 1, label = 0;
  for (const Shown& row : c.rows) {
    label = std::max(label, row.name.size());
    for (const double y : row.y) width = std::max(width, fmt::format("{}", y).size());
  }
  const std::string head = fmt::format("  x = {}, w = {}", numbers(c.x), numbers(c.w));
  std::string all;
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    all += i == 0 ? head + "     " : std::string(head.size() + 5, ' ');
    all += fmt::format("{:<{}}", c.rows[i].name, label + 1);
    for (const double y : c.rows[i].y) all += fmt::format(" {:>{}}", fmt::format("{}", y), width);
    all += "\n";
  }
  return all + "\n";
}

constexpr std::size_t label_width = 10, code_width = 78;

std::string joined(const Line& line) { return fmt::format("{}", fmt::join(line.code, "  then  ")); }
bool fits(const Line& line) { return joined(line).size() <= code_width; }

}  // namespace

std::string headline(const Explanation& e) {
  std::string text(name_of(e.framework));
  if (e.framework != Framework::TensorFlow) text += " " + e.function;
  else text = "TensorFlow tf." + e.function;
  if (!e.name.empty()) text = e.name + ": " + text;
  text += "  kernel " + by_axis(kernels(e.layer)) + "  stride " + by_axis(strides(e.layer));
  if (!all_are(dilations(e.layer), 1)) text += "  dilation " + by_axis(dilations(e.layer));
  if (e.layer.depthwise) text += "  depthwise";
  else if (e.layer.groups > 1) text += fmt::format("  groups {}", e.layer.groups);
  for (const auto& [word, value] : e.words)
    text += "  " +
            (word == "padding" && value.find_first_of("0123456789") == std::string::npos ? value : word + " " + value);
  const std::string before = sizes(e.axes, false), after = sizes(e.axes, true);
  return text +
         (before.find_first_not_of("?x") == std::string::npos ? "      any size" : "      " + before + " -> " + after);
}

std::string text_of(const std::vector<Line>& all) {
  std::size_t width = 0;
  for (const Line& line : all)
    if (fits(line)) width = std::max(width, joined(line).size());
  std::string text, above;
  for (const Line& line : all) {
    const std::string who(name_of(line.framework));
    std::string label = fmt::format("  {:<{}}  ", who == above ? "" : who, label_width);
    above = who;
    std::string holds = line.equal ? line.holds : "";
    if (!line.remark.empty()) holds += (holds.empty() ? "" : " (") + line.remark + (holds.empty() ? "" : ")");
    if (line.code.empty()) {
      text += label + line.remark + "\n";
    } else if (fits(line)) {
      text += fmt::format("{}{:<{}}  {}\n", label, joined(line), width, holds);
    } else {
      for (std::size_t i = 0; i < line.code.size(); ++i) {
        const bool end = i + 1 == line.code.size();
        text += end ? fmt::format("{}{:<{}}  {}\n", label, line.code[i], width, holds) : label + line.code[i] + "\n";
        label = std::string(label.size(), ' ');
      }
    }
  }
  return text;
}

std::string text_of(const Explanation& e) {
  std::string text = headline(e) + "\n\n";
  if (e.layer.does != Does::Transpose) text += windows_table(e) + "\n";
  else if (e.axes.size() > 1) text += scatter_table(e) + "\n";
  for (const auto& sentence : e.sentences) text += "  " + sentence + "\n";
  if (!e.sentences.empty()) text += "\n";
  if (e.comparison) text += comparison(*e.comparison);
  text += text_of(e.lines);
  if (!e.kernel.empty()) text += fmt::format("  {:<{}}  {}\n", "kernel", label_width, e.kernel);
  if (!e.notes.empty()) text += "\n";
  for (const auto& note : e.notes) text += "  note: " + note + "\n";
  return text;
}

}  // namespace convoy::explain
