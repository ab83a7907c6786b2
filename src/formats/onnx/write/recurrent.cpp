// LSTM, GRU and RNN over time first, one direction each. Weights hold one block of rows per gate: i, o, f, c and z, r, h;
// ours are i, f, c, o, and z, r, h (Keras) or r, z, h (PyTorch). Peepholes are i, o, f there and i, f, o here. A cell that
// walks backwards gives its sequence in the order of time there, in the order of walking here. States are [1, N, U] there.
#include "formats/onnx/write/sink.h"

#include <array>
#include <cstring>
#include <limits>

namespace convoy::onnx {
namespace {

struct Cell {
  std::string op;
  std::vector<std::size_t> blocks;  // blocks[i]: our block that is block i of ONNX
  GateOrder gates;
  std::vector<CellFunction> functions;  // in ONNX's order
  bool backwards, returns_sequence, returns_cell = false;
};

// The word of a function, and its two numbers where they are not the ones that ONNX takes by itself.
struct FunctionWord {
  const char* word = nullptr;
  std::optional<double> alpha, beta;
};
FunctionWord word_of(CellFunction function) {
  switch (function) {
    case CellFunction::Tanh: return {"Tanh"};
    case CellFunction::Sigmoid: return {"Sigmoid"};
    case CellFunction::Relu: return {"Relu"};
    case CellFunction::Linear: return {"Affine", 1.0, 0.0};
    case CellFunction::HardSigmoid6: return {"HardSigmoid", 1.0 / 6, 0.5};
    case CellFunction::HardSigmoid5: return {"HardSigmoid", 0.2, 0.5};
    case CellFunction::Softsign: return {"Softsign"};
    case CellFunction::Softplus: return {"Softplus"};
    case CellFunction::Elu: return {"Elu", 1.0};
    case CellFunction::Selu: return {};
  }
  std::unreachable();
}

// [1, blocks * units, ...] from kernels [F, blocks * units] (Keras) or [blocks * units, F], and from biases side by side.
Tensor stacked(const std::vector<const Tensor*>& parts, const Cell& cell) {
  const Tensor& first = *parts.front();
  const bool turned = first.rank() == 2 && cell.gates == GateOrder::Keras;
  Sizes shape{1, 0};
  if (first.rank() == 2) shape.push_back(first.shape()[turned ? 0 : 1]);
  std::vector<std::byte> bytes;
  for (const Tensor* part : parts) {
    const Tensor rows = turned ? part->permuted(Sizes{1, 0}) : *part;
    const auto from = rows.bytes();
    const std::size_t block = from.size() / cell.blocks.size();
    for (const std::size_t b : cell.blocks) {
      const auto one = from.subspan(b * block, block);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    shape[1] += rows.shape()[0];
  }
  return *Tensor::owning(first.dtype(), std::move(shape), std::move(bytes));
}

Result<Attributes> attributes_of(const Cell& cell, Size units, const Sink& sink) {
  std::vector<std::string> words;
  std::vector<double> alpha, beta;
  bool usual = true;
  for (std::size_t i = 0; i < cell.functions.size(); ++i) {
    const FunctionWord word = word_of(cell.functions[i]);
    if (!word.word) return sink.refused("a recurrent cell with this function");
    words.emplace_back(word.word);
    if (word.alpha) alpha.push_back(*word.alpha);
    if (word.beta) beta.push_back(*word.beta);
    const bool gate = i == 0 && cell.op != "RNN";
    usual = usual && cell.functions[i] == (gate ? CellFunction::Sigmoid : CellFunction::Tanh);
  }
  Attributes attributes;
  if (!alpha.empty()) attributes.emplace_back("activation_alpha", alpha);
  if (!beta.empty()) attributes.emplace_back("activation_beta", beta);
  if (!usual) attributes.emplace_back("activations", words);
  attributes.emplace_back("direction", std::string(cell.backwards ? "reverse" : "forward"));
  attributes.emplace_back("hidden_size", units);
  return attributes;
}

std::string bias_of(const Cell& cell, Size width, DType dtype, Sink& sink) {
  if (!sink.has(3) && !sink.has(4)) return {};
  const Tensor zeros = Tensor::of({width}, std::vector<float>(static_cast<std::size_t>(width), 0.0F)).converted(dtype);
  const Tensor *input = sink.has(3) ? sink.constant(3) : &zeros, *state = sink.has(4) ? sink.constant(4) : &zeros;
  return sink.made_of(sink.has(3) ? 3 : 4, stacked({input, state}, cell));
}

// Input i, a state before the first step, as [1, N, U]; `known` is the value that is one already.
std::string state_of(Sink& sink, std::size_t i, ValueId known) {
  if (known) return sink.name_of(known);
  if (!sink.has(i)) return {};
  if (const Tensor* numbers = sink.constant(i)) return sink.reshaped(i, {1, numbers->shape()[0], numbers->shape()[1]});
  return sink.step_with("Unsqueeze", sink.name(i), "axes", {0});
}

std::string peepholes_of(Sink& sink) {
  if (!sink.has(7)) return {};
  const Tensor& known = *sink.constant(7);
  const Cell order{"", {0, 2, 1}, GateOrder::Torch, {}, false, false};
  return sink.made_of(7, stacked({&known}, order));
}

// Gives the results of the node from Y, Y_h and Y_c.
void write_results(const Cell& cell, Sink& sink, const std::vector<std::string>& made) {
  if (cell.returns_cell) sink.gives_with(1, "Squeeze", made[2], "axes", {0});
  // The state behind the last step: [1, N, U]
  if (!cell.returns_sequence) return sink.last_with("Squeeze", made[1], "axes", {0});
  std::string y = sink.step_with("Squeeze", made[0], "axes", {1});  // [T, N, U]
  constexpr Size beyond = std::numeric_limits<Size>::max();
  const Attributes turned{{"perm", Sizes{1, 0, 2}}};
  if (const ValueId in_time = sink.cell().in_time) return sink.named("Transpose", {y}, {sink.name_of(in_time)}, turned);
  if (cell.backwards)
    y = sink.step("Slice", {y, sink.numbers({-1}), sink.numbers({-beyond}), sink.numbers({0}), sink.numbers({-1})});
  sink.last("Transpose", {y}, turned);
}

Status write_cell(const Cell& cell, Sink& sink) {
  const Tensor *kernel = sink.constant(1), *recurrent = sink.constant(2);
  for (const std::size_t i : {1, 2, 3, 4, 7})
    if (sink.has(i) && !sink.constant(i)) return sink.refused("a recurrent layer whose weights the model computes");
  const auto blocks = static_cast<Size>(cell.blocks.size());
  const Size width = recurrent->shape()[cell.gates == GateOrder::Keras ? 1 : 0], units = width / blocks;
  auto attributes = attributes_of(cell, units, sink);
  if (!attributes) return pass(attributes);
  if (cell.op == "GRU" && get<Gru>(sink.node().op).reset_after)
    attributes->emplace_back("linear_before_reset", Size{1});
  const TimeFirst::Cell& around = sink.cell();
  const std::string x =
      around.x ? sink.name_of(around.x) : sink.step("Transpose", {sink.name()}, {{"perm", Sizes{1, 0, 2}}});
  const std::vector<std::string> inputs{x,
                                        sink.made_of(1, stacked({kernel}, cell)),
                                        sink.made_of(2, stacked({recurrent}, cell)),
                                        bias_of(cell, width, kernel->dtype(), sink),
                                        "",  // sequence_lens
                                        state_of(sink, 5, around.first_state),
                                        state_of(sink, 6, around.first_cell),
                                        peepholes_of(sink)};
  const auto name = [&](ValueId v) { return v ? sink.name_of(v) : std::string(); };
  if (around.made) {
    sink.named(cell.op, inputs, {name(around.y), name(around.state), name(around.last_cell)}, std::move(*attributes));
    return {};
  }
  write_results(cell, sink,
                sink.steps_of({cell.returns_sequence, !cell.returns_sequence, cell.returns_cell}, cell.op, inputs,
                              std::move(*attributes)));
  return {};
}

Status write_lstm(const Lstm& op, Sink& sink) {
  return write_cell({"LSTM",
                     {0, 3, 1, 2},
                     op.gates,
                     {op.recurrent_activation, op.activation, op.activation},
                     op.backwards,
                     op.returns_sequence,
                     op.returns_cell},
                    sink);
}

Status write_gru(const Gru& op, Sink& sink) {
  const bool keras = op.gates == GateOrder::Keras;
  return write_cell({"GRU",
                     keras ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{1, 0, 2},
                     op.gates,
                     {op.recurrent_activation, op.activation},
                     op.backwards,
                     op.returns_sequence},
                    sink);
}

Status write_simple_rnn(const SimpleRnn& op, Sink& sink) {
  return write_cell({"RNN", {0}, op.gates, {op.activation}, op.backwards, op.returns_sequence}, sink);
}

constexpr std::array recurrent_writers{writes<write_lstm>(), writes<write_gru>(), writes<write_simple_rnn>()};
static_assert(decides<Recurrent>(recurrent_writers));

}  // namespace

std::span<const Row> recurrent_rows() { return recurrent_writers; }

}  // namespace convoy::onnx
