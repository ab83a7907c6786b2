// Sizes that were asked for and that the model cannot take: the request is at fault, not the file. Says which layer fixes
// the size, and which sizes fit.
#pragma once
#include "formats/format.h"

#include <functional>

namespace convoy {

using LoadWith = std::function<Result<Graph>(const LoadOptions&)>;

// What `load` fails with under `options`: as it is, or as a Usage error where other sizes are read.
Error told_by_size(const Error& error, const LoadOptions& options, const LoadWith& load);

}  // namespace convoy
