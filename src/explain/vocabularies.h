// The layers and functions that a pasted call may name, with the order of their arguments.
#pragma once
#include "explain/names.h"

#include <optional>
#include <string_view>
#include <vector>

namespace convoy::explain {

// Names between blanks, in the order of the framework's signature. Nothing: the framework has no such thing here.
std::optional<std::string_view> parameters_of(const Named& named);
// Whether a keyword belongs to it, by place or by name only.
bool takes(const Named& named, std::string_view keyword);
std::vector<std::string> keywords_of(const Named& named);
std::vector<Named> all_names();

}  // namespace convoy::explain
