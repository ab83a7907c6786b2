// Parts taken out of tensors and tensors put side by side.
#pragma once
#include "ops/infer.h"

#include <optional>
#include <string_view>
#include <tuple>

namespace convoy {

// a, b, ... -> side by side along `axis` (not negative).
struct Concat {
  static constexpr std::string_view name = "concat";
  static constexpr std::size_t least_inputs = 1, most_inputs = 65536;
  static constexpr Traits traits{LayerKind::Joining, AxisUse::Named, Contents::Moved, Learnt::Nothing, Indices::None};
  Size axis = 1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &Concat::axis);
  }
  friend bool operator==(const Concat&, const Concat&) = default;
};

// x -> x[start:stop:step] along `axis`; Python's rules, a negative number counts from the end, step is not 0.
struct Slice {
  static constexpr std::string_view name = "slice";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Named, Contents::Moved, Learnt::Nothing, Indices::None};
  Size axis = 0;
  std::optional<Size> start{}, stop{};
  Size step = 1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &Slice::axis);
    visit("start", &Slice::start);
    visit("stop", &Slice::stop);
    visit("step", &Slice::step);
  }
  friend bool operator==(const Slice&, const Slice&) = default;
};

// x -> parts of these sizes along `axis`, one output each.
struct Split {
  static constexpr std::string_view name = "split";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Named, Contents::Moved, Learnt::Nothing, Indices::None};
  Size axis = 1;
  Sizes sizes;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &Split::axis);
    visit("sizes", &Split::sizes);
  }
  friend bool operator==(const Split&, const Split&) = default;
};

// x -> the whole of x `times` times over along `axis`: a b a b.
struct Tile {
  static constexpr std::string_view name = "tile";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Named, Contents::Moved, Learnt::Nothing, Indices::None};
  Size axis = 0, times = 1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &Tile::axis);
    visit("times", &Tile::times);
  }
  friend bool operator==(const Tile&, const Tile&) = default;
};

// x -> the elements at `indices` (not negative) along `axis`; the axis gets their count.
struct Take {
  static constexpr std::string_view name = "take";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Named, Contents::Moved, Learnt::Nothing, Indices::None};
  Size axis = 0;
  Sizes indices;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &Take::axis);
    visit("indices", &Take::indices);
  }
  friend bool operator==(const Take&, const Take&) = default;
};

// x, indices (whole numbers of any shape; negative ones count from the end) -> the elements of x there along `axis` (not
// negative), which becomes the axes of the indices. An index outside the axis is an error when the model runs.
struct Gather {
  static constexpr std::string_view name = "gather";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Picked, Learnt::Nothing,
                                 Indices::SecondInput};
  Size axis = 0;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &Gather::axis);
  }
  friend bool operator==(const Gather&, const Gather&) = default;
};

// x, indices of x's rank -> y of their shape: y[i, j, k] = x[i, indices[i, j, k], k] for axis 1. Other axes of the indices
// are at most as long as those of x. Negative indices and those outside: as in Gather.
struct GatherElements {
  static constexpr std::string_view name = "gather_elements";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Picked, Learnt::Nothing,
                                 Indices::SecondInput};
  Size axis = 0;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &GatherElements::axis);
  }
  friend bool operator==(const GatherElements&, const GatherElements&) = default;
};

// x, other -> x repeated along `axis`, which is of size 1, as often as axis `from` of the other is long: a size that is
// known only when the model runs.
struct ExpandLike {
  static constexpr std::string_view name = "expand_like";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Kept, Contents::Picked, Learnt::Nothing,
                                 Indices::SecondInput};
  Size axis = 0, from = 0;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &ExpandLike::axis);
    visit("from", &ExpandLike::from);
  }
  friend bool operator==(const ExpandLike&, const ExpandLike&) = default;
};

// x [n], other [m] -> x[m:]: the max(n - m, 0) cells of a list behind as many as another is long, both of which may be known only
// when the model runs.
struct SliceBehind {
  static constexpr std::string_view name = "slice_behind";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Made, Contents::Picked, Learnt::Nothing,
                                 Indices::SecondInput};
  template <class Visit>
  static void fields(Visit) {}
  friend bool operator==(const SliceBehind&, const SliceBehind&) = default;
};

// Python's slice over a known size: the first index and the number of elements.
struct SliceRange {
  Size first = 0, count = 0;
};
SliceRange resolve(const Slice& slice, Size in);

using SliceConcat = std::tuple<Concat, Slice, Split, Tile, Take, Gather, GatherElements, ExpandLike, SliceBehind>;

}  // namespace convoy
