// schemas: the signatures of ATen's operators as the catalogue and what is left beside it state them, for the tests that ask
// PyTorch: a line each of name, overload, names of parameters and results, separated by tabs; "*" is in front of what is
// given by name alone.
#include "formats/torch/catalogue/catalogue.h"

#include <iostream>

int main() {
  for (const convoy::torch::Schema& schema : convoy::torch::schemas()) {
    std::cout << schema.name << '\t' << schema.overload << '\t';
    for (const auto& one : parameters_of(schema)) std::cout << (one.by_name_only ? "*" : "") << one.name << ' ';
    std::cout << '\t' << schema.results << '\n';
  }
}
