// Inputs changed as a fuzzer changes them, for programs that are built without one.
#pragma once
#include "base/bytes.h"

#include <random>
#include <vector>

namespace convoy::fuzz {

// A few bytes flipped, erased, doubled, set to telling numbers or taken from another input.
std::vector<std::byte> mutated_bytes(Bytes bytes, Bytes other, std::minstd_rand& random);

// A program with lines or words doubled, exchanged, erased or taken from another one, and numbers made telling.
std::vector<std::byte> mutated_lines(Bytes bytes, Bytes other, std::minstd_rand& random);

}  // namespace convoy::fuzz
