// Functions of two numbers, element by element with numpy's broadcasting, choices between them, and what leaves numbers
// as they are.
#pragma once
#include "ops/infer.h"

#include <string_view>
#include <tuple>

namespace convoy {

// Truth is a number that is not 0; comparisons and logic give 1 or 0 of type Bool. Whole numbers stay whole, except under
// Divide and Power. Bits are those of whole numbers, negative ones as their two's complement.
enum class BinaryFunction : std::uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  Maximum,
  Minimum,
  Power,
  Modulo,  // a - floor(a / b) * b: the sign of b (Python's %)
  Remainder,  // a - trunc(a / b) * b: the sign of a (C's %)
  FloorDivide,
  TruncateDivide,
  Equal,
  NotEqual,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  And,
  Or,
  Xor,
  BitAnd,
  BitOr,
  BitXor
};
// Two numbers that are nearly one may become two that are not.
constexpr bool jumps(BinaryFunction function) { return function >= BinaryFunction::Modulo; }
constexpr bool works_on_bits(BinaryFunction function) { return function >= BinaryFunction::BitAnd; }
// By 0 whole numbers have no answer.
constexpr bool divides_whole(BinaryFunction function) {
  return function >= BinaryFunction::Modulo && function <= BinaryFunction::TruncateDivide;
}
constexpr bool gives_truth(BinaryFunction function) {
  return function >= BinaryFunction::Equal && !works_on_bits(function);
}

// a, b -> f(a, b); sizes 1 stretch, ranks are aligned at the last axis.
struct Binary {
  static constexpr std::string_view name = "binary";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Arithmetic, AxisUse::Kept, Contents::Computed, Learnt::Nothing,
                                 Indices::None};
  BinaryFunction function = BinaryFunction::Add;
  template <class Visit>
  static void fields(Visit visit) {
    visit("function", &Binary::function);
  }
  friend bool operator==(const Binary&, const Binary&) = default;
};

// condition, a, b -> a where the condition is true, else b; all three stretch. Nothing of the number that was not chosen
// is left, not even a NaN.
struct Where {
  static constexpr std::string_view name = "where";
  static constexpr std::size_t least_inputs = 3, most_inputs = 3;
  static constexpr Traits traits{LayerKind::Other, AxisUse::Kept, Contents::Picked, Learnt::Nothing, Indices::None};
  template <class Visit>
  static void fields(Visit) {}
  friend bool operator==(const Where&, const Where&) = default;
};

// x -> x * scale + offset, both plain numbers (Keras Rescaling with scalars).
struct Affine {
  static constexpr std::string_view name = "affine";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Arithmetic, AxisUse::Elementwise, Contents::Computed, Learnt::Nothing,
                                 Indices::None};
  double scale = 1, offset = 0;
  template <class Visit>
  static void fields(Visit visit) {
    visit("scale", &Affine::scale);
    visit("offset", &Affine::offset);
  }
  friend bool operator==(const Affine&, const Affine&) = default;
};

enum class Noise : std::uint8_t {
  Dropout,
  SpatialDropout,
  AlphaDropout,
  GaussianDropout,
  GaussianNoise,
  Augmentation,
  FeatureAlphaDropout
};

// x -> x at inference. What it does in training is kept so that a port can be trained on. SpatialDropout and
// FeatureAlphaDropout drop whole channels along `channel`. Augmentation: random flips and such, which have no port.
struct Dropout {
  static constexpr std::string_view name = "dropout";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Elementwise, Contents::Kept, Learnt::Nothing,
                                 Indices::None};
  Noise noise = Noise::Dropout;
  double rate = 0.5;
  Size channel = 1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("noise", &Dropout::noise);
    visit("rate", &Dropout::rate);
    visit("channel", &Dropout::channel);
  }
  friend bool operator==(const Dropout&, const Dropout&) = default;
};
inline bool drops_channels(const Dropout& op) {
  return op.noise == Noise::SpatialDropout || op.noise == Noise::FeatureAlphaDropout;
}

// x -> x; in training no gradient comes back through it where it `stops_gradient`.
struct Identity {
  static constexpr std::string_view name = "identity";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Layout, AxisUse::Elementwise, Contents::Kept, Learnt::Nothing,
                                 Indices::None};
  bool stops_gradient = false;
  template <class Visit>
  static void fields(Visit visit) {
    visit("stops_gradient", &Identity::stops_gradient);
  }
  friend bool operator==(const Identity&, const Identity&) = default;
};

// x -> x in another element type; to a whole number rounds toward zero, to Bool asks whether it is not 0.
struct Cast {
  static constexpr std::string_view name = "cast";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Other, AxisUse::Elementwise, Contents::Computed, Learnt::Nothing,
                                 Indices::None};
  DType to = DType::F32;
  template <class Visit>
  static void fields(Visit visit) {
    visit("to", &Cast::to);
  }
  friend bool operator==(const Cast&, const Cast&) = default;
};

// numpy's rule; an unknown size against a known one above 1 gives the known one.
Result<Shape> broadcast(const Shape& a, const Shape& b);

using Elementwise = std::tuple<Binary, Where, Affine, Dropout, Identity, Cast>;

}  // namespace convoy
