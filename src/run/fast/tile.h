// The kernels that are compiled once per instruction set and chosen when the program runs: the tile of a matrix product whose
// left rows lie anywhere, and sums along channels. Plain numbers and pointers only; run/fast/convolution.h says what they are for.
#pragma once
#include "convoy/size.h"

namespace convoy::fast {

// A part of the sum behind every output: numbers first..last-1 of one segment, which lie side by side in every row.
struct Piece {
  Size segment = 0, first = 0, last = 0;
  Size depth = 0;  // of its first number, in the packed weights
  bool ends_sum = false;  // what was summed so far is added to the total: shorter sums round less
};

// The numbers of a segment that some row of a tile reads; none where first == last.
struct Range {
  Size first = 0, last = 0;
};

// y[row] = sum over the segments of row * weights + bias (+ residual), then held between low and high.
template <class T>
struct TileCall {
  const T* const* rows = nullptr;  // [segment][row_step]: where number `ranges[segment].first` of each row is
  const Range* ranges = nullptr;  // [segment]
  const Piece* pieces = nullptr;
  Size piece_count = 0, row_step = 0;
  const T* weights = nullptr;  // [depth][width of the panel]
  const T* bias = nullptr;  // [width of the panel]
  T* const* y = nullptr;  // [row]
  const T* const* residual = nullptr;  // [row]; null: none
  Size offset = 0;  // of the panel's first column, in y and residual
  Size columns = 0;  // of the panel that there are
  bool is_held = false;
  T low = 0, high = 0;
  bool is_near = false;  // the weights were read just before, and need not be asked for
};

// Outputs side by side of a convolution with one input channel per output, all of whose taps are inside.
template <class T>
struct DepthwiseCall {
  const T* x = nullptr;  // what the first output's first tap reads
  const Size* taps = nullptr;  // [tap]: offsets from there
  const Size* kernel_taps = nullptr;  // [tap]: which of the weights
  Size tap_count = 0;
  // Where the taps are lines of so many that lie `tap_step` apart; 0: they lie anyhow.
  Size line_taps = 0, tap_step = 0;
  const T* weights = nullptr;  // [tap][channels]
  const T* bias = nullptr;  // [channels]
  T* y = nullptr;
  Size outputs = 0, channels = 0;
  Size x_step = 0, y_step = 0;  // from one output to the next
  bool is_held = false;
  T low = 0, high = 0;
};

// What an instruction set offers.
template <class T>
struct Kernels {
  Size lanes = 1;
  // A panel holds two vectors of columns; the last one as many as are left, in steps of these.
  Size narrowest = 1;
  Size tile_rows[2] = {1, 1};  // most rows of a tile, for panels of at most one vector and of more
  void (*tile)(const TileCall<T>& call, Size rows, Size width) = nullptr;
  // One row times two to so many full panels, which lie `panel_step` numbers apart: several streams of weights at once.
  static constexpr Size row_panels = 4;
  void (*row)(const TileCall<T>& call, Size panels, Size panel_step) = nullptr;
  void (*depthwise)(const DepthwiseCall<T>& call) = nullptr;
  // [rows, columns] -> [columns, rows], with steps from row to row.
  void (*transpose)(const T* from, Size rows, Size columns, Size from_step, T* to, Size to_step) = nullptr;
  const char* name = "";
};

// Of this machine; the portable ones where `portable`, for tests.
template <class T>
const Kernels<T>& kernels();
template <class T>
const Kernels<T>& kernels_of(int instruction_set);
int instruction_sets();  // how many this machine has, the best one first

}  // namespace convoy::fast
