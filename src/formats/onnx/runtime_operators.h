// Operators that ONNX Runtime has beside the standard's (domain com.microsoft), as its quantisers write them: read as the nodes of
// the standard that they stand for.
#pragma once
#include "convoy/result.h"
#include "formats/onnx/model.h"

#include <vector>

namespace convoy::onnx {

// In their order; values in between are named after the node's result. Fails: an operator or an attribute that is not read.
Result<std::vector<ModelNode>> in_standard_operators(const ModelNode& node);

}  // namespace convoy::onnx
