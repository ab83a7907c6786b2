// Compiled once per instruction set: Highway includes this file again for each (foreach_target.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "run/fast/tile_winograd.cpp"
#include "run/fast/targets.h"  // before Highway

#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>
#include "run/fast/between.h"
#include "run/fast/instruction_sets.h"
#include "run/fast/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::fast::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Of six numbers side by side to the values at the six points, times what makes the factors small.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void to_points(D d, const V* x, V* y) {
  const auto times = [&](float by, V v, V more) HWY_ATTR { return hn::MulAdd(hn::Set(d, by), v, more); };
  const V ends = hn::Add(hn::Sub(x[0], hn::Add(x[2], x[2])), x[4]);  // x0 - 2 x2 + x4
  y[0] = times(1.5F, hn::Sub(x[3], x[1]), ends);
  y[1] = times(0.5F, x[2], times(2.5F, x[3], hn::Sub(x[4], x[1])));
  y[2] = times(-2.5F, x[2], times(0.5F, x[3], hn::Add(x[4], x[1])));
  y[3] = times(2, hn::Sub(x[3], x[1]), hn::Sub(x[4], x[2]));
  y[4] = times(0.5F, hn::Sub(x[1], x[3]), hn::Sub(x[4], x[2]));
  const V last = hn::Add(hn::Sub(x[1], hn::Add(x[3], x[3])), x[5]);
  y[5] = times(1.5F, hn::Sub(x[4], x[2]), last);
}

// Of the values at the six points to four outputs.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void to_outputs(D d, const V* x, V* y) {
  const auto times = [&](float by, V v, V more) HWY_ATTR { return hn::MulAdd(hn::Set(d, by), v, more); };
  const V sum = hn::Add(x[1], x[2]), difference = hn::Sub(x[1], x[2]);
  y[0] = hn::Add(hn::Add(x[0], sum), hn::Add(x[3], x[4]));
  y[1] = times(0.5F, x[3], times(-2, x[4], difference));
  y[2] = times(0.25F, x[3], times(4, x[4], sum));
  y[3] = hn::Add(times(0.125F, x[3], times(-8, x[4], difference)), x[5]);
}

template <bool whole, class D, class M>
HWY_INLINE void enter_part(const float* const* cells, D d, M there, Size c, float* to, Size plane) {
  using V = hn::Vec<D>;
  V half[6][6];
  for (int j = 0; j < 6; ++j) {
    V column[6], made[6];
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) {
      const float* from = cells[i * 6 + j] + c;
      column[i] = whole ? hn::LoadU(d, from) : hn::MaskedLoad(there, d, from);
    }
    to_points(d, column, made);
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) half[i][j] = made[i];
  }
  for (int i = 0; i < 6; ++i) {
    V made[6];
    to_points(d, half[i], made);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) {
      float* at = to + (i * 6 + j) * plane + c;
      if constexpr (whole) hn::StoreU(made[j], d, at);
      else hn::BlendedStore(made[j], there, d, at);
    }
  }
}

template <bool whole, class D, class M>
HWY_INLINE void enter_line_part(const float* const* cells, D d, M there, Size c, float* to, Size plane) {
  hn::Vec<D> line[6], made[6];
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i) line[i] = whole ? hn::LoadU(d, cells[i] + c) : hn::MaskedLoad(there, d, cells[i] + c);
  to_points(d, line, made);
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i) {
    if constexpr (whole) hn::StoreU(made[i], d, to + i * plane + c);
    else hn::BlendedStore(made[i], there, d, to + i * plane + c);
  }
}

template <int axes>
void enter_axes(const float* const* cells, Size channels, float* to, Size plane) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  const auto part = [&]<bool whole>(auto there, Size c) HWY_ATTR {
    if constexpr (axes == 2) enter_part<whole>(cells, d, there, c, to, plane);
    else enter_line_part<whole>(cells, d, there, c, to, plane);
  };
  const auto all = hn::FirstN(d, static_cast<std::size_t>(lanes));
  Size c = 0;
  for (; c + lanes <= channels; c += lanes) part.template operator()<true>(all, c);
  if (c < channels) part.template operator()<false>(hn::FirstN(d, static_cast<std::size_t>(channels - c)), c);
}

void enter(const float* const* cells, int axes, Size channels, float* to, Size plane) {
  if (axes == 2) enter_axes<2>(cells, channels, to, plane);
  else enter_axes<1>(cells, channels, to, plane);
}

// What follows the sums of one output.
template <class D>
struct Leaving {
  D d;
  hn::Vec<D> bias, low, high;
  hn::Mask<D> there;
  bool whole, is_held;
  Size c;

  HWY_INLINE void put(hn::Vec<D> v, const float* residual, float* to) const {
    v = hn::Add(v, bias);
    if (residual) v = hn::Add(v, hn::MaskedLoad(there, d, residual + c));
    if (is_held) v = at_most(high, at_least(low, v));
    if (whole) hn::StoreU(v, d, to + c);
    else hn::BlendedStore(v, there, d, to + c);
  }
};

template <int axes>
void leave_axes(const float* from, Size plane, Size channels, const float* bias, float* const* y,
                const float* const* residual, bool is_held, float least, float most) {
  constexpr int lines = axes == 2 ? 4 : 1, planes = axes == 2 ? 6 : 1;
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  for (Size c = 0; c < channels; c += lanes) {
    const bool whole = c + lanes <= channels;
    const auto there = hn::FirstN(d, static_cast<std::size_t>(whole ? lanes : channels - c));
    const Leaving<decltype(d)> leaving{
        d, hn::MaskedLoad(there, d, bias + c), hn::Set(d, least), hn::Set(d, most), there, whole, is_held, c};
    V half[4][6];
    for (int j = 0; j < 6; ++j) {
      V column[6], made[4];
#pragma GCC unroll 6
      for (int i = 0; i < planes; ++i) column[i] = hn::LoadU(d, from + (i * 6 + j) * plane + c);
      if constexpr (axes == 2) {
        to_outputs(d, column, made);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) half[i][j] = made[i];
      } else {
        half[0][j] = column[0];
      }
    }
    for (int i = 0; i < lines; ++i) {
      V made[4];
      to_outputs(d, half[i], made);
      for (int j = 0; j < 4; ++j)
        if (float* const to = y[i * 4 + j]) leaving.put(made[j], residual ? residual[i * 4 + j] : nullptr, to);
    }
  }
}

void leave(const float* from, int axes, Size plane, Size channels, const float* bias, float* const* y,
           const float* const* residual, bool is_held, float low, float high) {
  if (axes == 2) leave_axes<2>(from, plane, channels, bias, y, residual, is_held, low, high);
  else leave_axes<1>(from, plane, channels, bias, y, residual, is_held, low, high);
}

WinogradKernels winograd_here() { return {enter, leave}; }

}  // namespace convoy::fast::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::fast {

const WinogradKernels& winograd_kernels() {
  static const WinogradKernels chosen = [] {
#if HWY_TARGETS & HWY_AVX3
    if (has_avx3()) return N_AVX3::winograd_here();
#endif
#if HWY_TARGETS & HWY_AVX2
    if (has_avx2()) return N_AVX2::winograd_here();
#endif
    return HWY_STATIC_DISPATCH(winograd_here)();
  }();
  return chosen;
}

}  // namespace convoy::fast
#endif
