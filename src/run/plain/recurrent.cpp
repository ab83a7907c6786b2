#include "run/plain/define.h"
#include "run/plain/functions.h"
#include "run/plain/gemm.h"

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

// What all cells share: the input's part of every gate for all steps, and the packed recurrent kernel.
template <class T>
struct Walked {
  Size batch = 0, steps = 0, units = 0, width = 0;
  std::vector<T> from_input;  // [N, T, width]
  PackedRight<T> recurrent;
  const T* recurrent_bias = nullptr;

  const T* gates(Size n, Size step) const { return from_input.data() + (n * steps + step) * width; }
};

template <class T>
PackedRight<T> packed(const Operand<T>& kernel, GateOrder order) {
  const Size rows = kernel.shape[0], columns = kernel.shape[1];
  if (order == GateOrder::Keras) return {kernel.values.data(), rows, columns, columns, 1};
  return {kernel.values.data(), columns, rows, 1, columns};
}

template <class T>
Walked<T> walked(GateOrder order, const Call<T>& call) {
  const Sizes& in = call.in[0].shape;
  Walked<T> w{.batch = in[0], .steps = in[1], .recurrent = packed(call.in[2], order)};
  w.units = w.recurrent.depth();
  w.width = w.recurrent.columns();
  w.from_input.resize(static_cast<std::size_t>(w.batch * w.steps * w.width));
  multiply(call.data(0), w.batch * w.steps, packed(call.in[1], order), call.optional(3), w.from_input.data(),
           call.threads);
  w.recurrent_bias = call.optional(4);
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
  const Walked<T> w = walked(op.gates, call);
  const Size u = w.units;
  std::vector<T> carry = first(call, 6, w);
  const T* peepholes = call.optional(7);
  walk(w, op.backwards, op.returns_sequence, call, [&](Size n, const T* x, const T* inner, T* h) {
    const auto gate = [&](Size g, Size i) { return x[g * u + i] + inner[g * u + i]; };
    for (Size i = 0; i < u; ++i) {
      T& c = carry[static_cast<std::size_t>(n * u + i)];
      const auto seen = [&](Size peephole) { return peepholes ? peepholes[peephole * u + i] * c : T{0}; };
      const T input = cell_function(op.recurrent_activation, gate(0, i) + seen(0));
      const T forget = cell_function(op.recurrent_activation, gate(1, i) + seen(1));
      c = forget * c + input * cell_function(op.activation, gate(2, i));
      h[i] = cell_function(op.recurrent_activation, gate(3, i) + seen(2)) * cell_function(op.activation, c);
    }
  });
  if (op.returns_cell) std::ranges::copy(carry, call.out[1].values.data());
  return {};
}

// Keras: z, r, candidate. PyTorch: r, z, candidate.
template <class T>
Status compute(const Gru& op, const Call<T>& call) {
  const Walked<T> w = walked(op.gates, call);
  const Size u = w.units, z_gate = op.gates == GateOrder::Keras ? 0 : 1, r_gate = 1 - z_gate;
  // With the reset in front, the candidate's product is taken anew from the reset state.
  const Operand<T>& kernel = call.in[2];
  const PackedRight<T> candidate = op.gates == GateOrder::Keras
                                       ? PackedRight<T>(kernel.values.data() + 2 * u, u, u, w.width, 1)
                                       : PackedRight<T>(kernel.values.data() + 2 * u * u, u, u, 1, u);
  std::vector<T> reset(static_cast<std::size_t>(u)), product(static_cast<std::size_t>(u));
  walk(w, op.backwards, op.returns_sequence, call, [&](Size, const T* x, const T* inner, T* h) {
    const auto r_of = [&](Size i) {
      return cell_function(op.recurrent_activation, x[r_gate * u + i] + inner[r_gate * u + i]);
    };
    if (!op.reset_after) {
      for (Size i = 0; i < u; ++i) reset[static_cast<std::size_t>(i)] = r_of(i) * h[i];
      multiply(reset.data(), 1, candidate, w.recurrent_bias ? w.recurrent_bias + 2 * u : nullptr, product.data(), 1);
    }
    for (Size i = 0; i < u; ++i) {
      const T z = cell_function(op.recurrent_activation, x[z_gate * u + i] + inner[z_gate * u + i]);
      const T recurrent = op.reset_after ? r_of(i) * inner[2 * u + i] : product[static_cast<std::size_t>(i)];
      h[i] = z * h[i] + (T{1} - z) * cell_function(op.activation, x[2 * u + i] + recurrent);
    }
  });
  return {};
}

template <class T>
Status compute(const SimpleRnn& op, const Call<T>& call) {
  const Walked<T> w = walked(op.gates, call);
  walk(w, op.backwards, op.returns_sequence, call, [&](Size, const T* x, const T* inner, T* h) {
    for (Size i = 0; i < w.units; ++i) h[i] = cell_function(op.activation, x[i] + inner[i]);
  });
  return {};
}

template struct Kernels<Lstm, Gru, SimpleRnn>;

}  // namespace convoy::plain
