// convoy weights A B: one model's weights in another's layers.
#pragma once
#include "cli/command.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace convoy::cli {

struct WeightsOfTwo {
  std::string a, b, output;
  std::string weights_a, weights_b;
  ModelOptions both;
  bool copies = false, no_proof = false, json = false, force = false;
  std::uint64_t seed = 0;
  int threads = 0;
};

void offer_weights_of_two(CLI::App& command, WeightsOfTwo& o);
// The exit code.
int weights_of_two(const WeightsOfTwo& o);

}  // namespace convoy::cli
