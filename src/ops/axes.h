// Where batch, channels and space lie in a tensor, and in which order a kernel's axes are stored.
#pragma once
#include "convoy/size.h"

#include <string_view>
#include <utility>

namespace convoy {

enum class Order : std::uint8_t { ChannelsFirst, ChannelsLast };

// The axes of [N, C, n...] or [N, n..., C] with `space` spatial axes.
struct Axes {
  Order order = Order::ChannelsFirst;
  Size space = 2;

  constexpr Size rank() const { return space + 2; }
  constexpr Size channel() const { return order == Order::ChannelsFirst ? 1 : space + 1; }
  constexpr Size spatial(Size i) const { return order == Order::ChannelsFirst ? i + 2 : i + 1; }
  friend constexpr bool operator==(Axes, Axes) = default;
};

// The order in which a kernel's axes are stored. `Space` stands for all spatial axes, in order.
enum class KernelOrder : std::uint8_t {
  OutInSpace,         // PyTorch, ONNX convolution: [O, I/groups, k...]
  SpaceInOut,         // TensorFlow, Keras convolution: [k..., I/groups, O]
  InOutSpace,         // PyTorch, ONNX transposed convolution: [I, O/groups, k...]
  SpaceOutIn,         // TensorFlow, Keras transposed convolution: [k..., O/groups, I]
  SpaceInMultiplier,  // TensorFlow, Keras depthwise: [k..., C, M]; output channel c*M + m
};

constexpr bool space_comes_first(KernelOrder k) {
  return k == KernelOrder::SpaceInOut || k == KernelOrder::SpaceOutIn || k == KernelOrder::SpaceInMultiplier;
}
// The kernel's axis for spatial axis i.
constexpr Size kernel_spatial(KernelOrder k, Size i) { return space_comes_first(k) ? i : i + 2; }

// permutation[i] is the axis of the source order that becomes axis i: [N, n..., C] -> [N, C, n...].
Sizes to_channels_first(Size space);
Sizes to_channels_last(Size space);
// axes[i] of the permutation that undoes `permutation`.
Sizes inverse(const Sizes& permutation);
// First `first`, then `second`: the one permutation that does both.
Sizes compose(const Sizes& first, const Sizes& second);
bool is_identity(const Sizes& permutation);
// -1 becomes rank - 1. Nothing is checked: callers check the range.
constexpr Size positive_axis(Size axis, Size rank) { return axis < 0 ? axis + rank : axis; }

}  // namespace convoy
