// Steps over rows of channels: resizing, layer norms, products of two computed matrices.
#pragma once
#include "ops/resize.h"
#include "run/plan/steps.h"

namespace convoy::plan {

// Every output is a weighted sum of cells, as the taps of each axis say.
class ResizeLines : public FromOne {
 public:
  std::vector<std::vector<Taps>> taps;  // of each spatial axis, one per output
  Sizes space;  // of the input
  static constexpr std::size_t most_taps = 64;  // along the last axis
  void prepare(const Places& places) override;
  Status run(Workspace& at) const override;

 private:
  struct Cell {
    Size cell = 0;
    double weight = 1;
  };
  std::vector<Cell> outer_cells(Size line) const;
  const float* mixed_line(const float* image, Size line, std::vector<float>& mixed) const;

  Size images_ = 1, cells_ = 1, positions_ = 1;
};

// a [..., m, k] times b [..., k, n], pair by pair; of either there may be one for all pairs.
class PairProducts : public FromTwo {
 public:
  Size rows = 1, depth = 1, columns = 1, pairs = 1;
  bool is_one_a = false, is_one_b = false;
  Status run(Workspace& at) const override;
};

// The same numbers in another order of their axes.
class PermuteAxes : public FromOne {
 public:
  Sizes shape, axes;
  Status run(Workspace& at) const override;
};

// Of every `row` numbers, `length` from `first` on.
class CutRows : public FromOne {
 public:
  Size row = 1, first = 0, length = 1;
  Status run(Workspace& at) const override;
};

// Each row less its mean, by its deviation, times gamma, plus beta.
class NormRows : public FromOne {
 public:
  std::vector<float> gamma, beta;  // of every channel, or none
  float epsilon = 0;
  Status run(Workspace& at) const override;
};

}  // namespace convoy::plan
