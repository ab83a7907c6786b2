#include "base/half.h"
#include "ops/expect.h"
#include "run/plain/define.h"
#include "run/plain/functions.h"
#include "run/plain/gemm.h"

#include <bit>

namespace convoy::plain {

namespace {

template <class T>
T cell_function(CellFunction function, T x) {
  switch (function) {
    case CellFunction::Tanh: return std::tanh(x);
    case CellFunction::Sigmoid: return sigmoid(x);
    case CellFunction::Relu: return x < 0 ? T{0} : x;
    case CellFunction::Linear: return x;
    case CellFunction::HardSigmoid6: return hard_sigmoid(x, T{1} / T{6}, T(0.5));
    case CellFunction::HardSigmoid5: return hard_sigmoid(x, T(0.2), T(0.5));
    case CellFunction::Softsign: return x / (T{1} + std::abs(x));
    case CellFunction::Elu: return elu(x, T{1});
    case CellFunction::Selu: return selu(x);
    case CellFunction::Softplus: return softplus(x);
  }
  std::unreachable();
}

// What becomes of an operator's result within a step. TensorFlow's product of bfloat16 cuts off what does not fit, and its sigmoid is
// e^x / (1 + e^x), of which each is rounded: measured on TensorFlow 2.21, with and without oneDNN.
template <class T>
class StepRounding {
 public:
  StepRounding() = default;
  StepRounding(DType to, StepOrder order) : to_(to), of_keras_(is_half(to) && order == StepOrder::Keras) {}
  bool rounds() const { return is_half(to_); }
  bool of_keras() const { return of_keras_; }
  T operator()(T x) const {
    if (to_ == DType::F16) return static_cast<T>(widen_half(half_of(static_cast<double>(x))));
    if (to_ == DType::BF16) return static_cast<T>(widen_bfloat(bfloat_of(static_cast<double>(x))));
    return x;
  }
  void products(std::vector<T>& numbers) const {
    if (!rounds()) return;
    const bool cuts = of_keras_ && to_ == DType::BF16;
    for (T& x : numbers) x = cuts ? cut(x) : (*this)(x);
  }
  // Adds a bias to rows of products, as an operator of its own.
  void add(std::vector<T>& rows, const T* bias, Size width) const {
    if (!bias) return;
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i] = (*this)(rows[i] + bias[i % static_cast<std::size_t>(width)]);
  }
  T function(CellFunction f, T x) const {
    if (!of_keras_ || f != CellFunction::Sigmoid) return (*this)(cell_function(f, x));
    const T power = (*this)(std::exp(x));
    return std::isinf(power) ? T{1} : (*this)(power / (*this)(T{1} + power));
  }

 private:
  static T cut(T x) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    return static_cast<T>(widen_bfloat(static_cast<std::uint16_t>(bits >> 16)));
  }

  DType to_ = DType::F32;
  bool of_keras_ = false;
};

// What all cells share: the input's part of every gate for all steps, and the packed recurrent kernel.
template <class T>
struct Walked {
  Size batch = 0, steps = 0, units = 0, width = 0;
  std::vector<T> from_input;  // [N, T, width]
  PackedRight<T> recurrent;
  const T* recurrent_bias = nullptr;
  StepRounding<T> rounded;
  // Added behind a rounded product, each by an operator of its own.
  const T *bias_apart = nullptr, *recurrent_bias_apart = nullptr;

  const T* gates(Size n, Size step) const { return from_input.data() + (n * steps + step) * width; }
};

template <class T>
PackedRight<T> packed(const Operand<T>& kernel, GateOrder order) {
  const Size rows = kernel.shape[0], columns = kernel.shape[1];
  if (order == GateOrder::Keras) return {kernel.values.data(), rows, columns, columns, 1};
  return {kernel.values.data(), columns, rows, 1, columns};
}

template <class T, class O>
Walked<T> walked(const O& op, const Call<T>& call) {
  const Sizes& in = call.in[0].shape;
  Walked<T> w{.batch = in[0], .steps = in[1], .recurrent = packed(call.in[2], op.gates)};
  w.units = w.recurrent.depth();
  w.width = w.recurrent.columns();
  w.rounded = {op.rounds, op.steps};

  const bool of_keras = w.rounded.of_keras();
  const bool apart =
      of_keras || (w.rounded.rounds() && op.steps == StepOrder::TorchBatchFirst && in[0] > 1 && in[1] > 1);
  w.from_input.resize(static_cast<std::size_t>(w.batch * w.steps * w.width));
  multiply(call.data(0), w.batch * w.steps, packed(call.in[1], op.gates), apart ? nullptr : call.optional(3),
           w.from_input.data(), call.threads);
  w.rounded.products(w.from_input);
  (of_keras ? w.recurrent_bias_apart : w.recurrent_bias) = call.optional(4);
  if (of_keras && std::is_same_v<O, Lstm>) w.bias_apart = call.optional(3);
  else if (apart) w.rounded.add(w.from_input, call.optional(3), w.width);
  return w;
}

// What a state is before the first step.
template <class T>
std::vector<T> first(const Call<T>& call, std::size_t input, const Walked<T>& w) {
  if (call.has(input)) return {call.in[input].values.begin(), call.in[input].values.end()};
  return std::vector<T>(static_cast<std::size_t>(w.batch * w.units), T{0});
}

// Walks time and calls cell(n, gates of the input, gates of the state, state to replace) for every sample and step.
template <class T, class Cell>
void walk(const Walked<T>& w, bool backwards, bool returns_sequence, const Call<T>& call, const Cell& cell) {
  std::vector<T> state = first(call, 5, w);
  std::vector<T> inner(static_cast<std::size_t>(w.batch * w.width));
  T* y = call.out[0].values.data();
  for (Size i = 0; i < w.steps; ++i) {
    const Size step = backwards ? w.steps - 1 - i : i;
    multiply(state.data(), w.batch, w.recurrent, w.recurrent_bias, inner.data(), call.threads);
    w.rounded.products(inner);
    w.rounded.add(inner, w.recurrent_bias_apart, w.width);
    for (Size n = 0; n < w.batch; ++n) {
      T* h = state.data() + n * w.units;
      cell(n, w.gates(n, step), inner.data() + n * w.width, h);
      if (returns_sequence) std::copy_n(h, w.units, y + (n * w.steps + i) * w.units);
    }
  }
  if (!returns_sequence) std::ranges::copy(state, y);
}

}  // namespace

// Both orders of gates are i, f, candidate, o.
template <class T>
Status compute(const Lstm& op, const Call<T>& call) {
  const Walked<T> w = walked(op, call);
  const auto& rounded = w.rounded;
  const Size u = w.units;
  std::vector<T> carry = first(call, 6, w);
  const T* peepholes = call.optional(7);
  walk(w, op.backwards, op.returns_sequence, call, [&](Size n, const T* x, const T* inner, T* h) {
    const auto gate = [&](Size g, Size i) {
      const T sum = rounded(x[g * u + i] + inner[g * u + i]);
      return w.bias_apart ? rounded(sum + w.bias_apart[g * u + i]) : sum;
    };
    for (Size i = 0; i < u; ++i) {
      T& c = carry[static_cast<std::size_t>(n * u + i)];
      const auto seen = [&](Size peephole) { return peepholes ? peepholes[peephole * u + i] * c : T{0}; };
      const T input = rounded.function(op.recurrent_activation, gate(0, i) + seen(0));
      const T forget = rounded.function(op.recurrent_activation, gate(1, i) + seen(1));
      c = rounded(rounded(forget * c) + rounded(input * rounded.function(op.activation, gate(2, i))));
      h[i] =
          rounded(rounded.function(op.recurrent_activation, gate(3, i) + seen(2)) * rounded.function(op.activation, c));
    }
  });
  if (op.returns_cell) std::ranges::copy(carry, call.out[1].values.data());
  return {};
}

// Keras: z, r, candidate. PyTorch: r, z, candidate.
template <class T>
Status compute(const Gru& op, const Call<T>& call) {
  const Walked<T> w = walked(op, call);
  const auto& rounded = w.rounded;
  const Size u = w.units, z_gate = op.gates == GateOrder::Keras ? 0 : 1, r_gate = 1 - z_gate;
  // With the reset in front, the candidate's product is taken anew from the reset state.
  const Operand<T>& kernel = call.in[2];
  const PackedRight<T> candidate = op.gates == GateOrder::Keras
                                       ? PackedRight<T>(kernel.values.data() + 2 * u, u, u, w.width, 1)
                                       : PackedRight<T>(kernel.values.data() + 2 * u * u, u, u, 1, u);
  const auto of_candidate = [&](const T* bias) { return bias ? bias + 2 * u : nullptr; };
  const bool from_candidate = rounded.rounds() && !rounded.of_keras();  // n + z (h - n)
  std::vector<T> reset(static_cast<std::size_t>(u)), product(static_cast<std::size_t>(u));
  walk(w, op.backwards, op.returns_sequence, call, [&](Size, const T* x, const T* inner, T* h) {
    const auto opened = [&](Size gate, Size i) {
      return rounded.function(op.recurrent_activation, rounded(x[gate * u + i] + inner[gate * u + i]));
    };
    if (!op.reset_after) {
      for (Size i = 0; i < u; ++i) reset[static_cast<std::size_t>(i)] = rounded(opened(r_gate, i) * h[i]);
      multiply(reset.data(), 1, candidate, of_candidate(w.recurrent_bias), product.data(), 1);
      rounded.products(product);
      rounded.add(product, of_candidate(w.recurrent_bias_apart), u);
    }
    for (Size i = 0; i < u; ++i) {
      const T z = opened(z_gate, i);
      const T recurrent =
          op.reset_after ? rounded(opened(r_gate, i) * inner[2 * u + i]) : product[static_cast<std::size_t>(i)];
      const T made = rounded.function(op.activation, rounded(x[2 * u + i] + recurrent));
      h[i] = from_candidate ? rounded(made + rounded(z * rounded(h[i] - made)))
                            : rounded(rounded(z * h[i]) + rounded(rounded(T{1} - z) * made));
    }
  });
  return {};
}

template <class T>
Status compute(const SimpleRnn& op, const Call<T>& call) {
  const Walked<T> w = walked(op, call);
  walk(w, op.backwards, op.returns_sequence, call, [&](Size, const T* x, const T* inner, T* h) {
    for (Size i = 0; i < w.units; ++i) h[i] = w.rounded.function(op.activation, w.rounded(x[i] + inner[i]));
  });
  return {};
}

template struct Kernels<Lstm, Gru, SimpleRnn>;

}  // namespace convoy::plain
