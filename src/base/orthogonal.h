// The orthogonal factor of a matrix, as initialisers of weights want it.
#pragma once
#include "convoy/result.h"

#include <cstddef>
#include <vector>

namespace convoy {

// Q of a = QR by rows, with a positive diagonal of R, which makes it the only one. `a` [rows, columns], rows >= columns, of
// full rank; the same shape comes out.
Result<std::vector<double>> orthogonal_factor(std::vector<double> a, std::size_t rows, std::size_t columns);

}  // namespace convoy
