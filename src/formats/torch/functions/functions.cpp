// The one table of PyTorch's functions.
#include "formats/torch/functions/functions.h"

#include "formats/torch/catalogue/catalogue.h"

namespace convoy::torch {

std::span<const FunctionRow> functions() {
  static const std::vector<FunctionRow> all = [] {
    std::vector<FunctionRow> rows;
    for (const auto family : {reshape_functions(), catalogued_functions()})
      rows.insert(rows.end(), family.begin(), family.end());
    return rows;
  }();
  return all;
}

}  // namespace convoy::torch
