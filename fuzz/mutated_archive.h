// Archives changed member by member and put together again with the right lengths and checksums: flipped bytes of the
// archive itself would get no further than those.
#pragma once
#include "base/bytes.h"

#include <functional>
#include <random>
#include <vector>

namespace convoy::fuzz {

using ChangeBytes = std::function<std::vector<std::byte>(Bytes)>;

// The archive with one member changed; empty where it cannot be read.
std::vector<std::byte> with_one_mutated(Bytes archive, std::minstd_rand& random, const ChangeBytes& change);

}  // namespace convoy::fuzz
