// Space stretched or shrunk by interpolation.
#pragma once
#include "ops/axes.h"
#include "ops/field.h"
#include "ops/infer.h"

#include <string_view>
#include <tuple>
#include <vector>

namespace convoy {

enum class Interpolation : std::uint8_t { Nearest, Linear, Cubic, Area, Lanczos3, Lanczos5, Gaussian, Mitchell };

// Output index i -> source coordinate, with scale = in/out (or 1/factor where a factor is given).
enum class Coordinates : std::uint8_t {
  HalfPixel,     // (i + 0.5) * scale - 0.5
  Asymmetric,    // i * scale
  AlignCorners,  // i * (in - 1) / (out - 1), 0 if out is 1
};

enum class Rounding : std::uint8_t { Floor, RoundHalfUp };  // nearest only: of the coordinate above

// x -> y with the spatial axes of `axes` resized: to `sizes`, or by `factors` (exactly one of the two is filled, one
// entry per spatial axis). Nearest by half-pixel with RoundHalfUp takes floor((i + 0.5) * scale).
// Cubic: Keys with `cubic_a`; `drops_outside`: taps beyond the border are dropped and the rest rescaled, otherwise the
// border cell is repeated. `cubic_table`: offsets rounded to 1/1024 as TensorFlow does. `antialias` widens the kernel
// when shrinking. Area is TensorFlow's box average. Source: semantics of tf.image.resize and torch interpolate.
struct Resize {
  static constexpr std::string_view name = "resize";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  Axes axes;
  Sizes sizes;
  std::vector<double> factors;
  Interpolation interpolation = Interpolation::Nearest;
  Coordinates coordinates = Coordinates::HalfPixel;
  Rounding rounding = Rounding::Floor;
  double cubic_a = -0.75;
  bool drops_outside = false, cubic_table = false, antialias = false;
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &Resize::axes},
                      Field{"sizes", &Resize::sizes},
                      Field{"factors", &Resize::factors},
                      Field{"interpolation", &Resize::interpolation},
                      Field{"coordinates", &Resize::coordinates},
                      Field{"rounding", &Resize::rounding},
                      Field{"cubic_a", &Resize::cubic_a},
                      Field{"drops_outside", &Resize::drops_outside},
                      Field{"cubic_table", &Resize::cubic_table},
                      Field{"antialias", &Resize::antialias}};
  }
  friend bool operator==(const Resize&, const Resize&) = default;
};

// What output cell i of one axis reads: source cells and their weights (they sum to 1).
struct Taps {
  Sizes cells;
  std::vector<double> weights;
};
std::vector<Taps> taps_of(const Resize& resize, Size in, Size out, double factor_or_zero);

Result<Facts> infer(const Resize& resize, const Inputs& in);

using ResizeFamily = std::tuple<Resize>;

}  // namespace convoy
