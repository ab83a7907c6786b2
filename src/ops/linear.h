// Products of matrices, and rows looked up in a table.
#pragma once
#include "ops/infer.h"

#include <string>
#include <string_view>
#include <tuple>

namespace convoy {

enum class LinearOrder : std::uint8_t { InOut, OutIn };  // Keras; PyTorch

// x [..., I], kernel, bias? [O] -> [..., O]
struct Linear {
  static constexpr std::string_view name = "linear";
  static constexpr std::size_t least_inputs = 2, most_inputs = 3;
  static constexpr Traits traits{LayerKind::Product, AxisUse::Kept, Contents::Computed, Learnt::Weights, Indices::None};
  LinearOrder order = LinearOrder::OutIn;
  template <class Visit>
  static void fields(Visit visit) {
    visit("order", &Linear::order);
  }
  friend bool operator==(const Linear&, const Linear&) = default;
};

// a [..., m, k], b [..., k, n] -> [..., m, n]; leading axes broadcast. Whole numbers stay whole and wrap around.
struct MatMul {
  static constexpr std::string_view name = "matmul";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Product, AxisUse::Made, Contents::Computed, Learnt::Weights, Indices::None};
  template <class Visit>
  static void fields(Visit) {}
  friend bool operator==(const MatMul&, const MatMul&) = default;
};

// a, b -> y by an equation such as "abc,cd->abd"; "..." is not accepted (readers spell the axes out).
struct Einsum {
  static constexpr std::string_view name = "einsum";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Product, AxisUse::Made, Contents::Computed, Learnt::Weights, Indices::None};
  std::string equation;
  template <class Visit>
  static void fields(Visit visit) {
    visit("equation", &Einsum::equation);
  }
  friend bool operator==(const Einsum&, const Einsum&) = default;
};

// x: whole numbers of any shape, table [V, D] -> [..., D]. A number outside 0..V-1 is an error when the model runs.
struct Embedding {
  static constexpr std::string_view name = "embedding";
  static constexpr std::size_t least_inputs = 2, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Table, AxisUse::Made, Contents::Picked, Learnt::Weights,
                                 Indices::FirstInput};
  template <class Visit>
  static void fields(Visit) {}
  friend bool operator==(const Embedding&, const Embedding&) = default;
};

// The letters of an equation, checked: two operands, each axis once per operand, the result's axes among them.
struct EinsumLetters {
  std::string a, b, out;
};
Result<EinsumLetters> letters_of(const Einsum& einsum);

using LinearFamily = std::tuple<Linear, MatMul, Einsum, Embedding>;

}  // namespace convoy
