// Activations, softmax, and a bias along the channels.
#include "formats/tf/arguments.h"
#include "formats/tf/functions.h"

#include "ops/expect.h"

#include <array>

namespace convoy::tf {
namespace {

template <Function function>
std::vector<ValueId> unary(FunctionCall& call) {
  const ValueId x = call.tensor("features");
  ignore_name(call);
  return {call.add(Unary{function}, {x})};
}

template <Function function>
std::vector<ValueId> unary_of_x(FunctionCall& call) {
  const ValueId x = call.tensor("x");
  ignore_name(call);
  return {call.add(Unary{function}, {x})};
}

std::vector<ValueId> relu(FunctionCall& call) {
  const ValueId x = call.tensor("features");
  ignore_name(call);
  return {call.add(Relu{}, {x})};
}

std::vector<ValueId> relu6(FunctionCall& call) {
  const ValueId x = call.tensor("features");
  ignore_name(call);
  return {call.add(Relu{6.0, 0, 0, false}, {x})};
}

std::vector<ValueId> leaky_relu(FunctionCall& call) {
  const ValueId x = call.tensor("features");
  ignore_name(call);
  double alpha = call.attrs.number("alpha", 0.2);
  // The operator holds it in float32 whatever it computes in: 0.2 is 0.200000003 in float64.
  if (!call.failed() && call.type(x).dtype == DType::F64) alpha = static_cast<double>(static_cast<float>(alpha));
  return {call.add(Relu{{}, alpha, 0, false}, {x})};
}

std::vector<ValueId> elu(FunctionCall& call) {
  const ValueId x = call.tensor("features");
  ignore_name(call);
  return {call.add(Elu{1}, {x})};
}

std::vector<ValueId> gelu(FunctionCall& call) {
  const ValueId x = call.tensor("features");
  ignore_name(call);
  const bool approximate = call.attrs.truth("approximate", false);
  if (!call.failed() && !is_floating(call.type(x).dtype))
    call.refuse(Fault::Format, "features are whole numbers, expected floating ones");
  return {call.add(Unary{approximate ? Function::GeluTanh : Function::Gelu}, {x})};
}

// x * sigmoid(beta * x)
std::vector<ValueId> silu(FunctionCall& call) {
  const ValueId x = call.tensor("features");
  const double beta = call.attrs.number("beta", 1);
  if (beta == 1) return {call.add(Unary{Function::Silu}, {x})};
  const ValueId gate = call.add(Unary{Function::Sigmoid}, {call.add(Affine{beta, 0}, {x})});
  return {call.add(Binary{BinaryFunction::Multiply}, {x, gate})};
}

// relu of x and of -x, side by side.
std::vector<ValueId> crelu(FunctionCall& call) {
  const ValueId x = call.tensor("features");
  ignore_name(call);
  const Size axis = positive_axis(call.attrs.integer("axis", -1), call.rank(x));
  const ValueId both = call.add(Concat{axis}, {x, call.add(Unary{Function::Negate}, {x})});
  return {call.add(Relu{}, {both})};
}

template <bool logarithm>
std::vector<ValueId> softmax(FunctionCall& call) {
  const ValueId x = call.tensor("logits");
  ignore_name(call);
  const Size axis = positive_axis(call.attrs.integer("axis", -1), call.rank(x));
  return {call.add(Softmax{{axis}, logarithm}, {x})};
}

// [C] along the last axis, or along the second where data_format begins with "NC".
std::vector<ValueId> bias_add(FunctionCall& call) {
  const ValueId x = call.tensor("value");
  ValueId bias = call.tensor("bias");
  ignore_name(call);
  const std::string format = call.attrs.word("data_format", "NHWC");
  if (!format.starts_with("NC") && !(format.starts_with("N") && format.ends_with("C")))
    call.refuse(Fault::Format, "argument 'data_format' is '" + format + "', expected 'N...C' or 'NC...'");
  if (call.failed()) return {};
  const Size rank = call.rank(x), axis = format.starts_with("NC") ? 1 : rank - 1;
  if (rank < 2 || call.rank(bias) != 1 || !agreed(call.dim(bias, 0), call.dim(x, axis))) {
    call.refuse(Fault::Format, "bias has shape " + text_of(call.shape(bias)) + ", value has shape " +
                                   text_of(call.shape(x)) + " with its channels on axis " + std::to_string(axis));
    return {};
  }
  Sizes to(static_cast<std::size_t>(rank - axis), 1);
  to.front() = -1;
  if (to.size() > 1) bias = call.add(Reshape{to}, {bias});
  return {call.add(Binary{BinaryFunction::Add}, {x, bias})};
}

constexpr std::string_view features = "features name", axis = "logits axis name";
constexpr std::array activation_table{
    FunctionRow{"nn.relu", features, relu},
    FunctionRow{"nn.relu6", features, relu6},
    FunctionRow{"nn.leaky_relu", "features alpha name", leaky_relu},
    FunctionRow{"nn.elu", features, elu},
    FunctionRow{"nn.selu", features, unary<Function::Selu>},
    FunctionRow{"nn.gelu", "features approximate name", gelu},
    FunctionRow{"nn.silu", "features beta", silu},
    FunctionRow{"nn.swish", "features beta", silu},
    FunctionRow{"nn.crelu", "features axis name", crelu},
    FunctionRow{"nn.softplus", features, unary<Function::Softplus>},
    FunctionRow{"nn.softsign", features, unary<Function::Softsign>},
    FunctionRow{"nn.sigmoid", "x name", unary_of_x<Function::Sigmoid>},
    FunctionRow{"nn.tanh", "x name", unary_of_x<Function::Tanh>},
    FunctionRow{"nn.softmax", axis, softmax<false>},
    FunctionRow{"nn.log_softmax", axis, softmax<true>},
    FunctionRow{"nn.bias_add", "value bias data_format name", bias_add},
};

}  // namespace

std::span<const FunctionRow> activation_functions() { return activation_table; }

}  // namespace convoy::tf
