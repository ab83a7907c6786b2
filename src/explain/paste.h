// Text that was pasted whole, prose and code: the calls in it that a layer or a function with windows is meant by.
#pragma once
#include "convoy/result.h"
#include "convoy/size.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy::explain {

struct PastedCall {
  std::string text;  // names that the text gives a value stand as that value
  Size line = 0;     // of the paste, from 1
  Sizes kernel{};    // of a function, where the text says the shape of its weight
};

struct Paste {
  std::vector<PastedCall> calls;     // in their order
  std::vector<std::string> cut_off;  // "line 12: F.conv1d(": calls whose brackets do not close
};

// Whether a call of this name has windows, or adds cells, in some framework.
bool is_asked_about(std::string_view name);

// Definitions and signatures (`conv1d(input, ..., padding)`) are no calls. Fails: Limit, more than 1 MiB; Usage: there is no
// call in it.
Result<Paste> calls_in(std::string_view text);

}  // namespace convoy::explain
