// LSTM, GRU and SimpleRNN, and Bidirectional where two of them walk one sequence from both ends.
#include "formats/keras/write/sink.h"

#include "formats/keras/weights.h"

#include <array>

namespace convoy::keras::writing {
namespace {

const char* word_of(CellFunction function) {
  switch (function) {
    case CellFunction::Tanh: return "tanh";
    case CellFunction::Sigmoid: return "sigmoid";
    case CellFunction::Relu: return "relu";
    case CellFunction::Linear: return "linear";
    case CellFunction::HardSigmoid6: return "hard_sigmoid";
    case CellFunction::HardSigmoid5: return nullptr;
    case CellFunction::Softsign: return "softsign";
    case CellFunction::Elu: return "elu";
    case CellFunction::Selu: return "selu";
    case CellFunction::Softplus: return "softplus";
  }
  std::unreachable();
}

Status say_function(LayerConfig& config, const char* key, CellFunction function, CellFunction usual, const Sink& sink) {
  if (function == usual) return {};
  const char* word = word_of(function);
  if (!word) return sink.refused("the hard sigmoid of Keras 2, with a slope of 1/5, in a cell");
  config.arguments[key] = word;
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
  std::vector<float> both;
  bool trainable = false;
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    if (!sink.has(i)) {
      both.resize(both.size() + static_cast<std::size_t>(width), 0.0F);
      continue;
    }
    if (!sink.constant(i)) return sink.refused("a bias that the model computes");
    const auto row = sink.constant(i)->floats();
    both.insert(both.end(), row.begin(), row.end());
    config->carried.emplace_back(i == 3 ? "bias" : "recurrent_bias", sink.node().inputs[i]);
    trainable = trainable || sink.graph()[sink.node().inputs[i]].trainable;
  }
  config->weights.push_back({"cell", "bias", Tensor::of({2, width}, std::move(both)), trainable});
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
  if (const auto* lstm = std::get_if<Lstm>(&op)) return said_of(*lstm, sink);
  if (const auto* gru = std::get_if<Gru>(&op)) return said_of(*gru, sink);
  return said_of(std::get<SimpleRnn>(op), sink);
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

}  // namespace convoy::keras::writing
