// The vocabulary of targets that know one pad per axis for both of its sides: what `respell` is asked with for them.
#pragma once
#include "ops/padding.h"

namespace convoy {

constexpr bool symmetric_convolution(Padding p, Window) {
  return p.spelling == Spelling::Valid ||
         (p.spelling == Spelling::Explicit && p.before == p.after && p.before >= 0 && p.leftover == Leftover::Drop);
}

// Pools: at most half of the kernel, and a last window that may hang over but not start in the padding.
constexpr bool symmetric_pool(Padding p, Window w) {
  if (p.leftover == Leftover::Ceil) return false;
  return p.spelling == Spelling::Valid ||
         (p.spelling == Spelling::Explicit && p.before == p.after && p.before >= 0 && p.before <= w.kernel / 2);
}

}  // namespace convoy
