// --float16, --bfloat16 and --float32: one of them, or none.
#pragma once
#include "convoy/tensor.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace convoy::cli {

// `sentence` with the type in place of {}. `chosen` must live as long as the command.
void offer_real_types(CLI::App& command, std::optional<DType>& chosen, const std::string& sentence);

}  // namespace convoy::cli
