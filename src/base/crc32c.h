// The CRC-32C (Castagnoli) of LevelDB's tables and TensorFlow's checkpoints, by the processor's own instruction where it has it.
#pragma once
#include "base/bytes.h"

#include <cstdint>

namespace convoy {

std::uint32_t crc32c_of(Bytes bytes);

// How files keep it: turned and moved, so that a sum over bytes that hold sums is no special number.
constexpr std::uint32_t masked_crc32c(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8U; }

}  // namespace convoy
