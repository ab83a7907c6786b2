// Long loops of kernels, a line of numbers after the other. They end early once the caller has cancelled, who looks after it.
#pragma once
#include "convoy/cancellation.h"
#include "run/plain/kernels.h"

#include <algorithm>
#include <span>

namespace convoy::plain {

// Looks whether the caller has cancelled, but not oftener than after some thousand numbers: lines may be short.
class Polling {
 public:
  // Before `count` more numbers are looked at; once true it stays so.
  bool ends(Size count) {
    left_ -= count + 1;
    if (left_ > 0) return false;
    if (Listening::is_cancelled()) return true;
    left_ = between;
    return false;
  }
  bool has_ended() const { return left_ <= 0; }

 private:
  static constexpr Size between = 1 << 16;
  Size left_ = between;
};

// Every line along the axis, numbers `inner` apart: line(block, place in the block).
template <class F>
void for_each_line(const Around& a, const F& line) {
  Polling polling;
  for (Size o = 0; o < a.outer; ++o)
    for (Size i = 0; i < a.inner; ++i) {
      if (polling.ends(a.size)) return;
      line(o, i);
    }
}

// All of them in order, in parts that take a fraction of a millisecond each.
template <class T, class F>
void for_each_part(std::span<T> all, const F& part) {
  constexpr std::size_t most = 1 << 16;
  if (all.size() <= most) return part(all);
  Polling polling;
  for (std::size_t at = 0; at < all.size(); at += most) {
    const auto count = std::min(most, all.size() - at);
    if (at > 0 && polling.ends(static_cast<Size>(count))) return;
    part(all.subspan(at, count));
  }
}

}  // namespace convoy::plain
