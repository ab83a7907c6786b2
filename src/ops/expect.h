// The checks that many operators share, each with its one sentence. Sizes that are not known pass.
#pragma once
#include "ops/infer.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy {

std::string text_of(const Sizes& sizes);  // "[2, 3]"

// "kernel has rank 3, expected 4"
Status expect_rank(std::string_view thing, const TensorType& type, Size rank);
// "bias has shape [3], expected [4]"
Status expect_shape(std::string_view thing, const TensorType& type, const Shape& wanted);
// Axes that exist, each once, in rising order.
Status expect_axes(std::string_view thing, const Sizes& axes, Size rank);
// One axis that exists; negative ones are not accepted.
Status expect_axis(Size axis, Size rank);
// "windows has 1 entries, expected 2 (one per spatial axis)"
Status expect_per_axis(std::string_view thing, std::size_t count, Size space);

// What two sizes that must be equal say together. Nothing: they differ.
std::optional<Dim> agreed(Dim a, Dim b);
// Whether two shapes may be one: of one rank, and no two sizes that are known differ.
bool agree(const Shape& a, const Shape& b);
// The product of sizes: unknown when one is unknown, an error where it does not fit.
Result<Dim> product_of(std::span<const Dim> dims);
// The element type in which numbers of two types meet: the wider floating one; whole numbers give way, and truths to all. Of
// whole numbers with and without a sign the one with a sign that holds both, of 64 bits at most.
DType meeting(DType a, DType b);
bool is_floating(DType dtype);
double largest_finite(DType dtype);  // of a floating type; 65504 of float16
bool is_unsigned(DType dtype);
constexpr bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }
// What no number of the type is below: minus infinity, of whole numbers the least.
double least_of(DType dtype);
// What arithmetic on this type gives: floating types stay, whole numbers become float32.
DType arithmetic(DType dtype);

inline Dim at(const Shape& shape, Size axis) { return shape[static_cast<std::size_t>(axis)]; }
inline Dim& at(Shape& shape, Size axis) { return shape[static_cast<std::size_t>(axis)]; }
inline Size at(const Sizes& sizes, Size axis) { return sizes[static_cast<std::size_t>(axis)]; }

inline TensorTypes one_type(DType dtype, Shape shape) {
  TensorTypes types;
  types.push_back({dtype, std::move(shape)});
  return types;
}

}  // namespace convoy
