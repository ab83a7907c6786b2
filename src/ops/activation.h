// Functions of one number applied to every element, and the few that look along an axis.
#pragma once
#include "ops/infer.h"

#include <optional>
#include <string_view>
#include <tuple>

namespace convoy {

enum class Function : std::uint8_t {
  Sigmoid,
  Tanh,
  Softplus,
  Softsign,
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Square,
  Abs,
  Negate,
  Sign,
  Floor,
  Ceil,
  Round,
  Reciprocal,
  Silu,
  Gelu,
  GeluTanh,
  Selu,
  Mish,
  LogSigmoid,
  HardSwish,
  TanhShrink,
  SparsePlus,
  SparseSigmoid,
  Sin,
  Cos,
  Erf,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Asinh,
  Acosh,
  Atanh,
  Expm1,  // exp(x) - 1
  Log1p,  // log(1 + x)
  Truncate,  // toward zero
  Not  // 1 where x is 0, else 0, of type Bool
};
constexpr bool rounds(Function f) {
  return f == Function::Floor || f == Function::Ceil || f == Function::Round || f == Function::Truncate;
}
// Whole numbers stay whole under these.
constexpr bool keeps_whole(Function f) {
  return f == Function::Abs || f == Function::Negate || f == Function::Sign || f == Function::Square || rounds(f);
}
// Two numbers that are nearly one may become two that are not.
constexpr bool jumps(Function f) { return rounds(f) || f == Function::Sign || f == Function::Not; }

// x -> f(x)
struct Unary {
  static constexpr std::string_view name = "unary";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits = checked_activation;
  Function function = Function::Sigmoid;
  template <class Visit>
  static void fields(Visit visit) {
    visit("function", &Unary::function);
  }
  friend bool operator==(const Unary&, const Unary&) = default;
};

// x -> max_value if x >= max_value; x if x >= threshold; negative_slope * (x - threshold) otherwise.
// Covers ReLU, ReLU6 and LeakyReLU. `strict`: x only if x > threshold (Keras ThresholdedReLU).
struct Relu {
  static constexpr std::string_view name = "relu";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits = checked_activation;
  std::optional<double> max_value{};
  double negative_slope = 0, threshold = 0;
  bool strict = false;
  template <class Visit>
  static void fields(Visit visit) {
    visit("max_value", &Relu::max_value);
    visit("negative_slope", &Relu::negative_slope);
    visit("threshold", &Relu::threshold);
    visit("strict", &Relu::strict);
  }
  friend bool operator==(const Relu&, const Relu&) = default;
};

// x -> x > 0 ? x : alpha * (exp(x) - 1)
struct Elu {
  static constexpr std::string_view name = "elu";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits = plain_activation;
  double alpha = 1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("alpha", &Elu::alpha);
  }
  friend bool operator==(const Elu&, const Elu&) = default;
};

// x -> max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))
struct Celu {
  static constexpr std::string_view name = "celu";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits = checked_activation;
  double alpha = 1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("alpha", &Celu::alpha);
  }
  friend bool operator==(const Celu&, const Celu&) = default;
};

// x -> min(max(x, least), most); an absent bound does not bind.
struct Clip {
  static constexpr std::string_view name = "clip";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits = checked_activation;
  std::optional<double> least{}, most{};
  template <class Visit>
  static void fields(Visit visit) {
    visit("least", &Clip::least);
    visit("most", &Clip::most);
  }
  friend bool operator==(const Clip&, const Clip&) = default;
};

// x -> clip(alpha * x + beta, 0, 1). Keras 3, PyTorch: 1/6, 1/2. Keras 1 and 2: 1/5, 1/2.
struct HardSigmoid {
  static constexpr std::string_view name = "hard_sigmoid";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits = plain_activation;
  double alpha = 1.0 / 6, beta = 0.5;
  template <class Visit>
  static void fields(Visit visit) {
    visit("alpha", &HardSigmoid::alpha);
    visit("beta", &HardSigmoid::beta);
  }
  friend bool operator==(const HardSigmoid&, const HardSigmoid&) = default;
};

// hard: x where |x| > lambda, else 0. soft: x moved toward 0 by lambda.
struct Shrink {
  static constexpr std::string_view name = "shrink";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits = plain_activation;
  double lambda = 0.5;
  bool soft = false;
  template <class Visit>
  static void fields(Visit visit) {
    visit("lambda", &Shrink::lambda);
    visit("soft", &Shrink::soft);
  }
  friend bool operator==(const Shrink&, const Shrink&) = default;
};

// x -> (x + sqrt(x^2 + b)) / 2
struct Squareplus {
  static constexpr std::string_view name = "squareplus";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits = plain_activation;
  double b = 4;
  template <class Visit>
  static void fields(Visit visit) {
    visit("b", &Squareplus::b);
  }
  friend bool operator==(const Squareplus&, const Squareplus&) = default;
};

// x -> log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold. (PyTorch: 1, 20.)
struct Softplus {
  static constexpr std::string_view name = "softplus";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits = checked_activation;
  double beta = 1;
  std::optional<double> threshold{};
  template <class Visit>
  static void fields(Visit visit) {
    visit("beta", &Softplus::beta);
    visit("threshold", &Softplus::threshold);
  }
  friend bool operator==(const Softplus&, const Softplus&) = default;
};

// x -> x > threshold ? x : value; a NaN stays one. (PyTorch F.threshold.)
struct Threshold {
  static constexpr std::string_view name = "threshold";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits = plain_activation;
  double threshold = 0, value = 0;
  template <class Visit>
  static void fields(Visit visit) {
    visit("threshold", &Threshold::threshold);
    visit("value", &Threshold::value);
  }
  friend bool operator==(const Threshold&, const Threshold&) = default;
};

// x -> exp(x) / sum(exp(x) over axes), or its logarithm.
struct Softmax {
  static constexpr std::string_view name = "softmax";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Softmax, AxisUse::Named, Contents::Computed,
                                 Learnt::Nothing,    Indices::None,  ResultType::LikeInput};
  Sizes axes;
  bool logarithm = false;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &Softmax::axes);
    visit("logarithm", &Softmax::logarithm);
  }
  friend bool operator==(const Softmax&, const Softmax&) = default;
};

// x -> 1 at the first of the largest numbers along `axis`, 0 elsewhere.
struct Hardmax {
  static constexpr std::string_view name = "hardmax";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Softmax, AxisUse::Named, Contents::Ranked,
                                 Learnt::Nothing,    Indices::None,  ResultType::LikeInput};
  Size axis = -1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &Hardmax::axis);
  }
  friend bool operator==(const Hardmax&, const Hardmax&) = default;
};

// x -> first half * sigmoid(second half), halves along `axis`.
struct Glu {
  static constexpr std::string_view name = "glu";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Other, AxisUse::Named, Contents::Computed, Learnt::Nothing, Indices::None};
  Size axis = -1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &Glu::axis);
  }
  friend bool operator==(const Glu&, const Glu&) = default;
};

// x, slope -> x >= 0 ? x : slope * x. slope has the rank of x less the batch axis and broadcasts against x's own axes.
struct PRelu {
  static constexpr std::string_view name = "prelu";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Activation, AxisUse::Kept, Contents::Computed, Learnt::Weights,
                                 Indices::None};
  template <class Visit>
  static void fields(Visit) {}
  friend bool operator==(const PRelu&, const PRelu&) = default;
};

using Activation = std::tuple<Unary, Relu, Elu, Celu, Clip, HardSigmoid, Shrink, Squareplus, Softplus, Threshold,
                              Softmax, Hardmax, Glu, PRelu>;

}  // namespace convoy
