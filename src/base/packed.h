// Whole numbers of 2 and 4 bits, several to a byte: the first in its low bits.
#pragma once
#include "base/bytes.h"
#include "convoy/size.h"

#include <vector>

namespace convoy {

// How many bytes hold `count` numbers. `bits` divides 8.
Size packed_size(Size count, int bits);

// One byte each: as it stands there, or with the sign carried on to the left. `packed` holds packed_size(count, bits) bytes.
std::vector<std::byte> unpacked(Bytes packed, Size count, int bits, bool is_signed);

}  // namespace convoy
