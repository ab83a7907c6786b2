// nn.LSTM, nn.GRU and nn.RNN: their weights by PyTorch's names, and a call over a whole sequence. Source:
// torch/nn/modules/rnn.py of PyTorch 2.13.
#include "formats/torch/source/recurrent.h"

#include "base/words.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/source/training.h"
#include "formats/torch/source/written_out.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace convoy::torch {

namespace {

constexpr std::string_view parameters =
    "input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size device dtype";
constexpr std::string_view parameters_of_rnn =
    "input_size hidden_size num_layers nonlinearity bias batch_first dropout bidirectional device dtype";

std::int64_t whole(const Instance& self, const char* word, std::int64_t otherwise) {
  const Value* said = self.attributes.find(word);
  return said && said->is_whole() ? said->whole() : otherwise;
}

// "weight_ih_l0", "bias_hh_l1_reverse": in the order in which PyTorch makes and hands them on.
std::vector<std::string> names_of(const Instance& self) {
  std::vector<std::string> names;
  for (std::int64_t layer = 0; layer < whole(self, "num_layers", 1); ++layer)
    for (const char* direction : {"", "_reverse"}) {
      if (*direction && !whole(self, "bidirectional", 0)) continue;
      for (const char* kind : {"weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"})
        if (*kind == 'w' || whole(self, "bias", 1)) names.push_back(kind + std::to_string(layer) + direction);
      if (whole(self, "proj_size", 0) > 0) names.push_back("weight_hr_l" + std::to_string(layer) + direction);
    }
  return names;
}

// What the class of this name makes.
Made of_written_out(Interpreter& in, const std::string& name, ValueList placed) {
  const auto found = written_out(in, name);
  if (!found) return std::unexpected(found.error());
  if (!*found) return fail(Fault::Unsupported, "torch.nn.utils.rnn of a script");
  Arguments given;
  given.placed = std::move(placed);
  return in.call(**found, std::move(given));
}

}  // namespace

bool is_recurrent(const std::string& name) { return name == "LSTM" || name == "GRU" || name == "RNN"; }

Made make_recurrent(Tracer& tracer, Interpreter& in, const std::string& name, Instance& self, Arguments& given) {
  const std::string_view words = name == "RNN" ? parameters_of_rnn : parameters;
  const auto taken = python::bound(given, words, 2, "nn." + name);
  if (!taken) return std::unexpected(taken.error());
  for (const auto& [word, value] : {std::pair<const char*, Value>{"num_layers", Value::of(std::int64_t{1})},
                                    {"bias", Value::of(true)},
                                    {"batch_first", Value::of(false)},
                                    {"dropout", Value::of(0.0)},
                                    {"bidirectional", Value::of(false)},
                                    {"nonlinearity", in.text("tanh")}})
    self.attributes.set(word, value);
  const auto names = words_in(words);
  for (std::size_t i = 0; i < names.size(); ++i)
    if ((*taken)[i]) self.attributes.set(std::string(names[i]), *(*taken)[i]);
  const Value* type = self.attributes.find("dtype");
  DType dtype = DType::F32;
  if (const auto* said = type ? type->as<python::Text>() : nullptr) {
    const auto found = type_named(said->text);
    if (!found || !is_floating(*found))
      return fail(Fault::Unsupported, "nn." + name + ": argument 'dtype' is " + said->text);
    dtype = *found;
  }
  const std::int64_t hidden = whole(self, "hidden_size", 0), first = whole(self, "input_size", 0),
                     layers = whole(self, "num_layers", 1);
  constexpr std::int64_t most = 1 << 20;
  if (hidden < 1 || first < 1 || layers < 1 || hidden > most || first > most || layers > 1000)
    return fail(Fault::Format, "nn." + name + ": input_size, hidden_size and num_layers are to be positive numbers");
  const std::int64_t projected = whole(self, "proj_size", 0), state = projected > 0 ? projected : hidden;
  if (projected < 0 || projected >= hidden || (projected > 0 && name != "LSTM"))
    return fail(Fault::Format, "nn." + name + ": argument 'proj_size' is " + std::to_string(projected) +
                                   "; an LSTM takes one below its hidden_size");
  const std::int64_t gates = (name == "LSTM" ? 4 : name == "GRU" ? 3 : 1) * hidden;
  const std::int64_t directions = whole(self, "bidirectional", 0) ? 2 : 1;
  const double most_drawn = 1 / std::sqrt(static_cast<double>(hidden));
  for (const std::string& weight : names_of(self)) {
    const bool of_first = weight.starts_with("weight_ih_l0");
    const Sizes shape = weight.starts_with("bias")        ? Sizes{gates}
                        : weight.starts_with("weight_hr") ? Sizes{projected, hidden}
                        : weight.starts_with("weight_hh") ? Sizes{gates, state}
                        : of_first                        ? Sizes{gates, first}
                                                          : Sizes{gates, state * directions};
    auto made = tracer.parameter(in, shape, Filling{Filling::How::Uniform, -most_drawn, most_drawn}, false, dtype);
    if (!made) return made;
    self.attributes.set(weight, *made);
  }
  return Value();
}

namespace {

Made with_axis(Tracer& tracer, Interpreter& in, const char* function, const Value& x, std::int64_t axis) {
  return call_function_named(tracer, in, function, Arguments{{x, Value::of(axis)}, {}});
}

// The same of each tensor in a tuple of them, and of a tensor.
Made with_axis_of_all(Tracer& tracer, Interpreter& in, const char* function, const Value& of, std::int64_t axis) {
  const auto* several = of.as<python::Sequence>();
  if (!several) return with_axis(tracer, in, function, of, axis);
  ValueList all;
  for (const Value& one : several->items) {
    const auto made = with_axis(tracer, in, function, one, axis);
    if (!made) return made;
    all.push_back(*made);
  }
  return in.tuple(std::move(all));
}

// A sequence without a batch is a batch of one, and so are its states.
Made run_without_batch(Tracer& tracer, Interpreter& in, const std::string& name, Instance& self, Arguments& given) {
  const std::int64_t axis = whole(self, "batch_first", 0) ? 0 : 1;
  const auto x = with_axis(tracer, in, "unsqueeze", given.placed[1], axis);
  if (!x) return x;
  Arguments batched{{given.placed.front(), *x}, {}};
  if (given.placed.size() > 2 && !given.placed[2].is_none()) {
    const auto states = with_axis_of_all(tracer, in, "unsqueeze", given.placed[2], 1);
    if (!states) return states;
    batched.placed.push_back(*states);
  }
  const auto made = run_recurrent(tracer, in, name, self, batched);
  if (!made) return made;
  const auto& both = made->as<python::Sequence>()->items;
  const auto sequence = with_axis(tracer, in, "squeeze", both[0], axis);
  const auto states = with_axis_of_all(tracer, in, "squeeze", both[1], 1);
  if (!sequence || !states) return sequence ? states : sequence;
  return in.tuple({*sequence, *states});
}

}  // namespace

Made run_recurrent(Tracer& tracer, Interpreter& in, const std::string& name, Instance& self, Arguments& given) {
  auto* packed = given.placed[1].as<Instance>();
  const Value* padded = packed ? packed->attributes.find("padded") : nullptr;
  const Value* counts = packed ? packed->attributes.find("counts") : nullptr;
  auto* x = (padded ? *padded : given.placed[1]).as<SourceTensor>();
  if (!x) return fail(Fault::Unsupported, "nn." + name + " is called on a " + python::type_name(given.placed[1]));
  const auto input = tracer.value_of(*x, Shape{Dim::unknown(), Dim::unknown(), Dim(whole(self, "input_size", 1))});
  if (!input) return std::unexpected(input.error());
  if (const auto said = given.take("hx")) given.placed.push_back(*said);
  if (!packed && tracer.graph[*input].type.rank() == 2) return run_without_batch(tracer, in, name, self, given);
  TensorArguments tensors{{"input", *input}};
  if (auto* counted = counts ? counts->as<SourceTensor>() : nullptr) {
    const auto value = tracer.value_of(*counted);
    if (!value) return std::unexpected(value.error());
    tensors["counts"] = *value;
  }
  std::size_t number = 0;
  for (const std::string& weight : names_of(self)) {
    const Value* said = self.attributes.find(weight);
    auto* tensor = said ? said->as<SourceTensor>() : nullptr;
    if (!tensor) return fail(Fault::Unsupported, "nn." + name + ": '" + weight + "' is no weight any more");
    const auto value = tracer.value_of(*tensor);
    if (!value) return std::unexpected(value.error());
    tensors["params." + std::to_string(number++)] = *value;
  }
  ValueList states;
  if (given.placed.size() > 2 && !given.placed[2].is_none()) {
    states = {given.placed[2]};
    if (const auto* both = given.placed[2].as<python::Sequence>()) states = both->items;
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    auto* tensor = states[i].as<SourceTensor>();
    if (!tensor) return fail(Fault::Unsupported, "nn." + name + " begins with a " + python::type_name(states[i]));
    const auto value = tracer.value_of(*tensor);
    if (!value) return std::unexpected(value.error());
    tensors["hx." + std::to_string(i)] = *value;
  }
  std::string kind = name == "LSTM" ? "lstm" : name == "GRU" ? "gru" : "rnn_tanh";
  if (name == "RNN") {
    const Value* said = self.attributes.find("nonlinearity");
    if (const auto* word = said ? said->as<python::Text>() : nullptr) kind = "rnn_" + word->text;
  }
  const FunctionRow* row = catalogued_aten(kind, "input");
  if (!row) return fail(Fault::Format, "nn.RNN: argument 'nonlinearity' is neither 'tanh' nor 'relu'");
  const Value* dropped = self.attributes.find("dropout");
  const Json arguments{{"dropout", dropped && dropped->is_number() ? dropped->real() : 0.0},
                       {"has_biases", whole(self, "bias", 1) != 0},
                       {"num_layers", whole(self, "num_layers", 1)},
                       {"bidirectional", whole(self, "bidirectional", 0) != 0},
                       {"batch_first", counts || whole(self, "batch_first", 0) != 0}};
  auto values = tracer.call(in, *row, arguments, std::move(tensors), name == "LSTM" && !counts ? 3 : 2);
  if (!values) return std::unexpected(values.error());
  if (is_in_training(tracer, self) && arguments["dropout"] != 0.0 && whole(self, "num_layers", 1) > 1) {
    tracer.draws.push_back({Tracer::Draw::What::Lose, {}, {}, {}, 0, {}});
    for (ValueId& value : *values) {
      const auto unknown = tracer.unknown(value);
      if (!unknown) return std::unexpected(unknown.error());
      value = *unknown;
    }
  }
  Value last = tracer.tensor(in, (*values)[1]);
  if (counts) {
    const auto made = of_written_out(in, "PackedSequence", {tracer.tensor(in, (*values)[0]), *counts});
    if (!made || name != "LSTM") return made ? Made(in.tuple({*made, last})) : made;
    const auto cell = of_written_out(in, "CellOfPackedSequence", {});
    return cell ? Made(in.tuple({*made, in.tuple({last, *cell})})) : cell;
  }
  if (name == "LSTM") last = in.tuple({last, tracer.tensor(in, (*values)[2])});
  return in.tuple({tracer.tensor(in, (*values)[0]), last});
}

}  // namespace convoy::torch
