// Arithmetic on numbers that are written out, as Python does it.
#pragma once
#include "containers/python/expression.h"

namespace convoy::python {

// a OP b. Nothing where one of them is no number or the operator is none of + - * / // % **.
// Fails (Format): division by zero; a whole number beyond 64 bits.
Result<bool> combine(Expression& a, std::string_view symbol, const Expression& b);
// -a, +a, not a.
Result<bool> negate(Expression& a);

}  // namespace convoy::python
