// What a program of Python leaves in `x`, or the sentence of its refusal.
#pragma once
#include "containers/python/interpreter.h"

namespace convoy::python {

inline std::string answer(const std::string& program, Limits limits = {}) {
  Interpreter in({}, {}, limits);
  const auto scope = in.run({"p.py", program});
  if (!scope) return message(scope.error());
  const Value* x = (*scope)->names.find("x");
  return x ? in.written(*x).value_or(repr(in, *x)) : "no x";
}

}  // namespace convoy::python
