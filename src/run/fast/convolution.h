// Convolutions, plain and transposed, and products of matrices, over numbers whose channels lie side by side: weights are packed
// once, inputs are read where they lie.
#pragma once
#include "run/fast/aligned.h"
#include "run/fast/reads.h"
#include "run/fast/rows.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace convoy::fast {

// How far apart neighbours lie in a kernel as it came.
struct KernelSteps {
  Size group = 0, tap = 0, channel = 0, output = 0;
};

// Channels per group; the steps tell how far apart the pixels of input and output lie, at least all their channels.
struct ConvolutionShape {
  std::vector<plain::AxisWalk> walks;
  Size batch = 1, groups = 1, inputs = 1, outputs = 1;
  Size x_step = 0, y_step = 0;
  // Outputs of a line of `line` that one position gives, their channels side by side in `outputs` (run/fast/neighbours.h).
  Size together = 1, line = 0;
};

// Whether its tables can say where all numbers lie.
bool is_within_reach(const ConvolutionShape& shape);

// Whether every output reads the one cell where it is: a product of matrices, whatever the axes.
bool is_pointwise(const ConvolutionShape& shape);

// What follows a convolution before its results are written.
template <class T>
struct Finish {
  const T* residual = nullptr;  // as many numbers as the output
  Size residual_step = 0;  // from pixel to pixel
  bool is_held = false;
  T low = 0, high = 0;
  MapCall map{};  // float32 alone
};

struct Block;
struct Table;
template <class T>
class Depthwise;

// Kernels that hold an infinity or a NaN belong to the plain kernels, as is_finite tells: a product with a padded zero is not
// nothing then.
template <class T>
class Convolution {
 public:
  // `bias`: null for none. The kernel may be of other numbers than T, which are widened.
  template <class Stored>
  Convolution(ConvolutionShape shape, const Stored* kernel, KernelSteps steps, const T* bias, const Kernels<T>& with);
  ~Convolution();

  // x and y: [batch, cells, channels].
  void run(const T* x, T* y, const Finish<T>& finish, int threads) const;
  // Of a pointwise one, some pixels side by side.
  void run_pixels(const T* x, T* y, Size count, const Finish<T>& finish) const;
  bool is_finite() const { return is_finite_; }  // the kernel
  const Depthwise<T>* depthwise() const { return depthwise_.get(); }  // null: another one
  // For many runs: where everything is read is found once.
  void keep_tables();
  // For runs that follow at once: the weights are in the cache.
  void keep_near() { weights_are_near_ = true; }

 private:
  class Reader;
  class Pixels;
  // Where a block's rows, tile by tile, read and write.
  struct Rows {
    const T* const* x = nullptr;
    const Range* ranges = nullptr;
    Size x_step = 0, ranges_step = 0;  // from tile to tile
    T* const* y = nullptr;
    const T* const* residual = nullptr;
  };

  template <class Stored>
  void pack(const Stored* kernel, KernelSteps steps, const T* bias);
  template <class Stored>
  void pack_panel(const Phase& phase, Size panel, const Stored* from, KernelSteps steps, T* to) const;
  template <class Stored>
  void turn_panel(const Phase& phase, Size taps, Size columns, Size there, const Stored* from, Size step, T* to) const;
  template <class Stored>
  void join_neighbours(const Stored* kernel, KernelSteps steps, const T* bias);
  Size width_of(Size panel) const { return std::min(2 * kernels_->lanes, width_ - panel * 2 * kernels_->lanes); }
  Size weights_of(std::size_t phase, Size group, Size panel) const;
  Size most_rows(std::size_t phase) const;  // of a block
  void cut_into_blocks();
  Table table_of(const Block& block) const;
  void run_block(const Block& block, const Table& table, const T* x, T* y, const Finish<T>& finish) const;
  void run_pixels(const Block& block, const T* x, T* y, const Finish<T>& finish) const;
  void run_rows(const Block& block, const Rows& rows, const Finish<T>& finish) const;

  ConvolutionShape shape_;
  const Kernels<T>* kernels_;
  std::vector<Phase> phases_;
  std::unique_ptr<Depthwise<T>> depthwise_;  // where it is one, which does all
  std::unique_ptr<Convolution>
      neighbours_;  // of several outputs at once, for numbers that are finite: others times zero are not zero
  Size panels_ = 1, width_ = 1, tile_rows_ = 1;  // width: of all panels
  Size cells_ = 1, positions_ = 1;
  bool is_pointwise_ = false, is_finite_ = true, weights_are_near_ = false;
  std::vector<Size> phase_starts_;  // of each phase's packed weights
  Aligned<T> weights_, bias_;
  std::vector<T> zeros_;  // as long as the longest segment
  std::vector<Block> blocks_;
  std::vector<Table> tables_;  // of each block, where they are kept
};

}  // namespace convoy::fast
