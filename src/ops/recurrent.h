// Cells that walk along time. Gates are stored in the file's order; the field says which.
#pragma once
#include "ops/activation.h"
#include "ops/infer.h"

#include <string_view>
#include <tuple>

namespace convoy {

enum class CellFunction : std::uint8_t {
  Tanh,
  Sigmoid,
  Relu,
  Linear,
  HardSigmoid6,
  HardSigmoid5,
  Softsign,
  Elu,
  Selu,
  Softplus
};

// Keras: LSTM i,f,c,o and GRU z,r,h with kernels [F, gates*U]. PyTorch: LSTM i,f,g,o and GRU r,z,n with [gates*U, F].
enum class GateOrder : std::uint8_t { Keras, Torch };

// In which order the operators of one step follow one another, each of which `rounds` to 16 bits (float32: none does).
//   Keras            x W, + b, h U, + b (an LSTM: x W, + h U, + b); the next state of a GRU is z h + (1 - z) n
//   TorchTimeFirst   x W + b and h U + b are one operator each; the next state of a GRU is n + z (h - n)
//   TorchBatchFirst  as that, but x W is rounded in front of + b where there are several samples and several steps: PyTorch
//                    joins the two over numbers that lie in the order of time alone
// Source: keras/src/layers/rnn of Keras 3.15, ATen/native/RNN.cpp and Linear.cpp of PyTorch 2.13; tests/oracle/test_recurrent_halves.py.
enum class StepOrder : std::uint8_t { Keras, TorchTimeFirst, TorchBatchFirst };

// x [N, T, F], kernel, recurrent kernel, bias? (Keras LSTM, RNN: [gates*U]), recurrent bias?, first state? [N, U]
// (absent: zeros) -> [N, T, U] or, without `returns_sequence`, the last step [N, U]. `backwards` walks time from the end
// and returns the sequence in walking order. In Keras order a GRU with reset_after has a bias of [2, 3U] (input,
// recurrent), split by the reader into inputs 3 and 4.
//
// Input 6, first cell? [N, U]: what c is before the first step. Input 7, peepholes? [3U], in either order of gates of
// i, f, o: c before the step, times them, is added to the gates i and f, c behind the step to the gate o.
// `returns_cell`: the last c [N, U] is a second result.
struct Lstm {
  static constexpr std::string_view name = "lstm";
  static constexpr std::size_t least_inputs = 3, most_inputs = 8;
  static constexpr Traits traits{LayerKind::Recurrence, AxisUse::Made, Contents::Computed, Learnt::Weights,
                                 Indices::None};
  GateOrder gates = GateOrder::Keras;
  CellFunction activation = CellFunction::Tanh, recurrent_activation = CellFunction::Sigmoid;
  bool backwards = false, returns_sequence = false, returns_cell = false;
  StepOrder steps = StepOrder::Keras;
  DType rounds = DType::F32;
  template <class Visit>
  static void fields(Visit visit) {
    visit("gates", &Lstm::gates);
    visit("activation", &Lstm::activation);
    visit("recurrent_activation", &Lstm::recurrent_activation);
    visit("backwards", &Lstm::backwards);
    visit("returns_sequence", &Lstm::returns_sequence);
    visit("returns_cell", &Lstm::returns_cell);
    visit("steps", &Lstm::steps);
    visit("rounds", &Lstm::rounds);
  }
  friend bool operator==(const Lstm&, const Lstm&) = default;
};

// reset_after: the reset gate is applied behind the recurrent product (Keras 2 default, PyTorch), else before it.
struct Gru {
  static constexpr std::string_view name = "gru";
  static constexpr std::size_t least_inputs = 3, most_inputs = 6;
  static constexpr Traits traits{LayerKind::Recurrence, AxisUse::Made, Contents::Computed, Learnt::Weights,
                                 Indices::None};
  GateOrder gates = GateOrder::Keras;
  CellFunction activation = CellFunction::Tanh, recurrent_activation = CellFunction::Sigmoid;
  bool reset_after = true, backwards = false, returns_sequence = false;
  StepOrder steps = StepOrder::Keras;
  DType rounds = DType::F32;
  template <class Visit>
  static void fields(Visit visit) {
    visit("gates", &Gru::gates);
    visit("activation", &Gru::activation);
    visit("recurrent_activation", &Gru::recurrent_activation);
    visit("reset_after", &Gru::reset_after);
    visit("backwards", &Gru::backwards);
    visit("returns_sequence", &Gru::returns_sequence);
    visit("steps", &Gru::steps);
    visit("rounds", &Gru::rounds);
  }
  friend bool operator==(const Gru&, const Gru&) = default;
};

struct SimpleRnn {
  static constexpr std::string_view name = "simple_rnn";
  static constexpr std::size_t least_inputs = 3, most_inputs = 6;
  static constexpr Traits traits{LayerKind::Recurrence, AxisUse::Made, Contents::Computed, Learnt::Weights,
                                 Indices::None};
  GateOrder gates = GateOrder::Keras;
  CellFunction activation = CellFunction::Tanh;
  bool backwards = false, returns_sequence = false;
  StepOrder steps = StepOrder::Keras;
  DType rounds = DType::F32;
  template <class Visit>
  static void fields(Visit visit) {
    visit("gates", &SimpleRnn::gates);
    visit("activation", &SimpleRnn::activation);
    visit("backwards", &SimpleRnn::backwards);
    visit("returns_sequence", &SimpleRnn::returns_sequence);
    visit("steps", &SimpleRnn::steps);
    visit("rounds", &SimpleRnn::rounds);
  }
  friend bool operator==(const SimpleRnn&, const SimpleRnn&) = default;
};

// Whether the steps of a cell of 16 bits are rounded in Keras's order, which no module of PyTorch does.
template <class Cell>
bool rounds_as_keras_does(const Cell& op) {
  return op.rounds != DType::F32 && op.steps == StepOrder::Keras;
}

using Recurrent = std::tuple<Lstm, Gru, SimpleRnn>;

}  // namespace convoy
