// Declares a function for every operator from the list of them. Its declaration is a friend of `Declare<O>`, which a call
// finds through an argument whose class inherits from all of these; an operator without a definition does not link.
#pragma once
#include "ops/op.h"

#include <tuple>

namespace convoy {

template <template <class> class Declare, class Ops>
struct DeclaredFor;
template <template <class> class Declare, class... O>
struct DeclaredFor<Declare, std::tuple<O...>> : Declare<O>... {};

// What the function is called with in place of an `Argument`.
template <class Argument, template <class> class Declare>
struct Declaring : Argument, DeclaredFor<Declare, AnyOp::tuple> {
  explicit Declaring(const Argument& argument) : Argument(argument) {}
};

}  // namespace convoy
