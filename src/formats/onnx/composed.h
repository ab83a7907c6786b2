// Short words for rows that no operator of ours is, and that are put together of several.
#pragma once
#include "formats/numbers.h"
#include "formats/onnx/arguments.h"
#include "ops/expect.h"

#include <string_view>
#include <vector>

namespace convoy::onnx {

inline ValueId both(FunctionCall& call, BinaryFunction function, ValueId a, ValueId b) {
  return call.add(Binary{function}, {a, b});
}
inline ValueId each(FunctionCall& call, Function function, ValueId x) { return call.add(Unary{function}, {x}); }

inline ValueId table(FunctionCall& call, std::string_view word, Sizes shape, std::vector<double> numbers, DType dtype) {
  if (is_floating(dtype))
    return call.make_constant(word, Tensor::of(std::move(shape), std::move(numbers)).converted(dtype));
  std::vector<std::int64_t> whole;
  for (const double n : numbers) whole.push_back(static_cast<std::int64_t>(n));
  return call.make_constant(word, whole_tensor(dtype, std::move(shape), std::move(whole)));
}
inline ValueId number(FunctionCall& call, std::string_view word, double value, DType dtype) {
  return table(call, word, {}, {value}, dtype);
}

// The value in this type; itself where it has it. Known numbers are converted while the model is read.
inline ValueId as_type(FunctionCall& call, ValueId x, DType dtype, std::string_view word = "number") {
  if (!x || call.type(x).dtype == dtype) return x;
  const Tensor* known = call.constant(x);
  if (!known || !is_floating(dtype)) return call.add(Cast{dtype}, {x});
  const Tensor numbers = *known;  // values move when the graph grows
  return call.make_constant(word, numbers.converted(dtype));
}

// [C] with as many axes of size 1 behind that it meets `axis` of x; anything else as it is.
inline ValueId along(FunctionCall& call, ValueId list, ValueId x, Size axis) {
  if (call.failed() || call.rank(list) != 1 || axis < 0 || axis + 1 >= call.rank(x)) return list;
  const Dim size = call.dim(list, 0);
  Sizes to{size.known() ? *size : -1};
  to.insert(to.end(), static_cast<std::size_t>(call.rank(x) - axis - 1), 1);
  if (const Tensor* known = call.constant(list)) return call.remade(list, known->reshaped(to));
  return call.add(Reshape{to}, {list});
}

// What Conv makes of the call's windows and pads, and MatMul of two operands, by whatever names.
ValueId conv_of(FunctionCall& call, ValueId x, ValueId weight, ValueId bias);
ValueId matmul_of(FunctionCall& call, ValueId a, ValueId b);

}  // namespace convoy::onnx
