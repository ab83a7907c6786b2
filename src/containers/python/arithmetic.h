// Arithmetic on numbers and lists that are written out, as Python does it.
#pragma once
#include "containers/python/expression.h"

namespace convoy::python {

// a OP b, of numbers with + - * / // % **, and of lists with + and a whole number of times. Nothing: another thing.
// Fails (Format): division by zero; a whole number beyond 64 bits.
Result<bool> combine(Expression& a, std::string_view symbol, const Expression& b);
// -a, +a, not a.
Result<bool> negate(Expression& a);

}  // namespace convoy::python
