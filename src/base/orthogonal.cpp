#include "base/orthogonal.h"

#include <cmath>

namespace convoy {

// Gram and Schmidt, twice: once more makes the columns orthogonal to the last bit (Kahan's "twice is enough").
std::vector<double> orthogonal_factor(std::vector<double> a, std::size_t rows, std::size_t columns) {
  for (std::size_t j = 0; j < columns; ++j) {
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t k = 0; k < j; ++k) {
        double dot = 0;
        for (std::size_t i = 0; i < rows; ++i) dot += a[i * columns + k] * a[i * columns + j];
        for (std::size_t i = 0; i < rows; ++i) a[i * columns + j] -= dot * a[i * columns + k];
      }
    double square = 0;
    for (std::size_t i = 0; i < rows; ++i) square += a[i * columns + j] * a[i * columns + j];
    const double length = std::sqrt(square);
    for (std::size_t i = 0; length > 0 && i < rows; ++i) a[i * columns + j] /= length;
  }
  return a;
}

}  // namespace convoy
