// The order that brings the slices of one tensor into those of another.
#pragma once
#include "convoy/tensor.h"

#include <optional>
#include <string>
#include <utility>

namespace convoy::diagnose {

// Slice i of b along the axis is slice order[i] of a, number for number. Nothing: b has other slices, or a's in a's order.
std::optional<Sizes> order_between(const Tensor& a, const Tensor& b, std::size_t axis);
// Both axes in orders of their own, neither of them a's.
std::optional<std::pair<Sizes, Sizes>> orders_between(const Tensor& a, const Tensor& b, std::size_t first,
                                                      std::size_t second);
// The same of computed numbers, each taken for the nearest; whether they agree is for the caller to show.
std::optional<Sizes> order_of_numbers(const Tensor& a, const Tensor& b, std::size_t axis);
// Every index once, and not all in their places.
bool is_order(const Sizes& order);
// "1 and 4 exchanged", "in reverse order", "in the order 2, 0, 1"
std::string order_text(const Sizes& order);

}  // namespace convoy::diagnose
