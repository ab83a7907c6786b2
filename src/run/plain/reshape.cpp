#include "run/plain/kernels.h"

#include <numeric>

namespace convoy::plain {

namespace {

// y, walked in row-major order of `shape`, takes x at the given strides.
template <class T>
void copy_strided(const T* x, const Sizes& shape, const Sizes& strides, std::size_t axis, T*& y) {
  const Size size = shape[axis], stride = strides[axis];
  if (axis + 1 == shape.size()) {
    for (Size i = 0; i < size; ++i) *y++ = x[i * stride];
    return;
  }
  for (Size i = 0; i < size; ++i) copy_strided(x + i * stride, shape, strides, axis + 1, y);
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
  else copy_strided(call.data(0), sizes, strides, 0, y);
  return {};
}

}  // namespace

template <class T>
Status compute(const Transpose& op, const Call<T>& call) {
  return permute(call, call.in[0].shape, op.permutation);
}

// Both directions are a view with the block's two axes split off, and a permutation.
template <class T>
Status compute(const DepthToSpace& op, const Call<T>& call) {
  const Sizes& in = call.in[0].shape;
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
  const Sizes& in = call.in[0].shape;
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

template Status compute(const Transpose&, const Call<float>&);
template Status compute(const Transpose&, const Call<double>&);
template Status compute(const DepthToSpace&, const Call<float>&);
template Status compute(const DepthToSpace&, const Call<double>&);
template Status compute(const SpaceToDepth&, const Call<float>&);
template Status compute(const SpaceToDepth&, const Call<double>&);

}  // namespace convoy::plain
