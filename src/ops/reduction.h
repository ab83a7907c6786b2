// Axes folded into one number each, and what else looks along one whole axis: where the extremes lie, running sums, the
// largest few. Global pooling is a reduction over the spatial axes.
#pragma once
#include "ops/infer.h"

#include <string_view>
#include <tuple>

namespace convoy {

enum class Reduction : std::uint8_t { Mean, Sum, Maximum, Minimum, Product };

// x -> reduced over `axes` (not negative, sorted), which stay as size 1 or go.
struct Reduce {
  static constexpr std::string_view name = "reduce";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Reduction, AxisUse::Kept, Contents::Computed, Learnt::Nothing,
                                 Indices::None};
  Reduction reduction = Reduction::Mean;
  Sizes axes;
  bool keeps_axes = false;
  template <class Visit>
  static void fields(Visit visit) {
    visit("reduction", &Reduce::reduction);
    visit("axes", &Reduce::axes);
    visit("keeps_axes", &Reduce::keeps_axes);
  }
  friend bool operator==(const Reduce&, const Reduce&) = default;
};

// x -> the place of the largest (or smallest) number along `axis` (not negative), which stays as size 1 or goes; of equal
// ones the first, or the `last`. int64. A NaN counts as the extreme.
struct ArgExtreme {
  static constexpr std::string_view name = "arg_extreme";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Other, AxisUse::Made, Contents::Ranked, Learnt::Nothing,
                                 Indices::FirstOutput};
  bool largest = true;
  Size axis = 1;
  bool keeps_axis = false, last = false;
  template <class Visit>
  static void fields(Visit visit) {
    visit("largest", &ArgExtreme::largest);
    visit("axis", &ArgExtreme::axis);
    visit("keeps_axis", &ArgExtreme::keeps_axis);
    visit("last", &ArgExtreme::last);
  }
  friend bool operator==(const ArgExtreme&, const ArgExtreme&) = default;
};

// x -> the `count` largest (or smallest) numbers along `axis` (not negative), the most extreme first, and their places
// (int64). Of equal numbers the earlier place comes first. Fails: fewer numbers than `count`.
struct TopK {
  static constexpr std::string_view name = "top_k";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Other, AxisUse::Named, Contents::Computed, Learnt::Nothing,
                                 Indices::SecondOutput};
  Size axis = 1, count = 1;
  bool largest = true;
  bool stable = true;  // equal numbers keep their order; torch.topk leaves it open
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &TopK::axis);
    visit("count", &TopK::count);
    visit("largest", &TopK::largest);
    visit("stable", &TopK::stable);
  }
  friend bool operator==(const TopK&, const TopK&) = default;
};

// x -> running sums or products along `axis` (not negative): the number itself is in, or, `exclusive`, only those before
// it. `backwards`: from the end. Fails: another reduction than Sum and Product.
struct Accumulate {
  static constexpr std::string_view name = "accumulate";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Other, AxisUse::Named, Contents::Computed, Learnt::Nothing, Indices::None};
  Reduction reduction = Reduction::Sum;
  Size axis = 1;
  bool exclusive = false, backwards = false;
  template <class Visit>
  static void fields(Visit visit) {
    visit("reduction", &Accumulate::reduction);
    visit("axis", &Accumulate::axis);
    visit("exclusive", &Accumulate::exclusive);
    visit("backwards", &Accumulate::backwards);
  }
  friend bool operator==(const Accumulate&, const Accumulate&) = default;
};

using ReductionFamily = std::tuple<Reduce, ArgExtreme, TopK, Accumulate>;

}  // namespace convoy
