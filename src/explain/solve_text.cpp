// The solver's answer in text and in JSON: the same facts.
#include "explain/solve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::explain {
namespace {

std::string pair_text(const Added& a) { return fmt::format("{},{}", a.before, a.after); }

// "4 cells", "7, 8 or 9 cells", "2 to 12 cells".
std::string cells_text(Size least, Size most) {
  std::string words;
  if (most - least > 3) words = fmt::format("{} to {}", least, most);
  else
    for (Size n = least; n <= most; ++n) words += fmt::format("{}{}", n == least ? "" : n == most ? " or " : ", ", n);
  return words + (least == 1 && most == 1 ? " cell" : " cells");
}

std::string total_text(const SolveRange& range) { return cells_text(std::max<Size>(range.least, 0), range.most); }

// What a transposed convolution's whole scatter loses.
std::string cut_text(Size total) {
  return (total < 0 ? "add " : "cut ") + cells_text(std::abs(total), std::abs(total)) +
         (total < 0 ? " to the whole scatter" : " of the whole scatter");
}

std::string window_text(const Window& w) {
  std::string words = fmt::format("kernel {}", w.kernel);
  if (w.dilation != 1) words += fmt::format("  dilation {}", w.dilation);
  return words + fmt::format("  stride {}", w.stride);
}

std::string sizes_text(const SolveAxis& axis, bool transposed) {
  if (axis.in) return fmt::format("{} -> {}", *axis.in, *axis.out);
  if (transposed)
    return fmt::format("n -> {}", axis.window.stride == 1 ? "n" : fmt::format("{} * n", axis.window.stride));
  return axis.window.stride == 1 ? "n -> n" : fmt::format("n -> ceil(n / {})", axis.window.stride);
}

std::string axis_text(const SolveAnswer& answer, const SolveAxis& axis) {
  std::string text = fmt::format("  {}{}{}   {}   (reach {})\n", axis.name, axis.name.empty() ? "" : "  ",
                                 sizes_text(axis, answer.transposed), window_text(axis.window), axis.window.reach());
  const SolveRange& first = axis.ranges.front();
  if (answer.transposed)
    return text +
           fmt::format("    {}\n", first.least == 0 ? "nothing to cut: the whole scatter" : cut_text(first.least));
  if (axis.ranges.size() == 1) return text + fmt::format("    total {}\n", total_text(first));
  text += fmt::format("    n mod {}  total             same adds\n", axis.window.stride);
  for (const SolveRange& range : axis.ranges)
    text += fmt::format("    {:<7}  {:<16}  {}\n", range.remainder, total_text(range), pair_text(range.same));
  return text;
}

std::string lines_text(const Solution& solution, std::size_t indent) {
  std::string text;
  std::size_t widest = 0;
  for (const auto& line : solution.lines) widest = std::max(widest, line.remark.empty() ? 0 : line.code.size());
  widest = std::min<std::size_t>(widest, 64);
  for (const auto& line : solution.lines) {
    text += fmt::format("{:{}}{:<11} {}", "", indent, line.framework, line.code);
    if (!line.remark.empty())
      text += fmt::format("{:{}}   ({})", "", widest - std::min(widest, line.code.size()), line.remark);
    text += "\n";
  }
  return text;
}

Json pairs_json(const std::vector<Added>& cells) {
  Json all = Json::array();
  for (const Added& a : cells) all.push_back({a.before, a.after});
  return all;
}

}  // namespace

std::string text_of(const SolveAnswer& answer) {
  std::string text;
  std::size_t column = 4;
  for (const auto& axis : answer.axes) text += axis_text(answer, axis);
  for (const auto& s : answer.solutions)
    for (const auto& a : s.cells) column = std::max(column, pair_text(a).size());
  for (const auto& axis : answer.axes) column = std::max(column, axis.name.size());
  const bool headed = std::ranges::any_of(answer.solutions, [](const Solution& s) { return !s.cells.empty(); });
  std::string head = "  ";
  if (answer.axes.size() == 1) head += "before,after";
  else
    for (const auto& axis : answer.axes) head += fmt::format("{:<{}}  ", axis.name, column);
  head.erase(head.find_last_not_of(' ') + 1);
  if (headed) text += "\n" + head + "\n";
  const std::size_t indent = 2 + (column + 2) * answer.axes.size();
  for (const auto& s : answer.solutions) {
    std::string cells = "  ";
    for (const Added& a : s.cells) cells += fmt::format("{:<{}}  ", pair_text(a), column);
    if (s.cells.empty()) cells += "by size";
    text += fmt::format("{:<{}}{}\n{}", cells, s.cells.empty() ? std::max<std::size_t>(indent, 11) : indent, s.meaning,
                        lines_text(s, indent));
  }
  if (!answer.notes.empty()) text += "\n";
  for (const auto& note : answer.notes) text += "  " + note + "\n";
  return text;
}

Json json_of(const SolveAnswer& answer) {
  Json axes = Json::array(), solutions = Json::array();
  for (const auto& axis : answer.axes) {
    Json one{{"kernel", axis.window.kernel},
             {"stride", axis.window.stride},
             {"dilation", axis.window.dilation},
             {"reach", axis.window.reach()},
             {"in", nullptr},
             {"out", nullptr}};
    if (!axis.name.empty()) one["axis"] = axis.name;
    if (axis.in) one["in"] = *axis.in;
    if (axis.out) one["out"] = *axis.out;
    Json ranges = Json::array();
    for (const SolveRange& range : axis.ranges) {
      Json total{{"least", answer.transposed ? range.least : std::max<Size>(range.least, 0)}, {"most", range.most}};
      if (axis.ranges.size() > 1) total["remainder"] = range.remainder;
      if (!answer.transposed) total["same"] = {range.same.before, range.same.after};
      ranges.push_back(std::move(total));
    }
    one["totals"] = std::move(ranges);
    axes.push_back(std::move(one));
  }
  for (const auto& s : answer.solutions) {
    Json lines = Json::array();
    for (const auto& line : s.lines) {
      Json one{{"framework", line.framework}, {"code", line.code}};
      if (!line.remark.empty()) one["remark"] = line.remark;
      lines.push_back(std::move(one));
    }
    Json one{{answer.transposed ? "crops" : "pads", s.cells.empty() ? Json(nullptr) : pairs_json(s.cells)},
             {"meaning", s.meaning},
             {"lines", std::move(lines)}};
    solutions.push_back(std::move(one));
  }
  return {{"schema", 1},
          {"transposed", answer.transposed},
          {"axes", std::move(axes)},
          {"solutions", std::move(solutions)},
          {"notes", answer.notes}};
}

}  // namespace convoy::explain
