// lstm, gru and rnn over whole sequences: layers on top of one another, in one or both directions. Written as nn.LSTM, nn.GRU
// and nn.RNN over [N, T, F]; walking backwards is a flip of time in front. Cells with other functions than those know, and
// those with peepholes, become a class of their own that walks the steps, gates in Keras's order.
#include "base/whole_tensor.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/families.h"
#include "graph/counted_steps.h"
#include "ops/expect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// Weights of one layer in one direction: from the input, from the state, and their biases.
struct Weights {
  ValueId input, state, input_bias, state_bias;
  ValueId projection{};  // [P, H] of a state that is made P long behind every step
};

// The states of one layer in one direction before its first step, [N, H]; nothing: zeros.
struct First {
  ValueId state, cell;
};

Op cell(const std::string& kind, bool backwards) {
  if (kind == "lstm") return Lstm{GateOrder::Torch, CellFunction::Tanh, CellFunction::Sigmoid, backwards, true, true};
  if (kind == "gru") return Gru{GateOrder::Torch, CellFunction::Tanh, CellFunction::Sigmoid, true, backwards, true};
  return SimpleRnn{GateOrder::Torch, kind == "rnn_relu" ? CellFunction::Relu : CellFunction::Tanh, backwards, true};
}

struct Walked {
  ValueId sequence;  // in the order of time
  ValueId last, last_cell;  // [1, N, H]: the state and the cell after the last step that was walked
};

// state [4H, P] behind the projection [P, H]: the weights from the state as it is before it is projected.
ValueId behind_projection(FunctionCall& call, ValueId state, ValueId projection) {
  const Tensor *a = call.constant(state), *b = call.constant(projection);
  const bool fit =
      a && b && is_floating(a->dtype()) && a->rank() == 2 && b->rank() == 2 && a->shape()[1] == b->shape()[0];
  constexpr Size most = Size{1} << 31;
  const auto work = fit ? checked_count(Sizes{a->shape()[0], a->shape()[1], b->shape()[1]}) : std::nullopt;
  if (!fit) call.refuse(Fault::Format, "a projection that does not fit the state");
  else if (!work || *work > most) call.refuse(Fault::Limit, "a projection of too large a state");
  if (call.failed()) return {};
  const std::size_t rows = static_cast<std::size_t>(a->shape()[0]), inner = static_cast<std::size_t>(a->shape()[1]),
                    columns = static_cast<std::size_t>(b->shape()[1]);
  const auto left = a->doubles(), right = b->doubles();
  std::vector<double> product(rows * columns, 0.0);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < inner; ++k)
      for (std::size_t j = 0; j < columns; ++j)
        product[i * columns + j] += left[i * inner + k] * right[k * columns + j];
  return call.make_constant("recurrent",
                            Tensor::of({a->shape()[0], b->shape()[1]}, std::move(product)).converted(a->dtype()));
}

// How a cell over numbers of 16 bits rounds. A projection is multiplied into the weights, of which nothing is rounded in between.
Op rounded(FunctionCall& call, Op op, ValueId x, const Weights& w, StepOrder steps) {
  if (const DType dtype = call.type(x).dtype; is_half(dtype) && !w.projection)
    op.visit([&](auto& o) {
      if constexpr (requires { o.rounds; }) o.rounds = dtype, o.steps = steps;
    });
  return op;
}

// PyTorch joins the input's product and its bias where the numbers lie in the order of time.
StepOrder order_of_steps(const FunctionCall& call, ValueId x, bool batch_first) {
  const Op* const maker = call.made_by(x);
  const auto* const moved = maker ? get_if<Transpose>(maker) : nullptr;
  const bool is_swapped = moved && moved->permutation == Sizes{1, 0, 2};
  return batch_first ? is_swapped ? StepOrder::TorchTimeFirst : StepOrder::TorchBatchFirst
         : moved     ? StepOrder::TorchBatchFirst
                     : StepOrder::TorchTimeFirst;
}

Walked walk(FunctionCall& call, const std::string& kind, ValueId x, const Weights& w, const First& first,
            bool backwards, StepOrder steps) {
  const ValueId state = w.projection ? behind_projection(call, w.state, w.projection) : w.state;
  const auto made = call.add_all(rounded(call, cell(kind, backwards), x, w, steps),
                                 {x, w.input, state, w.input_bias, w.state_bias, first.state, first.cell});
  if (call.failed()) return {};
  const ValueId y = w.projection ? call.add(Linear{LinearOrder::OutIn}, {made.front(), w.projection}) : made.front();
  const ValueId last = call.add(Slice{.axis = 1, .start = -1, .stop = {}}, {y});
  const ValueId in_time = backwards ? call.add(Slice{.axis = 1, .start = {}, .stop = {}, .step = -1}, {y}) : y;
  return {in_time, call.add(Transpose{{1, 0, 2}}, {last}),
          made.size() > 1 ? call.add(Unsqueeze{{0}}, {made[1]}) : ValueId{}};
}

// The same over the first steps of each sequence, those that count; zeros stand behind the others, and no cell is known. What
// does not count is walked behind all that does.
Walked walk_counted(FunctionCall& call, const std::string& kind, ValueId x, const Weights& w, const First& first,
                    bool backwards, ValueId counts) {
  const auto add = [&](Op op, std::vector<ValueId> inputs) { return call.add(std::move(op), std::move(inputs)); };
  const auto whole = [&](std::int64_t n) {
    return call.make_constant(n == 0 ? "none" : "one", whole_tensor(DType::I64, {1, 1}, {n}));
  };
  const auto turned = [&](ValueId v) { return backwards ? call.add(Slice{1, {}, {}, -1}, {v}) : v; };
  const Dim features = call.dim(x, 2), units = call.dim(w.projection ? w.projection : w.state, w.projection ? 0 : 1);
  if (!features.known() || !units.known()) call.refuse(Fault::Unsupported, "a packed sequence of free features");
  if (call.failed()) return {};
  x = turned(x), counts = turned(counts);
  const CountedSteps steps = counted_steps(Shape{call.dim(x, 0), call.dim(x, 1)}, counts, add, whole);
  if (backwards) x = at_steps(x, *features, steps.order, add);
  Op op = rounded(call, cell(kind, false), x, w, StepOrder::TorchTimeFirst);
  if (auto* lstm = get_if<Lstm>(&op)) lstm->returns_cell = false;
  const ValueId state = w.projection ? behind_projection(call, w.state, w.projection) : w.state;
  const auto made = call.add_all(op, {x, w.input, state, w.input_bias, w.state_bias, first.state, first.cell});
  if (call.failed()) return {};
  const ValueId y = w.projection ? call.add(Linear{LinearOrder::OutIn}, {made.front(), w.projection}) : made.front();
  const ValueId zero =
      call.make_constant("zero", Tensor::of(Sizes{1, 1, 1}, std::vector<float>{0}).converted(call.type(y).dtype));
  const ValueId before = first.state ? call.add(Unsqueeze{{1}}, {first.state}) : zero;
  const ValueId last = behind_steps(y, *units, steps.end, before, add, whole);
  const ValueId in_steps = backwards ? behind_steps(y, *units, steps.last, zero, add, whole) : y;
  return {turned(at_counted(in_steps, counts, zero, add)), call.add(Transpose{{1, 0, 2}}, {last}), {}};
}

// One of the states [layers * directions, N, H] that are handed in.
ValueId part_of(FunctionCall& call, ValueId states, std::size_t place, std::size_t count) {
  if (!states || call.is_zeros(states) || call.failed()) return {};
  if (call.rank(states) != 3 || call.dim(states, 0) != Dim(static_cast<Size>(count))) {
    call.refuse(Fault::Format, "argument 'hx' has shape " + text_of(call.shape(states)) + ", expected " +
                                   std::to_string(count) + " along its first axis");
    return {};
  }
  const auto first = static_cast<Size>(place);
  const ValueId one = count == 1 ? states : call.add(Slice{0, first, first + 1, 1}, {states});
  return call.add(Squeeze{{0}}, {one});
}

Results recurrent(FunctionCall& call) {
  const std::string& kind = call.name;
  ValueId x = call.tensor("input");
  auto handed_in = call.several("hx");  // one for gru and rnn, those of h and of c for lstm
  if (const ValueId one = call.optional("hx")) handed_in.push_back(one);
  handed_in.resize(2);
  const ValueId counts = call.optional("counts");  // of a packed sequence, [N, T]
  const auto params = call.several("params");
  const bool biases = call.attrs.truth("has_biases", true), both = call.attrs.truth("bidirectional", false);
  const bool batch_first = call.attrs.truth("batch_first", false);
  const Size layers = call.attrs.integer("num_layers", 1);
  const double dropout = call.attrs.number("dropout", 0.0);
  const std::size_t usual = biases ? 4 : 2, directions = both ? 2 : 1;
  if (layers < 1 || layers > 65536) call.refuse(Fault::Format, "argument 'num_layers' is " + std::to_string(layers));
  const std::size_t walks = call.failed() ? 1 : static_cast<std::size_t>(layers) * directions;
  const bool projects = kind == "lstm" && params.size() == walks * (usual + 1);
  const std::size_t each = usual + projects;
  if (params.size() != walks * each)
    call.refuse(Fault::Format, std::to_string(params.size()) + " weights for " + std::to_string(layers) + " layers");
  if (projects && handed_in[0] && !call.is_zeros(handed_in[0]))
    call.refuse(Fault::Unsupported, "a first state that is projected");
  if (!call.failed() && call.rank(x) != 3) call.refuse(Fault::Unsupported, "a sequence without a batch");
  if (call.failed()) return {};
  StepOrder steps = order_of_steps(call, x, batch_first);
  if (!batch_first) x = call.add(Transpose{{1, 0, 2}}, {x});
  std::vector<ValueId> states, last_cells;
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
    std::vector<ValueId> sequences;
    for (std::size_t d = 0; d < directions; ++d) {
      const std::size_t at = (layer * directions + d) * each;
      Weights weights{params[at], params[at + 1], {}, {}};
      if (biases) weights.input_bias = params[at + 2], weights.state_bias = params[at + 3];
      if (projects) weights.projection = params[at + usual];
      const First first{part_of(call, handed_in[0], states.size(), walks),
                        part_of(call, handed_in[1], states.size(), walks)};
      const Walked walked = counts ? walk_counted(call, kind, x, weights, first, d == 1, counts)
                                   : walk(call, kind, x, weights, first, d == 1, steps);
      if (call.failed()) return {};
      sequences.push_back(walked.sequence);
      states.push_back(walked.last);
      if (walked.last_cell) last_cells.push_back(walked.last_cell);
    }
    x = directions == 1 ? sequences.front() : call.add(Concat{2}, sequences);
    steps = StepOrder::TorchTimeFirst;  // the layers in between stack their steps
    const bool is_last = layer + 1 == static_cast<std::size_t>(layers);
    if (dropout > 0 && !is_last) x = call.add(Dropout{Noise::Dropout, dropout, 2}, {x});
  }
  if (!batch_first) x = call.add(Transpose{{1, 0, 2}}, {x});
  const auto joined = [&](const std::vector<ValueId>& all) {
    return all.size() == 1 ? all.front() : call.add(Concat{0}, all);
  };
  Results results{x, joined(states)};
  if (!last_cells.empty()) results.push_back(joined(last_cells));
  return results;
}

// One step of a cell: gates from the input and from the state, in PyTorch's order. Source: ATen/native/RNN.cpp.
struct Gates {
  std::vector<ValueId> input, state;
};
ValueId plus(FunctionCall& call, ValueId a, ValueId b) { return call.add(Binary{BinaryFunction::Add}, {a, b}); }
ValueId times(FunctionCall& call, ValueId a, ValueId b) { return call.add(Binary{BinaryFunction::Multiply}, {a, b}); }

ValueId gates_of(FunctionCall& call, ValueId x, std::string_view weight, std::string_view bias) {
  return call.add(Linear{LinearOrder::OutIn}, {x, call.tensor(weight), call.optional(bias)});
}
std::vector<ValueId> in_parts(FunctionCall& call, ValueId gates, Size count) {
  if (call.failed()) return {};
  const Size axis = call.rank(gates) - 1, size = known_size(call, gates, axis);
  if (size % count != 0) call.refuse(Fault::Format, std::to_string(size) + " gates");
  return call.add_all(Split{axis, Sizes(static_cast<std::size_t>(count), size / count)}, {gates});
}

Results lstm_cell(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const auto before = call.several("hx");
  if (before.size() != 2) call.refuse(Fault::Format, "takes a state and a cell");
  if (call.failed()) return {};
  const auto gates =
      in_parts(call, plus(call, gates_of(call, x, "w_ih", "b_ih"), gates_of(call, before[0], "w_hh", "b_hh")), 4);
  if (call.failed()) return {};
  const auto opened = [&](std::size_t gate) { return call.add(Unary{Function::Sigmoid}, {gates[gate]}); };
  const ValueId added = times(call, opened(0), call.add(Unary{Function::Tanh}, {gates[2]}));
  const ValueId kept = plus(call, times(call, opened(1), before[1]), added);
  return {times(call, opened(3), call.add(Unary{Function::Tanh}, {kept})), kept};
}

Results gru_cell(FunctionCall& call) {
  const ValueId x = call.tensor("input"), before = call.tensor("hx");
  const auto inner = in_parts(call, gates_of(call, x, "w_ih", "b_ih"), 3);
  const auto outer = in_parts(call, gates_of(call, before, "w_hh", "b_hh"), 3);
  if (call.failed()) return {};
  const auto opened = [&](std::size_t gate) {
    return call.add(Unary{Function::Sigmoid}, {plus(call, inner[gate], outer[gate])});
  };
  const ValueId made = call.add(Unary{Function::Tanh}, {plus(call, inner[2], times(call, opened(0), outer[2]))});
  const ValueId back = call.add(Binary{BinaryFunction::Subtract}, {before, made});
  return {plus(call, made, times(call, opened(1), back))};
}

Results rnn_cell(FunctionCall& call) {
  const ValueId x = call.tensor("input"), before = call.tensor("hx");
  const ValueId sum = plus(call, gates_of(call, x, "w_ih", "b_ih"), gates_of(call, before, "w_hh", "b_hh"));
  return {call.name == "rnn_relu_cell" ? call.add(Relu{}, {sum}) : call.add(Unary{Function::Tanh}, {sum})};
}

constexpr std::string_view cell_arguments = "input:T hx:T w_ih:T w_hh:T b_ih:T?=None b_hh:T?=None";
constexpr std::string_view layer_arguments =
    "input(input:T hx:T params:L has_biases:b num_layers:i dropout:f train:b bidirectional:b batch_first:b -> TT)";

constexpr std::array rows_of_recurrent{
    CatalogueRow{"aten.lstm_cell", "input:T hx:L w_ih:T w_hh:T b_ih:T?=None b_hh:T?=None -> TT", lstm_cell},
    CatalogueRow{"aten.gru_cell", cell_arguments, gru_cell},
    CatalogueRow{"aten.rnn_tanh_cell", cell_arguments, rnn_cell},
    CatalogueRow{"aten.rnn_relu_cell", cell_arguments, rnn_cell},
    CatalogueRow{"aten.lstm",
                 "input(input:T hx:L params:L has_biases:b num_layers:i dropout:f train:b bidirectional:b "
                 "batch_first:b -> TTT)",
                 recurrent},
    CatalogueRow{"aten.gru", layer_arguments, recurrent},
    CatalogueRow{"aten.rnn_tanh", layer_arguments, recurrent},
    CatalogueRow{"aten.rnn_relu", layer_arguments, recurrent},
};

// ---- how they are written

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
constexpr std::string_view time_first_and_cell =
    "def time_first_and_cell(answer: tuple[Tensor, tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:\n"
    "    \"\"\"All states and the last cell [N, units] of what an LSTM over time first answers.\"\"\"\n"
    "    sequence, (_, cell) = answer\n"
    "    return sequence.transpose(0, 1), cell[0]\n";
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
  // In 16 bits PyTorch rounds otherwise where the numbers lie in the order of time.
  const bool time_first = is_half(op.rounds) && op.steps == StepOrder::TorchTimeFirst;
  const std::string self = c.module(fmt::format("nn.{}({}, {}{}{}{})", kind, features, units, more,
                                                biased ? "" : ", bias=False", time_first ? "" : ", batch_first=True"),
                                    std::move(states));
  const Expression x = c.begin(0);
  const std::string states_in = states_text(c, std::is_same_v<Cell, Lstm>, true);
  std::string text = op.backwards ? postfix(x) + ".flip(1)" : time_first ? postfix(x) : x.text;
  if (time_first) text += ".transpose(0, 1).contiguous()";
  text = fmt::format("{}({}{})", self, text, states_in);
  if (returns_cell(c.node())) {
    const auto helper = !op.returns_sequence ? state_and_cell : time_first ? time_first_and_cell : sequence_and_cell;
    c.helper(helper);
    c.results(std::string(helper.substr(4, helper.find('(') - 3)) + text + ")");
    return {};
  }
  if (time_first) text += op.returns_sequence ? "[0].transpose(0, 1)" : "[0][-1]";
  else text += op.returns_sequence ? "[0]" : "[0][:, -1]";
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

Steps written_steps(const Lstm& op) {
  const auto gate = [&](const char* name) { return apply(op.recurrent_activation, name); };
  return {"Lstm",
          std::string("            i, f, g, o = (step + h @ self.recurrent_kernel") +
              (is_half(op.rounds) ? " + self.bias" : "") +
              ").chunk(4, dim=1)\n"
              "            c = " +
              gate("f") + " * c + " + gate("i") + " * " + apply(op.activation, "g") +
              "\n"
              "            h = " +
              gate("o") + " * " + apply(op.activation, "c") + "\n",
          4, true, false};
}

Steps written_steps(const Gru& op) {
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

Steps written_steps(const SimpleRnn& op) {
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
  Steps steps = written_steps(op);
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
  const DType dtype = kernel->dtype();
  const std::string typed = dtype == DType::F32 ? "" : ", dtype=dtype";
  std::string body =
      fmt::format("    def __init__(self, features: int, units: int{}) -> None:\n        super().__init__()\n",
                  typed.empty() ? "" : ", dtype: torch.dtype");
  const std::string gates = steps.gates == 1 ? "units" : fmt::format("{} * units", steps.gates);
  const auto parameter = [&](std::string_view name, const std::string& shape) {
    body += fmt::format("        self.{} = nn.Parameter(torch.empty({}{}))\n", name, shape, typed);
  };
  parameter("kernel", "features, " + gates);
  parameter("recurrent_kernel", "units, " + gates);
  parameter("bias", gates);
  if (steps.recurrent_bias) parameter("recurrent_bias", gates);
  if (c.has(7)) parameter("peepholes", "3 * units");
  const bool begins = c.has(5) || c.has(6), cell_too = returns_cell(c.node());
  body += std::string("\n    def forward(self, x: Tensor") + (begins ? ", h: Tensor" : "") +
          (begins && steps.has_cell ? ", c: Tensor" : "") + ") -> " + (cell_too ? "tuple[Tensor, Tensor]" : "Tensor") +
          ":\n";
  if (!begins)
    body += std::string("        h = ") + (steps.has_cell ? "c = " : "") +
            "x.new_zeros(x.shape[0], self.recurrent_kernel.shape[0])\n";
  const bool all_steps = op.returns_sequence || !cell_too;
  if (all_steps) body += "        steps = []\n";
  // Keras adds the bias of an LSTM behind both products, which shows in 16 bits.
  const bool is_added_last = std::is_same_v<Cell, Lstm> && is_half(op.rounds) && !c.has(7);
  body += std::string("        for step in (x @ self.kernel") + (is_added_last ? "" : " + self.bias") +
          ").unbind(1):\n" + steps.lines;
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
  return usual && !c.has(7) && !rounds_as_keras_does(op) ? write_cell(op, c, "LSTM", 4, "") : write_steps(op, c);
}

Status write_gru(const Gru& op, Call& c) {
  const bool usual = op.reset_after && op.activation == CellFunction::Tanh &&
                     op.recurrent_activation == CellFunction::Sigmoid && !rounds_as_keras_does(op);
  return usual ? write_cell(op, c, "GRU", 3, "") : write_steps(op, c);
}

Status write_simple_rnn(const SimpleRnn& op, Call& c) {
  if (rounds_as_keras_does(op)) return write_steps(op, c);
  if (op.activation == CellFunction::Tanh) return write_cell(op, c, "RNN", 1, "");
  if (op.activation == CellFunction::Relu) return write_cell(op, c, "RNN", 1, ", nonlinearity=\"relu\"");
  return write_steps(op, c);
}

constexpr std::array recurrent_table{writes<write_lstm>(), writes<write_gru>(), writes<write_simple_rnn>()};
static_assert(decides<Recurrent>(recurrent_table), "every recurrent layer needs one row: writes<> or lacks<>");

}  // namespace

std::span<const CatalogueRow> recurrent_operators() { return rows_of_recurrent; }

std::span<const Row> recurrent_rows() { return recurrent_table; }

}  // namespace convoy::torch
