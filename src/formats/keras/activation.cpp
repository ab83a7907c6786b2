// Activations: by word, as a layer, and fused into another layer.
#include "formats/keras/call.h"

#include <array>
#include <utility>

namespace convoy::keras {
namespace {

Op unary(Function function) { return Unary{function}; }

// Words that mean the same in every version and need nothing of the input.
struct Word {
  std::string_view word;
  Op (*op)();
};

template <Function function>
Op plain() {
  return unary(function);
}

constexpr std::array words{
    Word{"sigmoid", plain<Function::Sigmoid>},
    Word{"tanh", plain<Function::Tanh>},
    Word{"softplus", plain<Function::Softplus>},
    Word{"softsign", plain<Function::Softsign>},
    Word{"exponential", plain<Function::Exp>},
    Word{"silu", plain<Function::Silu>},
    Word{"swish", plain<Function::Silu>},
    Word{"gelu", plain<Function::Gelu>},
    Word{"selu", plain<Function::Selu>},
    Word{"mish", plain<Function::Mish>},
    Word{"log_sigmoid", plain<Function::LogSigmoid>},
    Word{"hard_swish", plain<Function::HardSwish>},
    Word{"hard_silu", plain<Function::HardSwish>},
    Word{"tanh_shrink", plain<Function::TanhShrink>},
    Word{"sparse_plus", plain<Function::SparsePlus>},
    Word{"sparse_sigmoid", plain<Function::SparseSigmoid>},
    Word{"relu", [] { return Op(Relu{}); }},
    Word{"relu6", [] { return Op(Relu{6.0, 0, 0, false}); }},
    Word{"leaky_relu", [] { return Op(Relu{{}, 0.2, 0, false}); }},
    Word{"elu", [] { return Op(Elu{1}); }},
    Word{"celu", [] { return Op(Celu{1}); }},
    Word{"hard_tanh", [] { return Op(Clip{-1.0, 1.0}); }},
    Word{"hard_shrink", [] { return Op(Shrink{0.5, false}); }},
    Word{"soft_shrink", [] { return Op(Shrink{0.5, true}); }},
    Word{"squareplus", [] { return Op(Squareplus{4}); }},
};

Values activation(Call& call) {
  const ValueId x = call.x();
  if (!call.has_activation()) return {call.add(Identity{}, {x})};
  return {call.activated(x)};
}

Values relu(Call& call) {
  const ValueId x = call.x();
  Relu op;
  if (const Json* most = call.attrs.raw("max_value")) op.max_value = call.attrs.number_of(most, "max_value");
  op.negative_slope = call.attrs.number("negative_slope", 0.0);
  op.threshold = call.attrs.number("threshold", 0.0);
  op.strict = op.threshold != 0;
  // The bound is kept by what passed the threshold: one below it does not take numbers in between.
  if (op.strict && op.max_value && *op.max_value <= op.threshold) {
    const Clip bounded{{}, std::exchange(op.max_value, std::nullopt)};
    return {call.add(bounded, {call.add(op, {x})})};
  }
  return {call.add(op, {x})};
}

Values leaky_relu(Call& call) {
  const ValueId x = call.x();
  return {call.add(
      Relu{{}, call.attrs.number_of(call.attrs.raw({"negative_slope", "alpha"}), "negative_slope", 0.3), 0, false},
      {x})};
}

Values elu(Call& call) {
  const ValueId x = call.x();
  return {call.add(Elu{call.attrs.number("alpha", 1.0)}, {x})};
}

Values thresholded_relu(Call& call) {
  const ValueId x = call.x();
  return {call.add(Relu{{}, 0, call.attrs.number("theta", 1.0), true}, {x})};
}

Values softmax(Call& call) {
  const ValueId x = call.x();
  return {call.add(Softmax{call.axes(call.attrs.list("axis", Sizes{-1}), call.rank(x)), false}, {x})};
}

// alpha has the shape of the input without its batch axis, and size 1 along the shared axes.
Values prelu(Call& call) {
  const ValueId x = call.x();
  const Size rank = call.rank(x);
  const Sizes shared = call.attrs.list("shared_axes", Sizes{});
  if (call.failed()) return {};
  Shape shape;
  for (Size i = 1; i < rank; ++i) shape.push_back(call.dim(x, i));
  for (const Size one : shared) {
    const Size axis = call.axis(one, rank);
    if (call.failed()) return {};
    if (axis == 0) call.refuse(Fault::Format, "shares its slope along the batch");
    else shape[static_cast<std::size_t>(axis - 1)] = Dim(1);
  }
  return {call.add(PRelu{}, {x, call.weight("alpha", shape)})};
}

constexpr std::array activation_table{
    LayerRow{"Activation", activation}, LayerRow{"ReLU", relu},
    LayerRow{"LeakyReLU", leaky_relu},  LayerRow{"ELU", elu},
    LayerRow{"Softmax", softmax},       LayerRow{"ThresholdedReLU", thresholded_relu},
    LayerRow{"PReLU", prelu},
};

}  // namespace

ValueId activate(Call& call, ValueId y, const std::string& word, std::string_view step) {
  if (call.failed()) return {};
  if (word == "linear") return y;
  for (const Word& known : words)
    if (known.word == word) return call.add(known.op(), {y}, step);
  const Size last = call.rank(y) - 1;
  if (word == "softmax" || word == "log_softmax") return call.add(Softmax{{last}, word == "log_softmax"}, {y}, step);
  if (word == "glu") return call.add(Glu{last}, {y}, step);
  // Keras 3 changed the slope from 1/5 to 1/6.
  if (word == "hard_sigmoid")
    return call.add(call.version.major >= 3 ? HardSigmoid{1.0 / 6, 0.5} : HardSigmoid{0.2, 0.5}, {y}, step);
  call.refuse(Fault::Unsupported, "activation '" + word + "' is none of Keras that this version carries");
  return {};
}

std::span<const LayerRow> activation_rows() { return activation_table; }

}  // namespace convoy::keras
