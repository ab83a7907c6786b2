// nn.LSTM, nn.GRU and nn.RNN over [N, T, F]; walking backwards is a flip of time in front. Cells with other functions
// than those know, and those with peepholes, become a class of their own that walks the steps, gates in Keras's order.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <type_traits>
#include <utility>

namespace convoy::torch {
namespace {

// Input i, a state [N, U] before the first step, as [1, N, U] where `stacked`; "" where it is absent.
std::string state_text(Call& c, std::size_t i, bool stacked) {
  if (!c.has(i)) return {};
  const std::string word = i == 5 ? "first_state" : "first_cell";
  if (const Tensor* known = c.constant(i)) {
    Sizes shape = known->shape();
    if (stacked) shape.insert(shape.begin(), 1);
    return c.tensor(c.state(word, i, known->reshaped(shape), !c.trainable(i)));
  }
  const Expression state = c.follow(i);
  return stacked ? postfix(state) + ".unsqueeze(0)" : state.text;
}

// h, or h and c, as an argument behind x: one that is absent is zeros. "" where all are.
std::string states_text(Call& c, bool has_cell, bool stacked) {
  std::string h = state_text(c, 5, stacked), cell = has_cell ? state_text(c, 6, stacked) : "";
  if (!has_cell || (h.empty() && cell.empty())) return h.empty() ? "" : ", " + h;
  if (h.empty()) h = "torch.zeros_like(" + cell + ")";
  if (cell.empty()) cell = "torch.zeros_like(" + h + ")";
  return stacked ? ", (" + h + ", " + cell + ")" : ", " + h + ", " + cell;
}

constexpr std::string_view sequence_and_cell =
    "def sequence_and_cell(answer: tuple[Tensor, tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:\n"
    "    \"\"\"All states and the last cell [N, units] of what an LSTM answers.\"\"\"\n"
    "    sequence, (_, cell) = answer\n"
    "    return sequence, cell[0]\n";
constexpr std::string_view state_and_cell =
    "def state_and_cell(answer: tuple[Tensor, tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:\n"
    "    \"\"\"The last state and the last cell, both [N, units], of what an LSTM answers.\"\"\"\n"
    "    state, cell = answer[1]\n"
    "    return state[0], cell[0]\n";

bool returns_cell(const Node& node) { return node.outputs.size() > 1; }

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
  const std::string states_in = states_text(c, std::is_same_v<Cell, Lstm>, true);
  std::string text = fmt::format("{}({}{})", self, op.backwards ? postfix(x) + ".flip(1)" : x.text, states_in);
  if (returns_cell(c.node())) {
    c.helper(op.returns_sequence ? sequence_and_cell : state_and_cell);
    c.results((op.returns_sequence ? "sequence_and_cell(" : "state_and_cell(") + text + ")");
    return {};
  }
  text += op.returns_sequence ? "[0]" : "[0][:, -1]";
  c.result({text, Binds::Atom, x.calls + 2, false, op.backwards ? "from the last step to the first" : ""});
  return {};
}

std::string apply(CellFunction f, const std::string& argument) {
  // A formula comes in parentheses, which a call has already.
  const bool call = f != CellFunction::Linear && f != CellFunction::HardSigmoid5 && argument.starts_with('(');
  const std::string x = call ? argument.substr(1, argument.size() - 2) : argument;
  switch (f) {
    case CellFunction::Tanh: return "torch.tanh(" + x + ")";
    case CellFunction::Sigmoid: return "torch.sigmoid(" + x + ")";
    case CellFunction::Relu: return "F.relu(" + x + ")";
    case CellFunction::Linear: return x;
    case CellFunction::HardSigmoid6: return "F.hardsigmoid(" + x + ")";
    case CellFunction::HardSigmoid5: return "(0.2 * " + x + " + 0.5).clamp(0, 1)";
    case CellFunction::Softsign: return "F.softsign(" + x + ")";
    case CellFunction::Elu: return "F.elu(" + x + ")";
    case CellFunction::Selu: return "F.selu(" + x + ")";
    case CellFunction::Softplus: return "F.softplus(" + x + ")";
  }
  std::unreachable();
}
// The lines of one step, from `step` (x @ kernel + bias), h and c to the next h and c.
struct Steps {
  std::string kind, lines;
  Size gates = 1;
  bool has_cell = false, recurrent_bias = false;
};

Steps steps_with_peepholes(const Lstm& op) {
  const auto gate = [&](const char* name) { return apply(op.recurrent_activation, name); };
  return {"Lstm",
          "            i, f, g, o = (step + h @ self.recurrent_kernel).chunk(4, dim=1)\n"
          "            p_i, p_f, p_o = self.peepholes.chunk(3)\n"
          "            c = " +
              gate("(f + p_f * c)") + " * c + " + gate("(i + p_i * c)") + " * " + apply(op.activation, "g") +
              "\n"
              "            h = " +
              gate("(o + p_o * c)") + " * " + apply(op.activation, "c") + "\n",
          4, true, false};
}

Steps steps_of(const Lstm& op) {
  const auto gate = [&](const char* name) { return apply(op.recurrent_activation, name); };
  return {"Lstm",
          "            i, f, g, o = (step + h @ self.recurrent_kernel).chunk(4, dim=1)\n"
          "            c = " +
              gate("f") + " * c + " + gate("i") + " * " + apply(op.activation, "g") +
              "\n"
              "            h = " +
              gate("o") + " * " + apply(op.activation, "c") + "\n",
          4, true, false};
}

Steps steps_of(const Gru& op) {
  const auto gate = [&](const char* name) { return apply(op.recurrent_activation, name); };
  std::string lines;
  if (op.reset_after) {
    lines =
        "            x_z, x_r, x_n = step.chunk(3, dim=1)\n"
        "            h_z, h_r, h_n = (h @ self.recurrent_kernel + self.recurrent_bias).chunk(3, dim=1)\n"
        "            z, r = " +
        gate("(x_z + h_z)") + ", " + gate("(x_r + h_r)") +
        "\n"
        "            n = " +
        apply(op.activation, "(x_n + r * h_n)") + "\n";
  } else {
    lines =
        "            x_z, x_r, x_n = step.chunk(3, dim=1)\n"
        "            u_z, u_r, u_n = self.recurrent_kernel.chunk(3, dim=1)\n"
        "            z, r = " +
        gate("(x_z + h @ u_z)") + ", " + gate("(x_r + h @ u_r)") +
        "\n"
        "            n = " +
        apply(op.activation, "(x_n + (r * h) @ u_n)") + "\n";
  }
  return {"Gru", lines + "            h = z * h + (1 - z) * n\n", 3, false, op.reset_after};
}

Steps steps_of(const SimpleRnn& op) {
  return {"Rnn",
          "            h = " +
              (op.activation == CellFunction::Linear ? std::string("step + h @ self.recurrent_kernel")
                                                     : apply(op.activation, "(step + h @ self.recurrent_kernel)")) +
              "\n",
          1, false, false};
}

template <class Cell>
Status write_steps(const Cell& op, Call& c) {
  if (op.gates != GateOrder::Keras) return c.broken("a cell of unusual functions in PyTorch's order");
  const Tensor *kernel = c.constant(1), *recurrent = c.constant(2);
  if (!kernel || !recurrent) return c.refused("a recurrent layer whose kernel the model computes");
  Steps steps = steps_of(op);
  if constexpr (std::is_same_v<Cell, Lstm>)
    if (c.has(7)) steps = steps_with_peepholes(op);
  const Size features = kernel->shape()[0], units = recurrent->shape()[0], width = steps.gates * units;
  const auto zeros = [&] { return Tensor::of({width}, std::vector<float>(static_cast<std::size_t>(width), 0)); };
  std::vector<State> states{c.state("kernel", 1), c.state("recurrent_kernel", 2)};
  states.push_back(c.has(3) ? c.state("bias", 3) : State{"bias", zeros(), {}});
  if (steps.recurrent_bias)
    states.push_back(c.has(4) ? c.state("recurrent_bias", 4) : State{"recurrent_bias", zeros(), {}});
  else if (c.has(4)) return c.broken("a recurrent bias of a cell that has none");
  if (c.has(7) && !c.constant(7)) return c.refused("a cell whose peepholes the model computes");
  if (c.has(7)) states.push_back(c.state("peepholes", 7));
  std::string body = "    def __init__(self, features: int, units: int) -> None:\n        super().__init__()\n";
  const std::string gates = steps.gates == 1 ? "units" : fmt::format("{} * units", steps.gates);
  body += fmt::format("        self.kernel = nn.Parameter(torch.empty(features, {}))\n", gates);
  body += fmt::format("        self.recurrent_kernel = nn.Parameter(torch.empty(units, {}))\n", gates);
  body += fmt::format("        self.bias = nn.Parameter(torch.empty({}))\n", gates);
  if (steps.recurrent_bias) body += fmt::format("        self.recurrent_bias = nn.Parameter(torch.empty({}))\n", gates);
  if (c.has(7)) body += "        self.peepholes = nn.Parameter(torch.empty(3 * units))\n";
  const bool begins = c.has(5) || c.has(6), cell_too = returns_cell(c.node());
  body += std::string("\n    def forward(self, x: Tensor") + (begins ? ", h: Tensor" : "") +
          (begins && steps.has_cell ? ", c: Tensor" : "") + ") -> " + (cell_too ? "tuple[Tensor, Tensor]" : "Tensor") +
          ":\n";
  if (!begins)
    body += std::string("        h = ") + (steps.has_cell ? "c = " : "") +
            "x.new_zeros(x.shape[0], self.recurrent_kernel.shape[0])\n";
  const bool all_steps = op.returns_sequence || !cell_too;
  if (all_steps) body += "        steps = []\n";
  body += "        for step in (x @ self.kernel + self.bias).unbind(1):\n" + steps.lines;
  if (all_steps) body += "            steps.append(h)\n";
  body +=
      std::string("        return ") + (all_steps ? "torch.stack(steps, dim=1)" : "h") + (cell_too ? ", c" : "") + "\n";
  const std::string class_ = c.class_of(steps.kind, body);
  const std::string self = c.module(fmt::format("{}({}, {})", class_, features, units), std::move(states));
  const Expression x = c.begin(0);
  const std::string states_in = states_text(c, steps.has_cell, false);
  std::string text = fmt::format("{}({}{})", self, op.backwards ? postfix(x) + ".flip(1)" : x.text, states_in);
  if (cell_too) {
    c.results(text);
    return {};
  }
  if (!op.returns_sequence) text += "[:, -1]";
  c.result({text, Binds::Atom, x.calls + 2, false, op.backwards ? "from the last step to the first" : ""});
  return {};
}

Status write_lstm(const Lstm& op, Call& c) {
  const bool usual = op.activation == CellFunction::Tanh && op.recurrent_activation == CellFunction::Sigmoid;
  return usual && !c.has(7) ? write_cell(op, c, "LSTM", 4, "") : write_steps(op, c);
}

Status write_gru(const Gru& op, Call& c) {
  const bool usual =
      op.reset_after && op.activation == CellFunction::Tanh && op.recurrent_activation == CellFunction::Sigmoid;
  return usual ? write_cell(op, c, "GRU", 3, "") : write_steps(op, c);
}

Status write_simple_rnn(const SimpleRnn& op, Call& c) {
  if (op.activation == CellFunction::Tanh) return write_cell(op, c, "RNN", 1, "");
  if (op.activation == CellFunction::Relu) return write_cell(op, c, "RNN", 1, ", nonlinearity=\"relu\"");
  return write_steps(op, c);
}

constexpr std::array recurrent_table{writes<write_lstm>(), writes<write_gru>(), writes<write_simple_rnn>()};
static_assert(decides<Recurrent>(recurrent_table), "every recurrent layer needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> recurrent_rows() { return recurrent_table; }

}  // namespace convoy::torch
