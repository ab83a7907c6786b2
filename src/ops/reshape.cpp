#include "ops/reshape.h"

#include "ops/expect.h"

#include <algorithm>
#include <string>

namespace convoy {

namespace {

// What -1 stands for; copied axes cancel on both sides, so an unknown batch does not hide the rest.
Result<Dim> rest_of(const Reshape& op, const Shape& from) {
  Shape left, right;
  bool has_rest = false;
  for (std::size_t i = 0; i < op.to.size(); ++i) {
    if (op.to[i] > 0) right.push_back(op.to[i]);
    if (op.to[i] == -1) has_rest = true;
  }
  for (std::size_t i = 0; i < from.size(); ++i)
    if (i >= op.to.size() || op.to[i] != 0) left.push_back(from[i]);
  const auto have = product_of(left), want = product_of(right);
  if (!have) return have;
  if (!want) return want;
  if (!have->known()) return Dim::unknown();
  const bool fits = has_rest ? **want > 0 && **have % **want == 0 : *have == *want;
  if (!fits) return fail(Fault::Format, "input of shape " + text_of(from) + " does not reshape to " + text_of(op.to));
  return Dim(has_rest ? **have / **want : 1);
}

Result<Facts> blocks_moved(const Fact& x, Order order, Size block, bool to_space) {
  if (auto s = expect_rank("input", x, 4); !s) return pass(s);
  if (block < 1 || block > Size{1} << 15) return fail(Fault::Format, "block size is " + std::to_string(block));
  const Axes axes{order, 2};
  Shape shape = x.shape;
  const auto scale = [&](Size axis, Size times, bool grows) -> Status {
    Dim& size = at(shape, axis);
    if (!size.known()) return {};
    if (grows) {
      const auto grown = checked_multiply(*size, times);
      if (!grown) return fail(Fault::Limit, "input of shape " + text_of(x.shape) + " is too large");
      size = *grown;
    } else if (*size % times != 0) {
      return fail(Fault::Unsupported, "input has shape " + text_of(x.shape) + ": " + std::to_string(times) +
                                          " does not divide axis " + std::to_string(axis));
    } else {
      size = *size / times;
    }
    return {};
  };
  if (auto s = scale(axes.channel(), block * block, !to_space); !s) return pass(s);
  for (Size i = 0; i < 2; ++i)
    if (auto s = scale(axes.spatial(i), block, to_space); !s) return pass(s);
  return one_fact(x.dtype, std::move(shape));
}

}  // namespace

Result<Facts> infer(const Reshape& op, const Inputs& in) {
  const Shape& from = in[0].shape;
  if (std::ranges::count(op.to, -1) > 1)
    return fail(Fault::Format, "reshape to " + text_of(op.to) + " leaves two sizes open");
  for (std::size_t i = 0; i < op.to.size(); ++i) {
    if (op.to[i] < -1) return fail(Fault::Format, "reshape to " + text_of(op.to) + " holds a negative size");
    if (op.to[i] == 0 && i >= from.size())
      return fail(Fault::Format, "reshape to " + text_of(op.to) + " copies axis " + std::to_string(i) +
                                     " of an input of shape " + text_of(from));
  }
  const auto rest = rest_of(op, from);
  if (!rest) return std::unexpected(rest.error());
  Shape shape;
  for (std::size_t i = 0; i < op.to.size(); ++i)
    shape.push_back(op.to[i] == 0 ? from[i] : op.to[i] == -1 ? *rest : Dim(op.to[i]));
  return one_fact(in[0].dtype, std::move(shape));
}

Result<Facts> infer(const Flatten&, const Inputs& in) {
  if (in[0].rank() < 1) return fail(Fault::Format, "input of flatten has rank 0");
  const auto product = product_of(std::span(in[0].shape).subspan(1));
  if (!product) return std::unexpected(product.error());
  return one_fact(in[0].dtype, {in[0].shape[0], *product});
}

Result<Facts> infer(const Transpose& op, const Inputs& in) {
  const Size rank = in[0].rank();
  Sizes sorted = op.permutation;
  std::ranges::sort(sorted);
  if (static_cast<Size>(sorted.size()) != rank || !is_identity(sorted))
    return fail(Fault::Format, "permutation " + text_of(op.permutation) +
                                   " does not order the axes of an input of shape " + text_of(in[0].shape));
  Shape shape;
  for (const Size axis : op.permutation) shape.push_back(at(in[0].shape, axis));
  return one_fact(in[0].dtype, std::move(shape));
}

Result<Facts> infer(const Unsqueeze& op, const Inputs& in) {
  const Size rank = in[0].rank() + static_cast<Size>(op.axes.size());
  if (auto s = expect_axes("axes", op.axes, rank); !s) return pass(s);
  Shape shape = in[0].shape;
  for (const Size axis : op.axes) shape.insert(shape.begin() + axis, Dim(1));
  return one_fact(in[0].dtype, std::move(shape));
}

Result<Facts> infer(const Squeeze& op, const Inputs& in) {
  if (auto s = expect_axes("axes", op.axes, in[0].rank()); !s) return pass(s);
  Shape shape;
  for (Size i = 0; i < in[0].rank(); ++i) {
    const Dim size = at(in[0].shape, i);
    if (!std::ranges::binary_search(op.axes, i)) {
      shape.push_back(size);
    } else if (size.known() && *size != 1) {
      return fail(Fault::Format,
                  "axis " + std::to_string(i) + " has size " + std::to_string(*size) + " and cannot be taken out");
    }
  }
  return one_fact(in[0].dtype, std::move(shape));
}

Result<Facts> infer(const DepthToSpace& op, const Inputs& in) { return blocks_moved(in[0], op.order, op.block, true); }
Result<Facts> infer(const SpaceToDepth& op, const Inputs& in) { return blocks_moved(in[0], op.order, op.block, false); }

}  // namespace convoy
