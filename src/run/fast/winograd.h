// Convolutions of 3 x 3 cells with stride 1, however far apart, as products of 36 small matrices, and of 3 cells along one axis as 6:
// 4 x 4 outputs at once take 36 multiplications instead of 144, 4 take 6 instead of 12. More cells along one axis are taken in threes,
// whose products are summed at the points, and so are the slices of a volume. The factors are no whole numbers, so sums
// round differently than those of the definition (up to three to five times as much), and proofs do not use it. Interpolation at 0, 1,
// -1, 1/2, -2 and infinity, which rounds half as much as the usual points.
#pragma once
#include "run/fast/convolution.h"

#include <vector>

namespace convoy::fast {

// Compiled per instruction set. A block has 6 x 6 cells and 4 x 4 outputs on two axes, 6 and 4 on one.
struct WinogradKernels {
  // The numbers of every channel, at `cells`, to planes that lie `plane` apart.
  void (*enter)(const float* const* cells, int axes, Size channels, float* to, Size plane) = nullptr;
  // Back to outputs `y`, of which null ones are not there; residual: null or the same.
  void (*leave)(const float* from, int axes, Size plane, Size channels, const float* bias, float* const* y,
                const float* const* residual, bool is_held, float low, float high) = nullptr;
};
const WinogradKernels& winograd_kernels();

class Winograd {
 public:
  // Whether it is likely to pay: enough channels and outputs of the two kinds it knows.
  static bool suits(const ConvolutionShape& shape);
  Winograd(ConvolutionShape shape, const float* kernel, KernelSteps steps, const float* bias);
  void run(const float* x, float* y, const Finish<float>& finish, int threads) const;

 private:
  // The first output of a block.
  struct Corner {
    Size image = 0, slice = 0, row = 0, column = 0;
  };
  struct Outputs;
  Corner corner_of(Size block) const;
  const plain::AxisWalk& down() const;  // the axis of the rows; one cell where there is none
  // The first output of a block along one of the axes that have blocks.
  Size first_of(std::size_t axis, Size block) const;
  void pack(const float* kernel, KernelSteps steps);
  // `part`: which three taps of a line, or which slice, are read. What is not there: zeros.
  void place_cells(const Corner& corner, Size part, const float* x, const float** at) const;
  void place_outputs(const Corner& corner, float* y, const Finish<float>& finish, Outputs& at) const;
  void multiply(Size count, const float* entered, float* left) const;
  void run_group(Size first, Size count, const float* x, float* y, const Finish<float>& finish) const;

  ConvolutionShape shape_;
  int axes_ = 2;
  Size planes_ = 36, vectors_ = 1, width_ = 1;  // of the outputs
  plain::AxisWalk slices_;  // the first of three axes, else one cell
  Size parts_ = 1, depth_ = 1;  // threes of taps along one axis, or slices; numbers of a row that is multiplied
  std::vector<Size> blocks_;  // along each axis that has them
  Size group_ = 1;  // blocks that are computed together
  Size entered_step_ = 1, entered_plane_ = 1, left_step_ = 1, left_plane_ = 1;  // from row to row, from plane to plane
  Aligned<float> weights_;  // [planes][panel][input][width of the panel]
  std::vector<float> bias_, zeros_;
  std::vector<Piece> pieces_;
};

}  // namespace convoy::fast
