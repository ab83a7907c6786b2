// Values as texts: "{:>5.2f}" and "%-5d".
#pragma once
#include "containers/python/interpreter.h"

namespace convoy::python {

// "%d of %(name)s": each mark takes the next value, or the one of its name. Fails (Unsupported): what Python writes there is
// not known.
Result<std::string> marks_filled(Interpreter& in, const std::string& text, const Value& given);

// The shortest digits that read back as the same number, as Python prints them.
std::string text_of_real(double x);

}  // namespace convoy::python
