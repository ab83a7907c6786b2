// JSON changed as a whole value: flipped bytes of its text would seldom get past the parser.
#pragma once
#include "base/bytes.h"

#include <random>
#include <vector>

namespace convoy::fuzz {

// The document with one of its values replaced, erased or doubled; empty where the text is no JSON.
std::vector<std::byte> mutated_json(Bytes text, std::minstd_rand& random);

}  // namespace convoy::fuzz
