// Windows of outputs side by side, seen as one: over all cells that any of them reads, moving on by as many as all of them do.
#pragma once
#include "ops/padding.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

namespace convoy {

struct JoinedWindow {
  Size taps = 1, stride = 1, before = 0;
  std::vector<Size> own;  // [tap][output]: that of the output's own window which reads the cell, -1: none
};

// How many cells an output reads.
constexpr Size taps_of_each(Window w, bool transposed) { return transposed ? ceil_div(w.kernel, w.stride) : w.kernel; }

// Of `together` outputs, of a transposed convolution a multiple of its stride.
inline JoinedWindow joined_window(Window w, Size before, bool transposed, Size together) {
  // Counted from far enough in front that no cell is negative.
  const Size far = std::abs(before) + w.kernel * w.dilation;
  const auto cell = [&](Size q, Size tap) -> std::optional<Size> {
    if (!transposed) return far + q * w.stride + tap * w.dilation - before;
    const Size at = far * w.stride + q + before - tap * w.dilation;
    return at % w.stride == 0 ? std::optional(at / w.stride) : std::nullopt;
  };
  const auto visit = [&](const auto& take) {
    for (Size q = 0; q < together; ++q)
      for (Size tap = 0; tap < w.kernel; ++tap)
        if (const auto at = cell(q, tap)) take(q, tap, *at);
  };
  Size first = -1, last = 0;
  visit([&](Size, Size, Size at) { first = first < 0 ? at : std::min(first, at), last = std::max(last, at); });
  JoinedWindow all{last - first + 1, transposed ? together / w.stride : together * w.stride, far - first, {}};
  all.own.assign(static_cast<std::size_t>(all.taps * together), -1);
  visit([&](Size q, Size tap, Size at) { all.own[static_cast<std::size_t>((at - first) * together + q)] = tap; });
  return all;
}

}  // namespace convoy
