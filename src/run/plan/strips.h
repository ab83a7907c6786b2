// A convolution of one cell, a depthwise one and another of one cell, some lines at a time: what is between them, the widest numbers
// of a network, stays in the cache.
#pragma once
#include "run/plan/steps.h"

#include <memory>

namespace convoy::plan {

class Strips : public Step {
 public:
  std::unique_ptr<Convolve> expand, depth, project;  // the first or the last may be missing

  void prepare(const Places& places) override;
  Status run(Workspace& at) const override;

 private:
  struct Lines {
    Size first = 0, last = 0;
  };
  // The numbers that a thread holds between the parts.
  struct Scratch {
    fast::Aligned<float> wide, deep;
    Lines held;  // of the input of the depthwise part, in `wide`
  };
  void run_lines(const Workspace& at, const float* x, float* y, Size image, Lines lines, Scratch& scratch) const;
  const float* expanded(const Workspace& at, const float* x, Lines lines, Scratch& scratch) const;

  Size images_ = 1, x_lines_ = 1, x_width_ = 1, y_lines_ = 1, y_width_ = 1, channels_ = 1;
  Size at_once_ = 1;  // lines of outputs
};

}  // namespace convoy::plan
