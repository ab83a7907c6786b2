// Convolutions with one input channel per output, a line of outputs at a time.
// Compiled once per instruction set: Highway includes this file again for each (foreach_target.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "run/fast/tile_depthwise.cpp"
#include "run/fast/targets.h"  // before Highway

#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>
#include "run/fast/between.h"
#include "run/fast/tile.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::fast::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <bool whole, class D, class M, class T>
HWY_INLINE hn::Vec<D> loaded(D d, M there, const T* from) {
  if constexpr (whole) return hn::LoadU(d, from);
  else return hn::MaskedLoad(there, d, from);
}

// Sums of O outputs over all taps, each tap on its own.
template <class T, int O, bool whole, class D, class M, class V>
HWY_INLINE void add_taps(const DepthwiseCall<T>& call, D d, M there, const T* x, const T* w, V* sums) {
  const Size step = call.x_step;
  for (Size t = 0; t < call.tap_count; ++t) {
    const V weight = loaded<whole>(d, there, w + call.kernel_taps[t] * call.channels);
    const T* from = x + call.taps[t];
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o) sums[o] = hn::MulAdd(loaded<whole>(d, there, from + o * step), weight, sums[o]);
  }
}

// The same where the outputs of a line share cells: every cell of K taps with stride S is read once.
template <class T, int O, int K, int S, bool whole, class D, class M, class V>
HWY_INLINE void add_lines(const DepthwiseCall<T>& call, D d, M there, const T* x, const T* w, V* sums) {
  const Size step = call.tap_step;
  for (Size t = 0; t < call.tap_count; t += K) {
    V weights[K];
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) weights[k] = loaded<whole>(d, there, w + call.kernel_taps[t + k] * call.channels);
    const T* from = x + call.taps[t];
#pragma GCC unroll 32
    for (int i = 0; i < (O - 1) * S + K; ++i) {
      const V cell = loaded<whole>(d, there, from + i * step);
#pragma GCC unroll 8
      for (int o = 0; o < O; ++o)
        if (i >= o * S && i < o * S + K) sums[o] = hn::MulAdd(cell, weights[i - o * S], sums[o]);
    }
  }
}

// O outputs of one vector of channels from channel c on; the last vector may be a part. K: 0, or the taps of a line.
template <class T, int O, int K, int S, bool whole, class D, class M>
HWY_INLINE void outputs_of(const DepthwiseCall<T>& call, D d, M there, Size output, Size c) {
  using V = hn::Vec<D>;
  V sums[O];
#pragma GCC unroll 8
  for (int o = 0; o < O; ++o) sums[o] = hn::Zero(d);
  const T* const x = call.x + output * call.x_step + c;
  if constexpr (K == 0) add_taps<T, O, whole>(call, d, there, x, call.weights + c, sums);
  else add_lines<T, O, K, S, whole>(call, d, there, x, call.weights + c, sums);
  const V bias = loaded<whole>(d, there, call.bias + c);
  const V low = hn::Set(d, call.low), high = hn::Set(d, call.high);
  const bool is_held = call.is_held;
#pragma GCC unroll 8
  for (int o = 0; o < O; ++o) {
    V v = hn::Add(sums[o], bias);
    if (is_held) v = at_most(high, at_least(low, v));
    T* const to = call.y + (output + o) * call.y_step + c;
    if constexpr (whole) hn::StoreU(v, d, to);
    else hn::BlendedStore(v, there, d, to);
  }
}

// One output, four vectors of channels at once: their sums do not wait for one another.
template <class T, class D>
HWY_INLINE void channels_of(const DepthwiseCall<T>& call, D d, Size output, Size c) {
  using V = hn::Vec<D>;
  constexpr int vectors = 4;
  const Size lanes = static_cast<Size>(hn::Lanes(d));
  V sums[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) sums[v] = hn::Zero(d);
  const T* const x = call.x + output * call.x_step + c;
  for (Size t = 0; t < call.tap_count; ++t) {
    const T *const from = x + call.taps[t], *const w = call.weights + c + call.kernel_taps[t] * call.channels;
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      sums[v] = hn::MulAdd(hn::LoadU(d, from + v * lanes), hn::LoadU(d, w + v * lanes), sums[v]);
  }
  T* const to = call.y + output * call.y_step + c;
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) {
    V sum = hn::Add(sums[v], hn::LoadU(d, call.bias + c + v * lanes));
    if (call.is_held) sum = at_most(hn::Set(d, call.high), at_least(hn::Set(d, call.low), sum));
    hn::StoreU(sum, d, to + v * lanes);
  }
}

template <class T, int O, int K, int S>
void outputs_of(const DepthwiseCall<T>& call, Size output) {
  const hn::ScalableTag<T> d;
  const Size lanes = static_cast<Size>(hn::Lanes(d));
  const auto all = hn::FirstN(d, static_cast<std::size_t>(lanes));
  Size c = 0;
  if constexpr (O == 1)
    for (; c + 4 * lanes <= call.channels; c += 4 * lanes) channels_of(call, d, output, c);
  for (; c + lanes <= call.channels; c += lanes) outputs_of<T, O, K, S, true>(call, d, all, output, c);
  if (c < call.channels)
    outputs_of<T, O, K, S, false>(call, d, hn::FirstN(d, static_cast<std::size_t>(call.channels - c)), output, c);
}

template <class T, int K, int S>
void line_of(const DepthwiseCall<T>& call) {
  Size o = 0;
  for (; o + 8 <= call.outputs; o += 8) outputs_of<T, 8, K, S>(call, o);
  for (; o + 4 <= call.outputs; o += 4) outputs_of<T, 4, K, S>(call, o);
  for (; o + 2 <= call.outputs; o += 2) outputs_of<T, 2, K, S>(call, o);
  for (; o < call.outputs; ++o) outputs_of<T, 1, K, S>(call, o);
}

template <class T>
void any_line(const DepthwiseCall<T>& call) {
  const bool shares = call.tap_step > 0 && call.outputs > 1;
  const Size stride = shares ? call.x_step / call.tap_step : 0;
  if (!shares || stride * call.tap_step != call.x_step || stride < 1 || stride > 2) return line_of<T, 0, 1>(call);
  if (call.line_taps == 3) return stride == 1 ? line_of<T, 3, 1>(call) : line_of<T, 3, 2>(call);
  if (call.line_taps == 5) return stride == 1 ? line_of<T, 5, 1>(call) : line_of<T, 5, 2>(call);
  line_of<T, 0, 1>(call);
}

void depthwise(const DepthwiseCall<float>& call) { any_line(call); }
void depthwise(const DepthwiseCall<double>& call) { any_line(call); }

}  // namespace convoy::fast::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
