// float32 numbers as programs say them.
#pragma once

namespace convoy {

// The number that a float32 was written for: 0.1, not 0.10000000149.
double shortest(float number);

}  // namespace convoy
