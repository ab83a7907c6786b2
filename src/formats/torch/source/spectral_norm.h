// Weights that are divided by their largest singular value (torch.nn.utils.spectral_norm, both generations of it).
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

// spectral_norm(module, name, n_power_iterations, eps, dim): notes the axis of the rows of the module's weight.
Result<python::Value> spectral(Tracer& tracer, python::Interpreter& in, python::Arguments& given);

// What a file keeps of the weight `name` ("name_orig", "name_u", "name_v", or the parametrization's words for them) becomes
// the weight itself, W / (u . W v), where W has one row per cell of the axis `rows`. Left as it is: a plain weight.
// Fails (Format): vectors whose lengths are not those of the weight.
Status divide_by_spectral_norm(std::vector<LoadedTensor>& loaded, const std::string& name, Size rows);

}  // namespace convoy::torch
