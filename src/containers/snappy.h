// Snappy's plain format: a length, then copies of what comes and of what was there already.
#pragma once
#include "base/bytes.h"
#include "convoy/result.h"

#include <vector>

namespace convoy {

// Fails: Format, Truncated; Budget, before anything is made by the length that the bytes declare.
Result<std::vector<std::byte>> unsnap(Bytes bytes);

}  // namespace convoy
