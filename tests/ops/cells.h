// The oracle of padding: which cell every tap of every window stands on, written down one by one from what the words say.
// Asks nothing of ops/padding.h but its names.
#pragma once
#include "ops/padding.h"

#include <vector>

namespace convoy::oracle {

// Cell positions per window and tap; those below 0 and from `in` on are padding. `low` and `high`: where the declared
// padding ends, for averages that count it. No windows: the layer is refused.
struct Rows {
  std::vector<std::vector<Size>> windows;
  Size low = 0, high = 0;
};

inline std::vector<Size> window_at(Size start, Window w) {
  std::vector<Size> taps;
  for (Size j = 0; j < w.kernel; ++j) taps.push_back(start + j * w.dilation);
  return taps;
}

inline Rows same_rows(Window w, Size in, bool upper) {
  Size out = 0;
  for (Size start = 0; start < in; start += w.stride) ++out;
  // The fewest cells that let so many windows fit.
  Size total = 0;
  while (window_at((out - 1) * w.stride, w).back() > in + total - 1) ++total;
  Size front = 0, behind = 0;
  for (Size i = 0; i < total; ++i) ((i % 2 == 0) == upper ? behind : front) += 1;
  Rows rows{{}, -front, in + behind};
  for (Size o = 0; o < out; ++o) rows.windows.push_back(window_at(o * w.stride - front, w));
  return rows;
}

inline Rows explicit_rows(Padding p, Window w, Size in) {
  Rows rows{{}, -p.before, in + p.after};
  Size start = rows.low;
  for (; window_at(start, w).back() < rows.high; start += w.stride) rows.windows.push_back(window_at(start, w));
  if (p.leftover == Leftover::Drop) return rows;
  // One window more where cells are left that none has read; alone, it may lack less than a stride of them.
  const bool left = rows.windows.empty() ? window_at(start, w).back() - (rows.high - 1) < w.stride
                                         : rows.windows.back().back() < rows.high - 1;
  if (left) rows.windows.push_back(window_at(start, w));
  if (p.leftover == Leftover::CeilInside && !rows.windows.empty() && rows.windows.back().front() >= in)
    rows.windows.pop_back();
  return rows;
}

inline Rows rows_of(Padding p, Window w, Size in) {
  if (p.spelling == Spelling::SameUpper || p.spelling == Spelling::SameLower)
    return same_rows(w, in, p.spelling == Spelling::SameUpper);
  if (p.spelling == Spelling::Causal) {
    Rows rows{{}, -(w.kernel - 1) * w.dilation, in};
    for (Size end = 0; end < in; end += w.stride) rows.windows.push_back(window_at(end + rows.low, w));
    return rows;
  }
  if (p.spelling == Spelling::Valid) p.before = p.after = 0;
  return explicit_rows(p, w, in);
}

// The cells of the input that every tap reads, -1 for padding: all that a convolution or a maximum can see.
inline std::vector<std::vector<Size>> cells_read(const Rows& rows, Size in) {
  auto cells = rows.windows;
  for (auto& window : cells)
    for (Size& cell : window)
      if (cell < 0 || cell >= in) cell = -1;
  return cells;
}

// What an average divides each window by.
inline std::vector<Size> divisors(const Rows& rows, Size in, bool counts_padding) {
  std::vector<Size> all;
  for (const auto& window : rows.windows) {
    all.push_back(0);
    for (const Size cell : window)
      all.back() += counts_padding ? cell >= rows.low && cell < rows.high : cell >= 0 && cell < in;
  }
  return all;
}

}  // namespace convoy::oracle
