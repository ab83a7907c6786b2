// Writers of channels that are moved into space and back.
#pragma once
#include "formats/torch/call.h"

namespace convoy::torch {

Status write_depth_to_space(const DepthToSpace& op, Call& c);
Status write_space_to_depth(const SpaceToDepth& op, Call& c);

}  // namespace convoy::torch
