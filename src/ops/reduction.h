// Axes folded into one number each; global pooling is a reduction over the spatial axes.
#pragma once
#include "ops/field.h"
#include "ops/infer.h"

#include <string_view>
#include <tuple>

namespace convoy {

enum class Reduction : std::uint8_t { Mean, Sum, Maximum, Minimum, Product };

// x -> reduced over `axes` (not negative, sorted), which stay as size 1 or go.
struct Reduce {
  static constexpr std::string_view name = "reduce";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  Reduction reduction = Reduction::Mean;
  Sizes axes;
  bool keeps_axes = false;
  static constexpr auto fields() {
    return std::tuple{Field{"reduction", &Reduce::reduction}, Field{"axes", &Reduce::axes},
                      Field{"keeps_axes", &Reduce::keeps_axes}};
  }
  friend bool operator==(const Reduce&, const Reduce&) = default;
};

Result<Facts> infer(const Reduce& reduce, const Inputs& in);

using ReductionFamily = std::tuple<Reduce>;

}  // namespace convoy
