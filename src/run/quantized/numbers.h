// Whole numbers less their zero points, and back into the type that holds them.
#pragma once
#include "run/quantized/fixed_point.h"
#include "run/quantized/quantized.h"

#include <algorithm>
#include <limits>

namespace convoy::quantized {

using Results = Result<std::vector<Tensor>>;

struct Limits {
  std::int32_t least = 0, most = 0;
};
constexpr Limits limits_of(DType dtype) {
  switch (dtype) {
    case DType::I8: return {-128, 127};
    case DType::U8: return {0, 255};
    case DType::I16: return {-32768, 32767};
    default: return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  }
}
inline bool is_byte(DType dtype) { return dtype == DType::I8 || dtype == DType::U8; }
inline std::int32_t zero_of(const Quantization& q) { return static_cast<std::int32_t>(q.zero_points.front()); }
inline double scale_of(const Quantization& q) { return static_cast<double>(q.scales.front()); }
// Whether the same number stands for the same real one.
inline bool same_steps(const Quantization& a, const Quantization& b) {
  return a.dtype == b.dtype && a.scales == b.scales && a.zero_points == b.zero_points && a.axis == b.axis;
}

// Number by number, less the zero point.
std::vector<std::int32_t> steps_of(const Held& held);
// Steps with the zero point added, at most as large as the type holds.
Tensor held_steps(Sizes shape, const std::vector<std::int32_t>& steps, const Quantization& as);
inline std::int32_t within_limits(std::int64_t steps, const Quantization& as) {
  const Limits limits = limits_of(as.dtype);
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(steps + zero_of(as), limits.least, limits.most)) -
         zero_of(as);
}

inline Results one_result(Tensor tensor) {
  std::vector<Tensor> all;
  all.push_back(std::move(tensor));
  return all;
}
std::unexpected<Error> no_kernel(std::string_view what);

// For every cell of `shape`, in row-major order, the cell of an array that is spread over it.
std::vector<Size> spread_cells(const Sizes& of, const Sizes& shape);

Results run(const Conv& op, const QuantizedCall& call);
Results run(const ConvTranspose& op, const QuantizedCall& call);
Results run(const Linear& op, const QuantizedCall& call);
Results run(const MatMul& op, const QuantizedCall& call);
Results run(const LengthNorm& op, const QuantizedCall& call);
Results run(const AveragePool& op, const QuantizedCall& call);
Results run(const Reduce& op, const QuantizedCall& call);
Results run(const Resize& op, const QuantizedCall& call);
Results run(const Binary& op, const QuantizedCall& call);
Results run(const PRelu& op, const QuantizedCall& call);
Results run(const Relu& op, const QuantizedCall& call);
Results run(const Clip& op, const QuantizedCall& call);
Results run(const Elu& op, const QuantizedCall& call);
Results run(const Unary& op, const QuantizedCall& call);
Results run(const Softmax& op, const QuantizedCall& call);
Results run(const Concat& op, const QuantizedCall& call);
// To other steps, or from and to real numbers.
Results requantized(const QuantizedCall& call);

// An operator whose results are numbers of its inputs, or places of them.
Results chosen(const Op& op, const QuantizedCall& call);

}  // namespace convoy::quantized
