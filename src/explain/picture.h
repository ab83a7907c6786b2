// Explained layers as one picture: their windows over the cells and the padding.
#pragma once
#include "explain/explanation.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy::explain {

// SVG, one drawing for each axis whose size is known. Nothing: none is.
std::optional<std::string> picture_of(const std::vector<Explanation>& layers);

}  // namespace convoy::explain
