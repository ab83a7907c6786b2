// The same numbers under other axes.
#pragma once
#include "ops/axes.h"
#include "ops/infer.h"

#include <string_view>
#include <tuple>

namespace convoy {

// x -> the same elements in row-major order. In `to`, -1 (once) takes what is left and 0 copies the size of x at that
// place.
struct Reshape {
  static constexpr std::string_view name = "reshape";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Kept, Learnt::Nothing, Indices::None};
  Sizes to;
  template <class Visit>
  static void fields(Visit visit) {
    visit("to", &Reshape::to);
  }
  friend bool operator==(const Reshape&, const Reshape&) = default;
};

// x [N, ...] -> [N, product], row-major.
struct Flatten {
  static constexpr std::string_view name = "flatten";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Kept, Learnt::Nothing, Indices::None};
  template <class Visit>
  static void fields(Visit) {}
  friend bool operator==(const Flatten&, const Flatten&) = default;
};

// x -> y with y.shape[i] = x.shape[permutation[i]]
struct Transpose {
  static constexpr std::string_view name = "transpose";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Moved, Learnt::Nothing, Indices::None};
  Sizes permutation;
  template <class Visit>
  static void fields(Visit visit) {
    visit("permutation", &Transpose::permutation);
  }
  friend bool operator==(const Transpose&, const Transpose&) = default;
};

// x -> y with axes of size 1 put in at these places of y (sorted, not negative), or taken out of x.
struct Unsqueeze {
  static constexpr std::string_view name = "unsqueeze";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Kept, Learnt::Nothing, Indices::None};
  Sizes axes;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &Unsqueeze::axes);
  }
  friend bool operator==(const Unsqueeze&, const Unsqueeze&) = default;
};
struct Squeeze {
  static constexpr std::string_view name = "squeeze";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Kept, Learnt::Nothing, Indices::None};
  Sizes axes;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &Squeeze::axes);
  }
  friend bool operator==(const Squeeze&, const Squeeze&) = default;
};

// Block cells of depth moved into space. DCR (TensorFlow, ONNX): channel = (bh*b + bw)*C + c; CRD (PyTorch): c*b*b +
// bh*b + bw. x [..., C*b*b, H, W] or [..., H, W, C*b*b], of rank 3 or more.
struct DepthToSpace {
  static constexpr std::string_view name = "depth_to_space";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Shuffle, AxisUse::Made, Contents::Moved, Learnt::Nothing, Indices::None};
  Order order = Order::ChannelsFirst;
  Size block = 2;
  bool depth_first = true;  // DCR
  template <class Visit>
  static void fields(Visit visit) {
    visit("order", &DepthToSpace::order);
    visit("block", &DepthToSpace::block);
    visit("depth_first", &DepthToSpace::depth_first);
  }
  friend bool operator==(const DepthToSpace&, const DepthToSpace&) = default;
};
struct SpaceToDepth {
  static constexpr std::string_view name = "space_to_depth";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Shuffle, AxisUse::Made, Contents::Moved, Learnt::Nothing, Indices::None};
  Order order = Order::ChannelsFirst;
  Size block = 2;
  bool depth_first = true;
  template <class Visit>
  static void fields(Visit visit) {
    visit("order", &SpaceToDepth::order);
    visit("block", &SpaceToDepth::block);
    visit("depth_first", &SpaceToDepth::depth_first);
  }
  friend bool operator==(const SpaceToDepth&, const SpaceToDepth&) = default;
};

// Block cells of space moved into the batch, which is axis 0, and back. With `block` b... along `axes` (sorted, without
// the batch), one entry each: cell i*b + offset of example n of the padded x becomes cell i of example offset * N + n, the
// offsets counted in row-major order of b.... SpaceToBatch adds `before` and `after` zeros first; BatchToSpace cuts
// as many cells off last. Fails: a block that does not divide the padded size, or the batch; a cut that leaves nothing.
// Source: TensorFlow space_to_batch_nd, batch_to_space_nd.
struct SpaceToBatch {
  static constexpr std::string_view name = "space_to_batch";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Filled, Learnt::Nothing, Indices::None};
  Sizes axes, block, before, after;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &SpaceToBatch::axes);
    visit("block", &SpaceToBatch::block);
    visit("before", &SpaceToBatch::before);
    visit("after", &SpaceToBatch::after);
  }
  friend bool operator==(const SpaceToBatch&, const SpaceToBatch&) = default;
};
struct BatchToSpace {
  static constexpr std::string_view name = "batch_to_space";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Moved, Learnt::Nothing, Indices::None};
  Sizes axes, block, before, after;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &BatchToSpace::axes);
    visit("block", &BatchToSpace::block);
    visit("before", &BatchToSpace::before);
    visit("after", &BatchToSpace::after);
  }
  friend bool operator==(const BatchToSpace&, const BatchToSpace&) = default;
};

using ReshapeFamily =
    std::tuple<Reshape, Flatten, Transpose, Unsqueeze, Squeeze, DepthToSpace, SpaceToDepth, SpaceToBatch, BatchToSpace>;

}  // namespace convoy
