// JSON as Python writes it: strict, but for the bare words NaN, Infinity and -Infinity.
#pragma once
#include "convoy/result.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace convoy {

using Json = nlohmann::ordered_json;  // keys stay in the order of the file

// Whole numbers are int64 or, above it, uint64; beyond both, and with a point or exponent, double.
// Files that use the value include <nlohmann/json.hpp>; its throwing accessors are asked only after the type.
// Fails: Format or Truncated with line and column; a key that occurs twice in an object; half a surrogate
// pair; Limit: nesting over 512, a string over 64 MiB; Budget: more values than a file of its size is granted.
Result<Json> parse_json(std::string_view text);

// JSON again, on one line or with `indent` spaces for each level; bytes that are no UTF-8 are replaced.
std::string json_text(const Json& json, int indent = -1);

}  // namespace convoy
