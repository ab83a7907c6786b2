// Element types of NumPy's arrays: which type two of them meet in, and how a number is held by one.
#pragma once
#include "containers/python/vector.h"

namespace convoy::python {

struct ElementType {
  char kind = 'f';  // b: truths, u and i: whole numbers without and with a sign, f: floats
  int bits = 64;
  friend bool operator==(const ElementType&, const ElementType&) = default;
};
inline constexpr ElementType truths{'b', 8}, wholes{'i', 64}, floats{'f', 64};

// "float32", float, "int". Nothing: not one that is held here.
std::optional<ElementType> element_type_of(const Value& said);
// Of `dtype=`: nothing is asked where it is not given, or None. Fails: a type that is not held here.
Result<std::optional<ElementType>> element_type_asked(const std::optional<Value>& said);
std::string name_of(ElementType type);
ElementType meeting(ElementType a, ElementType b);

// Of an array, a list or a number; what is no number counts as a float.
ElementType type_of(Interpreter& in, const Value& numbers);
// Of an array beside a number of the program, which takes the array's type where it can.
ElementType beside_number(ElementType array, const Value& number);

// The number as such an array holds it: rounded, cut off, wrapped around.
Result<Value> held(Interpreter& in, const Value& number, ElementType type);
// An array of the same numbers in this type, or the number.
Result<Value> all_held(Interpreter& in, const Value& numbers, ElementType type);

}  // namespace convoy::python
