// Compiled once per instruction set: Highway includes this file again for each (foreach_target.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "run/fast/tile.cpp"
#include "run/fast/tile.h"
#include "run/fast/targets.h"  // before Highway

#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>
#include "run/fast/between.h"
#include "run/fast/instruction_sets.h"

#include <type_traits>
#include <vector>

// Sums that have no total yet are told by a flag, which the compiler does not follow.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

HWY_BEFORE_NAMESPACE();
namespace convoy::fast::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// In the other file that is compiled per instruction set.
void depthwise(const DepthwiseCall<float>& call);
void depthwise(const DepthwiseCall<double>& call);

// Registers for the sums: 32 of them hold 28 sums, 16 hold 12.
constexpr int tile_registers = HWY_TARGET == HWY_AVX3 ? 28 : HWY_TARGET == HWY_SCALAR ? 4 : 12;
// Whether half a vector takes half the time.
constexpr bool has_halves = HWY_TARGET == HWY_AVX3;
// Weights are asked for so many steps before they are multiplied: the first time they come from memory.
constexpr Size ahead = 64, ahead_in_row = 16;

// What is added to sums and where they are held; in registers, for results may lie anywhere as far as the compiler knows.
template <class T, class D>
struct Ending {
  D d;
  hn::Vec<D> bias, low, high;
  const T* const* residual;
  T* const* y;
  Size at;
  bool is_held;

  HWY_INLINE void put(int r, hn::Vec<D> v) const {
    v = hn::Add(v, bias);
    if (residual) v = hn::Add(v, hn::LoadU(d, residual[r] + at));
    if (is_held) v = at_most(high, at_least(low, v));
    hn::StoreU(v, d, y[r] + at);
  }
  template <class M>
  HWY_INLINE void put(int r, hn::Vec<D> v, M there) const {
    v = hn::Add(v, bias);
    if (residual) v = hn::Add(v, hn::MaskedLoad(there, d, residual[r] + at));
    if (is_held) v = at_most(high, at_least(low, v));
    hn::BlendedStore(v, there, d, y[r] + at);
  }
};

// Writes one vector of columns of all rows, as far as there are columns.
template <int R, class T, class D>
HWY_INLINE void put_all(const TileCall<T>& call, D d, Size column, Size rows, const hn::Vec<D>* sums) {
  const Size left = call.columns - column;
  if (left <= 0) return;
  const Ending<T, D> ending{d,
                            hn::LoadU(d, call.bias + column),
                            hn::Set(d, call.low),
                            hn::Set(d, call.high),
                            call.residual,
                            call.y,
                            call.offset + column,
                            call.is_held};
  if (left >= static_cast<Size>(hn::Lanes(d))) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
      if (r >= rows) break;
      ending.put(r, sums[r]);
    }
    return;
  }
  const auto there = hn::FirstN(d, static_cast<std::size_t>(left));
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) {
    if (r >= rows) break;
    ending.put(r, sums[r], there);
  }
}

// R rows times N vectors of columns, the last of which may be a half one. `cuts`: sums are added to a total on the way.
template <class T, int R, int N, bool half, bool cuts>
void tile_of(const TileCall<T>& call, Size rows) {
  const hn::ScalableTag<T> d;
  const std::conditional_t<half, hn::Half<hn::ScalableTag<T>>, hn::ScalableTag<T>> end;
  using V = hn::Vec<decltype(d)>;
  using End = hn::Vec<decltype(end)>;
  constexpr int W = N - 1;  // vectors before the last one
  const Size lanes = static_cast<Size>(hn::Lanes(d));
  const Size width = W * lanes + static_cast<Size>(hn::Lanes(end));
  V sums[R][W + 1];
  End ends[R];
  alignas(64) T totals[R][N][64 / sizeof(T)];
  bool has_total = false;
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int n = 0; n < W; ++n) sums[r][n] = hn::Zero(d);
    ends[r] = hn::Zero(end);
  }
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
      const T* w = call.weights + (piece.depth + first - piece.first) * width;
      for (Size k = 0; k < last - first; ++k, w += width) {
        V columns[W + 1];
#pragma GCC unroll 4
        for (int n = 0; n < N; ++n) __builtin_prefetch(w + ahead * width + n * lanes);
#pragma GCC unroll 4
        for (int n = 0; n < W; ++n) columns[n] = hn::LoadU(d, w + n * lanes);
        const End last_columns = hn::LoadU(end, w + W * lanes);
#pragma GCC unroll 32
        for (int r = 0; r < R; ++r) {
          if constexpr (W > 0) {
            const V x = hn::Set(d, row[r][k]);
#pragma GCC unroll 4
            for (int n = 0; n < W; ++n) sums[r][n] = hn::MulAdd(x, columns[n], sums[r][n]);
          }
          ends[r] = hn::MulAdd(hn::Set(end, row[r][k]), last_columns, ends[r]);
        }
      }
    }
    if (cuts && piece.ends_sum) {
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int n = 0; n < W; ++n) {
          hn::Store(has_total ? hn::Add(hn::Load(d, totals[r][n]), sums[r][n]) : sums[r][n], d, totals[r][n]);
          sums[r][n] = hn::Zero(d);
        }
        hn::Store(has_total ? hn::Add(hn::Load(end, totals[r][W]), ends[r]) : ends[r], end, totals[r][W]);
        ends[r] = hn::Zero(end);
      }
      has_total = true;
    }
  }
#pragma GCC unroll 4
  for (int n = 0; n < W; ++n) {
    V all[R];
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
      all[r] = cuts && has_total ? hn::Add(hn::Load(d, totals[r][n]), sums[r][n]) : sums[r][n];
    put_all<R>(call, d, n * lanes, rows, all);
  }
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
    if (cuts && has_total) ends[r] = hn::Add(hn::Load(end, totals[r][W]), ends[r]);
  put_all<R>(call, end, W * lanes, rows, ends);
}

template <class T, int R, int N, bool half>
void tile(const TileCall<T>& call, Size rows) {
  bool cuts = false;
  for (Size p = 0; p < call.piece_count; ++p) cuts = cuts || call.pieces[p].ends_sum;
  if (cuts) tile_of<T, R, N, half, true>(call, rows);
  else tile_of<T, R, N, half, false>(call, rows);
}

// Rows in twos: an odd one is computed twice.
template <class T, int N, bool half, int R>
void tile_of_at_most(const TileCall<T>& call, Size rows) {
  if constexpr (R > 2) {
    if (rows <= R - 2) return tile_of_at_most<T, N, half, R - 2>(call, rows);
  } else {
    if (rows == 1) return tile<T, 1, N, half>(call, rows);
  }
  tile<T, R, N, half>(call, rows);
}

constexpr int rows_of_two = tile_registers / 2, rows_of_one = tile_registers == 28 ? 14 : tile_registers;

template <class T, bool half>
void tile_of_width(const TileCall<T>& call, Size rows, bool is_wide) {
  if (is_wide) return tile_of_at_most<T, 2, half, rows_of_two>(call, rows);
  if constexpr (tile_registers == 28)
    if (rows > rows_of_one) return tile<T, 28, 1, half>(call, rows);
  tile_of_at_most<T, 1, half, rows_of_one>(call, rows);
}

template <class T>
void any_tile(const TileCall<T>& call, Size rows, Size width) {
  const auto lanes = static_cast<Size>(hn::Lanes(hn::ScalableTag<T>()));
  if constexpr (has_halves)
    if (width % lanes != 0) return tile_of_width<T, true>(call, rows, width > lanes);
  tile_of_width<T, false>(call, rows, width > lanes);
}

// Every sum is made as by a tile.
template <class T, int P, bool asks>
void row_of(const TileCall<T>& call, Size panel_step) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const Size lanes = static_cast<Size>(hn::Lanes(d));
  V sums[P][2], totals[P][2];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) sums[p][0] = sums[p][1] = totals[p][0] = totals[p][1] = hn::Zero(d);
  bool has_total = false;
  for (Size i = 0; i < call.piece_count; ++i) {
    const Piece& piece = call.pieces[i];
    const Range range = call.ranges[piece.segment];
    const Size first = piece.first > range.first ? piece.first : range.first;
    const Size last = piece.last < range.last ? piece.last : range.last;
    const T* const row = call.rows[piece.segment * call.row_step];
    const T* w = call.weights + (piece.depth + first - piece.first) * 2 * lanes;
    for (Size k = first; k < last; ++k, w += 2 * lanes) {
      const V x = hn::Set(d, row[k - range.first]);
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) {
        if constexpr (asks) {
          __builtin_prefetch(w + p * panel_step + ahead_in_row * 2 * lanes);
          __builtin_prefetch(w + p * panel_step + ahead_in_row * 2 * lanes + lanes);
        }
        sums[p][0] = hn::MulAdd(x, hn::LoadU(d, w + p * panel_step), sums[p][0]);
        sums[p][1] = hn::MulAdd(x, hn::LoadU(d, w + p * panel_step + lanes), sums[p][1]);
      }
    }
    if (!piece.ends_sum) continue;
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p)
      for (int n = 0; n < 2; ++n) {
        totals[p][n] = has_total ? hn::Add(totals[p][n], sums[p][n]) : sums[p][n];
        sums[p][n] = hn::Zero(d);
      }
    has_total = true;
  }
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p)
    for (int n = 0; n < 2; ++n) {
      const V sum = has_total ? hn::Add(totals[p][n], sums[p][n]) : sums[p][n];
      put_all<1>(call, d, (2 * p + n) * lanes, 1, &sum);
    }
}

template <class T, int P = static_cast<int>(Kernels<T>::row_panels)>
void row_of_panels(const TileCall<T>& call, Size panels, Size panel_step) {
  if constexpr (P > 2)
    if (panels < P) return row_of_panels<T, P - 1>(call, panels, panel_step);
  if (call.is_near) row_of<T, P, false>(call, panel_step);
  else row_of<T, P, true>(call, panel_step);
}

// Whole vectors of two to four rows, whose numbers then lie side by side. How many columns that were.
template <class T>
Size interleave(const T* from, Size rows, Size columns, Size from_step, T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  Size c = 0;
  for (; c + lanes <= columns; c += lanes) {
    const auto row = [&](Size r) HWY_ATTR { return hn::LoadU(d, from + r * from_step + c); };
    if (rows == 2) hn::StoreInterleaved2(row(0), row(1), d, to + 2 * c);
    else if (rows == 3) hn::StoreInterleaved3(row(0), row(1), row(2), d, to + 3 * c);
    else hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, to + 4 * c);
  }
  return c;
}

#if HWY_TARGET != HWY_SCALAR
// The 16 bytes of each block of a vector, to as many lines.
template <class D>
HWY_INLINE void put_blocks(D d, hn::Vec<D> v, hn::TFromD<D>* to, Size apart) {
  if constexpr (sizeof(hn::TFromD<D>) * hn::MaxLanes(D()) == 16) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    put_blocks(half, hn::LowerHalf(half, v), to, apart);
    put_blocks(half, hn::UpperHalf(half, v), to + static_cast<Size>(hn::Lanes(d)) / 2 * apart, apart);
  }
}

// A vector of columns of so many rows as 16 bytes hold numbers.
HWY_INLINE void turn_rows(const float* from, Size from_step, float* to, Size to_step) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<double> pairs;
  const auto row = [&](Size r) HWY_ATTR { return hn::LoadU(d, from + r * from_step); };
  const auto a = row(0), b = row(1), c = row(2), e = row(3);
  const auto ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)),
             ab2 = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e)),
             ce2 = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  const auto put = [&](Size column, auto v)
                       HWY_ATTR { put_blocks(d, hn::BitCast(d, v), to + column * to_step, to_step); };
  put(0, hn::InterleaveLower(pairs, ab, ce));
  put(1, hn::InterleaveUpper(pairs, ab, ce));
  put(2, hn::InterleaveLower(pairs, ab2, ce2));
  put(3, hn::InterleaveUpper(pairs, ab2, ce2));
}
HWY_INLINE void turn_rows(const double* from, Size from_step, double* to, Size to_step) {
  const hn::ScalableTag<double> d;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_step);
  put_blocks(d, hn::InterleaveLower(d, a, b), to, to_step);
  put_blocks(d, hn::InterleaveUpper(d, a, b), to + to_step, to_step);
}
#endif

template <class T>
void transpose(const T* from, Size rows, Size columns, Size from_step, T* to, Size to_step);

template <class T>
HWY_INLINE void copy_line(const T* from, Size count, T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  Size i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Load(d, from + i), d, to + i);
  for (; i < count; ++i) to[i] = from[i];
}

// By way of a copy, for lines whose distance puts all of them into one set of the cache: they would be lost before they are full.
template <class T>
void transpose_by_copy(const T* from, Size rows, Size columns, Size from_step, T* to, Size to_step) {
  constexpr Size wide = 16, high = 256, step = high + 16;
  alignas(64) T turned[wide * step];
  for (Size r = 0; r < rows; r += high)
    for (Size c = 0; c < columns; c += wide) {
      const Size part = rows - r < high ? rows - r : high, lines = columns - c < wide ? columns - c : wide;
      transpose(from + r * from_step + c, part, lines, from_step, turned, step);
      for (Size k = 0; k < lines; ++k) copy_line(turned + k * step, part, to + (c + k) * to_step + r);
    }
}

template <class T>
void transpose(const T* from, Size rows, Size columns, Size from_step, T* to, Size to_step) {
  constexpr Size side = 16, half_page = 2048 / static_cast<Size>(sizeof(T));
  if (to_step % half_page == 0 && rows >= side && columns > 4)
    return transpose_by_copy(from, rows, columns, from_step, to, to_step);
  if (rows >= 2 && rows <= 4 && to_step == rows) {
    const Size done = interleave(from, rows, columns, from_step, to);
    from += done, to += done * to_step, columns -= done;
  }
#if HWY_TARGET != HWY_SCALAR
  constexpr Size together = 16 / static_cast<Size>(sizeof(T));
  const auto lanes = static_cast<Size>(hn::Lanes(hn::ScalableTag<T>()));
  const Size even_rows = rows / together * together, even_columns = columns / lanes * lanes;
  for (Size r0 = 0; r0 < even_rows; r0 += side)  // a line of the cache is written whole
    for (Size c = 0; c < even_columns; c += lanes)
      for (Size r = r0; r < even_rows && r < r0 + side; r += together)
        turn_rows(from + r * from_step + c, from_step, to + c * to_step + r, to_step);
  if (even_columns > 0) {
    for (Size c = 0; c < even_columns; ++c)
      for (Size r = even_rows; r < rows; ++r) to[c * to_step + r] = from[r * from_step + c];
    from += even_columns, to += even_columns * to_step, columns -= even_columns;
  }
#endif
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
  const auto lanes = static_cast<Size>(hn::Lanes(hn::ScalableTag<T>()));
  return {lanes,
          has_halves ? lanes / 2 : lanes,
          {tile_registers == 28 ? 28 : rows_of_one, rows_of_two},
          any_tile<T>,
          row_of_panels<T>,
          depthwise,
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
