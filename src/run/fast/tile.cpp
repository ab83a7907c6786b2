// Compiled once per instruction set: Highway includes this file again for each (foreach_target.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "run/fast/tile.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "run/fast/tile.h"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>
#include "run/fast/instruction_sets.h"

#include <array>
#include <cstring>
#include <vector>

// Sums that have no total yet are told by a flag, which the compiler does not follow.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

HWY_BEFORE_NAMESPACE();
namespace convoy::fast::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Registers for the sums: 32 of them hold 28 sums, 16 hold 12.
constexpr int tile_registers = HWY_TARGET == HWY_AVX3 ? 28 : HWY_TARGET == HWY_SCALAR ? 4 : 12;

template <class T, int R, int N>
void tile(const TileCall<T>& call, Size rows) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const Size lanes = static_cast<Size>(hn::Lanes(d));
  const auto nothing = hn::Zero(d);
  V sums[R][N];
  alignas(64) T totals[R][N][64 / sizeof(T)];
  bool has_total = false;
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) sums[r][n] = nothing;
  for (Size p = 0; p < call.piece_count; ++p) {
    const Piece& piece = call.pieces[p];
    const Range range = call.ranges[piece.segment];
    const Size first = piece.first > range.first ? piece.first : range.first;
    const Size last = piece.last < range.last ? piece.last : range.last;
    if (first < last) {
      const T* const* at = call.rows + piece.segment * call.row_step;
      const T* row[R];
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r) row[r] = at[r] + (first - range.first);
      const T* w = call.weights + (piece.depth + first - piece.first) * (lanes * N);
      for (Size k = 0; k < last - first; ++k, w += lanes * N) {
        V columns[N];
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) columns[n] = hn::LoadU(d, w + n * lanes);
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r) {
          const V x = hn::Set(d, row[r][k]);
#pragma GCC unroll 4
          for (int n = 0; n < N; ++n) sums[r][n] = hn::MulAdd(x, columns[n], sums[r][n]);
        }
      }
    }
    if (piece.ends_sum) {
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) {
          hn::Store(has_total ? hn::Add(hn::Load(d, totals[r][n]), sums[r][n]) : sums[r][n], d, totals[r][n]);
          sums[r][n] = nothing;
        }
      has_total = true;
    }
  }
  const V low = hn::Set(d, call.low), high = hn::Set(d, call.high);
#pragma GCC unroll 4
  for (int n = 0; n < N; ++n) {
    const Size left = call.columns - n * lanes;
    if (left <= 0) break;
    const bool is_whole = left >= lanes;
    const auto there = hn::FirstN(d, static_cast<std::size_t>(is_whole ? lanes : left));
    const V bias = hn::LoadU(d, call.bias + n * lanes);
    const Size at = call.offset + n * lanes;
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
      if (r >= rows) break;
      V v = has_total ? hn::Add(hn::Load(d, totals[r][n]), sums[r][n]) : sums[r][n];
      v = hn::Add(v, bias);
      if (call.residual)
        v = hn::Add(v,
                    is_whole ? hn::LoadU(d, call.residual[r] + at) : hn::MaskedLoad(there, d, call.residual[r] + at));
      // A NaN is neither below nor above.
      if (call.is_held) {
        v = hn::IfThenElse(hn::Lt(v, low), low, v);
        v = hn::IfThenElse(hn::Gt(v, high), high, v);
      }
      if (is_whole) hn::StoreU(v, d, call.y[r] + at);
      else hn::BlendedStore(v, there, d, call.y[r] + at);
    }
  }
}

// Rows in twos: an odd one is computed twice.
template <class T, int N, int R>
void tile_of_at_most(const TileCall<T>& call, Size rows) {
  if constexpr (R > 2) {
    if (rows <= R - 2) return tile_of_at_most<T, N, R - 2>(call, rows);
  } else {
    if (rows == 1) return tile<T, 1, N>(call, rows);
  }
  tile<T, R, N>(call, rows);
}

constexpr int rows_of_two = tile_registers / 2, rows_of_one = tile_registers == 28 ? 14 : tile_registers;

template <class T>
void any_tile(const TileCall<T>& call, Size rows, int vectors) {
  if (vectors == 2) return tile_of_at_most<T, 2, rows_of_two>(call, rows);
  if constexpr (tile_registers == 28)
    if (rows > rows_of_one) return tile<T, 28, 1>(call, rows);
  tile_of_at_most<T, 1, rows_of_one>(call, rows);
}

// `O` outputs of one vector of channels from channel c on; the last vector may be a part.
template <class T, int O, bool whole, class D, class M>
HWY_INLINE void depthwise_part(const DepthwiseCall<T>& call, D d, M there, Size output, Size c) {
  using V = hn::Vec<D>;
  const auto load = [&](const T* from) HWY_ATTR { return whole ? hn::LoadU(d, from) : hn::MaskedLoad(there, d, from); };
  V sums[O];
#pragma GCC unroll 8
  for (int o = 0; o < O; ++o) sums[o] = hn::Zero(d);
  const T* const x = call.x + output * call.x_step + c;
  const T* const w = call.weights + c;
  const Size step = call.x_step;
  for (Size t = 0; t < call.tap_count; ++t) {
    const V weight = load(w + call.tap_weights[t]);
    const T* from = x + call.taps[t];
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o) sums[o] = hn::MulAdd(load(from + o * step), weight, sums[o]);
  }
  const V bias = load(call.bias + c);
  const V low = hn::Set(d, call.low), high = hn::Set(d, call.high);
#pragma GCC unroll 8
  for (int o = 0; o < O; ++o) {
    V v = hn::Add(sums[o], bias);
    if (call.is_held) {
      v = hn::IfThenElse(hn::Lt(v, low), low, v);
      v = hn::IfThenElse(hn::Gt(v, high), high, v);
    }
    T* const to = call.y + (output + o) * call.y_step + c;
    if constexpr (whole) hn::StoreU(v, d, to);
    else hn::BlendedStore(v, there, d, to);
  }
}

template <class T, int O>
void depthwise_outputs(const DepthwiseCall<T>& call, Size output) {
  const hn::ScalableTag<T> d;
  const Size lanes = static_cast<Size>(hn::Lanes(d));
  const auto all = hn::FirstN(d, static_cast<std::size_t>(lanes));
  Size c = 0;
  for (; c + lanes <= call.channels; c += lanes) depthwise_part<T, O, true>(call, d, all, output, c);
  if (c < call.channels)
    depthwise_part<T, O, false>(call, d, hn::FirstN(d, static_cast<std::size_t>(call.channels - c)), output, c);
}

template <class T>
void depthwise(const DepthwiseCall<T>& call) {
  Size o = 0;
  for (; o + 6 <= call.outputs; o += 6) depthwise_outputs<T, 6>(call, o);
  for (; o + 2 <= call.outputs; o += 2) depthwise_outputs<T, 2>(call, o);
  for (; o < call.outputs; ++o) depthwise_outputs<T, 1>(call, o);
}

template <class T>
void transpose(const T* from, Size rows, Size columns, Size from_step, T* to, Size to_step) {
  constexpr Size side = 16;
  for (Size r0 = 0; r0 < rows; r0 += side)
    for (Size c0 = 0; c0 < columns; c0 += side) {
      const Size r1 = r0 + side < rows ? r0 + side : rows, c1 = c0 + side < columns ? c0 + side : columns;
      if (r1 - r0 == side) {
        for (Size c = c0; c < c1; ++c)
#pragma GCC unroll 16
          for (Size r = 0; r < side; ++r) to[c * to_step + r0 + r] = from[(r0 + r) * from_step + c];
      } else {
        for (Size c = c0; c < c1; ++c)
          for (Size r = r0; r < r1; ++r) to[c * to_step + r] = from[r * from_step + c];
      }
    }
}

template <class T>
Kernels<T> kernels_here() {
  return {static_cast<Size>(hn::Lanes(hn::ScalableTag<T>())),
          {tile_registers == 28 ? 28 : rows_of_one, rows_of_two},
          any_tile<T>,
          depthwise<T>,
          transpose<T>,
          hwy::TargetName(HWY_TARGET)};
}

}  // namespace convoy::fast::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convoy::fast {
namespace {

// What the machine has, the best first.
template <class T>
const std::vector<Kernels<T>>& all_kernels() {
  static const std::vector<Kernels<T>> all = [] {
    std::vector<Kernels<T>> found;
#if HWY_TARGETS & HWY_AVX3
    if (has_avx3()) found.push_back(N_AVX3::kernels_here<T>());
#endif
#if HWY_TARGETS & HWY_AVX2
    if (has_avx2()) found.push_back(N_AVX2::kernels_here<T>());
#endif
    found.push_back(HWY_STATIC_DISPATCH(kernels_here<T>)());
    return found;
  }();
  return all;
}

}  // namespace

int instruction_sets() { return static_cast<int>(all_kernels<float>().size()); }

template <class T>
const Kernels<T>& kernels_of(int instruction_set) {
  return all_kernels<T>()[static_cast<std::size_t>(instruction_set)];
}
template <class T>
const Kernels<T>& kernels() {
  return kernels_of<T>(0);
}

template const Kernels<float>& kernels();
template const Kernels<double>& kernels();
template const Kernels<float>& kernels_of(int);
template const Kernels<double>& kernels_of(int);

}  // namespace convoy::fast
#endif
