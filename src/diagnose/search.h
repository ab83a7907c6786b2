// Which guess explains a difference: every guess is computed and held against what b computes.
#pragma once
#include "diagnose/hypothesis.h"
#include "diagnose/piece.h"

#include <functional>

#include <string>
#include <vector>

namespace convoy::diagnose {

struct Explained {
  std::vector<Edit> edits;          // empty: nothing fits
  std::vector<std::string> also;    // other causes that give the same numbers
  double r_after = 0;               // of the explanation
  std::string next;                 // the nearest explanation that does not fit
  double r_next = 0;
  Gap before;
  bool of_b = false;                // the edits are of b, and give a's numbers
  bool certain = true;              // the next one is at least a hundred times worse
};

// What the search needs of the stretch: a's piece, b's piece, equal inputs for both (in each one's order of axes).
struct Question {
  const Graph& a;
  const Graph& b;
  std::vector<Tensor> inputs_a, inputs_b;
  Sizes permutation;  // of the output, from a's order into b's
  // For other inputs: b's inputs for these of a. Used to tell guesses apart that agree on the first. May be empty.
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> for_b;
  bool reads_input = false;
  std::vector<std::string> before;
  const std::map<std::uint64_t, std::string>* kernels = nullptr;
  int threads = 0;
  bool tries_pairs = true;
  bool exact_shape = false;  // the output has b's very shape, or is wrong
  bool keeps_sizes = false;  // it has b's sizes, in whatever order, or is wrong
  double sharpness = 1;  // below it: in float64, within this share of float32's bound
  std::vector<Op> readers = {};  // of the stretch's output in a
  std::vector<bool> of_model = {};  // per input of a's piece: it is one of the model's
  std::size_t read_by_a = 0;  // inputs of a's piece from here on are read by b's stretch alone; 0: there are none
};
// Fails: as the kernels do on the models' own stretches.
Result<Explained> explain(const Question& question);

}  // namespace convoy::diagnose
