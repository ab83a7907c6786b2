// Python's builtin functions as rows: how each is called, and how many arguments by place it takes.
#pragma once
#include "containers/python/interpreter.h"

#include <span>

namespace convoy::python {

struct Builtin {
  const char* name;
  Result<Value> (*run)(Interpreter&, Arguments&);
  std::size_t least, most;
};
constexpr std::size_t any_number = 1000000;

std::span<const Builtin> builtins_of_lists();

}  // namespace convoy::python
