// lstm, gru and rnn over whole sequences: layers on top of one another, in one or both directions, from a state of zeros.
#include "formats/torch/aten/aten.h"

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

bool is_zero(FunctionCall& call, ValueId state) {
  const Tensor* known = call.constant(state);
  return known && std::ranges::all_of(known->doubles(), [](double v) { return v == 0; });
}

// Weights of one layer in one direction: from the input, from the state, and their biases.
struct Weights {
  ValueId input, state, input_bias, state_bias;
};

Op cell(const std::string& kind, bool backwards) {
  if (kind == "lstm") return Lstm{GateOrder::Torch, CellFunction::Tanh, CellFunction::Sigmoid, backwards, true};
  if (kind == "gru") return Gru{GateOrder::Torch, CellFunction::Tanh, CellFunction::Sigmoid, true, backwards, true};
  return SimpleRnn{GateOrder::Torch, kind == "rnn_relu" ? CellFunction::Relu : CellFunction::Tanh, backwards, true};
}

struct Walked {
  ValueId sequence;  // in the order of time
  ValueId last;  // [1, N, H]: the state after the last step that was walked
};

Walked walk(FunctionCall& call, const std::string& kind, ValueId x, const Weights& w, bool backwards) {
  const ValueId y = call.add(cell(kind, backwards), {x, w.input, w.state, w.input_bias, w.state_bias});
  const ValueId last = call.add(Slice{.axis = 1, .start = -1, .stop = {}}, {y});
  const ValueId in_time = backwards ? call.add(Slice{.axis = 1, .start = {}, .stop = {}, .step = -1}, {y}) : y;
  return {in_time, call.add(Transpose{{1, 0, 2}}, {last})};
}

// The states to begin with, which must be zeros: one for gru and rnn, those of h and of c for lstm.
void expect_zeros(FunctionCall& call) {
  auto states = call.several("hx");
  if (const ValueId one = call.optional("hx")) states.push_back(one);
  for (const ValueId state : states)
    if (!is_zero(call, state))
      call.refuse(Fault::Unsupported, "argument 'hx' is a state to begin with other than zeros");
}

Results recurrent(FunctionCall& call) {
  const std::string kind = call.name.substr(0, call.name.find('.'));
  ValueId x = call.tensor("input");
  expect_zeros(call);
  const auto params = call.several("params");
  const bool biases = call.attrs.truth("has_biases", true), both = call.attrs.truth("bidirectional", false);
  const bool batch_first = call.attrs.truth("batch_first", false);
  const Size layers = call.attrs.integer("num_layers", 1);
  call.attrs.ignore({"dropout"});  // between layers, in training
  const std::size_t each = biases ? 4 : 2, directions = both ? 2 : 1;
  if (layers < 1 || params.size() != static_cast<std::size_t>(layers) * directions * each)
    call.refuse(Fault::Unsupported, std::to_string(params.size()) + " weights for " + std::to_string(layers) +
                                        " layers; a projection of the state is not carried");
  if (!call.failed() && call.rank(x) != 3) call.refuse(Fault::Unsupported, "a sequence without a batch");
  if (call.failed()) return {};
  if (!batch_first) x = call.add(Transpose{{1, 0, 2}}, {x});
  std::vector<ValueId> states;
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
    std::vector<ValueId> sequences;
    for (std::size_t d = 0; d < directions; ++d) {
      const std::size_t at = (layer * directions + d) * each;
      Weights weights{params[at], params[at + 1], {}, {}};
      if (biases) weights.input_bias = params[at + 2], weights.state_bias = params[at + 3];
      const Walked walked = walk(call, kind, x, weights, d == 1);
      sequences.push_back(walked.sequence);
      states.push_back(walked.last);
    }
    x = directions == 1 ? sequences.front() : call.add(Concat{2}, sequences);
  }
  if (!batch_first) x = call.add(Transpose{{1, 0, 2}}, {x});
  return {x, states.size() == 1 ? states.front() : call.add(Concat{0}, states)};
}

constexpr std::array rows{
    FunctionRow{"lstm.input", "input hx params has_biases num_layers dropout train bidirectional batch_first",
                recurrent},
    FunctionRow{"gru.input", "input hx params has_biases num_layers dropout train bidirectional batch_first",
                recurrent},
    FunctionRow{"rnn_tanh.input", "input hx params has_biases num_layers dropout train bidirectional batch_first",
                recurrent},
    FunctionRow{"rnn_relu.input", "input hx params has_biases num_layers dropout train bidirectional batch_first",
                recurrent},
};

}  // namespace

std::span<const FunctionRow> aten_recurrent() { return rows; }

}  // namespace convoy::torch
