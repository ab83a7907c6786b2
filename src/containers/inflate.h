// Decompresses one deflate stream whose output is limited before it is produced.
#pragma once
#include "base/bytes.h"
#include "convoy/result.h"

#include <vector>

namespace convoy {

enum class Wrapping { Raw, Zlib };

// The stream must use up `stored` exactly and give at most `most` bytes. Memory grows with what comes out.
Result<std::vector<std::byte>> inflate(Bytes stored, Wrapping wrapping, Size most);

}  // namespace convoy
