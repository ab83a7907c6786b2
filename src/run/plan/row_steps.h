// Steps over rows of channels: resizing, layer norms, products of two computed matrices.
#pragma once
#include "ops/resize.h"
#include "run/plan/strided.h"

namespace convoy::plan {

// Every output is a weighted sum of cells, as the taps of each axis say.
class ResizeLines : public FromOne {
 public:
  std::vector<std::vector<Taps>> taps;  // of each spatial axis, one per output
  Sizes space;  // of the input
  bool is_turned = false;  // y has its channels first
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
  // Along the last axis, of a line as it lies and of one that was mixed.
  std::vector<Size> starts_, own_cells_, mixed_cells_;
  std::vector<float> weights_;
};

// Matrices times matrices, pair by pair.
class PairProducts : public Step {
 public:
  Strided left, right;  // [..., rows, depth], each row side by side, and [..., depth, columns]
  Sizes outer;  // the axes before the last two of what is made
  PlaceId y;
  void prepare(const Places& places) override;
  Status run(Workspace& at) const override;

 private:
  Numbers left_, right_, y_;
  std::vector<Size> left_starts_, right_starts_;
};

// Each row less its mean, by its deviation, times gamma, plus beta.
class NormRows : public FromOne {
 public:
  std::vector<float> gamma, beta;  // of every channel, or none
  float epsilon = 0;
  Status run(Workspace& at) const override;
};

}  // namespace convoy::plan
