// The weights of one module among all that a checkpoint holds: an optimizer's tensors lie beside them, words of wrappers stand
// in front of their names.
#pragma once
#include "formats/format.h"

#include <set>
#include <string>
#include <vector>

namespace convoy::torch {

// The tensors of the dict that holds most of the `wanted` names, by their names in it; a remark says what else there is. `dict`:
// where the program looks for them, "model.generator"; only there, where the file has such names. `file`: its name, for what is
// said. `exactly`: what does not stand in that dict under its own name is not taken, as by load_state_dict(strict=False). Fails:
// Unsupported, where two dicts hold as many of them, or exactly that one none.
Result<std::vector<LoadedTensor>> module_weights(std::vector<LoadedTensor> checkpoint,
                                                 const std::set<std::string>& wanted, const std::string& dict,
                                                 bool exactly, const std::string& file,
                                                 std::vector<std::string>* remarks);

}  // namespace convoy::torch
