// The numbers that TFLite gives to element types.
#pragma once
#include "convoy/tensor.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace convoy::tflite {

// BuiltinOperator, of those that no row reads.
inline constexpr int var_handle = 142, read_variable = 143, assign_variable = 144, call_once = 129;
inline constexpr int if_operator = 118, while_operator = 119;

// INT4, in which files hold weights alone: they are carried as int8.
inline constexpr int four_bits = 17;

// Nothing: a type that is not carried (text, complex numbers, fewer than 8 bits).
constexpr std::optional<DType> dtype_of(Size code) {
  switch (code) {
    case 0: return DType::F32;
    case 1: return DType::F16;
    case 2: return DType::I32;
    case 3: return DType::U8;
    case 4: return DType::I64;
    case 6: return DType::Bool;
    case 7: return DType::I16;
    case 9: return DType::I8;
    case 10: return DType::F64;
    case 12: return DType::U64;
    case 15: return DType::U32;
    case 16: return DType::U16;
    case 18: return DType::BF16;
    default: return std::nullopt;
  }
}

// "INT4", as schema.fbs says it; "number 77" of one that it does not have.
inline std::string name_of_type(Size code) {
  constexpr std::array<std::string_view, 21> names{
      "FLOAT32", "FLOAT16",   "INT32",  "UINT8",   "INT64",      "STRING", "BOOL",
      "INT16",   "COMPLEX64", "INT8",   "FLOAT64", "COMPLEX128", "UINT64", "RESOURCE",
      "VARIANT", "UINT32",    "UINT16", "INT4",    "BFLOAT16",   "INT2",   "UINT4"};
  if (code < 0 || code >= static_cast<Size>(names.size())) return "number " + std::to_string(code);
  return std::string(names[static_cast<std::size_t>(code)]);
}

constexpr Size type_code_of(DType dtype) {
  for (Size code = 0; code <= 18; ++code)
    if (dtype_of(code) == dtype) return code;
  return -1;
}

}  // namespace convoy::tflite
