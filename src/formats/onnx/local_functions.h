// Functions that a model brings along (FunctionProto), in place of the nodes that call them.
#pragma once
#include "convoy/result.h"
#include "formats/onnx/model.h"

namespace convoy::onnx {

// Every node that calls one of the model's own functions becomes the nodes of its body, under names of its own: what a body names is
// seen nowhere else. Fails: functions that call themselves, bodies that grow beyond all measure, another number of inputs or results
// than the function has, a body of another operator set than the model's.
Status inline_functions(Model& model);

}  // namespace convoy::onnx
