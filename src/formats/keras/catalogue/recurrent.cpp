// LSTM, GRU and SimpleRNN, and the pair of them that Bidirectional runs both ways. Source: keras/src/layers/rnn of Keras 3.15.
#include "formats/keras/catalogue/recurrent.h"
#include "formats/keras/catalogue/write.h"
#include "formats/keras/initial.h"
#include "formats/keras/operation.h"
#include "formats/keras/weights.h"
#include "graph/counted_steps.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::keras {

Values states_given(Call& call) {
  if (call.inputs.empty()) return {};
  Values states(call.inputs.begin() + 1, call.inputs.end());  // Keras 2 keeps them beside x
  call.understands("initial_state", 1);
  const Json* argument = option(call, "initial_state", 1);
  // One array of numbers is a state, [[...], ...]; a list holds several.
  const bool is_list =
      argument && argument->is_array() && !argument->empty() &&
      !(argument->front().is_array() && !argument->front().empty() && argument->front().front().is_number());
  if (is_list) states = operands(call, "initial_state", 1);
  else if (argument) states = {operand(call, "initial_state", 1)};
  return states;
}

ValueId sequence_of(Call& call) {
  if (!call.inputs.empty()) return call.inputs.front();
  call.refuse(Fault::Format, "has no input");
  return {};
}

void expect_usual_walk(Use& use) {
  if (use.truth("stateful"))
    use.call.refuse(Fault::Unsupported, "keeps its state between calls, which this version does not carry");
  if (use.truth("time_major"))
    use.call.refuse(Fault::Unsupported, "has time before the batch, which this version does not carry");
}

std::optional<Size> steps_to_walk(Call& call, ValueId x, const std::string& sequence, const std::string& options) {
  constexpr Size most = 512;
  const Dim steps = call.dim(x, 1);
  if (steps.known() && *steps >= 1 && *steps <= most) return *steps;
  call.refuse(Fault::Unsupported, "walks a " + sequence + " of " + (steps.known() ? std::to_string(*steps) : "free") +
                                      " length; 1 to " + std::to_string(most) + " steps are carried, which " + options +
                                      " may say");
  return std::nullopt;
}

std::string cell_group(const Layer& layer) {
  const Json* config = layer.config;
  return config && config->is_object() ? config->value(cell_key, std::string("cell")) : "cell";
}

namespace {

struct NamedCellFunction {
  std::string_view name;
  CellFunction function;
};
constexpr std::array cell_functions{NamedCellFunction{"tanh", CellFunction::Tanh},
                                    NamedCellFunction{"sigmoid", CellFunction::Sigmoid},
                                    NamedCellFunction{"relu", CellFunction::Relu},
                                    NamedCellFunction{"linear", CellFunction::Linear},
                                    NamedCellFunction{"softsign", CellFunction::Softsign},
                                    NamedCellFunction{"elu", CellFunction::Elu},
                                    NamedCellFunction{"selu", CellFunction::Selu},
                                    NamedCellFunction{"softplus", CellFunction::Softplus},
                                    NamedCellFunction{"hard_sigmoid", CellFunction::HardSigmoid6}};

CellFunction cell_function(Use& use, std::string_view key) {
  Call& call = use.call;
  const Json* argument = use.option(key);
  // Absent means the default, null means none.
  const bool present = call.layer.config && call.layer.config->is_object() && call.layer.config->contains(key);
  std::string word = argument ? "" : present ? "linear" : use.word(key);
  if (argument && argument->is_string()) word = argument->get<std::string>();
  if (argument && argument->is_object())
    if (const auto it = argument->find("config"); it != argument->end() && it->is_string())
      word = it->get<std::string>();
  if (word == "hard_sigmoid" && call.version.major < 3) return CellFunction::HardSigmoid5;
  const auto known = std::ranges::find(cell_functions, word, &NamedCellFunction::name);
  if (known != cell_functions.end()) return known->function;
  call.refuse(Fault::Unsupported,
              "attribute '" + std::string(key) + "' is '" + word + "', which this version does not carry in a cell");
  return CellFunction::Tanh;
}

struct Common {
  Size units = 0;
  bool bias = true, backwards = false, sequence = false, states = false;
  bool zeros = false;  // where a step does not count its output is zeros, not the last one's
};

Common common_of(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"unit_forget_bias", "dropout", "recurrent_dropout", "unroll", "implementation", "seed",
                     "dropout_W", "dropout_U", "consume_less", "recurrent_initializer", "use_cudnn"});
  Common common;
  common.units = use.whole("units");
  common.bias = use.truth("use_bias");
  common.backwards = use.truth("go_backwards");
  common.sequence = use.truth("return_sequences");
  common.states = use.truth("return_state");
  common.zeros = use.truth("zero_output_for_mask");
  expect_usual_walk(use);
  if (call.version.major == 1)
    call.refuse(Fault::Unsupported, "is a recurrent layer of Keras 1, which this version does not carry");
  if (!call.failed() && (common.units < 1 || common.units > (1 << 24)))
    call.refuse(Fault::Format, "attribute 'units' is " + std::to_string(common.units));
  return common;
}

Values first_states(Call& call, std::size_t count) {
  Values states = states_given(call);
  if (!call.failed() && !states.empty() && states.size() != count)
    call.refuse(Fault::Format,
                "begins with " + std::to_string(states.size()) + " states, it has " + std::to_string(count));
  return states;
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

// Where the mask says that a step does not count, the states stay and the output is the one before, zeros in front of all.
// Source: keras/src/backend/tensorflow/rnn.py.
template <class Cell>
Values counted_walk(Call& call, const Common& common, Cell op, Values inputs, const Values& states, ValueId mask) {
  const auto add = [&](Op made, Values read) { return call.add(std::move(made), std::move(read), "counted"); };
  const auto whole = [&](std::int64_t n) {
    return call.literal(n == 0 ? "none" : "one", whole_tensor(DType::I64, {1, 1}, {n}));
  };
  if (op.backwards) {
    op.backwards = false;
    inputs.front() = call.add(Slice{1, {}, {}, -1}, {inputs.front()}, "turned");
    mask = call.add(Slice{1, {}, {}, -1}, {mask}, "turned");
  }
  op.returns_sequence = true;
  const Size features = call.dim(inputs.front(), 2).size().value_or(0);
  const Shape shape{call.dim(inputs.front(), 0), call.dim(inputs.front(), 1)};
  CountedSteps steps = counted_steps(shape, mask, add, whole);
  inputs.front() = at_steps(inputs.front(), features, steps.order, add);
  if (!states.empty()) {
    inputs.resize(5);
    inputs.insert(inputs.end(), states.begin(), states.end());
  }
  const ValueId walked = call.add(op, std::move(inputs), "walked");
  const bool needs_all = common.sequence;
  const auto behind = [&](ValueId last, ValueId before) {
    return behind_steps(walked, common.units, last, before, add, whole);
  };
  const ValueId zero =
      call.literal("zero", Tensor::of(Sizes{1, 1, 1}, std::vector<float>{0}).converted(call.type(walked).dtype));
  ValueId output = behind(needs_all ? steps.last : steps.end, zero);
  if (common.zeros) {
    const ValueId truths = needs_all ? mask : call.add(Slice{1, -1, {}, 1}, {mask}, "counted");
    output = at_counted(output, truths, zero, add);
  }
  if (!needs_all) output = call.add(Squeeze{{1}}, {output});
  Values all{output};
  if (!common.states) return all;
  const ValueId before = states.empty() ? zero : call.add(Unsqueeze{{1}}, {states.front()}, "counted");
  all.push_back(call.add(Squeeze{{1}}, {behind(steps.end, before)}, "state"));
  return all;
}

// The same a step at a time, for a cell whose memory behind the last step is asked for.
Values masked_walk(Call& call, const Common& common, Lstm op, Values inputs, const Values& states, ValueId mask) {
  const ValueId x = inputs.front();
  const auto steps = steps_to_walk(call, x, "masked sequence", "--size or --shape");
  if (!steps) return {};
  op.returns_cell = true;
  op.backwards = op.returns_sequence = false;
  inputs.resize(7);
  const ValueId zero =
      call.literal("zero", Tensor::of(Sizes{1, 1}, std::vector<float>{0}).converted(call.type(inputs.front()).dtype));
  ValueId state = states.empty() ? zero : states[0], cell = states.size() > 1 ? states[1] : zero, output = zero;
  Values outputs;
  for (Size i = 0; i < *steps && !call.failed(); ++i) {
    const Size at = common.backwards ? *steps - 1 - i : i;
    const std::string step = "step_" + std::to_string(at);
    const bool first = i == 0 && states.empty();
    inputs[0] = call.add(Slice{1, at, at + 1, 1}, {x}, step + "/x");
    inputs[5] = first ? ValueId{} : state;
    inputs[6] = first ? ValueId{} : cell;
    const ValueId counts = call.add(Slice{1, at, at + 1, 1}, {mask}, step + "/counts");
    const Values made = call.add_all(op, inputs, step);
    if (made.empty()) return {};
    const ValueId before = common.zeros ? zero : output;
    const bool shares = output == state && !common.zeros;  // the state is the output, from zeros on
    state = call.add(Where{}, {counts, made[0], state}, step + "/state");
    output = shares ? state : call.add(Where{}, {counts, made[0], before}, step + "/output");
    cell = call.add(Where{}, {counts, made[1], cell}, step + "/cell");
    if (common.sequence) outputs.push_back(call.add(Unsqueeze{{1}}, {output}, step + "/one"));
  }
  if (call.failed()) return {};
  Values all{common.sequence ? outputs.size() == 1 ? outputs.front() : call.add(Concat{1}, outputs) : output};
  all.insert(all.end(), {state, cell});
  return all;
}

// Adds the cell over `inputs` (x, kernel, recurrent kernel, biases) with the states that it begins with.
template <class Cell>
Values walked(Call& call, const Common& common, Cell op, Values inputs) {
  if (is_half(call.computes())) op.rounds = call.computes();
  const Values states = first_states(call, std::is_same_v<Cell, Lstm> ? 2 : 1);
  const auto mask = call.mask();
  if (call.failed()) return {};
  if (mask) {
    if constexpr (std::is_same_v<Cell, Lstm>)
      if (common.states) return masked_walk(call, common, op, std::move(inputs), states, *mask);
    return counted_walk(call, common, op, std::move(inputs), states, *mask);
  }
  if (!states.empty()) {
    inputs.resize(5);
    inputs.insert(inputs.end(), states.begin(), states.end());
  }
  return results_of(call, common, call.add_all(op, std::move(inputs)));
}

// x, kernel, recurrent kernel and bias, for `gates` gates.
Values cell_inputs(Call& call, ValueId x, const Common& common, Size gates) {
  if (!call.expect_rank(x, 3)) return {};
  call.enter(cell_group(call.layer));
  Values inputs{x, call.weight("kernel", {call.dim(x, 2), gates * common.units}),
                call.weight("recurrent_kernel", {common.units, gates * common.units})};
  if (common.bias) inputs.push_back(call.weight("bias", {gates * common.units}));
  call.leave();
  return inputs;
}

Values lstm(Use& use) {
  Call& call = use.call;
  const ValueId x = sequence_of(call);
  const Common common = common_of(use);
  Lstm op{GateOrder::Keras,
          cell_function(use, "activation"),
          cell_function(use, "recurrent_activation"),
          common.backwards,
          common.sequence,
          common.states};
  const Values inputs = cell_inputs(call, x, common, 4);
  if (call.failed()) return {};
  return walked(call, common, op, inputs);
}

// With reset_after the bias has two rows: of the input, and of the state.
Values gru(Use& use) {
  Call& call = use.call;
  const ValueId x = sequence_of(call);
  Common common = common_of(use);
  // Of the Keras that is TensorFlow's, and of Keras 3.
  const bool after =
      use.option("reset_after") ? use.truth("reset_after") : call.version.major >= 3 || call.version.tensorflow;
  Gru op{GateOrder::Keras,
         cell_function(use, "activation"),
         cell_function(use, "recurrent_activation"),
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
  call.enter(cell_group(call.layer));
  const Tensor both = call.take("bias", {2, 3 * common.units});
  call.leave();
  if (call.failed()) return {};
  const auto numbers = both.doubles();
  const auto half = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  const auto row = [&](std::vector<double> part) {
    return Tensor::of({3 * common.units}, std::move(part)).converted(call.type(inputs[1]).dtype);
  };
  inputs.push_back(call.make_constant("bias", row({numbers.begin(), half}), true));
  inputs.push_back(call.make_constant("recurrent_bias", row({half, numbers.end()}), true));
  return walked(call, common, op, inputs);
}

Values simple_rnn(Use& use) {
  Call& call = use.call;
  const ValueId x = sequence_of(call);
  const Common common = common_of(use);
  SimpleRnn op{GateOrder::Keras, cell_function(use, "activation"), common.backwards, common.sequence};
  const Values inputs = cell_inputs(call, x, common, 1);
  if (call.failed()) return {};
  return walked(call, common, op, inputs);
}

bool returns_sequences(const Layer& layer) {
  if (!layer.config || !layer.config->is_object()) return false;
  const auto it = layer.config->find("return_sequences");
  return it != layer.config->end() && *it == true;
}

// A copy of the layer's config that says so, which Keras forces on both layers.
Json zeroing_masked_steps(const Layer& layer) {
  Json config = layer.config && layer.config->is_object() ? *layer.config : Json::object();
  config["zero_output_for_mask"] = returns_sequences(layer);
  return config;
}

// What becomes of the results of both ways; `axis` is the last one.
Values merged(Call& call, const std::string& mode, const Values& both, Size axis) {
  if (mode.empty()) return both;
  if (mode == "concat") return {call.add(Concat{axis}, both)};
  if (mode == "sum") return {call.add(Binary{BinaryFunction::Add}, both)};
  if (mode == "mul") return {call.add(Binary{BinaryFunction::Multiply}, both)};
  if (mode == "ave") return {call.add(Affine{0.5, 0}, {call.add(Binary{BinaryFunction::Add}, both, "sum")})};
  call.refuse(Fault::Format, "attribute 'merge_mode' is '" + mode + "'");
  return {};
}

// Without a layer of its own the way back is the way there, walked from the end.
Values bidirectional(Use& use) {
  Call& call = use.call;
  const ValueId x = sequence_of(call);
  const Values states = states_given(call);
  Layer forward = call.inside("layer");
  if (call.failed()) return {};
  Json there_config = zeroing_masked_steps(forward), back_config;
  Layer backward = use.option("backward_layer") ? call.inside("backward_layer") : forward;
  back_config = zeroing_masked_steps(backward);
  if (!use.option("backward_layer")) {
    const auto was = back_config.find("go_backwards");
    back_config["go_backwards"] = !(was != back_config.end() && *was == true);
  }
  forward.config = &there_config;
  backward.config = &back_config;
  // Absent means the default, null means both as they are.
  const Json* config = call.layer.config;
  const bool merges_as_usual = config && config->is_object() && !config->contains("merge_mode");
  const std::string mode = merges_as_usual || use.option("merge_mode") ? use.word("merge_mode") : "";
  const bool sequence = returns_sequences(forward);
  if (backward.name == forward.name)
    backward.name = "backward_" + backward.name, forward.name = "forward_" + forward.name;
  // The first half of the states begins the way there.
  const auto half = states.begin() + static_cast<std::ptrdiff_t>(states.size() / 2);
  Values first{x}, second{x};
  first.insert(first.end(), states.begin(), half);
  second.insert(second.end(), half, states.end());
  const Values there = call.run_inside(forward, "forward_layer", first);
  Values back = call.run_inside(backward, "backward_layer", second);
  if (call.failed() || there.empty() || back.empty()) return {};
  // The sequence of the way back comes in walking order and is turned round.
  if (sequence) back.front() = call.add(Slice{1, {}, {}, -1}, {back.front()}, "turned");
  Values all = merged(call, mode, {there.front(), back.front()}, call.rank(there.front()) - 1);
  all.insert(all.end(), there.begin() + 1, there.end());
  all.insert(all.end(), back.begin() + 1, back.end());
  return all;
}

constexpr std::string_view lstm_signature =
    "units|output_dim activation=tanh recurrent_activation=sigmoid use_bias=True kernel_initializer= "
    "recurrent_initializer= bias_initializer= unit_forget_bias= kernel_regularizer= recurrent_regularizer= "
    "bias_regularizer= activity_regularizer= kernel_constraint= recurrent_constraint= bias_constraint= dropout= "
    "recurrent_dropout= seed= return_sequences=False return_state=False go_backwards=False stateful=False unroll= "
    "use_cudnn= time_major=False implementation= zero_output_for_mask=False";
constexpr std::string_view gru_signature =
    "units|output_dim activation=tanh recurrent_activation=sigmoid use_bias=True kernel_initializer= "
    "recurrent_initializer= bias_initializer= kernel_regularizer= recurrent_regularizer= bias_regularizer= "
    "activity_regularizer= kernel_constraint= recurrent_constraint= bias_constraint= dropout= recurrent_dropout= seed= "
    "return_sequences=False return_state=False go_backwards=False stateful=False unroll= reset_after=True use_cudnn= "
    "time_major=False implementation= zero_output_for_mask=False";
constexpr std::string_view simple_rnn_signature =
    "units|output_dim activation=tanh use_bias=True kernel_initializer= recurrent_initializer= bias_initializer= "
    "kernel_regularizer= recurrent_regularizer= bias_regularizer= activity_regularizer= kernel_constraint= "
    "recurrent_constraint= bias_constraint= dropout= recurrent_dropout= return_sequences=False return_state=False "
    "go_backwards=False stateful=False unroll= seed= time_major=False implementation= zero_output_for_mask=False";

constexpr std::array rows_of_recurrent{
    CatalogueRow{"layers.LSTM", lstm_signature, lstm},
    CatalogueRow{"layers.GRU", gru_signature, gru},
    CatalogueRow{"layers.SimpleRNN", simple_rnn_signature, simple_rnn},
    CatalogueRow{"layers.Bidirectional", "layer merge_mode=concat weights= backward_layer=", bidirectional},
};

}  // namespace

std::span<const CatalogueRow> recurrent_operators() { return rows_of_recurrent; }

namespace writing {
namespace {

Status say_function(LayerConfig& config, const char* key, CellFunction function, CellFunction usual, const Sink& sink) {
  if (function == usual) return {};
  const auto known = std::ranges::find(cell_functions, function, &NamedCellFunction::function);
  if (known == cell_functions.end()) return sink.refused("the hard sigmoid of Keras 2, with a slope of 1/5, in a cell");
  config.arguments[key] = std::string(known->name);
  return {};
}

// Input i, a state before the first step: absent, it is zeros like input `other`.
Item state_of(Sink& sink, std::size_t i, std::size_t other) {
  if (const Tensor* known = sink.constant(i)) return *known;
  if (sink.has(i)) return std::get<Reference>(sink.argument(i));
  if (const Tensor* known = sink.constant(other))
    return Tensor::of(known->shape(), std::vector<float>(static_cast<std::size_t>(known->count()), 0.0F));
  LayerConfig zeros = sink.operation("numpy", "ZerosLike");
  zeros.args = {sink.argument(other)};
  return std::get<Reference>(sink.step(std::move(zeros), "zeros", sink.type(other)));
}

// The call's argument initial_state: h and c of an LSTM, else h.
void begin_with_states(LayerConfig& config, bool has_cell, Sink& sink) {
  if (!sink.has(5) && !sink.has(6)) return;
  for (const std::size_t i : {std::size_t{5}, std::size_t{6}})
    if (sink.constant(i))
      config.numbers.emplace_back(has_cell ? (i == 5 ? "initial_state_0" : "initial_state_1") : "initial_state",
                                  sink.node().inputs[i]);
  if (has_cell)
    config.kwargs.emplace_back("initial_state", std::vector<Item>{state_of(sink, 5, 6), state_of(sink, 6, 5)});
  else if (const Tensor* known = sink.constant(5)) config.kwargs.emplace_back("initial_state", *known);
  else config.kwargs.emplace_back("initial_state", sink.argument(5));
}

template <class Op>
Result<LayerConfig> cell(const Op& op, const char* class_name, Sink& sink) {
  if (op.gates != GateOrder::Keras) return sink.broken("gates in another framework's order");
  if (!sink.constant(1) || !sink.constant(2)) return sink.refused("a kernel that the model computes");
  if (sink.has(7)) return sink.refused("an LSTM with peepholes");
  LayerConfig config = sink.layer(class_name);
  config.arguments["units"] = sink.constant(2)->shape()[0];
  if (auto ok = say_function(config, "activation", op.activation, CellFunction::Tanh, sink); !ok) return pass(ok);
  if (!sink.has(3) && !sink.has(4)) config.arguments["use_bias"] = false;
  if (op.returns_sequence) config.arguments["return_sequences"] = true;
  if (op.backwards) config.arguments["go_backwards"] = true;
  // Keras fills it by a decomposition that TensorFlow has not in bfloat16.
  if (sink.type().dtype == DType::BF16) config.arguments["recurrent_initializer"] = "glorot_uniform";
  if (auto ok = sink.weigh(config, 1, "kernel", "cell"); !ok) return pass(ok);
  if (auto ok = sink.weigh(config, 2, "recurrent_kernel", "cell"); !ok) return pass(ok);
  begin_with_states(config, std::is_same_v<Op, Lstm>, sink);
  return config;
}

// Keras adds one bias.
Status weigh_one_bias(LayerConfig& config, Sink& sink) {
  if (sink.has(4)) return sink.broken("a second bias of a cell");
  return sink.has(3) ? sink.weigh(config, 3, "bias", "cell") : Status();
}

Result<LayerConfig> said_of(const Lstm& op, Sink& sink) {
  auto config = cell(op, "LSTM", sink);
  if (!config) return config;
  if (auto ok = say_function(*config, "recurrent_activation", op.recurrent_activation, CellFunction::Sigmoid, sink);
      !ok)
    return pass(ok);
  if (auto ok = weigh_one_bias(*config, sink); !ok) return pass(ok);
  if (op.returns_cell) config->arguments["return_state"] = true;
  return config;
}

// With reset_after Keras keeps two rows of bias: of the input, and of the state.
Result<LayerConfig> said_of(const Gru& op, Sink& sink) {
  auto config = cell(op, "GRU", sink);
  if (!config) return config;
  if (auto ok = say_function(*config, "recurrent_activation", op.recurrent_activation, CellFunction::Sigmoid, sink);
      !ok)
    return pass(ok);
  if (!op.reset_after) {
    config->arguments["reset_after"] = false;
    if (auto ok = weigh_one_bias(*config, sink); !ok) return pass(ok);
    return config;
  }
  if (!sink.has(3) && !sink.has(4)) return config;
  const Size width = sink.constant(1)->shape()[1];
  std::vector<double> both;
  bool trainable = false;
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    if (!sink.has(i)) {
      both.resize(both.size() + static_cast<std::size_t>(width), 0.0);
      continue;
    }
    if (!sink.constant(i)) return sink.refused("a bias that the model computes");
    const auto row = sink.constant(i)->doubles();
    both.insert(both.end(), row.begin(), row.end());
    config->carried.emplace_back(i == 3 ? "bias" : "recurrent_bias", sink.node().inputs[i]);
    trainable = trainable || sink.graph()[sink.node().inputs[i]].trainable;
  }
  config->weights.push_back(
      {"cell", "bias", Tensor::of({2, width}, std::move(both)).converted(sink.type().dtype), trainable});
  return config;
}

Result<LayerConfig> said_of(const SimpleRnn& op, Sink& sink) {
  auto config = cell(op, "SimpleRNN", sink);
  if (!config) return config;
  if (auto ok = weigh_one_bias(*config, sink); !ok) return pass(ok);
  return config;
}

template <class Cell>
Status write_cell(const Cell& op, Sink& sink) {
  auto config = said_of(op, sink);
  if (!config) return pass(config);
  if (sink.node().outputs.size() == 1) return sink.last(std::move(*config));
  // Keras gives the last h in front of the last c.
  return sink.last(std::move(*config), {{sink.result_type(0), sink.result_type(1), sink.result_type(1)}, {0, 2}});
}

Status write_lstm(const Lstm& op, Sink& sink) { return write_cell(op, sink); }
Status write_gru(const Gru& op, Sink& sink) { return write_cell(op, sink); }
Status write_simple_rnn(const SimpleRnn& op, Sink& sink) { return write_cell(op, sink); }

Result<LayerConfig> said_at(NodeId node, Sink& sink) {
  sink.begin(node);
  const Op& op = sink.node().op;
  if (const auto* lstm = get_if<Lstm>(&op)) return said_of(*lstm, sink);
  if (const auto* gru = get_if<Gru>(&op)) return said_of(*gru, sink);
  return said_of(get<SimpleRnn>(op), sink);
}

}  // namespace

// Keras makes the second cell from the first: alike but for its end, their names with a word in front.
Status write_both_ways(const BothWays& pair, NodeId merge, Sink& sink) {
  LayerConfig both;
  both.class_name = "Bidirectional";
  for (const auto& [node, word] : {std::pair{pair.forward, std::string("forward")}, {pair.backward, "backward"}}) {
    auto one = said_at(node, sink);
    if (!one) return pass(one);
    const std::string name = snake_case(one->class_name), inner = word + "_" + name;
    for (DocumentWeight& weight : one->weights) {
      weight.part = word + "_layer/" + weight.part;
      both.weights.push_back(std::move(weight));
    }
    for (auto& [weight, value] : one->carried) both.carried.emplace_back(inner + "/" + weight, value);
    both.numbers.emplace_back(inner, sink.node().outputs.front());
    if (node != pair.forward) continue;
    both.args = std::move(one->args);
    Json config{{"name", name}};
    for (const auto& [key, value] : one->arguments.items()) config[key] = value;
    if (const DType dtype = sink.type().dtype; dtype != DType::F32)
      config["dtype"] = std::string(convoy::name_of(dtype));
    both.arguments["layer"] = {{"module", "keras.layers"},
                               {"class_name", one->class_name},
                               {"config", std::move(config)},
                               {"registered_name", nullptr}};
  }
  if (pair.merge != "concat") both.arguments["merge_mode"] = pair.merge;
  sink.begin(merge);
  return sink.last(std::move(both));
}

namespace {

constexpr std::array recurrent_table{writes<write_lstm>(), writes<write_gru>(), writes<write_simple_rnn>()};
static_assert(decides<Recurrent>(recurrent_table));

}  // namespace

std::span<const Row> recurrent_rows() { return recurrent_table; }

}  // namespace writing
}  // namespace convoy::keras
