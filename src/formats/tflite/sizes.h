// Whole numbers that a model computes from its own free sizes: each is a known number, or so many times a size plus so much.
#pragma once
#include "graph/graph.h"

#include <optional>
#include <string_view>
#include <vector>

namespace convoy::tflite {

struct SizeNumber {
  Size factor = 0, more = 0;  // factor * the size of `value` along `axis` + more
  ValueId value;
  Size axis = 0;
  bool open = false;  // not even that is known
  // Above 0: open, but for factor * what is left of (times * the size + plus) divided by it + more, between 0 and the divisor.
  Size divisor = 0, times = 0, plus = 0;

  bool known() const { return factor == 0 && !open; }
  friend bool operator==(const SizeNumber&, const SizeNumber&) = default;
};
// A scalar, a list, or a table row by row.
struct SizeNumbers {
  std::vector<SizeNumber> all;
  bool is_scalar = false;
  Size columns = 0;  // 0: no table
  bool known() const;
};

SizeNumber plain(Size number);
// The size of a value along an axis; one that operators in front hand on is that of the value in front of them.
SizeNumber size_number(const Graph& graph, ValueId value, Size axis);

// What an operator gives of such numbers. Nothing: it is none that computes with sizes.
std::optional<SizeNumbers> computed(std::string_view op, const std::vector<const SizeNumbers*>& inputs, Size axis,
                                    Size shrink_mask, Size begin_mask, Size end_mask);

// The shape that two broadcast to; a free size meets itself and 1. Nothing: they do not meet, or it cannot be told.
std::optional<SizeNumbers> common_shape(const SizeNumbers& a, const SizeNumbers& b);

}  // namespace convoy::tflite
