// Real numbers that are held as whole ones: real = scale * (whole - zero point).
#pragma once
#include "convoy/tensor.h"

#include <cstdint>
#include <vector>

namespace convoy {

struct Quantization {
  DType dtype = DType::I8;  // as which the whole numbers are held
  std::vector<float> scales;  // one; or one for each place along `axis`, and along axes behind it as far as they reach
  std::vector<std::int64_t> zero_points;  // as many
  Size axis = 0;
  // Of a weight that real numbers meet: they are quantised on the way, and whether around a zero point of their own.
  bool inputs_have_zero_points = false;
  bool per_axis() const { return scales.size() > 1; }
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

}  // namespace convoy
