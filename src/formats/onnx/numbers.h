// Numbers that a model computes about its own shapes, while it is read: known ones, and multiples of sizes that are not
// known beforehand. Exported models say "flatten" or "twice as large" by such little computations.
#pragma once
#include "formats/onnx/model.h"

#include "ops/tensor_type.h"

#include <optional>
#include <span>

namespace convoy::onnx {

// Which unknown size: equal numbers are equal sizes in every run of the model.
using SizeId = int;

struct Number {
  enum class Kind : std::uint8_t { Unknown, Whole, Real, Multiple };
  Kind kind = Kind::Unknown;
  std::int64_t whole = 0;
  double real = 0;  // of Multiple: the factor
  SizeId size = -1;  // of Multiple

  static Number of(std::int64_t n) { return {Kind::Whole, n, 0, -1}; }
  static Number of(double n) { return {Kind::Real, 0, n, -1}; }
  static Number multiple(double factor, SizeId size) { return {Kind::Multiple, 0, factor, size}; }
  bool known() const { return kind == Kind::Whole || kind == Kind::Real; }
  double value() const { return kind == Kind::Whole ? static_cast<double>(whole) : real; }
  friend bool operator==(const Number&, const Number&) = default;
};

struct Numbers {
  DType dtype = DType::I64;  // whole, Bool or floating
  Sizes shape;
  std::vector<Number> all;

  bool known() const;
  Result<Tensor> tensor() const;  // where all are known
};

// Of a small tensor.
Numbers numbers_of(const Tensor& tensor);
Numbers numbers_of(const Shape& shape, std::span<const SizeId> sizes);

// What a node computes from numbers; nothing where it is no such computation, or where it fails in a way that the
// operator's own row says better. `inputs`: null where absent.
std::optional<std::vector<Numbers>> computed(const ModelNode& node, Size opset,
                                             const std::vector<const Numbers*>& inputs);

}  // namespace convoy::onnx
