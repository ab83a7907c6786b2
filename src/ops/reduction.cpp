#include "ops/reduction.h"

#include "ops/expect.h"

#include <algorithm>
#include <string>

namespace convoy {

Result<TensorTypes> infer(const Reduce& reduce, const Inputs& in) {
  if (auto s = expect_axes("axes", reduce.axes, in[0].rank()); !s) return pass(s);
  Shape shape;
  for (Size i = 0; i < in[0].rank(); ++i) {
    const Dim size = at(in[0].shape, i);
    if (!std::ranges::binary_search(reduce.axes, i)) {
      shape.push_back(size);
      continue;
    }
    const bool needs_one = reduce.reduction == Reduction::Maximum || reduce.reduction == Reduction::Minimum ||
                           reduce.reduction == Reduction::Mean;
    if (needs_one && size == Dim(0))
      return fail(Fault::Unsupported, "input has shape " + text_of(in[0].shape) + ": axis " + std::to_string(i) +
                                          " holds nothing to reduce");
    if (reduce.keeps_axes) shape.push_back(1);
  }
  const DType dtype = reduce.reduction == Reduction::Mean ? arithmetic(in[0].dtype) : in[0].dtype;
  return one_type(dtype, std::move(shape));
}

Result<TensorTypes> infer(const ArgExtreme& op, const Inputs& in) {
  if (auto s = expect_axis(op.axis, in[0].rank()); !s) return pass(s);
  Shape shape = in[0].shape;
  if (at(shape, op.axis) == Dim(0))
    return fail(Fault::Unsupported, "input has shape " + text_of(shape) + ": axis " + std::to_string(op.axis) +
                                        " holds nothing to choose from");
  if (op.keeps_axis) at(shape, op.axis) = 1;
  else shape.erase(shape.begin() + op.axis);
  return one_type(DType::I64, std::move(shape));
}

Result<TensorTypes> infer(const TopK& op, const Inputs& in) {
  if (auto s = expect_axis(op.axis, in[0].rank()); !s) return pass(s);
  Shape shape = in[0].shape;
  Dim& size = at(shape, op.axis);
  if (op.count < 0 || (size.known() && op.count > *size))
    return fail(Fault::Format, "asks for " + std::to_string(op.count) + " numbers along axis " +
                                   std::to_string(op.axis) + " of an input of shape " + text_of(in[0].shape));
  size = op.count;
  return TensorTypes{{in[0].dtype, shape}, {DType::I64, shape}};
}

Result<TensorTypes> infer(const Accumulate& op, const Inputs& in) {
  if (auto s = expect_axis(op.axis, in[0].rank()); !s) return pass(s);
  if (op.reduction != Reduction::Sum && op.reduction != Reduction::Product)
    return fail(Fault::Format, "only sums and products run along an axis");
  return one_type(in[0].dtype == DType::Bool ? DType::I64 : in[0].dtype, in[0].shape);
}

}  // namespace convoy
