// Convolutions, plain and transposed, and products of matrices, over numbers whose channels lie side by side: weights are packed
// once, inputs are read where they lie.
#pragma once
#include "run/fast/reads.h"
#include "run/fast/rows.h"

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
};

// Whether its tables can say where all numbers lie.
bool is_within_reach(const ConvolutionShape& shape);

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

// Kernels that hold an infinity or a NaN belong to the plain kernels: a product with a padded zero is not nothing then.
template <class T>
class Convolution {
 public:
  // `bias`: null for none. The kernel may be of other numbers than T, which are widened.
  template <class Stored>
  Convolution(ConvolutionShape shape, const Stored* kernel, KernelSteps steps, const T* bias, const Kernels<T>& with);
  ~Convolution();

  // x and y: [batch, cells, channels].
  void run(const T* x, T* y, const Finish<T>& finish, int threads) const;
  // For many runs: where everything is read is found once.
  void keep_tables();

 private:
  class Reader;

  Size vectors_of(Size panel) const { return panel + 1 == panels_ ? last_vectors_ : 2; }
  Size weights_of(std::size_t phase, Size group, Size panel) const;
  void cut_into_blocks();
  Table table_of(const Block& block) const;
  void run_block(const Block& block, const Table& table, const T* x, T* y, const Finish<T>& finish) const;
  void run_depthwise(const T* x, T* y, const Finish<T>& finish, int threads) const;

  ConvolutionShape shape_;
  const Kernels<T>* kernels_;
  std::vector<Phase> phases_;
  bool is_depthwise_ = false;
  Size panels_ = 1, last_vectors_ = 2, tile_rows_ = 1;
  Size cells_ = 1, positions_ = 1;
  std::vector<Size> phase_starts_;  // of each phase's packed weights
  std::vector<T> weights_, bias_;
  std::vector<T> zeros_;  // as long as the longest segment
  std::vector<Block> blocks_;
  std::vector<Table> tables_;  // of each block, where they are kept
};

}  // namespace convoy::fast
