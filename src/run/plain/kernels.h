// The kernels: one function per operator over float or double, called with shapes that `infer` has agreed to.
// Every output is as long as its shape and filled with zeros when the kernel begins.
#pragma once
#include "ops/edge_rules.h"
#include "ops/op.h"

#include <span>
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

template <class T> Status compute(const Conv& op, const Call<T>& call);
template <class T> Status compute(const ConvTranspose& op, const Call<T>& call);
template <class T> Status compute(const MaxPool& op, const Call<T>& call);
template <class T> Status compute(const AveragePool& op, const Call<T>& call);
template <class T> Status compute(const LpPool& op, const Call<T>& call);
template <class T> Status compute(const AdaptivePool& op, const Call<T>& call);
template <class T> Status compute(const MaxUnpool& op, const Call<T>& call);
template <class T> Status compute(const Unfold& op, const Call<T>& call);
template <class T> Status compute(const Fold& op, const Call<T>& call);
template <class T> Status compute(const Pad& op, const Call<T>& call);
template <class T> Status compute(const PadToWindow& op, const Call<T>& call);
template <class T> Status compute(const Linear& op, const Call<T>& call);
template <class T> Status compute(const MatMul& op, const Call<T>& call);
template <class T> Status compute(const Einsum& op, const Call<T>& call);
template <class T> Status compute(const Embedding& op, const Call<T>& call);
template <class T> Status compute(const BatchNorm& op, const Call<T>& call);
template <class T> Status compute(const LayerNorm& op, const Call<T>& call);
template <class T> Status compute(const GroupNorm& op, const Call<T>& call);
template <class T> Status compute(const RmsNorm& op, const Call<T>& call);
template <class T> Status compute(const UnitNorm& op, const Call<T>& call);
template <class T> Status compute(const LengthNorm& op, const Call<T>& call);
template <class T> Status compute(const LocalResponseNorm& op, const Call<T>& call);
template <class T> Status compute(const Unary& op, const Call<T>& call);
template <class T> Status compute(const Relu& op, const Call<T>& call);
template <class T> Status compute(const Elu& op, const Call<T>& call);
template <class T> Status compute(const Celu& op, const Call<T>& call);
template <class T> Status compute(const Clip& op, const Call<T>& call);
template <class T> Status compute(const HardSigmoid& op, const Call<T>& call);
template <class T> Status compute(const Shrink& op, const Call<T>& call);
template <class T> Status compute(const Squareplus& op, const Call<T>& call);
template <class T> Status compute(const Softplus& op, const Call<T>& call);
template <class T> Status compute(const Threshold& op, const Call<T>& call);
template <class T> Status compute(const Softmax& op, const Call<T>& call);
template <class T> Status compute(const Hardmax& op, const Call<T>& call);
template <class T> Status compute(const Glu& op, const Call<T>& call);
template <class T> Status compute(const PRelu& op, const Call<T>& call);
template <class T> Status compute(const Binary& op, const Call<T>& call);
template <class T> Status compute(const Where& op, const Call<T>& call);
template <class T> Status compute(const Affine& op, const Call<T>& call);
template <class T> Status compute(const Reduce& op, const Call<T>& call);
template <class T> Status compute(const ArgExtreme& op, const Call<T>& call);
template <class T> Status compute(const TopK& op, const Call<T>& call);
template <class T> Status compute(const Accumulate& op, const Call<T>& call);
template <class T> Status compute(const Transpose& op, const Call<T>& call);
template <class T> Status compute(const DepthToSpace& op, const Call<T>& call);
template <class T> Status compute(const SpaceToDepth& op, const Call<T>& call);
template <class T> Status compute(const SpaceToBatch& op, const Call<T>& call);
template <class T> Status compute(const BatchToSpace& op, const Call<T>& call);
template <class T> Status compute(const Concat& op, const Call<T>& call);
template <class T> Status compute(const Slice& op, const Call<T>& call);
template <class T> Status compute(const Split& op, const Call<T>& call);
template <class T> Status compute(const Tile& op, const Call<T>& call);
template <class T> Status compute(const Take& op, const Call<T>& call);
template <class T> Status compute(const Gather& op, const Call<T>& call);
template <class T> Status compute(const GatherElements& op, const Call<T>& call);
template <class T> Status compute(const ExpandLike& op, const Call<T>& call);
template <class T> Status compute(const Resize& op, const Call<T>& call);
template <class T> Status compute(const GridSample& op, const Call<T>& call);
template <class T> Status compute(const Lstm& op, const Call<T>& call);
template <class T> Status compute(const Gru& op, const Call<T>& call);
template <class T> Status compute(const SimpleRnn& op, const Call<T>& call);

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
