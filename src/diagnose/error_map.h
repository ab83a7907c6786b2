// Pictures of a difference: where on a feature map it lies, and how the windows of the layer lie on theirs.
#pragma once
#include "diagnose/diagnose.h"
#include "diagnose/piece.h"

#include <string>
#include <vector>

namespace convoy::diagnose {

// `wanted` in the order of axes and under the shape of `got`: [N, C, H, W], [N, C, L], [N, C]. No map where shapes differ.
ErrorMap error_map(const Rounded& got, const Tensor& wanted);

// Of the layer's first operator with windows, in a form whose sizes are known.
std::vector<AxisOfWindows> windows_of(const Graph& form, const std::string& layer);

}  // namespace convoy::diagnose
