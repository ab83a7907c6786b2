// Text as it is copied from a notebook or a console, as the program that was typed there.
#pragma once
#include <string>
#include <string_view>

namespace convoy::python {

// Without prompts (">>> ", "... ", "In [3]: "), the answers between them, and a notebook's own lines ("!pip install",
// "%matplotlib inline"); every line keeps its number. Text without any of them comes back as it is.
std::string as_typed(std::string_view text);

}  // namespace convoy::python
