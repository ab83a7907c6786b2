// Runs one node over whole numbers that stand for real ones, to the last bit as TFLite's reference kernels do.
#pragma once
#include "ops/op.h"
#include "ops/quantization.h"

#include <functional>
#include <span>
#include <vector>

namespace convoy::quantized {

// One input. Without a quantization its numbers are what they are.
struct Held {
  const Tensor* tensor = nullptr;  // null: absent
  const Quantization* quantization = nullptr;
};

struct QuantizedCall {
  std::span<const Held> in;
  std::span<const Quantization* const> out;  // null: the result is real numbers
  const TensorTypes& types;  // of the results, as real numbers
  int threads = 1;
  // The operator over float64 numbers.
  std::function<Result<std::vector<Tensor>>(const Op&, const std::vector<const Tensor*>&)> plain;

  const Quantization& input(std::size_t i = 0) const { return *in[i].quantization; }
  const Quantization& output(std::size_t i = 0) const { return *out[i]; }
  bool has(std::size_t i) const { return i < in.size() && in[i].tensor; }
  const Sizes& shape(std::size_t i = 0) const { return in[i].tensor->shape(); }
  Sizes result_shape(std::size_t i = 0) const { return *sizes_of(types[i].shape); }
};

// Fails (Unsupported): an operator or a pair of types that no such kernel is known for.
Result<std::vector<Tensor>> run_quantized(const Op& op, const QuantizedCall& call);

}  // namespace convoy::quantized
