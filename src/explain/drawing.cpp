#include "explain/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace convoy::explain {
namespace {

constexpr Size most_windows = 12, windows_at_an_end = 4, most_columns = 40, columns_at_an_end = 16;

// Which of `count` are drawn: all, or those at both ends.
std::vector<Size> drawn(Size count) {
  std::vector<Size> all;
  for (Size i = 0; i < count; ++i) {
    if (count > most_windows && i == windows_at_an_end) i = count - windows_at_an_end;
    all.push_back(i);
  }
  return all;
}

// The columns `from` to `to`, or their ends where they are many; always those that a drawn window stands on.
std::vector<Size> columns(Size from, Size to, const std::set<Size>& used) {
  std::vector<Size> all;
  if (to - from <= most_columns) {
    for (Size c = from; c < to; ++c) all.push_back(c);
    return all;
  }
  std::set<Size> chosen = used;
  for (Size i = 0; i < std::min(columns_at_an_end, Size{4}); ++i) chosen.insert({from + i, to - 1 - i});
  // Between two columns that are close together nothing is left out.
  Size last = from - 1;
  for (const Size c : chosen) {
    if (c < from || c >= to) continue;
    if (c - last <= 4)
      for (Size between = last + 1; between < c; ++between) all.push_back(between);
    all.push_back(c);
    last = c;
  }
  return all;
}

// Windows longer than this are drawn by their ends.
constexpr Size most_taps = 64;

struct Sketch {
  std::vector<std::pair<std::string, std::vector<Size>>> windows;  // label, columns by number
  Size from = 0, to = 0;

  template <class Kind>
  Drawing drawing(std::string headline, bool shortened, Kind kind_and_label) const {
    Drawing picture{std::move(headline), {}, {}, shortened};
    std::set<Size> used;
    for (const auto& [label, taps] : windows) used.insert(taps.begin(), taps.end());
    std::map<Size, std::size_t> place;
    Size last = from - 1;
    for (const Size c : columns(from, to, used)) {
      place[c] = picture.cells.size();
      auto [kind, label] = kind_and_label(c);
      picture.cells.push_back({std::move(label), kind, c != last + 1});
      last = c;
    }
    for (const auto& [label, taps] : windows) {
      DrawnWindow window{label, {}};
      for (const Size tap : taps)
        if (const auto at = place.find(tap); at != place.end()) window.cells.push_back(at->second);
      picture.windows.push_back(std::move(window));
    }
    return picture;
  }
};

}  // namespace

Drawing draw(const std::string& name, Window window, Placement at, Size in) {
  Sketch sketch;
  const auto shown = drawn(at.out);
  for (const Size o : shown) {
    std::vector<Size> taps;
    for (Size j = 0; j < std::min(window.kernel, most_taps); ++j) taps.push_back(cell(at, window, o, j));
    sketch.windows.emplace_back(fmt::format("{}", o), std::move(taps));
  }
  const Size past = std::max<Size>(read_past(at, window, in), 0),
             unread = -std::min<Size>(read_past(at, window, in), 0);
  sketch.from = -at.before;
  sketch.to = in + std::max(past, at.after);
  const std::string headline = fmt::format("{}{} -> {}   kernel {}   stride {}   dilation {}   before {}   after {}",
                                           name.empty() ? "" : name + "   ", in, at.out, window.kernel, window.stride,
                                           window.dilation, at.before, at.after);
  return sketch.drawing(headline, static_cast<Size>(shown.size()) < at.out, [&](Size c) {
    if (c < 0 || c >= in) return std::pair{CellKind::Padding, std::string()};
    return std::pair{c >= in - unread ? CellKind::Unread : CellKind::Input, std::to_string(c)};
  });
}

Drawing draw(const std::string& name, Window window, Crop at, Size in) {
  Sketch sketch;
  const auto shown = drawn(in);
  const Placement scatter{0, in, 0};
  for (const Size i : shown) {
    std::vector<Size> taps;
    for (Size j = 0; j < std::min(window.kernel, most_taps); ++j) taps.push_back(cell(scatter, window, i, j));
    sketch.windows.emplace_back(fmt::format("{}", i), std::move(taps));
  }
  const Size full = full_length(window, in);
  sketch.from = std::min<Size>(0, at.before);
  sketch.to = std::max(full, at.before + at.out);
  const std::string headline =
      fmt::format("{}{} -> {}   kernel {}   stride {}   dilation {}   scatter {}   cut {} before, {} after",
                  name.empty() ? "" : name + "   ", in, at.out, window.kernel, window.stride, window.dilation, full,
                  at.before, at.after);
  return sketch.drawing(headline, static_cast<Size>(shown.size()) < in, [&](Size c) {
    if (c < at.before || c >= at.before + at.out) return std::pair{CellKind::Cut, std::string()};
    return std::pair{c < 0 || c >= full ? CellKind::Padding : CellKind::Left, std::to_string(c - at.before)};
  });
}

}  // namespace convoy::explain
