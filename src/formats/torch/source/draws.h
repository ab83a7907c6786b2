// The numbers that PyTorch draws on a CPU behind torch.manual_seed(): its generator, and how distributions read from it.
#pragma once
#include "convoy/result.h"
#include "convoy/tensor.h"

#include <cstdint>
#include <optional>
#include <random>

namespace convoy::torch {

// What a tensor is filled with.
struct Filling {
  enum class How : std::uint8_t {
    Constant,
    Uniform,
    Normal,
    Truncated,
    Orthogonal,
    Whole,
    Permutation
  } how = How::Constant;
  // The constant; least and most; mean and deviation, within least and most where Truncated; the gain of Orthogonal; of Whole
  // numbers the least, and the first above the most, which lie less than 2^28 apart.
  double a = 0, b = 0, least = -2, most = 2;
  std::optional<Size> empty_row = {};  // of Normal: zero after all were drawn, as nn.Embedding's padding_idx is
};

class Draws {
 public:
  // Of the seed PyTorch uses the low 32 bits; a negative one is its two's complement.
  explicit Draws(std::uint64_t seed) { restart(seed); }
  void restart(std::uint64_t seed);

  // The next numbers of a tensor: uniform_, normal_, nn.init.trunc_normal_ and orthogonal_. Uniform numbers are bit for bit
  // PyTorch's, as are whole numbers (randint) and permutations, the others up to the rounding of its vectorised logarithm and sine, which differ between processors.
  // Fails: a truncated normal distribution that leaves less than 0.3 of it, which is drawn otherwise.
  // Source: ATen/core/DistributionsHelper.h, ATen/native/cpu/DistributionTemplates.h, torch/nn/init.py of PyTorch 2.13.
  Result<Tensor> fill(const Sizes& shape, DType dtype, const Filling& filling);

 private:
  double uniform_of_64();
  double normal();
  std::vector<std::int64_t> permutation(std::size_t count);
  std::vector<double> normals(std::size_t count, bool floats);
  Result<std::vector<double>> truncated(std::size_t count, const Filling& filling);

  std::mt19937 generator_;
  std::optional<double> next_normal_;  // the second of a pair
};

}  // namespace convoy::torch
