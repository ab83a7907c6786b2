// The names of an operator's fields, so that the text form, equality and reports are written once for all operators.
#pragma once
#include <string_view>

namespace convoy {

template <class Struct, class T>
struct Field {
  std::string_view name;
  T Struct::* member;
};
template <class Struct, class T>
Field(std::string_view, T Struct::*) -> Field<Struct, T>;

}  // namespace convoy
