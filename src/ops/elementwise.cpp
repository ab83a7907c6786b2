#include "ops/elementwise.h"

#include "ops/expect.h"

#include <algorithm>
#include <string>

namespace convoy {

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), Dim(1));
  const std::size_t skip_a = shape.size() - a.size(), skip_b = shape.size() - b.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Dim left = i < skip_a ? Dim(1) : a[i - skip_a], right = i < skip_b ? Dim(1) : b[i - skip_b];
    if (left == Dim(1)) {
      shape[i] = right;
    } else if (right == Dim(1)) {
      shape[i] = left;
    } else if (const auto both = agreed(left, right)) {
      shape[i] = *both;
    } else {
      return fail(Fault::Format, "shapes " + text_of(a) + " and " + text_of(b) + " do not stretch to one another");
    }
  }
  return shape;
}

Result<TensorTypes> infer(const Binary& op, const Inputs& in) {
  auto shape = broadcast(in[0].shape, in[1].shape);
  if (!shape) return pass(shape);
  DType dtype = meeting(in[0].dtype, in[1].dtype);
  if (gives_truth(op.function)) dtype = DType::Bool;
  if (works_on_bits(op.function) && (is_floating(dtype) || dtype == DType::Bool))
    return fail(Fault::Format, "works on the bits of numbers that are not whole");
  if (op.function == BinaryFunction::Divide || op.function == BinaryFunction::Power) dtype = arithmetic(dtype);
  return one_type(dtype, *std::move(shape));
}

Result<TensorTypes> infer(const Where&, const Inputs& in) {
  auto choices = broadcast(in[1].shape, in[2].shape);
  if (!choices) return pass(choices);
  auto shape = broadcast(in[0].shape, *choices);
  if (!shape) return pass(shape);
  return one_type(meeting(in[1].dtype, in[2].dtype), *std::move(shape));
}

Result<TensorTypes> infer(const Affine&, const Inputs& in) { return one_type(arithmetic(in[0].dtype), in[0].shape); }
Result<TensorTypes> infer(const Dropout&, const Inputs& in) { return one_type(in[0].dtype, in[0].shape); }
Result<TensorTypes> infer(const Identity&, const Inputs& in) { return one_type(in[0].dtype, in[0].shape); }
Result<TensorTypes> infer(const Cast& op, const Inputs& in) { return one_type(op.to, in[0].shape); }

}  // namespace convoy
