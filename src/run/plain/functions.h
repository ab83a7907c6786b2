// The functions of one number, each once, over float or double, and over whole numbers where they stay whole.
#pragma once
#include "ops/activation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace convoy::plain {

// Comparisons are written so that a NaN comes out as a NaN.
template <class T>
T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}
// log(1 + exp(x)) without overflow.
template <class T>
T softplus(T x) {
  return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
}
template <class T>
T elu(T x, T alpha) {
  return x > 0 ? x : alpha * std::expm1(x);
}
template <class T>
T selu(T x) {
  return T(1.0507009873554804934193349852946) * elu(x, T(1.6732632423543772848170429916717));
}
template <class T>
T hard_sigmoid(T x, T alpha, T beta) {
  const T y = alpha * x + beta;
  return y < 0 ? T{0} : y > 1 ? T{1} : y;
}
template <class T>
T gelu(T x) {
  return x * T(0.5) * std::erfc(-x * (std::numbers::sqrt2_v<T> / 2));
}
template <class T>
T gelu_tanh(T x) {
  const T inner = std::sqrt(T{2} / std::numbers::pi_v<T>) * (x + T(0.044715) * x * x * x);
  return x * (T(0.5) * (T{1} + std::tanh(inner)));
}

// Of whole numbers, which wrap around; the other functions make fractions of them.
inline std::int64_t unary(Function function, std::int64_t x) {
  const auto opposite = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
  switch (function) {
    case Function::Abs: return x < 0 ? opposite : x;
    case Function::Negate: return opposite;
    case Function::Sign: return (x > 0) - (x < 0);
    case Function::Square:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x));
    case Function::Not: return x == 0;
    default: return x;  // rounded
  }
}

template <class T>
T unary(Function function, T x) {
  switch (function) {
    case Function::Sigmoid: return sigmoid(x);
    case Function::Tanh: return std::tanh(x);
    case Function::Softplus: return softplus(x);
    case Function::Softsign: return x / (T{1} + std::abs(x));
    case Function::Exp: return std::exp(x);
    case Function::Log: return std::log(x);
    case Function::Sqrt: return std::sqrt(x);
    case Function::Rsqrt: return T{1} / std::sqrt(x);
    case Function::Square: return x * x;
    case Function::Abs: return std::abs(x);
    case Function::Negate: return -x;
    case Function::Sign: return x > 0 ? T{1} : x < 0 ? T{-1} : x;
    case Function::Floor: return std::floor(x);
    case Function::Ceil: return std::ceil(x);
    case Function::Round: return std::nearbyint(x);
    case Function::Reciprocal: return T{1} / x;
    case Function::Silu: return x * sigmoid(x);
    case Function::Gelu: return gelu(x);
    case Function::GeluTanh: return gelu_tanh(x);
    case Function::Selu: return selu(x);
    case Function::Mish: return x * std::tanh(softplus(x));
    case Function::LogSigmoid: return -softplus(-x);
    case Function::HardSwish: return x * hard_sigmoid(x, T{1} / T{6}, T(0.5));
    case Function::TanhShrink: return x - std::tanh(x);
    case Function::SparsePlus: return x <= -1 ? T{0} : x < 1 ? T(0.25) * (x + 1) * (x + 1) : x;
    case Function::SparseSigmoid: return x <= -1 ? T{0} : x >= 1 ? T{1} : T(0.5) * (x + 1);
    case Function::Sin: return std::sin(x);
    case Function::Cos: return std::cos(x);
    case Function::Erf: return std::erf(x);
    case Function::Tan: return std::tan(x);
    case Function::Asin: return std::asin(x);
    case Function::Acos: return std::acos(x);
    case Function::Atan: return std::atan(x);
    case Function::Sinh: return std::sinh(x);
    case Function::Cosh: return std::cosh(x);
    case Function::Asinh: return std::asinh(x);
    case Function::Acosh: return std::acosh(x);
    case Function::Atanh: return std::atanh(x);
    case Function::Expm1: return std::expm1(x);
    case Function::Log1p: return std::log1p(x);
    case Function::Truncate: return std::trunc(x);
    case Function::Not: return T(x == 0);
  }
  std::unreachable();
}

}  // namespace convoy::plain
