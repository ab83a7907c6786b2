// LSTM, GRU and SimpleRNN.
#include "formats/keras/write/sink.h"

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

Status say_function(Said& said, const char* key, CellFunction function, CellFunction usual, const Sink& sink) {
  if (function == usual) return {};
  const char* word = word_of(function);
  if (!word) return sink.refused("the hard sigmoid of Keras 2, with a slope of 1/5, in a cell");
  said.arguments[key] = word;
  return {};
}

template <class Op>
Result<Said> cell(const Op& op, const char* class_name, Sink& sink) {
  if (op.gates != GateOrder::Keras) return sink.broken("gates in another framework's order");
  if (!sink.constant(1) || !sink.constant(2)) return sink.refused("a kernel that the model computes");
  Said said = sink.layer(class_name);
  said.arguments["units"] = sink.constant(2)->shape()[0];
  if (auto ok = say_function(said, "activation", op.activation, CellFunction::Tanh, sink); !ok) return pass(ok);
  if (!sink.has(3) && !sink.has(4)) said.arguments["use_bias"] = false;
  if (op.returns_sequence) said.arguments["return_sequences"] = true;
  if (op.backwards) said.arguments["go_backwards"] = true;
  if (auto ok = sink.weigh(said, 1, "kernel", "cell"); !ok) return pass(ok);
  if (auto ok = sink.weigh(said, 2, "recurrent_kernel", "cell"); !ok) return pass(ok);
  return said;
}

// Keras adds one bias.
Status one_bias(Said said, Sink& sink) {
  if (sink.has(4)) return sink.broken("a second bias of a cell");
  if (sink.has(3))
    if (auto ok = sink.weigh(said, 3, "bias", "cell"); !ok) return ok;
  return sink.last(std::move(said));
}

Status write_lstm(const Lstm& op, Sink& sink) {
  auto said = cell(op, "LSTM", sink);
  if (!said) return pass(said);
  if (auto ok = say_function(*said, "recurrent_activation", op.recurrent_activation, CellFunction::Sigmoid, sink); !ok)
    return ok;
  return one_bias(std::move(*said), sink);
}

// With reset_after Keras keeps two rows of bias: of the input, and of the state.
Status write_gru(const Gru& op, Sink& sink) {
  auto said = cell(op, "GRU", sink);
  if (!said) return pass(said);
  if (auto ok = say_function(*said, "recurrent_activation", op.recurrent_activation, CellFunction::Sigmoid, sink); !ok)
    return ok;
  if (!op.reset_after) {
    said->arguments["reset_after"] = false;
    return one_bias(std::move(*said), sink);
  }
  if (!sink.has(3) && !sink.has(4)) return sink.last(std::move(*said));
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
    said->carried.emplace_back(i == 3 ? "bias" : "recurrent_bias", sink.node().inputs[i]);
    trainable = trainable || sink.graph()[sink.node().inputs[i]].trainable;
  }
  said->weights.push_back({"cell", "bias", Tensor::of({2, width}, std::move(both)), trainable});
  return sink.last(std::move(*said));
}

Status write_simple_rnn(const SimpleRnn& op, Sink& sink) {
  auto said = cell(op, "SimpleRNN", sink);
  if (!said) return pass(said);
  return one_bias(std::move(*said), sink);
}

constexpr std::array rows{writes<write_lstm>(), writes<write_gru>(), writes<write_simple_rnn>()};
static_assert(decides<Recurrent>(rows));

}  // namespace

std::span<const Row> recurrent_rows() { return rows; }

}  // namespace convoy::keras::writing
