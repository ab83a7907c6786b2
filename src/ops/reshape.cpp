#include "ops/reshape.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>
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

Result<TensorTypes> blocks_moved(const TensorType& x, Order order, Size block, bool to_space) {
  if (x.rank() < 3) return fail(Fault::Format, "input has shape " + text_of(x.shape) + ", expected rank 3 or more");
  if (block < 1 || block > Size{1} << 15) return fail(Fault::Format, "block size is " + std::to_string(block));
  const bool first = order == Order::ChannelsFirst;
  const Size channel = x.rank() - (first ? 3 : 1), height = x.rank() - (first ? 2 : 3);
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
  if (auto s = scale(channel, block * block, !to_space); !s) return pass(s);
  for (Size i = 0; i < 2; ++i)
    if (auto s = scale(height + i, block, to_space); !s) return pass(s);
  return one_type(x.dtype, std::move(shape));
}

// One entry per axis, blocks of one cell at least, nothing negative around; the cells of a whole block.
template <class O>
Result<Size> block_cells(const O& op, const TensorType& x) {
  if (auto s = expect_axes("axes", op.axes, x.rank()); !s) return pass(s);
  if (!op.axes.empty() && op.axes[0] == 0) return fail(Fault::Format, "axis 0 is the batch");
  const auto axes = static_cast<Size>(op.axes.size());
  if (auto s = expect_per_axis("block", op.block.size(), axes); !s) return pass(s);
  if (auto s = expect_per_axis("before", op.before.size(), axes); !s) return pass(s);
  if (auto s = expect_per_axis("after", op.after.size(), axes); !s) return pass(s);
  Size cells = 1;
  constexpr Size most = Size{1} << 30;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const std::string text = "block of " + std::to_string(op.block[i]) + " cells with " + std::to_string(op.before[i]) +
                             " before and " + std::to_string(op.after[i]) + " after on axis " +
                             std::to_string(op.axes[i]);
    if (op.block[i] < 1 || op.before[i] < 0 || op.after[i] < 0) return fail(Fault::Format, text);
    if (op.block[i] > most || op.before[i] > most || op.after[i] > most || cells > most / op.block[i])
      return fail(Fault::Limit, text);
    cells *= op.block[i];
  }
  return cells;
}

}  // namespace

Result<TensorTypes> infer(const Reshape& op, const Inputs& in) {
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
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const Flatten&, const Inputs& in) {
  if (in[0].rank() < 1) return fail(Fault::Format, "input of flatten has rank 0");
  const auto product = product_of(std::span(in[0].shape).subspan(1));
  if (!product) return std::unexpected(product.error());
  return one_type(in[0].dtype, {in[0].shape[0], *product});
}

Result<TensorTypes> infer(const Transpose& op, const Inputs& in) {
  const Size rank = in[0].rank();
  Sizes sorted = op.permutation;
  std::ranges::sort(sorted);
  if (static_cast<Size>(sorted.size()) != rank || !is_identity(sorted))
    return fail(Fault::Format, "permutation " + text_of(op.permutation) +
                                   " does not order the axes of an input of shape " + text_of(in[0].shape));
  Shape shape;
  for (const Size axis : op.permutation) shape.push_back(at(in[0].shape, axis));
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const Unsqueeze& op, const Inputs& in) {
  const Size rank = in[0].rank() + static_cast<Size>(op.axes.size());
  if (auto s = expect_axes("axes", op.axes, rank); !s) return pass(s);
  Shape shape = in[0].shape;
  for (const Size axis : op.axes) shape.insert(shape.begin() + axis, Dim(1));
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const Squeeze& op, const Inputs& in) {
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
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const DepthToSpace& op, const Inputs& in) {
  return blocks_moved(in[0], op.order, op.block, true);
}
Result<TensorTypes> infer(const SpaceToDepth& op, const Inputs& in) {
  return blocks_moved(in[0], op.order, op.block, false);
}
Result<TensorTypes> infer(const SpaceToBatch& op, const Inputs& in) {
  if (in[0].rank() < 1) return fail(Fault::Format, "input of space_to_batch has rank 0");
  const auto cells = block_cells(op, in[0]);
  if (!cells) return std::unexpected(cells.error());
  Shape shape = in[0].shape;
  const auto batch = product_of(std::array{shape[0], Dim(*cells)});
  if (!batch) return std::unexpected(batch.error());
  shape[0] = *batch;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    Dim& size = at(shape, op.axes[i]);
    if (!size.known()) continue;
    const auto padded = checked_add(*size, op.before[i] + op.after[i]);
    if (!padded || *padded % op.block[i] != 0)
      return fail(Fault::Unsupported, std::to_string(op.block[i]) + " does not divide the " + std::to_string(*size) +
                                          " + " + std::to_string(op.before[i] + op.after[i]) + " cells of axis " +
                                          std::to_string(op.axes[i]));
    size = *padded / op.block[i];
  }
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const BatchToSpace& op, const Inputs& in) {
  if (in[0].rank() < 1) return fail(Fault::Format, "input of batch_to_space has rank 0");
  const auto cells = block_cells(op, in[0]);
  if (!cells) return std::unexpected(cells.error());
  Shape shape = in[0].shape;
  if (shape[0].known()) {
    if (*shape[0] % *cells != 0)
      return fail(Fault::Unsupported, "blocks of " + std::to_string(*cells) + " cells do not divide the batch of " +
                                          std::to_string(*shape[0]));
    shape[0] = *shape[0] / *cells;
  }
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    Dim& size = at(shape, op.axes[i]);
    if (!size.known()) continue;
    const auto whole = checked_multiply(*size, op.block[i]);
    if (!whole) return fail(Fault::Limit, "input of shape " + text_of(in[0].shape) + " is too large");
    const Size left = *whole - op.before[i] - op.after[i];
    if (left < 0)
      return fail(Fault::Unsupported, "cutting " + std::to_string(op.before[i]) + " and " +
                                          std::to_string(op.after[i]) + " of the " + std::to_string(*whole) +
                                          " cells of axis " + std::to_string(op.axes[i]) + " leaves none");
    size = left;
  }
  return one_type(in[0].dtype, std::move(shape));
}

}  // namespace convoy
