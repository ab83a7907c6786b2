#include "run/plain/define.h"
#include "run/plain/lines.h"

#include <algorithm>
#include <numeric>

namespace convoy::plain {

namespace {

// y, walked in row-major order of `shape`, takes x at the given strides.
template <class T>
void copy_strided(const T* x, const Sizes& shape, const Sizes& strides, std::size_t axis, T*& y, Polling& polling) {
  const Size size = shape[axis], stride = strides[axis];
  if (axis + 1 == shape.size()) {
    if (polling.ends(size)) return;
    for (Size i = 0; i < size; ++i) *y++ = x[i * stride];
    return;
  }
  for (Size i = 0; i < size && !polling.has_ended(); ++i)
    copy_strided(x + i * stride, shape, strides, axis + 1, y, polling);
}

// x seen as `shape`, its axes put in the order of `permutation`, written to y.
template <class T>
Status permute(const Call<T>& call, const Sizes& shape, const Sizes& permutation) {
  if (call.out[0].values.empty()) return {};
  const Sizes own = strides_of(shape);
  Sizes sizes, strides;
  for (const Size axis : permutation) {
    sizes.push_back(shape[static_cast<std::size_t>(axis)]);
    strides.push_back(own[static_cast<std::size_t>(axis)]);
  }
  T* y = call.out[0].values.data();
  if (sizes.empty()) *y = call.in[0].values[0];
  else {
    Polling polling;
    copy_strided(call.data(0), sizes, strides, 0, y, polling);
  }
  return {};
}

}  // namespace

template <class T>
Status compute(const Transpose& op, const Call<T>& call) {
  return permute(call, call.in[0].shape, op.permutation);
}

namespace {

// [..., C, H, W] or [..., H, W, C] with all axes in front as one.
Sizes with_one_batch(const Sizes& shape) {
  Sizes four{1, shape[shape.size() - 3], shape[shape.size() - 2], shape[shape.size() - 1]};
  for (std::size_t i = 0; i + 3 < shape.size(); ++i) four[0] *= shape[i];
  return four;
}

}  // namespace

// Both directions are a view with the block's two axes split off, and a permutation.
template <class T>
Status compute(const DepthToSpace& op, const Call<T>& call) {
  const Sizes in = with_one_batch(call.in[0].shape);
  const Size b = op.block;
  if (op.order == Order::ChannelsFirst) {
    const Size n = in[0], c = in[1] / (b * b), h = in[2], w = in[3];
    if (op.depth_first) return permute(call, {n, b, b, c, h, w}, {0, 3, 4, 1, 5, 2});
    return permute(call, {n, c, b, b, h, w}, {0, 1, 4, 2, 5, 3});
  }
  const Size n = in[0], h = in[1], w = in[2], c = in[3] / (b * b);
  if (op.depth_first) return permute(call, {n, h, w, b, b, c}, {0, 1, 3, 2, 4, 5});
  return permute(call, {n, h, w, c, b, b}, {0, 1, 4, 2, 5, 3});
}

template <class T>
Status compute(const SpaceToDepth& op, const Call<T>& call) {
  const Sizes in = with_one_batch(call.in[0].shape);
  const Size b = op.block;
  if (op.order == Order::ChannelsFirst) {
    const Size n = in[0], c = in[1], h = in[2] / b, w = in[3] / b;
    if (op.depth_first) return permute(call, {n, c, h, b, w, b}, {0, 3, 5, 1, 2, 4});
    return permute(call, {n, c, h, b, w, b}, {0, 1, 3, 5, 2, 4});
  }
  const Size n = in[0], h = in[1] / b, w = in[2] / b, c = in[3];
  if (op.depth_first) return permute(call, {n, h, b, w, b, c}, {0, 1, 3, 2, 4, 5});
  return permute(call, {n, h, b, w, b, c}, {0, 1, 3, 5, 2, 4});
}

namespace {

// Every cell of the larger space and its place among the blocks: visit(offset in the space of [N, ...], offset in
// [blocks * N, ...]). `space` is the shape with the batch undivided, the cells around it not part of it.
template <class O, class F>
void for_each_block_cell(const O& op, const Sizes& space, const Sizes& blocks, const F& visit) {
  const Sizes space_strides = strides_of(space), block_strides = strides_of(blocks);
  Size inner = 1;
  Polling polling;
  const std::size_t last = op.axes.empty() ? 0 : static_cast<std::size_t>(op.axes.back());
  for (std::size_t i = last + 1; i < space.size(); ++i) inner *= space[i];
  const auto step = [&](const auto& self, std::size_t axis, std::size_t entry, Size from, Size to, Size group) -> void {
    if (polling.ends(axis > last ? inner : 0)) return;
    if (axis > last) return visit(from, to + group * space[0] * block_strides[0], inner);
    const bool blocked = entry < op.axes.size() && static_cast<std::size_t>(op.axes[entry]) == axis;
    for (Size i = 0; i < space[axis] && !polling.has_ended(); ++i) {
      const Size at = blocked ? i + op.before[entry] : i, block = blocked ? op.block[entry] : 1;
      self(self, axis + 1, entry + (blocked ? 1 : 0), from + i * space_strides[axis],
           to + at / block * block_strides[axis], group * block + at % block);
    }
  };
  if (inner > 0) step(step, 0, 0, 0, 0, 0);
}

}  // namespace

template <class T>
Status compute(const SpaceToBatch& op, const Call<T>& call) {
  for_each_block_cell(op, call.in[0].shape, call.out[0].shape, [&](Size from, Size to, Size count) {
    std::copy_n(call.data(0) + from, count, call.out[0].values.data() + to);
  });
  return {};
}

template <class T>
Status compute(const BatchToSpace& op, const Call<T>& call) {
  for_each_block_cell(op, call.out[0].shape, call.in[0].shape, [&](Size to, Size from, Size count) {
    std::copy_n(call.data(0) + from, count, call.out[0].values.data() + to);
  });
  return {};
}

template struct Kernels<Transpose, DepthToSpace, SpaceToDepth, SpaceToBatch, BatchToSpace>;
template struct WholeKernels<Transpose, DepthToSpace, SpaceToDepth, SpaceToBatch, BatchToSpace>;

}  // namespace convoy::plain
