#include "run/plain/gemm.h"

#include "run/threads.h"

#include <algorithm>
#include <cstring>

namespace convoy::plain {

namespace {

using Floats4 [[gnu::vector_size(16)]] = float;
using Floats8 [[gnu::vector_size(32)]] = float;
using Doubles2 [[gnu::vector_size(16)]] = double;
using Doubles4 [[gnu::vector_size(32)]] = double;

// c += left [depth][tile_rows] * right [depth][tile_columns], all sums held in registers. Copying through memcpy is how a load says that it is
// not aligned: an alignment on the vector type would be lost as a template argument.
template <class T, class Lanes>
[[gnu::always_inline]] inline void tile(const T* left, const T* right, Size depth, T* c, Size stride) {
  constexpr int lanes = sizeof(Lanes) / sizeof(T);
  constexpr int parts = static_cast<int>(tile_columns<T>) / lanes;
  Lanes sums[tile_rows][parts] = {};
  for (Size k = 0; k < depth; ++k, left += tile_rows, right += tile_columns<T>) {
    Lanes row[parts];
#pragma GCC unroll 8
    for (int p = 0; p < parts; ++p) std::memcpy(&row[p], right + p * lanes, sizeof(Lanes));
#pragma GCC unroll 8
    for (int r = 0; r < tile_rows; ++r) {
#pragma GCC unroll 8
      for (int p = 0; p < parts; ++p) sums[r][p] += left[r] * row[p];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < tile_rows; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < parts; ++p) {
      Lanes before;
      std::memcpy(&before, c + r * stride + p * lanes, sizeof(Lanes));
      before += sums[r][p];
      std::memcpy(c + r * stride + p * lanes, &before, sizeof(Lanes));
    }
  }
}

void tile_anywhere(const float* left, const float* right, Size depth, float* c, Size stride) {
  tile<float, Floats4>(left, right, depth, c, stride);
}
void tile_anywhere(const double* left, const double* right, Size depth, double* c, Size stride) {
  tile<double, Doubles2>(left, right, depth, c, stride);
}

template <class T>
using TileKernel = void (*)(const T*, const T*, Size, T*, Size);

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void tile_wide(const float* left, const float* right, Size depth, float* c, Size stride) {
  tile<float, Floats8>(left, right, depth, c, stride);
}
[[gnu::target("avx2,fma")]] void tile_wide(const double* left, const double* right, Size depth, double* c,
                                           Size stride) {
  tile<double, Doubles4>(left, right, depth, c, stride);
}

template <class T>
TileKernel<T> tile_here() {
  static const TileKernel<T> chosen = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                                          ? static_cast<TileKernel<T>>(tile_wide)
                                          : static_cast<TileKernel<T>>(tile_anywhere);
  return chosen;
}
#else
template <class T>
TileKernel<T> tile_here() {
  return tile_anywhere;
}
#endif

// A stretch of depth indices that some row of the block reads.
struct Stretch {
  Size first = 0, last = 0;
};

// Taps that lie outside the input for every row of the block are left out; what remains is cut to what the first cache
// holds. The cuts depend on the shapes alone, so sums are made in the same order on every run.
template <class T>
std::vector<Stretch> stretches_of(const LeftRows<T>& left) {
  constexpr Size most = 256;
  std::vector<Stretch> all;
  for (Size tap = 0; tap < left.taps; ++tap) {
    bool read = false;
    for (Size r = 0; r < left.rows && !read; ++r)
      read = left.offsets[static_cast<std::size_t>(r * left.taps + tap)] >= 0;
    if (!read) continue;
    Size first = tap * left.channels;
    const Size last = first + left.channels;
    if (!all.empty() && all.back().last == first && all.back().last - all.back().first < most) {
      const Size take = std::min(last, all.back().first + most);
      all.back().last = take;
      first = take;
    }
    for (; first < last; first += most) all.push_back({first, std::min(last, first + most)});
  }
  return all;
}

// [tile of rows][depth index of the stretch][row in the tile]
template <class T>
void pack_left(const LeftRows<T>& left, Stretch stretch, std::vector<T>& packed) {
  const Size depth = stretch.last - stretch.first, tiles = (left.rows + tile_rows - 1) / tile_rows;
  packed.resize(static_cast<std::size_t>(tiles * depth * tile_rows));
  for (Size i = 0; i < tiles; ++i) {
    T* to = packed.data() + i * depth * tile_rows;
    for (Size k = stretch.first; k < stretch.last;) {
      const Size tap = k / left.channels, channel = k % left.channels;
      const Size run = std::min(stretch.last - k, left.channels - channel);
      for (Size r = 0; r < tile_rows; ++r) {
        const Size row = i * tile_rows + r;
        const Size offset = row < left.rows ? left.offsets[static_cast<std::size_t>(row * left.taps + tap)] : -1;
        T* at = to + r;
        if (offset < 0) {
          for (Size c = 0; c < run; ++c) at[c * tile_rows] = T{0};
          continue;
        }
        const T* from = left.values + offset + channel * left.channel_stride;
        for (Size c = 0; c < run; ++c) at[c * tile_rows] = from[c * left.channel_stride];
      }
      to += run * tile_rows;
      k += run;
    }
  }
}

}  // namespace

template <class T>
template <class Stored>
PackedRight<T>::PackedRight(const Stored* values, Size taps, Size channels, Size columns, Size tap_stride,
                            Size channel_stride, Size column_stride)
    : depth_(taps * channels),
      columns_(columns),
      values_(static_cast<std::size_t>(panels() * depth_ * tile_columns<T>)) {
  T* to = values_.data();
  for (Size first = 0; first < columns; first += tile_columns<T>) {
    const Size width = std::min(tile_columns<T>, columns - first);
    for (Size tap = 0; tap < taps; ++tap)
      for (Size channel = 0; channel < channels; ++channel, to += tile_columns<T>) {
        const Stored* from = values + tap * tap_stride + channel * channel_stride + first * column_stride;
        for (Size j = 0; j < width; ++j) to[j] = static_cast<T>(from[j * column_stride]);
      }
  }
}

template <class T>
void multiply_block(const LeftRows<T>& left, const PackedRight<T>& right, Size first_panel, Size panels, T* c) {
  const Size width = panels * tile_columns<T>, tiles = (left.rows + tile_rows - 1) / tile_rows;
  std::fill(c, c + tiles * tile_rows * width, T{0});
  const TileKernel<T> tile_of = tile_here<T>();
  thread_local std::vector<T> packed;
  for (const Stretch stretch : stretches_of(left)) {
    pack_left(left, stretch, packed);
    const Size depth = stretch.last - stretch.first;
    for (Size p = 0; p < panels; ++p) {
      const T* columns = right.panel(first_panel + p) + stretch.first * tile_columns<T>;
      for (Size i = 0; i < tiles; ++i)
        tile_of(packed.data() + i * depth * tile_rows, columns, depth, c + i * tile_rows * width + p * tile_columns<T>,
                width);
    }
  }
}

template <class T>
void multiply(const T* a, Size rows, const PackedRight<T>& right, const T* bias, T* y, Size y_stride, int threads) {
  const Size columns = right.columns(), depth = right.depth();
  const Size row_blocks = (rows + block_rows - 1) / block_rows;
  const Size column_blocks = (right.panels() + block_panels - 1) / block_panels;
  const double operations = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  for_each_item(threads_for(threads, operations), row_blocks * column_blocks, [&](Size item) {
    const Size first_row = item / column_blocks * block_rows, first_panel = item % column_blocks * block_panels;
    const Size panels = std::min(block_panels, right.panels() - first_panel);
    LeftRows<T> left{a, {}, std::min(block_rows, rows - first_row), 1, depth, 1};
    thread_local std::vector<Size> offsets;
    offsets.clear();
    for (Size r = 0; r < left.rows; ++r) offsets.push_back((first_row + r) * depth);
    left.offsets = offsets;
    thread_local std::vector<T> c;
    c.resize(static_cast<std::size_t>(block_rows * block_panels * tile_columns<T>));
    multiply_block(left, right, first_panel, panels, c.data());
    const Size width = panels * tile_columns<T>, first = first_panel * tile_columns<T>;
    const Size last = std::min(columns, first + width);
    for (Size r = 0; r < left.rows; ++r)
      for (Size j = first; j < last; ++j)
        y[(first_row + r) * y_stride + j] =
            c[static_cast<std::size_t>(r * width + j - first)] + (bias ? bias[j] : T{0});
  });
}

template class PackedRight<float>;
template class PackedRight<double>;
template PackedRight<float>::PackedRight(const float*, Size, Size, Size, Size, Size, Size);
template PackedRight<double>::PackedRight(const float*, Size, Size, Size, Size, Size, Size);
template PackedRight<double>::PackedRight(const double*, Size, Size, Size, Size, Size, Size);
template void multiply_block(const LeftRows<float>&, const PackedRight<float>&, Size, Size, float*);
template void multiply_block(const LeftRows<double>&, const PackedRight<double>&, Size, Size, double*);
template void multiply(const float*, Size, const PackedRight<float>&, const float*, float*, Size, int);
template void multiply(const double*, Size, const PackedRight<double>&, const double*, double*, Size, int);

}  // namespace convoy::plain
