// What programs take from packages that lie around the frameworks, in the words of programs: read by the same interpreter,
// where the package itself is not found.
#pragma once
#include <string>
#include <string_view>

namespace convoy {

// The text of a module of this full name; empty: it is none that is known.
std::string_view helper_package(const std::string& module);

}  // namespace convoy
