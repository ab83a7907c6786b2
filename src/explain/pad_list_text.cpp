// A list of cells in text and in JSON, with a drawing of what stands where.
#include "explain/pad_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::explain {
namespace {

constexpr Size widest_drawing = 24;

std::string axis_word(const PadList& list, std::size_t axis) {
  switch (list.axes[axis]) {
    case 'N': return list.named() ? "batch" : "axis";
    case 'C': return "channels";
    case 'D': return "depth";
    case 'H': return "rows";
    case 'W': return list.axes.find('H') == std::string::npos ? "time" : "cols";
    default: return fmt::format("axis {}", axis);
  }
}

std::string counts_text(Added a) {
  const auto one = [](Size n, const char* where) {
    return n < 0 ? fmt::format("{} cut {}", -n, where) : fmt::format("{} {}", n, where);
  };
  return one(a.before, "before") + ", " + one(a.after, "after");
}

// A size that is large enough to show the mode, for axes whose size is not known.
Size example_size(Added a) {
  const Size most = std::max(a.before, a.after), cut = -std::min<Size>({a.before, a.after, 0});
  return std::max<Size>(4, most + 1 + 2 * cut);
}

// ".  .  0  1  2  .": cells by number, those that were added in brackets, a constant as a point.
std::string drawing(const std::vector<Size>& cells, Added a) {
  std::string text;
  const Size before = std::max<Size>(a.before, 0),
             behind = static_cast<Size>(cells.size()) - std::max<Size>(a.after, 0);
  for (Size i = 0; i < static_cast<Size>(cells.size()); ++i) {
    const Size cell = cells[static_cast<std::size_t>(i)];
    const bool added = i < before || i >= behind;
    const std::string mark = cell < 0 ? "." : std::to_string(cell);
    text += added ? fmt::format(" [{}]", mark) : fmt::format(" {}", mark);
  }
  return text;
}

// Two spatial axes as a picture, every cell by its number in reading order.
std::string grid(const PadList& list) {
  const auto rows = list.axes.find('H'), cols = list.axes.find('W');
  if (rows == std::string::npos || cols == std::string::npos || !list.size[rows] || !list.size[cols]) return "";
  const auto down = cells_of(list, rows, *list.size[rows]), across = cells_of(list, cols, *list.size[cols]);
  if (!down || !across || down->size() > 12 || across->size() > 16 || down->empty() || across->empty()) return "";
  const std::size_t width = std::to_string(*list.size[rows] * *list.size[cols]).size();
  std::string text = "\n";
  for (const Size r : *down) {
    text += "   ";
    for (const Size c : *across)
      text += fmt::format(" {:>{}}", r < 0 || c < 0 ? "." : std::to_string(r * *list.size[cols] + c + 1), width);
    text += "\n";
  }
  return text;
}

std::string_view mode_text(PadMode mode) {
  switch (mode) {
    case PadMode::Constant: return "constant";
    case PadMode::Reflect: return "reflect: mirrored, the border cell once";
    case PadMode::Symmetric: return "symmetric: mirrored, the border cell twice";
    case PadMode::Edge: return "edge: the border cell again and again";
    case PadMode::Wrap: return "wrap: from the other side";
  }
  return "";
}

std::string_view short_mode(PadMode mode) {
  const auto text = mode_text(mode);
  return text.substr(0, text.find(':'));
}

}  // namespace

std::string text_of(const PadList& list) {
  std::string text =
      fmt::format("{}   {}   {}", list.call, list.named() ? list.axes : "axes as written", mode_text(list.mode));
  if (list.mode == PadMode::Constant) text += fmt::format(" {}", list.value);
  text += "\n\n";
  for (std::size_t i = 0; i < list.axes.size(); ++i) {
    const Added a = list.cells[i];
    const std::string word = axis_word(list, i);
    if (a.before == 0 && a.after == 0 && !list.size[i]) continue;
    text += fmt::format("  {:<8}  {:<24}", word, counts_text(a));
    const Size size = list.size[i].value_or(example_size(a));
    const auto cells = cells_of(list, i, size);
    if (cells && list.size[i]) text += fmt::format("  {} -> {}", size, size + a.before + a.after);
    if (cells && size + std::max<Size>(a.before, 0) + std::max<Size>(a.after, 0) <= widest_drawing)
      text += fmt::format("  {}{}", drawing(*cells, a), list.size[i] ? "" : fmt::format("    (of {} cells)", size));
    while (text.back() == ' ') text.pop_back();
    text += "\n";
  }
  text += grid(list);
  text += "\n";
  const auto lines = lines_of(list);
  for (const auto& line : lines) {
    text += fmt::format("  {:<11} {}", line.framework, line.code);
    if (!line.remark.empty()) text += fmt::format("   ({})", line.remark);
    text += "\n";
  }
  const auto limits = limits_of(list);
  if (!limits.empty()) text += fmt::format("\n  {}\n", fmt::join(limits, "; "));
  if (list.cuts_last && std::ranges::any_of(list.cells, [](Added a) { return std::min(a.before, a.after) < 0; }))
    text += "\n  PyTorch mirrors at the ends of the whole axis and cuts last; ONNX cuts first\n";
  return text;
}

Json json_of(const PadList& list) {
  Json axes = Json::array(), lines = Json::array();
  for (std::size_t i = 0; i < list.axes.size(); ++i) {
    Json one{{"axis", axis_word(list, i)}, {"before", list.cells[i].before}, {"after", list.cells[i].after}};
    if (list.size[i]) {
      one["in"] = *list.size[i];
      one["out"] = *list.size[i] + list.cells[i].before + list.cells[i].after;
    }
    axes.push_back(std::move(one));
  }
  for (const auto& line : lines_of(list)) {
    Json one{{"framework", line.framework}, {"code", line.code}};
    if (!line.remark.empty()) one["remark"] = line.remark;
    lines.push_back(std::move(one));
  }
  return {{"schema", 1},
          {"call", list.call},
          {"layout", list.named() ? Json(list.axes) : Json(nullptr)},
          {"mode", short_mode(list.mode)},
          {"value", list.value},
          {"axes", std::move(axes)},
          {"lines", std::move(lines)},
          {"limits", limits_of(list)}};
}

}  // namespace convoy::explain
