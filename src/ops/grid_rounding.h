// ONNX Runtime rounds a place to the nearest cell before it reflects it into the image, PyTorch behind it. Both pick one cell
// but for places halfway between two, and with borders that lie between cells.
#pragma once
#include "ops/resize.h"

namespace convoy {

// Whether the two orders give different cells: between corners a half is reflected to the other side of an even cell.
inline bool hangs_on_rounding_first(const GridSample& op) {
  return op.interpolation == Interpolation::Nearest && op.border == PadMode::Reflect && !op.align_corners;
}

}  // namespace convoy
