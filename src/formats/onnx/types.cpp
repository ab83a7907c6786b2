#include "formats/onnx/types.h"

#include <array>
#include <string_view>

namespace convoy::onnx {

std::string name_of_type(Size code) {
  constexpr std::array<std::string_view, 29> names{
      "UNDEFINED",      "FLOAT",      "UINT8",          "INT8",       "UINT16",    "INT16",
      "INT32",          "INT64",      "STRING",         "BOOL",       "FLOAT16",   "DOUBLE",
      "UINT32",         "UINT64",     "COMPLEX64",      "COMPLEX128", "BFLOAT16",  "FLOAT8E4M3FN",
      "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",      "INT4",      "FLOAT4E2M1",
      "FLOAT8E8M0",     "UINT2",      "INT2",           "FLOAT6E2M3", "FLOAT6E3M2"};
  if (code < 0 || code >= static_cast<Size>(names.size())) return "number " + std::to_string(code);
  return std::string(names[static_cast<std::size_t>(code)]);
}

}  // namespace convoy::onnx
