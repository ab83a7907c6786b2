// The kernels: one function per operator over float or double, called with shapes that `infer` has agreed to.
// Every output is as long as its shape, and filled with zeros when the kernel begins unless it writes all of them anyway.
#pragma once
#include "ops/edge_rules.h"
#include "ops/op.h"

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace convoy::plain {

template <class T>
struct Operand {
  std::span<const T> values;  // empty where the kernel widens the stored numbers itself
  Sizes shape;
  bool present = false;
  const Tensor* stored = nullptr;  // the numbers as they came in: whole numbers are exact there
};

template <class T>
struct Output {
  std::span<T> values;
  Sizes shape;
  std::span<std::int64_t> positions{};  // instead of `values` where an output is positions, which stay whole numbers
};

template <class T>
struct Call {
  std::span<const Operand<T>> in;
  std::span<const Output<T>> out;
  int threads = 1;
  EdgeRules rules{};

  bool has(std::size_t i) const { return i < in.size() && in[i].present; }
  const T* data(std::size_t i) const { return in[i].values.data(); }
  // Null where the input is absent.
  const T* optional(std::size_t i) const { return has(i) ? in[i].values.data() : nullptr; }
};

// Whether the kernel writes every number of its output and reads none of it before.
using WriteEverything =
    std::tuple<Conv, ConvTranspose, Linear, BatchNorm, MaxPool, AveragePool, Unary, Relu, Elu, Celu, Clip, HardSigmoid,
               Shrink, Squareplus, Softplus, Threshold, Softmax, Binary, Where, Affine, Resize>;
template <class O>
inline constexpr bool writes_everything =
    one_of<WriteEverything>::template kind<O> < std::tuple_size_v<WriteEverything>;

// Whose whole numbers are computed as such, in 64 bits, which no float type holds (WholeKernels in define.h).
using ComputeWhole =
    std::tuple<Unary, Relu, Clip, Binary, Where, Reduce, ArgExtreme, TopK, Accumulate, MatMul, Embedding, MaxPool,
               AdaptivePool, MaxUnpool, Pad, PadToWindow, Unfold, Transpose, DepthToSpace, SpaceToDepth, SpaceToBatch,
               BatchToSpace, Concat, Slice, Split, Tile, Take, Gather, GatherElements, ExpandLike, SliceBehind>;
template <class O>
inline constexpr bool computes_whole = one_of<ComputeWhole>::template kind<O> < std::tuple_size_v<ComputeWhole>;

// A number of an operator's own in the type that it computes in: the nearest that this type has.
template <class T>
T in_type(double number) {
  if constexpr (std::is_integral_v<T>) {
    if (number != number) return 0;
    if (number >= 0x1p63) return std::numeric_limits<T>::max();
    if (number <= -0x1p63) return std::numeric_limits<T>::min();
  }
  return static_cast<T>(number);
}

// Made in the file of the operator's family (define.h); an operator that none lists does not link.
template <class O, class T>
Status run_kernel(const O& op, const Call<T>& call);

// The shape seen along one axis: `outer` blocks of `size` rows of `inner` numbers.
struct Around {
  Size outer = 1, size = 1, inner = 1;
};
inline Around around(const Sizes& shape, Size axis) {
  Around a;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<Size>(i) < axis) a.outer *= shape[i];
    else if (static_cast<Size>(i) == axis) a.size = shape[i];
    else a.inner *= shape[i];
  }
  return a;
}

// How far apart neighbours along each axis lie in row-major order.
inline Sizes strides_of(const Sizes& shape) {
  Sizes strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

}  // namespace convoy::plain
