// ATen's operators, as exported programs name them. Most are torch.nn.functional under another name and are read by its
// rows; those that have no function there have rows here.
#pragma once
#include "formats/function.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace convoy::torch {

// x with axes of size 1 in front, so that it has `rank` of them. Refuses one that has more.
ValueId with_axes_in_front(FunctionCall& call, ValueId x, Size rank);

// A constant of no axes. Whole types cut a fraction off; refuses what they cannot hold, infinities among it.
ValueId number_constant(FunctionCall& call, std::string_view word, double number, DType dtype);
// A number among the arguments; True counts as 1.
double number_or_truth(FunctionCall& call, std::string_view argument, std::optional<double> otherwise = {});
// What a product or a sum of this type is multiplied by: of whole numbers the part without the fraction.
double multiple_of(FunctionCall& call, std::string_view argument, DType dtype);
// A whole multiple of whole numbers is whole.
ValueId scaled(FunctionCall& call, ValueId x, double factor);
// The one cell at an index, which may count from the end.
Slice cell_at(Size axis, Size index);

// x with values put, or added, along an axis at the places of a list; an axis of the values that is one cell long is repeated.
ValueId put_by_list(FunctionCall& call, ValueId x, Size axis, ValueId index, ValueId values, bool adds);

// x with its axes of size 1 repeated as often as other values are long, whose sizes are free: {"like.0", ...} are those
// values by place in the shape, the argument "from" the axis of each.
ValueId stretched_like(FunctionCall& call, ValueId x, std::size_t axes);

// What "cat.default" makes of these: for operators that are others, one behind another.
std::vector<ValueId> through(FunctionCall& call, const std::string& overload, Json arguments, TensorArguments tensors,
                             std::size_t wanted = 1);
// The same with the tensors of a list under one name.
TensorArguments listed(std::string_view argument, const std::vector<ValueId>& tensors);

// The element type by its name in the argument "dtype"; nothing where it is absent. Refuses one that is not carried.
std::optional<DType> asked_type(FunctionCall& call);
ValueId cast_to(FunctionCall& call, ValueId x, DType dtype);
// Halves in float32, in which PyTorch's kernels compute what they round once; others as they are.
ValueId widened(FunctionCall& call, ValueId x);
// Whole numbers as float32, in which PyTorch computes functions of them.
ValueId in_fractions(FunctionCall& call, ValueId x);

// Two operands. A tensor without axes takes the element type of one that has some, unless its numbers are of a wider kind.
// https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
struct Pair {
  ValueId a, b;
};
// Both in the type in which they meet, cast to it in front, as PyTorch does.
Pair promoted(FunctionCall& call, ValueId a, ValueId b);
// The same for functions of fractions: whole numbers alone become float32.
Pair promoted_to_fractions(FunctionCall& call, ValueId a, ValueId b);
// The type of `promoted`.
DType promoted_type(const TensorType& a, const TensorType& b);

// Who reads "conv2d.default". Null row: nobody.
struct AtenRow {
  const FunctionRow* row = nullptr;
  Json arguments;  // as the row takes them
};
// `arguments` are the operator's own.
AtenRow aten_row(const std::string& overload, Json arguments);

}  // namespace convoy::torch
