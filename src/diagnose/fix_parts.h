// The fixes by what they are about. Empty where the cause is about something else.
#pragma once
#include "diagnose/diagnose.h"

#include <optional>
#include <string>
#include <string_view>

namespace convoy::diagnose {

// Of a cell that walks along a sequence: whether from its end.
std::optional<bool> walks_backwards(const Node& node);

Fix fix_of_sequence(const Graph& form, const Finding& finding);
Fix fix_of_kernel(const Graph& form, const Finding& finding);
Fix fix_of_flatten(const Graph& as_read, const Graph& form, const std::string& layer);
Fix fix_of_cause(std::string_view cause);

}  // namespace convoy::diagnose
