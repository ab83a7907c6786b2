// LSTM, GRU and SimpleRNN, and the pair of them that Bidirectional runs both ways.
#include "formats/keras/operation.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

CellFunction cell_function(Call& call, std::string_view key, const char* otherwise) {
  const Json* argument = call.attrs.raw(key);
  // Absent means the default, null means none.
  const bool present = call.layer.config && call.layer.config->is_object() && call.layer.config->contains(key);
  std::string word = argument ? "" : present ? "linear" : otherwise;
  if (argument && argument->is_string()) word = argument->get<std::string>();
  if (argument && argument->is_object())
    if (const auto it = argument->find("config"); it != argument->end() && it->is_string())
      word = it->get<std::string>();
  constexpr std::array names{
      std::pair{"tanh", CellFunction::Tanh},         std::pair{"sigmoid", CellFunction::Sigmoid},
      std::pair{"relu", CellFunction::Relu},         std::pair{"linear", CellFunction::Linear},
      std::pair{"softsign", CellFunction::Softsign}, std::pair{"elu", CellFunction::Elu},
      std::pair{"selu", CellFunction::Selu},         std::pair{"softplus", CellFunction::Softplus}};
  for (const auto& [name, function] : names)
    if (word == name) return function;
  if (word == "hard_sigmoid") return call.version.major >= 3 ? CellFunction::HardSigmoid6 : CellFunction::HardSigmoid5;
  call.refuse(Fault::Unsupported,
              "attribute '" + std::string(key) + "' is '" + word + "', which this version does not carry in a cell");
  return CellFunction::Tanh;
}

struct Common {
  Size units = 0;
  bool bias = true, backwards = false, sequence = false, states = false;
  bool zeros = false;  // where a step does not count its output is zeros, not the last one's
};

Common common_of(Call& call) {
  call.attrs.ignore({"unit_forget_bias", "dropout", "recurrent_dropout", "unroll", "implementation", "seed",
                     "dropout_W", "dropout_U", "consume_less", "recurrent_initializer", "use_cudnn"});
  Common common;
  common.units = call.attrs.integer_of(call.attrs.raw({"units", "output_dim"}), "units");
  common.bias = call.attrs.truth("use_bias", true);
  common.backwards = call.attrs.truth("go_backwards", false);
  common.sequence = call.attrs.truth("return_sequences", false);
  common.states = call.attrs.truth("return_state", false);
  common.zeros = call.attrs.truth("zero_output_for_mask", false);
  if (call.attrs.truth("stateful", false))
    call.refuse(Fault::Unsupported, "keeps its state between calls, which this version does not carry");
  if (call.attrs.truth("time_major", false))
    call.refuse(Fault::Unsupported, "has time before the batch, which this version does not carry");
  if (call.version.major == 1)
    call.refuse(Fault::Unsupported, "is a recurrent layer of Keras 1, which this version does not carry");
  if (!call.failed() && (common.units < 1 || common.units > (1 << 24)))
    call.refuse(Fault::Format, "attribute 'units' is " + std::to_string(common.units));
  return common;
}

// What the layer is called with behind x: `count` states before the first step. None: zeros.
Values first_states(Call& call, std::size_t count) {
  Values states(call.inputs.begin() + 1, call.inputs.end());  // Keras 2 keeps them beside x
  call.understands("initial_state", 1);
  const Json* argument = option(call, "initial_state", 1);
  // One array of numbers is a state, [[...], ...]; a list holds several.
  const bool is_list =
      argument && argument->is_array() && !argument->empty() &&
      !(argument->front().is_array() && !argument->front().empty() && argument->front().front().is_number());
  if (is_list) states = operands(call, "initial_state", 1);
  else if (argument) states = {operand(call, "initial_state", 1)};
  if (!call.failed() && !states.empty() && states.size() != count)
    call.refuse(Fault::Format,
                "begins with " + std::to_string(states.size()) + " states, it has " + std::to_string(count));
  return states;
}

ValueId sequence_of(Call& call) {
  if (!call.inputs.empty()) return call.inputs.front();
  call.refuse(Fault::Format, "has no input");
  return {};
}

// The layer's results: all steps or the last one, then the states behind the last step where they are asked for.
Values results_of(Call& call, const Common& common, const Values& made) {
  if (!common.states || made.empty()) return made.empty() ? made : Values{made.front()};
  ValueId state = made.front();
  if (common.sequence) state = call.add(Squeeze{{1}}, {call.add(Slice{1, -1, {}, 1}, {state}, "last")}, "state");
  Values all{made.front(), state};
  if (made.size() > 1) all.push_back(made[1]);
  return all;
}

// A step at a time: where the mask says that one does not count, the states stay and the output is the one before.
// Source: keras/src/backend/tensorflow/rnn.py.
template <class Cell>
Values masked_walk(Call& call, const Common& common, Cell op, Values inputs, const Values& states, ValueId mask) {
  constexpr Size most = 512;
  const ValueId x = inputs.front();
  const Dim steps = call.dim(x, 1);
  if (!steps.known() || *steps < 1 || *steps > most) {
    call.refuse(Fault::Unsupported, "walks a masked sequence of " + (steps.known() ? std::to_string(*steps) : "free") +
                                        " length; 1 to " + std::to_string(most) +
                                        " steps are carried, which --size or --shape may say");
    return {};
  }
  constexpr bool is_lstm = std::is_same_v<Cell, Lstm>;
  if constexpr (is_lstm) op.returns_cell = true;
  op.backwards = op.returns_sequence = false;
  inputs.resize(is_lstm ? 7 : 6);
  const ValueId zero = call.literal("zero", Tensor::of(Sizes{1, 1}, std::vector<float>{0}));
  ValueId state = states.empty() ? zero : states[0], cell = states.size() > 1 ? states[1] : zero, output = zero;
  Values outputs;
  for (Size i = 0; i < *steps && !call.failed(); ++i) {
    const Size at = common.backwards ? *steps - 1 - i : i;
    const std::string step = "step_" + std::to_string(at);
    const bool first = i == 0 && states.empty();
    inputs[0] = call.add(Slice{1, at, at + 1, 1}, {x}, step + "/x");
    inputs[5] = first ? ValueId{} : state;
    if (is_lstm) inputs[6] = first ? ValueId{} : cell;
    const ValueId counts = call.add(Slice{1, at, at + 1, 1}, {mask}, step + "/counts");
    const Values made = call.add_all(op, inputs, step);
    if (made.empty()) return {};
    const ValueId before = common.zeros ? zero : output;
    const bool shares = output == state && !common.zeros;  // the state is the output, from zeros on
    state = call.add(Where{}, {counts, made[0], state}, step + "/state");
    output = shares ? state : call.add(Where{}, {counts, made[0], before}, step + "/output");
    if (is_lstm) cell = call.add(Where{}, {counts, made[1], cell}, step + "/cell");
    if (common.sequence) outputs.push_back(call.add(Unsqueeze{{1}}, {output}, step + "/one"));
  }
  if (call.failed()) return {};
  Values all{common.sequence ? outputs.size() == 1 ? outputs.front() : call.add(Concat{1}, outputs) : output};
  if (common.states) all.push_back(state);
  if (common.states && is_lstm) all.push_back(cell);
  return all;
}

// Adds the cell over `inputs` (x, kernel, recurrent kernel, biases) with the states that it begins with.
template <class Cell>
Values walked(Call& call, const Common& common, const Cell& op, Values inputs) {
  const Values states = first_states(call, std::is_same_v<Cell, Lstm> ? 2 : 1);
  const auto mask = call.mask();
  if (call.failed()) return {};
  if (mask) return masked_walk(call, common, op, std::move(inputs), states, *mask);
  if (!states.empty()) {
    inputs.resize(5);
    inputs.insert(inputs.end(), states.begin(), states.end());
  }
  return results_of(call, common, call.add_all(op, std::move(inputs)));
}

// x, kernel, recurrent kernel and bias, for `gates` gates.
Values cell_inputs(Call& call, ValueId x, const Common& common, Size gates) {
  if (!call.expect_rank(x, 3)) return {};
  call.enter("cell");
  Values inputs{x, call.weight("kernel", {call.dim(x, 2), gates * common.units}),
                call.weight("recurrent_kernel", {common.units, gates * common.units})};
  if (common.bias) inputs.push_back(call.weight("bias", {gates * common.units}));
  call.leave();
  return inputs;
}

Values lstm(Call& call) {
  const ValueId x = sequence_of(call);
  const Common common = common_of(call);
  Lstm op{GateOrder::Keras,
          cell_function(call, "activation", "tanh"),
          cell_function(call, "recurrent_activation", "sigmoid"),
          common.backwards,
          common.sequence,
          common.states};
  const Values inputs = cell_inputs(call, x, common, 4);
  if (call.failed()) return {};
  return walked(call, common, op, inputs);
}

// With reset_after the bias has two rows: of the input, and of the state.
Values gru(Call& call) {
  const ValueId x = sequence_of(call);
  Common common = common_of(call);
  const bool after = call.attrs.truth("reset_after", call.version.major >= 3 || call.version.tensorflow);
  Gru op{GateOrder::Keras,
         cell_function(call, "activation", "tanh"),
         cell_function(call, "recurrent_activation", "sigmoid"),
         after,
         common.backwards,
         common.sequence};
  if (!after || !common.bias) {
    const Values inputs = cell_inputs(call, x, common, 3);
    if (call.failed()) return {};
    return walked(call, common, op, inputs);
  }
  common.bias = false;
  Values inputs = cell_inputs(call, x, common, 3);
  if (call.failed()) return {};
  if (const auto known = call.bound("bias")) {
    inputs.insert(inputs.end(), {*known, *call.bound("recurrent_bias")});
    return walked(call, common, op, inputs);
  }
  call.enter("cell");
  const Tensor both = call.take("bias", {2, 3 * common.units});
  call.leave();
  if (call.failed()) return {};
  const auto numbers = both.floats();
  const auto half = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  inputs.push_back(
      call.constant("bias", Tensor::of({3 * common.units}, std::vector<float>(numbers.begin(), half)), true));
  inputs.push_back(
      call.constant("recurrent_bias", Tensor::of({3 * common.units}, std::vector<float>(half, numbers.end())), true));
  return walked(call, common, op, inputs);
}

Values simple_rnn(Call& call) {
  const ValueId x = sequence_of(call);
  const Common common = common_of(call);
  SimpleRnn op{GateOrder::Keras, cell_function(call, "activation", "tanh"), common.backwards, common.sequence};
  const Values inputs = cell_inputs(call, x, common, 1);
  if (call.failed()) return {};
  return walked(call, common, op, inputs);
}

bool returns_sequences(const Layer& layer) {
  if (!layer.config || !layer.config->is_object()) return false;
  const auto it = layer.config->find("return_sequences");
  return it != layer.config->end() && *it == true;
}

// Without a layer of its own the way back is the way there, walked from the end.
Values bidirectional(Call& call) {
  const ValueId x = call.x();
  Layer forward = call.inside("layer");
  if (call.failed()) return {};
  // Keras forces this on both, whatever they say themselves.
  Json there_config = forward.config && forward.config->is_object() ? *forward.config : Json::object();
  there_config["zero_output_for_mask"] = returns_sequences(forward);
  forward.config = &there_config;
  Json turned;
  Layer backward;
  if (call.attrs.has("backward_layer")) {
    backward = call.inside("backward_layer");
    turned = backward.config && backward.config->is_object() ? *backward.config : Json::object();
    turned["zero_output_for_mask"] = returns_sequences(backward);
    backward.config = &turned;
  } else {
    backward = forward;
    turned = forward.config && forward.config->is_object() ? *forward.config : Json::object();
    const auto was = turned.find("go_backwards");
    turned["go_backwards"] = !(was != turned.end() && *was == true);
    backward.config = &turned;
  }
  // Absent means the default, null means both as they are.
  const Json* config = call.layer.config;
  const bool merges_as_usual = config && config->is_object() && !config->contains("merge_mode");
  const Json* argument = call.attrs.raw("merge_mode");
  const std::string mode = merges_as_usual                     ? "concat"
                           : argument && argument->is_string() ? argument->get<std::string>()
                                                               : "";
  const bool sequence = returns_sequences(forward);
  if (backward.name == forward.name)
    backward.name = "backward_" + backward.name, forward.name = "forward_" + forward.name;
  const Values there = call.run_inside(forward, "forward_layer", {x});
  Values back = call.run_inside(backward, "backward_layer", {x});
  if (call.failed()) return {};
  if (there.size() != 1 || back.size() != 1) {
    call.refuse(Fault::Unsupported, "returns the states of both its cells, which this version does not carry");
    return {};
  }
  // The sequence of the way back comes in walking order and is turned round.
  if (sequence) back = {call.add(Slice{1, {}, {}, -1}, back, "turned")};
  if (mode.empty()) return {there.front(), back.front()};
  const Values both{there.front(), back.front()};
  if (mode == "concat") return {call.add(Concat{sequence ? 2 : 1}, both)};
  if (mode == "sum") return {call.add(Binary{BinaryFunction::Add}, both)};
  if (mode == "mul") return {call.add(Binary{BinaryFunction::Multiply}, both)};
  if (mode == "ave") return {call.add(Affine{0.5, 0}, {call.add(Binary{BinaryFunction::Add}, both, "sum")})};
  call.refuse(Fault::Format, "attribute 'merge_mode' is '" + mode + "'");
  return {};
}

constexpr std::array recurrent_table{LayerRow{"LSTM", lstm}, LayerRow{"GRU", gru}, LayerRow{"SimpleRNN", simple_rnn},
                                     LayerRow{"Bidirectional", bidirectional}};

}  // namespace

std::span<const LayerRow> recurrent_rows() { return recurrent_table; }

}  // namespace convoy::keras
