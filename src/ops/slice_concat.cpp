#include "ops/slice_concat.h"

#include "ops/expect.h"

#include <algorithm>
#include <string>

namespace convoy {

Result<TensorTypes> infer(const Concat& op, const Inputs& in) {
  const Size rank = in[0].rank();
  if (auto s = expect_axis(op.axis, rank); !s) return pass(s);
  Shape shape = in[0].shape;
  DType dtype = in[0].dtype;
  for (std::size_t i = 1; i < in.count(); ++i) {
    if (!in.has(i)) return fail(Fault::Format, "input " + std::to_string(i) + " of concat is absent");
    const Shape& other = in[i].shape;
    const auto differ = [&] {
      return fail(Fault::Format, "shapes " + text_of(in[0].shape) + " and " + text_of(other) +
                                     " cannot be put side by side along axis " + std::to_string(op.axis));
    };
    if (in[i].rank() != rank) return differ();
    for (Size axis = 0; axis < rank; ++axis) {
      Dim& size = at(shape, axis);
      if (axis != op.axis) {
        const auto both = agreed(size, at(other, axis));
        if (!both) return differ();
        size = *both;
      } else if (!size.known() || !at(other, axis).known()) {
        size = Dim::unknown();
      } else {
        const auto sum = checked_add(*size, *at(other, axis));
        if (!sum) return fail(Fault::Limit, "the sizes along axis " + std::to_string(axis) + " do not fit in 64 bits");
        size = *sum;
      }
    }
    dtype = meeting(dtype, in[i].dtype);
  }
  return one_type(dtype, std::move(shape));
}

SliceRange resolve(const Slice& slice, Size in) {
  const bool forward = slice.step > 0;
  // A negative number counts from the end once; what still lies outside is moved to the nearest end.
  const auto placed = [&](std::optional<Size> at, Size otherwise) {
    if (!at) return otherwise;
    const Size index = *at < 0 ? *at + in : *at;
    return std::clamp(index, forward ? Size{0} : Size{-1}, forward ? in : in - 1);
  };
  const Size first = placed(slice.start, forward ? 0 : in - 1), stop = placed(slice.stop, forward ? in : -1);
  if (forward) return {first, stop > first ? (stop - first - 1) / slice.step + 1 : 0};
  // -(step + 1) + 1 would wrap for the most negative step, which takes one element at most.
  const Size span = first - stop;
  return {first, span <= 0 ? 0 : slice.step < -span ? 1 : (span - 1) / -slice.step + 1};
}

Result<TensorTypes> infer(const Slice& op, const Inputs& in) {
  if (auto s = expect_axis(op.axis, in[0].rank()); !s) return pass(s);
  if (op.step == 0) return fail(Fault::Format, "step is 0");
  Shape shape = in[0].shape;
  Dim& size = at(shape, op.axis);
  if (size.known()) size = resolve(op, *size).count;
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const Split& op, const Inputs& in) {
  if (auto s = expect_axis(op.axis, in[0].rank()); !s) return pass(s);
  const Dim size = at(in[0].shape, op.axis);
  TensorTypes types;
  Size sum = 0;
  for (const Size part : op.sizes) {
    const auto next = checked_add(sum, part);
    if (part < 0 || !next) return fail(Fault::Format, "split into parts of " + text_of(op.sizes));
    sum = *next;
    Shape shape = in[0].shape;
    at(shape, op.axis) = part;
    types.push_back({in[0].dtype, std::move(shape)});
  }
  if (op.sizes.empty() || (size.known() && *size != sum))
    return fail(Fault::Format, "split into parts of " + text_of(op.sizes) + " along axis " + std::to_string(op.axis) +
                                   " of an input of shape " + text_of(in[0].shape));
  return types;
}

Result<TensorTypes> infer(const Tile& op, const Inputs& in) {
  if (auto s = expect_axis(op.axis, in[0].rank()); !s) return pass(s);
  if (op.times < 0) return fail(Fault::Format, "times is " + std::to_string(op.times));
  Shape shape = in[0].shape;
  Dim& size = at(shape, op.axis);
  if (size.known()) {
    const auto grown = checked_multiply(*size, op.times);
    if (!grown)
      return fail(Fault::Limit, std::to_string(op.times) + " times " + std::to_string(*size) + " is too large");
    size = *grown;
  }
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const Take& op, const Inputs& in) {
  if (auto s = expect_axis(op.axis, in[0].rank()); !s) return pass(s);
  Shape shape = in[0].shape;
  Dim& size = at(shape, op.axis);
  for (const Size index : op.indices)
    if (index < 0 || (size.known() && index >= *size))
      return fail(Fault::Format, "index " + std::to_string(index) + " lies outside axis " + std::to_string(op.axis) +
                                     " of an input of shape " + text_of(in[0].shape));
  size = static_cast<Size>(op.indices.size());
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const Gather& op, const Inputs& in) {
  if (auto s = expect_axis(op.axis, in[0].rank()); !s) return pass(s);
  Shape shape = in[0].shape;
  shape.erase(shape.begin() + op.axis);
  shape.insert(shape.begin() + op.axis, in[1].shape.begin(), in[1].shape.end());
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const GatherElements& op, const Inputs& in) {
  if (auto s = expect_axis(op.axis, in[0].rank()); !s) return pass(s);
  bool fits = in[1].rank() == in[0].rank();
  for (Size axis = 0; fits && axis < in[0].rank(); ++axis) {
    const Dim from = at(in[0].shape, axis), to = at(in[1].shape, axis);
    fits = axis == op.axis || !from.known() || !to.known() || *to <= *from;
  }
  if (!fits)
    return fail(Fault::Format, "indices of shape " + text_of(in[1].shape) + " do not lie in an input of shape " +
                                   text_of(in[0].shape));
  return one_type(in[0].dtype, in[1].shape);
}

Result<TensorTypes> infer(const ExpandLike& op, const Inputs& in) {
  if (auto s = expect_axis(op.axis, in[0].rank()); !s) return pass(s);
  if (auto s = expect_axis(op.from, in[1].rank()); !s) return pass(s);
  Shape shape = in[0].shape;
  if (at(shape, op.axis) != Dim(1))
    return fail(Fault::Format,
                "axis " + std::to_string(op.axis) + " of an input of shape " + text_of(shape) + " is not of size 1");
  at(shape, op.axis) = at(in[1].shape, op.from);
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const SliceBehind&, const Inputs& in) {
  if (in[0].rank() != 1 || in[1].rank() != 1)
    return fail(Fault::Format,
                "inputs of shapes " + text_of(in[0].shape) + " and " + text_of(in[1].shape) + " are no lists");
  const Dim all = in[0].shape.front(), gone = in[1].shape.front();
  const bool known = all.known() && gone.known();
  return one_type(in[0].dtype, {known ? Dim(std::max<Size>(0, *all - *gone)) : Dim::unknown()});
}

}  // namespace convoy
