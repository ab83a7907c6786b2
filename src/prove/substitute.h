// Small whole numbers in place of a model's weights, the same ones in both graphs; and how large the numbers may be that
// the layers are fed, so that float32 rounds nothing.
#pragma once
#include "graph/graph.h"
#include "prove/whole.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convoy {

// What a weight does, which says how large the numbers in its place may be.
enum class Role : std::uint8_t { Kernel, Bias, Scale, Variance };

// The numbers in place of the weights: kernels of -3 ... 3 without zero, biases up to 1000, variances 1, 4 and 16, scales of
// a power of two. Weights that a pass computed stay as they are, and so do those of the source that it may have computed
// them from. Each is made whenever it is asked for, and is the same every time: nobody holds a second set of weights.
class WholeWeights {
 public:
  WholeWeights(const Graph& source, const Graph& target, std::uint64_t seed);
  // In place of a constant of the source, or of the target: of the graphs given above or of parts cut out of them.
  Tensor of_source(const Value& value) const;
  Tensor of_target(const Value& value) const;
  // Whether the two are the same numbers, told without drawing any; false: they may be.
  bool are_surely_alike(const Value& of_source, const Value& of_target) const;

 private:
  struct Weight {
    Role role;
    TensorType type;
  };
  using Weights = std::map<std::string, Weight, std::less<>>;
  // Kernels as bytes, which whoever hands them out widens.
  Tensor drawn(const Weights::value_type& weight) const;

  Weights replaced_;  // by the source's name
  std::uint64_t seed_;
  mutable std::string last_name_;  // of a kernel: the two graphs ask for it one behind the other
  mutable Tensor last_;
  mutable std::optional<Tensor> last_single_;  // the same widened, where the target has it as the source does
};

// The two graphs with the numbers of their operators changed, and the weights for both. Where both graphs normalise with the
// same epsilon it becomes 0 in both, and a slope that both share becomes 2, a negative one -1: numbers that were compared as
// numbers, and that whole numbers cannot carry. The graphs hold the weights of the model still,
// and all real numbers are of float32: where windows lie does not hang on the type, and whole numbers need the room.
struct WholeModels {
  Graph source, target;
  WholeWeights weights;
};
Result<WholeModels> with_whole_numbers(const Graph& source, const Graph& target, std::uint64_t seed);

// Multiples of `multiple`, up to `most` of it.
struct WholeRange {
  Size most = 1, multiple = 1;
};
// Per value of the source. Both graphs sized.
std::vector<WholeRange> whole_ranges(const Graph& source, const Graph& target);

// Numbers of both signs and of every magnitude within the range, none of them 0: a border of zeros would look like padding.
Tensor whole_numbers(const Sizes& shape, WholeRange range, std::uint64_t seed);

}  // namespace convoy
