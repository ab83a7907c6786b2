// Functions of one number: a layer where Keras has one or a word for Activation, keras.ops otherwise.
#include "formats/keras/write/sink.h"

#include <array>
#include <limits>

namespace convoy::keras::writing {
namespace {

// The word of keras.activations; null where there is none.
const char* word_of(Function function) {
  switch (function) {
    case Function::Sigmoid: return "sigmoid";
    case Function::Tanh: return "tanh";
    case Function::Softplus: return "softplus";
    case Function::Softsign: return "softsign";
    case Function::Exp: return "exponential";
    case Function::Silu: return "silu";
    case Function::Gelu: return "gelu";
    case Function::Selu: return "selu";
    case Function::Mish: return "mish";
    case Function::LogSigmoid: return "log_sigmoid";
    case Function::HardSwish: return "hard_silu";
    case Function::TanhShrink: return "tanh_shrink";
    case Function::SparsePlus: return "sparse_plus";
    case Function::SparseSigmoid: return "sparse_sigmoid";
    default: return nullptr;
  }
}

Status word(const char* said_as, Sink& sink) {
  Said said = sink.layer("Activation");
  said.arguments["activation"] = said_as;
  return sink.last(std::move(said));
}

Status operation(const char* file, const char* class_name, Sink& sink, const char* argument = nullptr,
                 Json value = {}) {
  Said said = sink.operation(file, class_name);
  if (argument) said.arguments[argument] = std::move(value);
  return sink.last(std::move(said));
}

Status write_unary(const Unary& op, Sink& sink) {
  if (const char* said = word_of(op.function)) return word(said, sink);
  switch (op.function) {
    case Function::Log: return operation("numpy", "Log", sink);
    case Function::Sqrt: return operation("numpy", "Sqrt", sink);
    case Function::Rsqrt: return operation("math", "Rsqrt", sink);
    case Function::Square: return operation("numpy", "Square", sink);
    case Function::Abs: return operation("numpy", "Absolute", sink);
    case Function::Negate: return operation("numpy", "Negative", sink);
    case Function::Sign: return operation("numpy", "Sign", sink);
    case Function::Floor: return operation("numpy", "Floor", sink);
    case Function::Ceil: return operation("numpy", "Ceil", sink);
    case Function::Round: return operation("numpy", "Round", sink);
    case Function::Reciprocal: return operation("numpy", "Reciprocal", sink);
    case Function::GeluTanh: return operation("nn", "Gelu", sink);
    case Function::Sin: return operation("numpy", "Sin", sink);
    case Function::Cos: return operation("numpy", "Cos", sink);
    case Function::Erf: return operation("math", "Erf", sink);
    case Function::Tan: return operation("numpy", "Tan", sink);
    case Function::Asin: return operation("numpy", "Arcsin", sink);
    case Function::Acos: return operation("numpy", "Arccos", sink);
    case Function::Atan: return operation("numpy", "Arctan", sink);
    case Function::Sinh: return operation("numpy", "Sinh", sink);
    case Function::Cosh: return operation("numpy", "Cosh", sink);
    case Function::Asinh: return operation("numpy", "Arcsinh", sink);
    case Function::Acosh: return operation("numpy", "Arccosh", sink);
    case Function::Atanh: return operation("numpy", "Arctanh", sink);
    case Function::Expm1: return operation("numpy", "Expm1", sink);
    case Function::Log1p: return operation("numpy", "Log1p", sink);
    case Function::Truncate: return operation("numpy", "Trunc", sink);
    case Function::Not: return operation("numpy", "LogicalNot", sink);
    default: return sink.refused("this function");
  }
}

Status write_relu(const Relu& op, Sink& sink) {
  // Keras's threshold is strict: what is equal to it is not above it.
  if (op.threshold != 0 && !op.strict) return sink.refused("an activation that passes its threshold itself");
  const bool bent = op.max_value || op.negative_slope != 0;
  if (bent && (op.threshold < 0 || (op.strict && op.max_value && *op.max_value <= op.threshold)))
    return sink.refused("this activation with a threshold");
  if (op.strict && !bent) {
    Said said = sink.operation("nn", "Threshold");
    said.arguments["threshold"] = op.threshold;
    said.arguments["default_value"] = 0.0;
    return sink.last(std::move(said));
  }
  if (!op.max_value && op.threshold == 0 && op.negative_slope != 0) {
    Said said = sink.layer("LeakyReLU");
    if (op.negative_slope != 0.3) said.arguments["negative_slope"] = op.negative_slope;
    return sink.last(std::move(said));
  }
  Said said = sink.layer("ReLU");
  if (op.max_value) said.arguments["max_value"] = *op.max_value;
  if (op.negative_slope != 0) said.arguments["negative_slope"] = op.negative_slope;
  if (op.threshold != 0) said.arguments["threshold"] = op.threshold;
  return sink.last(std::move(said));
}

Status write_elu(const Elu& op, Sink& sink) {
  Said said = sink.layer("ELU");
  if (op.alpha != 1) said.arguments["alpha"] = op.alpha;
  return sink.last(std::move(said));
}

Status write_celu(const Celu& op, Sink& sink) {
  return op.alpha == 1 ? word("celu", sink) : operation("nn", "Celu", sink, "alpha", op.alpha);
}

Status write_clip(const Clip& op, Sink& sink) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (op.least == -1 && op.most == 1) return word("hard_tanh", sink);
  if (op.least == 0 && op.most) {
    Said said = sink.layer("ReLU");
    said.arguments["max_value"] = *op.most;
    if (*op.most >= 0) return sink.last(std::move(said));
  }
  if (op.least == 0 && !op.most) return sink.last(sink.layer("ReLU"));
  Said said = sink.operation("numpy", "Clip");
  // Keras leaves x_min where the bounds cross, Clip the upper one.
  const bool cross = op.least && op.most && *op.least > *op.most;
  said.arguments["x_min"] = cross ? *op.most : op.least.value_or(-infinity);
  said.arguments["x_max"] = op.most.value_or(infinity);
  return sink.last(std::move(said));
}

Status write_hard_sigmoid(const HardSigmoid& op, Sink& sink) {
  if (op.alpha == 1.0 / 6 && op.beta == 0.5) return word("hard_sigmoid", sink);
  Said line = sink.layer("Rescaling");
  line.arguments["scale"] = op.alpha;
  line.arguments["offset"] = op.beta;
  const Argument between = sink.step(std::move(line), "line", sink.fact());
  Said said = sink.layer("ReLU");
  said.arguments["max_value"] = 1.0;
  said.args = {between};
  return sink.last(std::move(said));
}

Status write_shrink(const Shrink& op, Sink& sink) {
  if (op.lambda == 0.5) return word(op.soft ? "soft_shrink" : "hard_shrink", sink);
  return operation("nn", op.soft ? "SoftShrink" : "HardShrink", sink, "threshold", op.lambda);
}

Status write_squareplus(const Squareplus& op, Sink& sink) {
  return op.b == 4 ? word("squareplus", sink) : operation("nn", "Squareplus", sink, "b", op.b);
}

// log(1 + exp(beta * x)) / beta. Beyond PyTorch's threshold, which is 20, it is x itself to float32.
Status write_softplus(const Softplus& op, Sink& sink) {
  if (op.threshold && *op.threshold < 17) return sink.refused("a softplus cut off at " + std::to_string(*op.threshold));
  if (op.beta == 1) return word("softplus", sink);
  Said before = sink.layer("Rescaling"), middle = sink.layer("Activation"), after = sink.layer("Rescaling");
  before.arguments["scale"] = op.beta;
  before.arguments["offset"] = 0.0;
  middle.arguments["activation"] = "softplus";
  after.arguments["scale"] = 1 / op.beta;
  after.arguments["offset"] = 0.0;
  middle.args = {sink.step(std::move(before), "scaled", sink.fact())};
  after.args = {sink.step(std::move(middle), "softplus", sink.fact())};
  return sink.last(std::move(after));
}

Status write_threshold(const Threshold& op, Sink& sink) {
  Said said = sink.operation("nn", "Threshold");
  said.arguments["threshold"] = op.threshold;
  said.arguments["default_value"] = op.value;
  return sink.last(std::move(said));
}

Status write_softmax(const Softmax& op, Sink& sink) {
  if (op.logarithm) {
    if (op.axes.size() != 1) return sink.broken("a logarithm of a softmax over several axes");
    if (op.axes[0] == sink.rank() - 1) return word("log_softmax", sink);
    return operation("nn", "LogSoftmax", sink, "axis", op.axes[0]);
  }
  Said said = sink.layer("Softmax");
  if (op.axes.size() != 1) said.arguments["axis"] = op.axes;
  else if (op.axes[0] != sink.rank() - 1) said.arguments["axis"] = op.axes[0];
  return sink.last(std::move(said));
}

Status write_glu(const Glu& op, Sink& sink) {
  const Size axis = positive_axis(op.axis, sink.rank());
  return axis == sink.rank() - 1 ? word("glu", sink) : operation("nn", "Glu", sink, "axis", axis);
}

// One slope per number of the input but along the axes that share it.
Status write_prelu(const PRelu&, Sink& sink) {
  const Tensor* slope = sink.constant(1);
  if (!slope) return sink.refused("a slope that the model computes");
  if (slope->rank() + 1 != sink.rank()) return sink.broken("a slope of another rank");
  Sizes shared;
  for (Size i = 1; i < sink.rank(); ++i) {
    const Size n = slope->shape()[static_cast<std::size_t>(i - 1)];
    if (n == 1 && sink.dim(i) != Dim(1)) shared.push_back(i);
    else if (sink.dim(i) != Dim(n)) return sink.refused("slopes along an axis whose size is not known beforehand");
  }
  Said said = sink.layer("PReLU");
  if (!shared.empty()) said.arguments["shared_axes"] = shared;
  if (auto ok = sink.weigh(said, 1, "alpha"); !ok) return ok;
  return sink.last(std::move(said));
}

constexpr std::array activation_table{
    writes<write_unary>(),    writes<write_relu>(),         writes<write_elu>(),     writes<write_celu>(),
    writes<write_clip>(),     writes<write_hard_sigmoid>(), writes<write_shrink>(),  writes<write_squareplus>(),
    writes<write_softplus>(), writes<write_threshold>(),    writes<write_softmax>(), writes<write_glu>(),
    writes<write_prelu>()};
static_assert(decides<Activation>(activation_table));

}  // namespace

std::span<const Row> activation_rows() { return activation_table; }

}  // namespace convoy::keras::writing
