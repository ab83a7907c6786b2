// What is known of a value before it is computed: element type and shape, where a size may be unknown.
#pragma once
#include "convoy/tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy {

// A size, or "not known until the model runs".
class Dim {
 public:
  constexpr Dim() = default;
  constexpr Dim(Size n) : n_(n) {}  // NOLINT: a number is a size
  static constexpr Dim unknown() { return {}; }
  constexpr bool known() const { return n_ >= 0; }
  constexpr Size operator*() const { return n_; }
  constexpr std::optional<Size> size() const { return known() ? std::optional(n_) : std::nullopt; }
  friend constexpr bool operator==(Dim, Dim) = default;

 private:
  Size n_ = -1;
};

using Shape = std::vector<Dim>;

struct TensorType {
  DType dtype = DType::F32;
  Shape shape;
  Size rank() const { return static_cast<Size>(shape.size()); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

TensorType type_of(const Tensor& t);
std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors);
// "[N, 8, ?, 3]": an unknown first size is written N, others ?.
std::string text_of(const Shape& shape);
std::string text_of(const TensorType& type);  // "float32 [N, 8, 14, 3]"
// All sizes, if all are known.
std::optional<Sizes> sizes_of(const Shape& shape);

}  // namespace convoy
