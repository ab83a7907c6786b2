// How Python divides and compares numbers where double's own operators do something else.
#pragma once
#include <cstdint>

namespace convoy::python {

// x // y and x % y of real numbers; y is not 0. The rest has the sign of y, also where it is 0: 1 // 0.1 is 9.
struct Division {
  double times, rest;
};
Division divided(double x, double y);

// a / b of whole numbers, rounded once; b is not 0.
double quotient(std::int64_t a, std::int64_t b);

// Exactly, however large: 2**53 + 1 is more than 2.0**53.
bool is_less(std::int64_t a, double b);
bool is_less(double a, std::int64_t b);
bool is_equal(std::int64_t a, double b);

}  // namespace convoy::python
