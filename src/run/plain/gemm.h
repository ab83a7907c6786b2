// The one matrix product under convolutions, linear layers and recurrent cells. The right operand is packed once into
// panels of columns; rows of the left one are gathered block by block, so a convolution never writes out its windows.
#pragma once
#include "convoy/size.h"

#include <span>
#include <vector>

namespace convoy::plain {

inline constexpr Size tile_rows = 6;
template <class T>
inline constexpr Size tile_columns = 64 / static_cast<Size>(sizeof(T));

// A [depth, columns] matrix at any strides, packed as [panel][depth][tile_columns] with zeros behind the last column.
template <class T>
class PackedRight {
 public:
  // Float numbers are widened on the way.
  template <class Stored>
  PackedRight(const Stored* values, Size depth, Size columns, Size depth_stride, Size column_stride)
      : PackedRight(values, 1, depth, columns, 0, depth_stride, column_stride) {}
  // Depth index = tap * channels + channel, each with a stride of its own.
  template <class Stored>
  PackedRight(const Stored* values, Size taps, Size channels, Size columns, Size tap_stride, Size channel_stride,
              Size column_stride);

  Size depth() const { return depth_; }
  Size columns() const { return columns_; }
  Size panels() const { return (columns_ + tile_columns<T> - 1) / tile_columns<T>; }
  const T* panel(Size i) const { return values_.data() + i * depth_ * tile_columns<T>; }

 private:
  Size depth_ = 0, columns_ = 0;
  std::vector<T> values_;
};

// Rows of a left operand: number (tap, channel) of row r is values[offsets[r * taps + tap] + channel * channel_stride],
// and zero where that offset is negative.
template <class T>
struct LeftRows {
  const T* values = nullptr;
  std::span<const Size> offsets;
  Size rows = 0, taps = 1, channels = 0, channel_stride = 1;
};

// c [rows, panels * tile_columns] = left * panels first_panel... of right. `c` has room for whole tiles of rows.
template <class T>
void multiply_block(const LeftRows<T>& left, const PackedRight<T>& right, Size first_panel, Size panels, T* c);

// y [rows, columns] = a [rows, depth] * right + bias (null: none), shared over threads. `y_stride`: from row to row of y.
template <class T>
void multiply(const T* a, Size rows, const PackedRight<T>& right, const T* bias, T* y, Size y_stride, int threads);
template <class T>
void multiply(const T* a, Size rows, const PackedRight<T>& right, const T* bias, T* y, int threads) {
  multiply(a, rows, right, bias, y, right.columns(), threads);
}

inline constexpr Size block_rows = 16 * tile_rows;
inline constexpr Size block_panels = 16;

}  // namespace convoy::plain
