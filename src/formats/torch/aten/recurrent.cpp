// lstm, gru and rnn over whole sequences: layers on top of one another, in one or both directions.
#include "formats/torch/aten/aten.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// Weights of one layer in one direction: from the input, from the state, and their biases.
struct Weights {
  ValueId input, state, input_bias, state_bias;
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

Walked walk(FunctionCall& call, const std::string& kind, ValueId x, const Weights& w, const First& first,
            bool backwards) {
  const auto made =
      call.add_all(cell(kind, backwards), {x, w.input, w.state, w.input_bias, w.state_bias, first.state, first.cell});
  if (call.failed()) return {};
  const ValueId y = made.front();
  const ValueId last = call.add(Slice{.axis = 1, .start = -1, .stop = {}}, {y});
  const ValueId in_time = backwards ? call.add(Slice{.axis = 1, .start = {}, .stop = {}, .step = -1}, {y}) : y;
  return {in_time, call.add(Transpose{{1, 0, 2}}, {last}),
          made.size() > 1 ? call.add(Unsqueeze{{0}}, {made[1]}) : ValueId{}};
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
  const std::string kind = call.name.substr(0, call.name.find('.'));
  ValueId x = call.tensor("input");
  auto handed_in = call.several("hx");  // one for gru and rnn, those of h and of c for lstm
  if (const ValueId one = call.optional("hx")) handed_in.push_back(one);
  handed_in.resize(2);
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
  std::vector<ValueId> states, last_cells;
  const std::size_t walks = static_cast<std::size_t>(layers) * directions;
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
    std::vector<ValueId> sequences;
    for (std::size_t d = 0; d < directions; ++d) {
      const std::size_t at = (layer * directions + d) * each;
      Weights weights{params[at], params[at + 1], {}, {}};
      if (biases) weights.input_bias = params[at + 2], weights.state_bias = params[at + 3];
      const First first{part_of(call, handed_in[0], states.size(), walks),
                        part_of(call, handed_in[1], states.size(), walks)};
      const Walked walked = walk(call, kind, x, weights, first, d == 1);
      if (call.failed()) return {};
      sequences.push_back(walked.sequence);
      states.push_back(walked.last);
      if (walked.last_cell) last_cells.push_back(walked.last_cell);
    }
    x = directions == 1 ? sequences.front() : call.add(Concat{2}, sequences);
  }
  if (!batch_first) x = call.add(Transpose{{1, 0, 2}}, {x});
  const auto joined = [&](const std::vector<ValueId>& all) {
    return all.size() == 1 ? all.front() : call.add(Concat{0}, all);
  };
  Results results{x, joined(states)};
  if (!last_cells.empty()) results.push_back(joined(last_cells));
  return results;
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
