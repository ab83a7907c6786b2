// What the outputs of a convolution read, as runs of numbers that lie side by side: a transposed one falls into as many plain ones
// as its stride is long, and pads are cells that are not read.
#pragma once
#include "run/fast/tile.h"
#include "run/plain/windows.h"

#include <vector>

namespace convoy::fast {

// Outputs first, first + every, ... of one axis, which all read the same taps away from the borders; outputs that share no tap are
// phases of their own.
struct AxisPhase {
  // Of the taps in the order of the cells they read: those inside, and the cell that the first of them reads.
  struct Reach {
    Size tap = 0, count = 0, cell = 0;
  };
  std::vector<Size> taps;  // of the kernel; those that no output reads are left out
  Size step = 1;  // from the cell of a tap to that of the next
  Size first = 0, every = 1;
  std::vector<Reach> reaches;  // one per output
};

std::vector<AxisPhase> phases_of(const plain::AxisWalk& axis);

// The outputs that have one phase on every axis, as rows of a product of matrices.
struct Phase {
  std::vector<AxisPhase> axes;
  bool merges = false;  // neighbouring taps of the last axis read one run of numbers
  std::vector<Size> taps;  // of the kernel, in the order of the packed weights
  std::vector<Size> segment_lengths;
  std::vector<Piece> pieces;
  Size depth = 0, rows = 1;  // rows: of one image
};

// `inputs`: channels per group. Merging wants that they are all channels there are.
std::vector<Phase> phases_of(const std::vector<plain::AxisWalk>& walks, Size inputs, bool may_merge);

}  // namespace convoy::fast
