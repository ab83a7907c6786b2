// Convolutions with one input channel per output, over numbers whose channels lie side by side: a line of outputs at a time, whose
// windows away from its ends all read as many cells.
#pragma once
#include "run/fast/convolution.h"

#include <utility>
#include <vector>

namespace convoy::fast {

template <class T>
class Depthwise {
 public:
  static bool suits(const ConvolutionShape& shape) {
    return shape.groups > 1 && shape.inputs == 1 && shape.outputs == 1;
  }
  // The steps of pixels are known.
  template <class Stored>
  Depthwise(const ConvolutionShape& shape, const Stored* kernel, KernelSteps steps, const T* bias,
            const Kernels<T>& with);

  // x and y: [batch, cells, channels].
  void run(const T* x, T* y, const Finish<T>& finish, int threads) const;
  // Some lines of the outputs of one image, for plain convolutions: x holds its lines from `x_first` on, y those from `first` on.
  void run_lines(Size first, Size count, const T* x, Size x_first, T* y, const Finish<T>& finish) const;

  // Which lines of the input these read, from first to before last; none where all of them read padding.
  std::pair<Size, Size> lines_read(Size first, Size count) const;

 private:
  // The taps that outputs side by side read, relative to the first one's first cell.
  struct Taps {
    std::vector<Size> cells, kernel;  // in numbers; which of the kernel
    Size line_taps = 0, tap_step = 0;
  };
  struct Run {
    Taps taps;
    std::size_t kept = 0;  // where they are kept: of which
    Size x = 0, y = 0;  // of the first output, in numbers of the image
    Size outputs = 0, x_step = 0, y_step = 0;
  };
  using Outer = std::vector<std::pair<Size, Size>>;  // lines of input, and the taps that read them

  std::vector<Run> runs_of(const Phase& phase, Size line) const;
  Size outer_of(const Phase& phase, Size line, Outer& outer) const;
  Taps taps_of(const AxisPhase& last, const AxisPhase::Reach& reach, const Outer& outer) const;
  void keep_runs();
  void run_line(std::size_t line, const T* x, Size x_skipped, T* y, Size y_skipped, const Finish<T>& finish) const;
  void compute(const Run& run, const Taps& taps, const T* x, T* y, const Finish<T>& finish) const;

  ConvolutionShape shape_;
  const Kernels<T>* kernels_;
  std::vector<Phase> phases_;
  Size cells_ = 1, positions_ = 1, channels_ = 1;
  // Few channels: so many pixels side by side fill vectors; weights and bias of that many come behind those of one.
  Size together_ = 1;
  Aligned<T> weights_, bias_, wide_weights_, wide_bias_;
  std::vector<std::pair<std::size_t, Size>> lines_;  // of one image: phase and line
  // Kept where the kernel is small: the runs of every line, and the different taps that they have.
  bool keeps_ = false;
  std::vector<std::vector<Run>> runs_;
  std::vector<Taps> taps_;
};

}  // namespace convoy::fast
