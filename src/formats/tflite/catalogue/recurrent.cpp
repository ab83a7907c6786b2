// Cells that walk along time, float32. The memory that they keep between calls begins at zeros.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"

#include "ops/expect.h"

#include <array>
#include <optional>

namespace convoy::tflite {
namespace {

// Known matrices or vectors of the gates, one under the other. Refers to nothing, with a refusal: another form.
ValueId stacked(FunctionCall& call, std::string_view word, std::initializer_list<const char*> gates) {
  std::vector<float> all;
  Sizes shape;
  for (const char* gate : gates) {
    const Tensor* known = call.constant(call.tensor(gate));
    if (!call.failed() && (!known || call.quantization(call.tensor(gate))))
      call.refuse(Fault::Unsupported, std::string("tensor '") + gate +
                                          (known ? "' is quantised; add --dequantize to carry the numbers it stands for"
                                                 : "' is computed by the model"));
    if (call.failed()) return {};
    const Tensor numbers = known->converted(DType::F32);
    if (shape.empty()) {
      shape = numbers.shape();
      if (!shape.empty()) shape[0] = 0;
    }
    if (shape.empty() || numbers.rank() != static_cast<Size>(shape.size()) ||
        (shape.size() == 2 && numbers.shape()[1] != shape[1])) {
      call.refuse(Fault::Format, std::string("tensor '") + gate + "' has shape " + text_of(numbers.shape()));
      return {};
    }
    shape[0] += numbers.shape()[0];
    for (const double n : numbers.doubles()) all.push_back(static_cast<float>(n));
  }
  return call.make_constant(word, Tensor::of(std::move(shape), std::move(all)));
}

std::optional<CellFunction> cell_function(FunctionCall& call) {
  const std::string word = word_of(call, "fused_activation_function", activation_words);
  if (word == "NONE") return CellFunction::Linear;
  if (word == "RELU") return CellFunction::Relu;
  if (word == "TANH") return CellFunction::Tanh;
  call.refuse(Fault::Unsupported, "a cell with the activation " + word + ", which is not carried");
  return std::nullopt;
}

ValueId turned(FunctionCall& call, ValueId x, bool time_first) {
  return time_first ? call.add(Transpose{{1, 0, 2}}, {x}) : x;
}

std::vector<ValueId> lstm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  call.attrs.ignore({"asymmetric_quantize_inputs"});
  const auto activation = cell_function(call);
  const bool time_first = call.attrs.truth("time_major", false);
  for (const char* clip : {"cell_clip", "proj_clip"})
    if (const double most = call.attrs.number(clip, 0); most != 0)
      call.refuse(Fault::Unsupported,
                  std::string("option '") + clip + "' is " + std::to_string(most) + ", which is not carried");
  if (call.attrs.truth("diagonal_recurrent_tensors", false))
    call.refuse(Fault::Unsupported, "option 'diagonal_recurrent_tensors', which is not carried");
  for (const char* other : {"projection", "projection_bias", "norm_i", "norm_f", "norm_c", "norm_o"})
    if (call.optional(other))
      call.refuse(Fault::Unsupported, std::string("tensor '") + other + "' is given, which is not carried");
  if (!call.optional("input_i"))
    call.refuse(Fault::Unsupported, "a cell whose input gate is what the forget gate leaves, which is not carried");
  if (call.failed()) return {};
  const ValueId kernel = stacked(call, "kernel", {"input_i", "input_f", "input_c", "input_o"});
  const ValueId recurrent = stacked(call, "recurrent_kernel", {"state_i", "state_f", "state_c", "state_o"});
  const ValueId bias = stacked(call, "bias", {"bias_i", "bias_f", "bias_c", "bias_o"});
  ValueId peepholes{};
  if (call.optional("peephole_f")) peepholes = stacked(call, "peepholes", {"peephole_i", "peephole_f", "peephole_o"});
  std::vector<ValueId> inputs{turned(call, x, time_first), kernel, recurrent, bias};
  if (peepholes)
    inputs = {inputs[0], kernel, recurrent, bias, {}, call.optional("output_state"), call.optional("cell_state"),
              peepholes};
  else if (const ValueId state = call.optional("output_state"), cell = call.optional("cell_state"); state || cell)
    inputs = {inputs[0], kernel, recurrent, bias, {}, state, cell};
  if (call.failed()) return {};
  Lstm op{GateOrder::Torch, *activation};
  op.returns_sequence = true;
  return {turned(call, call.add(op, std::move(inputs)), time_first)};
}

std::vector<ValueId> rnn(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  call.attrs.ignore({"asymmetric_quantize_inputs"});
  const auto activation = cell_function(call);
  const bool time_first = call.attrs.truth("time_major", false);
  if (call.failed()) return {};
  const ValueId kernel = stacked(call, "kernel", {"weights"}),
                recurrent = stacked(call, "recurrent_kernel", {"recurrent"});
  const ValueId bias = stacked(call, "bias", {"bias"});
  std::vector<ValueId> inputs{turned(call, x, time_first), kernel, recurrent, bias};
  if (const ValueId state = call.optional("hidden_state")) inputs = {inputs[0], kernel, recurrent, bias, {}, state};
  if (call.failed()) return {};
  SimpleRnn op{GateOrder::Torch, *activation};
  op.returns_sequence = true;
  return {turned(call, call.add(op, std::move(inputs)), time_first)};
}

constexpr std::array recurrent_table{
    Operator{
        "UNIDIRECTIONAL_SEQUENCE_LSTM", 44,
        "input input_i input_f input_c input_o state_i state_f state_c state_o peephole_i peephole_f peephole_o "
        "bias_i bias_f bias_c bias_o projection projection_bias output_state cell_state norm_i norm_f norm_c norm_o",
        71,
        "fused_activation_function:b cell_clip:f proj_clip:f time_major:b asymmetric_quantize_inputs:b "
        "diagonal_recurrent_tensors:b",
        lstm},
    Operator{"UNIDIRECTIONAL_SEQUENCE_RNN", 35, "input weights recurrent bias hidden_state", 31,
             "time_major:b fused_activation_function:b asymmetric_quantize_inputs:b", rnn},
};

}  // namespace

std::span<const Operator> recurrent_operators() { return recurrent_table; }

}  // namespace convoy::tflite
