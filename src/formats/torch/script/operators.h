// Calls of operators as TorchScript's code makes them: torch.conv2d(...), ops.prim.NumToTensor(...).
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

// torch.NAME(...). Numbers are computed at once; tensors go through the rows that read ATen's operators.
// Fails: an operator that is not known here, arguments that no overload takes, what a row refuses.
Result<python::Value> call_operator(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                    python::Arguments given);
// ops.NAMESPACE.NAME(...)
Result<python::Value> call_primitive(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                     python::Arguments given);

// A number, a size that is free, or the number of a tensor that holds one and is known; nothing: none of these.
std::optional<python::Value> scalar_of(Tracer& tracer, const python::Value& value);
// An operator on numbers, texts and lists. Nothing: its arguments are tensors, or it is no such operator.
Result<std::optional<python::Value>> call_on_numbers(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                                     const python::Arguments& given);

// The element type behind ATen's number for it. Fails (Unsupported).
Result<DType> scalar_type(std::int64_t number);

}  // namespace convoy::torch
