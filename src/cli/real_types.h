// --float16, --bfloat16 and --float32: one of them, or none.
#pragma once
#include "convoy/tensor.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace convoy::cli {

// `sentence` with the type in place of {}. `chosen` must live as long as the command.
void offer_real_types(CLI::App& command, std::string& chosen, const std::string& sentence);
// The type of that name; nothing: none of the three.
std::optional<DType> real_type_named(std::string_view name);

}  // namespace convoy::cli
