// What shape inference sees of an operator's inputs, and the words for its usual complaints.
#pragma once
#include "convoy/result.h"
#include "ops/tensor_type.h"
#include "ops/traits.h"

#include <span>
#include <vector>

namespace convoy {

using TensorTypes = std::vector<TensorType>;

struct Input {
  const TensorType* type = nullptr;        // null: an optional input that is absent
  const Tensor* constant = nullptr;  // the value, when it is known before the model runs
};

class Inputs {
 public:
  explicit Inputs(std::span<const Input> all) : all_(all) {}
  std::size_t count() const { return all_.size(); }
  bool has(std::size_t i) const { return i < all_.size() && all_[i].type; }
  // Callers check `has` or the operator's arity first (the graph checker does).
  const TensorType& operator[](std::size_t i) const { return *all_[i].type; }
  const Tensor* constant(std::size_t i) const { return i < all_.size() ? all_[i].constant : nullptr; }

 private:
  std::span<const Input> all_;
};

}  // namespace convoy
