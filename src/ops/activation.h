// Functions of one number applied to every element, and the few that look along an axis.
#pragma once
#include "ops/field.h"
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
// Whole numbers stay whole under these.
constexpr bool keeps_whole(Function f) {
  return f == Function::Abs || f == Function::Negate || f == Function::Sign || f == Function::Square ||
         f == Function::Floor || f == Function::Ceil || f == Function::Round || f == Function::Truncate;
}

// x -> f(x)
struct Unary {
  static constexpr std::string_view name = "unary";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  Function function = Function::Sigmoid;
  static constexpr auto fields() { return std::tuple{Field{"function", &Unary::function}}; }
  friend bool operator==(const Unary&, const Unary&) = default;
};

// x -> max_value if x >= max_value; x if x >= threshold; negative_slope * (x - threshold) otherwise.
// Covers ReLU, ReLU6 and LeakyReLU. `strict`: x only if x > threshold (Keras ThresholdedReLU).
struct Relu {
  static constexpr std::string_view name = "relu";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  std::optional<double> max_value{};
  double negative_slope = 0, threshold = 0;
  bool strict = false;
  static constexpr auto fields() {
    return std::tuple{Field{"max_value", &Relu::max_value}, Field{"negative_slope", &Relu::negative_slope},
                      Field{"threshold", &Relu::threshold}, Field{"strict", &Relu::strict}};
  }
  friend bool operator==(const Relu&, const Relu&) = default;
};

// x -> x > 0 ? x : alpha * (exp(x) - 1)
struct Elu {
  static constexpr std::string_view name = "elu";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  double alpha = 1;
  static constexpr auto fields() { return std::tuple{Field{"alpha", &Elu::alpha}}; }
  friend bool operator==(const Elu&, const Elu&) = default;
};

// x -> max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))
struct Celu {
  static constexpr std::string_view name = "celu";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  double alpha = 1;
  static constexpr auto fields() { return std::tuple{Field{"alpha", &Celu::alpha}}; }
  friend bool operator==(const Celu&, const Celu&) = default;
};

// x -> min(max(x, least), most); an absent bound does not bind.
struct Clip {
  static constexpr std::string_view name = "clip";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  std::optional<double> least{}, most{};
  static constexpr auto fields() { return std::tuple{Field{"least", &Clip::least}, Field{"most", &Clip::most}}; }
  friend bool operator==(const Clip&, const Clip&) = default;
};

// x -> clip(alpha * x + beta, 0, 1). Keras 3, PyTorch: 1/6, 1/2. Keras 1 and 2: 1/5, 1/2.
struct HardSigmoid {
  static constexpr std::string_view name = "hard_sigmoid";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  double alpha = 1.0 / 6, beta = 0.5;
  static constexpr auto fields() {
    return std::tuple{Field{"alpha", &HardSigmoid::alpha}, Field{"beta", &HardSigmoid::beta}};
  }
  friend bool operator==(const HardSigmoid&, const HardSigmoid&) = default;
};

// hard: x where |x| > lambda, else 0. soft: x moved toward 0 by lambda.
struct Shrink {
  static constexpr std::string_view name = "shrink";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  double lambda = 0.5;
  bool soft = false;
  static constexpr auto fields() { return std::tuple{Field{"lambda", &Shrink::lambda}, Field{"soft", &Shrink::soft}}; }
  friend bool operator==(const Shrink&, const Shrink&) = default;
};

// x -> (x + sqrt(x^2 + b)) / 2
struct Squareplus {
  static constexpr std::string_view name = "squareplus";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  double b = 4;
  static constexpr auto fields() { return std::tuple{Field{"b", &Squareplus::b}}; }
  friend bool operator==(const Squareplus&, const Squareplus&) = default;
};

// x -> log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold. (PyTorch: 1, 20.)
struct Softplus {
  static constexpr std::string_view name = "softplus";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  double beta = 1;
  std::optional<double> threshold{};
  static constexpr auto fields() {
    return std::tuple{Field{"beta", &Softplus::beta}, Field{"threshold", &Softplus::threshold}};
  }
  friend bool operator==(const Softplus&, const Softplus&) = default;
};

// x -> x > threshold ? x : value; a NaN stays one. (PyTorch F.threshold.)
struct Threshold {
  static constexpr std::string_view name = "threshold";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  double threshold = 0, value = 0;
  static constexpr auto fields() {
    return std::tuple{Field{"threshold", &Threshold::threshold}, Field{"value", &Threshold::value}};
  }
  friend bool operator==(const Threshold&, const Threshold&) = default;
};

// x -> exp(x) / sum(exp(x) over axes), or its logarithm.
struct Softmax {
  static constexpr std::string_view name = "softmax";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  Sizes axes;
  bool logarithm = false;
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &Softmax::axes}, Field{"logarithm", &Softmax::logarithm}};
  }
  friend bool operator==(const Softmax&, const Softmax&) = default;
};

// x -> first half * sigmoid(second half), halves along `axis`.
struct Glu {
  static constexpr std::string_view name = "glu";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  Size axis = -1;
  static constexpr auto fields() { return std::tuple{Field{"axis", &Glu::axis}}; }
  friend bool operator==(const Glu&, const Glu&) = default;
};

// x, slope -> x >= 0 ? x : slope * x. slope has the rank of x less the batch axis and broadcasts against x's own axes.
struct PRelu {
  static constexpr std::string_view name = "prelu";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr auto fields() { return std::tuple{}; }
  friend bool operator==(const PRelu&, const PRelu&) = default;
};

Result<Facts> infer(const Unary& op, const Inputs& in);
Result<Facts> infer(const Relu& op, const Inputs& in);
Result<Facts> infer(const Elu& op, const Inputs& in);
Result<Facts> infer(const Celu& op, const Inputs& in);
Result<Facts> infer(const Clip& op, const Inputs& in);
Result<Facts> infer(const HardSigmoid& op, const Inputs& in);
Result<Facts> infer(const Shrink& op, const Inputs& in);
Result<Facts> infer(const Squareplus& op, const Inputs& in);
Result<Facts> infer(const Softplus& op, const Inputs& in);
Result<Facts> infer(const Threshold& op, const Inputs& in);
Result<Facts> infer(const Softmax& op, const Inputs& in);
Result<Facts> infer(const Glu& op, const Inputs& in);
Result<Facts> infer(const PRelu& op, const Inputs& in);

using Activation =
    std::tuple<Unary, Relu, Elu, Celu, Clip, HardSigmoid, Shrink, Squareplus, Softplus, Threshold, Softmax, Glu, PRelu>;

}  // namespace convoy
