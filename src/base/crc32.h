// The CRC-32 of zip and gzip, folded with carry-less multiplication where the processor has it.
#pragma once
#include "base/bytes.h"

#include <cstdint>

namespace convoy {

// Continues from the value of the bytes before; 0 begins.
std::uint32_t crc32_of(Bytes bytes, std::uint32_t before = 0);

}  // namespace convoy
