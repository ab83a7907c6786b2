// Drawings as one SVG page.
#include "explain/drawing.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

constexpr Size side = 26, gap = 14, left = 64, margin = 16, line_height = 18, tap = 12;

// Both colour schemes keep a contrast of at least 4.5 to 1 for text; kinds differ by line style as well as by colour.
constexpr const char* style =
    "<style>"
    "text{font:12px monospace;fill:#1f2328}.title{font-weight:bold}.page{fill:#ffffff}"
    ".input{fill:#dbe7fb;stroke:#3b5b92}.left{fill:#dbe7fb;stroke:#3b5b92}"
    ".padding{fill:#ffffff;stroke:#8a5a00;stroke-dasharray:3 2}"
    ".unread{fill:#ffffff;stroke:#6e7781}.cut{fill:#ffffff;stroke:#b3261e;stroke-dasharray:1 3}"
    ".tap{fill:#3b5b92}.tap.padding{fill:#ffffff;stroke:#8a5a00}.tap.cut{fill:#ffffff;stroke:#b3261e}"
    ".reach{stroke:#6e7781;stroke-width:1}"
    "@media (prefers-color-scheme:dark){"
    "text{fill:#e6edf3}.page,.padding,.unread,.cut,.tap.padding,.tap.cut{fill:#0d1117}"
    ".input,.left{fill:#1d2f4f;stroke:#8fb2f5}.padding,.tap.padding{stroke:#e3b341}.cut,.tap.cut{stroke:#ff8e86}"
    ".tap{fill:#8fb2f5}.unread,.reach{stroke:#9aa4af}}"
    "</style>\n";

const char* class_of(CellKind kind) {
  switch (kind) {
    case CellKind::Input: return "input";
    case CellKind::Padding: return "padding";
    case CellKind::Unread: return "unread";
    case CellKind::Cut: return "cut";
    case CellKind::Left: return "left";
  }
  return "";
}

std::string escaped(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if (c == '<') all += "&lt;";
    else if (c == '>') all += "&gt;";
    else if (c == '&') all += "&amp;";
    else if (c == '"') all += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20) all += c;
  }
  return all;
}

std::vector<Size> places(const Drawing& drawing) {
  std::vector<Size> x;
  Size at = left;
  for (const auto& cell : drawing.cells) {
    if (cell.gap_before) at += gap;
    x.push_back(at);
    at += side;
  }
  return x;
}

Size width_of(const Drawing& drawing) {
  const auto x = places(drawing);
  const Size text = left + static_cast<Size>(drawing.headline.size()) * 8;
  return std::max(text, (x.empty() ? left : x.back() + side)) + margin;
}

Size height_of(const Drawing& drawing) {
  return line_height + side + 6 + static_cast<Size>(drawing.windows.size()) * line_height +
         (drawing.shortened ? line_height : 0) + 2 * margin;
}

std::string svg_of(const Drawing& drawing, Size top) {
  const auto x = places(drawing);
  std::string svg = fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", margin, top + 12, escaped(drawing.headline));
  const Size cells = top + line_height + 4;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto& cell = drawing.cells[i];
    if (cell.gap_before && i > 0)
      svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">…</text>\n", x[i] - gap / 2, cells + 17);
    svg += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", class_of(cell.kind), x[i],
                       cells, side - 2, side - 2);
    if (!cell.label.empty())
      svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\"{}>{}</text>\n", x[i] + side / 2 - 1,
                         cells + 16, cell.label.size() > 3 ? " style=\"font-size:9px\"" : "", cell.label);
  }
  Size y = cells + side + 6;
  const std::size_t half = drawing.shortened ? drawing.windows.size() / 2 : drawing.windows.size() + 1;
  for (std::size_t i = 0; i < drawing.windows.size(); ++i) {
    if (i == half) {
      svg += fmt::format("<text x=\"{}\" y=\"{}\">…</text>\n", margin, y + 10);
      y += line_height;
    }
    const auto& window = drawing.windows[i];
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", margin, y + 10, window.label);
    if (window.cells.size() > 1)
      svg += fmt::format("<line class=\"reach\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n",
                         x[window.cells.front()] + side / 2 - 1, y + tap / 2, x[window.cells.back()] + side / 2 - 1,
                         y + tap / 2);
    for (const std::size_t at : window.cells)
      svg += fmt::format("<rect class=\"tap {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                         class_of(drawing.cells[at].kind), x[at] + (side - tap) / 2 - 1, y, tap, tap);
    y += line_height;
  }
  return svg;
}

}  // namespace

std::string svg_of(const std::string& title, const std::vector<Drawing>& drawings) {
  Size width = left + static_cast<Size>(title.size()) * 8 + margin, height = line_height + 2 * margin;
  for (const auto& drawing : drawings) {
    width = std::max(width, width_of(drawing));
    height += height_of(drawing);
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\">\n"
      "<title>{2}</title>\n{3}<rect class=\"page\" width=\"{0}\" height=\"{1}\"/>\n"
      "<text class=\"title\" x=\"{4}\" y=\"{5}\">{2}</text>\n",
      width, height, escaped(title), style, margin, margin + 12);
  Size top = line_height + 2 * margin;
  for (const auto& drawing : drawings) {
    svg += svg_of(drawing, top);
    top += height_of(drawing);
  }
  return svg + "</svg>\n";
}

}  // namespace convoy::explain
