// Convolutions of 3 x 3 cells with stride 1 as products of 36 small matrices: 4 x 4 outputs at once take 36 multiplications
// instead of 144. The factors are no whole numbers, so sums round differently than those of the definition (three to five times
// as much), and proofs do not use it. Interpolation at 0, 1, -1, 1/2, -2 and infinity, which rounds half as much as the usual points.
#pragma once
#include "run/fast/convolution.h"

#include <vector>

namespace convoy::fast {

// Compiled per instruction set.
struct WinogradKernels {
  // The 36 numbers of every channel, at `cells` [6][6], to planes that lie `plane` apart.
  void (*enter)(const float* const* cells, Size channels, float* to, Size plane) = nullptr;
  // Back to 4 x 4 outputs, `y` [4][4], of which null ones are not there; residual: null or the same.
  void (*leave)(const float* from, Size plane, Size channels, const float* bias, float* const* y,
                const float* const* residual, bool is_held, float low, float high) = nullptr;
};
const WinogradKernels& winograd_kernels();

class Winograd {
 public:
  // Whether it is likely to pay: enough channels and outputs of the one kind it knows.
  static bool suits(const ConvolutionShape& shape);
  Winograd(ConvolutionShape shape, const float* kernel, KernelSteps steps, const float* bias);
  void run(const float* x, float* y, const Finish<float>& finish, int threads) const;

 private:
  void run_group(Size first, Size count, const float* x, float* y, const Finish<float>& finish) const;

  ConvolutionShape shape_;
  Size vectors_ = 1, width_ = 1;  // of the outputs
  Size tiles_down_ = 1, tiles_across_ = 1, group_ = 1;
  std::vector<float> weights_;  // [36][panel][input][width of the panel]
  std::vector<float> bias_, zeros_;
  std::vector<Piece> pieces_;
};

}  // namespace convoy::fast
