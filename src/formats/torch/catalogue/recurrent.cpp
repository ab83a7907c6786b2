// lstm, gru and rnn over whole sequences: layers on top of one another, in one or both directions.
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

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

Walked walk(FunctionCall& call, const std::string& kind, ValueId x, const Weights& w, const First& first,
            bool backwards) {
  const ValueId state = w.projection ? behind_projection(call, w.state, w.projection) : w.state;
  const auto made =
      call.add_all(cell(kind, backwards), {x, w.input, state, w.input_bias, w.state_bias, first.state, first.cell});
  if (call.failed()) return {};
  const ValueId y = w.projection ? call.add(Linear{LinearOrder::OutIn}, {made.front(), w.projection}) : made.front();
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
  const std::string& kind = call.name;
  ValueId x = call.tensor("input");
  auto handed_in = call.several("hx");  // one for gru and rnn, those of h and of c for lstm
  if (const ValueId one = call.optional("hx")) handed_in.push_back(one);
  handed_in.resize(2);
  const auto params = call.several("params");
  const bool biases = call.attrs.truth("has_biases", true), both = call.attrs.truth("bidirectional", false);
  const bool batch_first = call.attrs.truth("batch_first", false);
  const Size layers = call.attrs.integer("num_layers", 1);
  call.attrs.ignore({"dropout"});  // between layers, in training
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

}  // namespace

std::span<const CatalogueRow> recurrent_operators() { return rows_of_recurrent; }

}  // namespace convoy::torch
