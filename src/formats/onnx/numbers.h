// What a node computes from numbers that are known, in part or whole, before the model runs.
#pragma once
#include "formats/numbers.h"
#include "formats/onnx/model.h"

namespace convoy::onnx {

// What a node computes from numbers; nothing where it is no such computation, or where it fails in a way that the
// operator's own row says better. `inputs`: null where absent.
std::optional<std::vector<Numbers>> computed(const ModelNode& node, Size opset,
                                             const std::vector<const Numbers*>& inputs);

}  // namespace convoy::onnx
