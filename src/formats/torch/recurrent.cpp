// nn.LSTM, nn.GRU and nn.RNN over [N, T, F]; walking backwards is a flip of time in front.
#include "formats/torch/families.h"

#include <fmt/format.h>

namespace convoy::torch {
namespace {

template <class Cell>
Status write_cell(const Cell& op, Call& c, const std::string& kind, Size gates, const std::string& more) {
  if (op.gates != GateOrder::Torch) return c.broken("gates in another framework's order");
  const Tensor *kernel = c.constant(1), *recurrent = c.constant(2);
  if (!kernel || !recurrent) return c.refused("a recurrent layer whose kernel the model computes");
  const Size units = recurrent->shape()[1], features = kernel->shape()[1], rows = gates * units;
  std::vector<State> states{c.state("weight_ih_l0", 1), c.state("weight_hh_l0", 2)};
  const bool biased = c.has(3) || c.has(4);
  const auto zeros = [&] { return Tensor::of({rows}, std::vector<float>(static_cast<std::size_t>(rows), 0)); };
  if (biased) {
    states.push_back(c.has(3) ? c.state("bias_ih_l0", 3) : State{"bias_ih_l0", zeros(), {}});
    states.push_back(c.has(4) ? c.state("bias_hh_l0", 4) : State{"bias_hh_l0", zeros(), {}});
  }
  const std::string self = c.module(
      fmt::format("nn.{}({}, {}{}{}, batch_first=True)", kind, features, units, more, biased ? "" : ", bias=False"),
      std::move(states));
  const Expression x = c.begin(0);
  std::string text = fmt::format("{}({})[0]", self, op.backwards ? postfix(x) + ".flip(1)" : x.text);
  if (!op.returns_sequence) text += "[:, -1]";
  c.result({text, Binds::Atom, x.calls + 2, false, op.backwards ? "from the last step to the first" : ""});
  return {};
}

Status write_lstm(const Lstm& op, Call& c) {
  if (op.activation != CellFunction::Tanh || op.recurrent_activation != CellFunction::Sigmoid)
    return c.refused("an LSTM with other activations than tanh and sigmoid");
  return write_cell(op, c, "LSTM", 4, "");
}

Status write_gru(const Gru& op, Call& c) {
  if (op.activation != CellFunction::Tanh || op.recurrent_activation != CellFunction::Sigmoid)
    return c.refused("a GRU with other activations than tanh and sigmoid");
  if (!op.reset_after) return c.refused("a GRU that resets before the recurrent product (reset_after=False)");
  return write_cell(op, c, "GRU", 3, "");
}

Status write_simple_rnn(const SimpleRnn& op, Call& c) {
  if (op.activation != CellFunction::Tanh && op.activation != CellFunction::Relu)
    return c.refused("a plain recurrent layer with another activation than tanh and relu");
  return write_cell(op, c, "RNN", 1, op.activation == CellFunction::Relu ? ", nonlinearity=\"relu\"" : "");
}

constexpr std::array rows{writes<write_lstm>(), writes<write_gru>(), writes<write_simple_rnn>()};
static_assert(decides<Recurrent>(rows), "every recurrent layer needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> recurrent_rows() { return rows; }

}  // namespace convoy::torch
