// Activations, arithmetic, products, reductions and norms: what computes numbers of numbers.
#include "formats/tflite/write/sink.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace convoy::tflite {
namespace {

constexpr std::pair<Function, std::string_view> words_of_functions[] = {
    {Function::Sigmoid, "LOGISTIC"}, {Function::Tanh, "TANH"},
    {Function::Exp, "EXP"},          {Function::Log, "LOG"},
    {Function::Sqrt, "SQRT"},        {Function::Rsqrt, "RSQRT"},
    {Function::Square, "SQUARE"},    {Function::Abs, "ABS"},
    {Function::Negate, "NEG"},       {Function::Floor, "FLOOR"},
    {Function::Ceil, "CEIL"},        {Function::Round, "ROUND"},
    {Function::Sin, "SIN"},          {Function::Cos, "COS"},
    {Function::Sign, "SIGN"},        {Function::HardSwish, "HARD_SWISH"}};

// x where it is above 0 and f(min(x, 0)) below, f(0) = 0: their sum.
Status write_bent(Sink& sink, Place x, double scale, double inner, double outer) {
  Place low = sink.like("MINIMUM", {x, sink.number(0)});
  if (inner != 1) low = sink.like("MUL", {low, sink.number(inner)});
  low = sink.like("ELU", {low});
  low = sink.like("MUL", {low, sink.number(outer)});
  const Place high = sink.like("RELU", {x});
  if (scale == 1) return sink.last("ADD", {high, low}), Status();
  sink.last("MUL", {sink.like("ADD", {high, low}), sink.number(scale)});
  return {};
}

// log(1 + exp(x)), and nothing overflows: max(x, 0) + log(1 + exp(-|x|)).
Place softplus_of(Sink& sink, Place x) {
  const Place far = sink.like("EXP", {sink.like("NEG", {sink.like("ABS", {x})})});
  return sink.like("ADD", {sink.like("RELU", {x}), sink.like("LOG", {sink.like("ADD", {far, sink.number(1)})})});
}

Status write_unary(const Unary& op, Sink& sink) {
  const DType dtype = sink.type().dtype;
  if (op.function == Function::Not && dtype == DType::Bool) return sink.last("LOGICAL_NOT", {sink.input()}), Status();
  if (dtype != DType::F32) return sink.refused("this function of " + std::string(name_of(dtype)));
  const Place x = sink.input();
  for (const auto& [function, word] : words_of_functions)
    if (function == op.function) return sink.last(word, {x}), Status();
  switch (op.function) {
    case Function::Gelu: sink.last("GELU", {x}); return {};
    case Function::GeluTanh: sink.last("GELU", {x}, {{"approximate", Size{1}}}); return {};
    case Function::Silu: sink.last("MUL", {x, sink.like("LOGISTIC", {x})}); return {};
    case Function::Softsign:
      sink.last("DIV", {x, sink.like("ADD", {sink.like("ABS", {x}), sink.number(1)})});
      return {};
    case Function::Reciprocal:
      sink.last("DIV", {sink.constant("one", Tensor::of({1}, std::vector<float>{1})), x});
      return {};
    case Function::Selu:
      return write_bent(sink, x, 1.0507009873554804934193349852946, 1, 1.6732632423543772848170429916717);
    case Function::Softplus: {
      const Place far = sink.like("EXP", {sink.like("NEG", {sink.like("ABS", {x})})});
      sink.last("ADD", {sink.like("RELU", {x}), sink.like("LOG", {sink.like("ADD", {far, sink.number(1)})})});
      return {};
    }
    case Function::LogSigmoid: sink.last("NEG", {softplus_of(sink, sink.like("NEG", {x}))}); return {};
    case Function::Mish: sink.last("MUL", {x, sink.like("TANH", {softplus_of(sink, x)})}); return {};
    case Function::TanhShrink: sink.last("SUB", {x, sink.like("TANH", {x})}); return {};
    default: return sink.refused("this function");
  }
}

void write_bounds(Sink& sink, Place x, std::optional<double> least, std::optional<double> most) {
  if (least && most) sink.last("MINIMUM", {sink.like("MAXIMUM", {x, sink.number(*least)}), sink.number(*most)});
  else if (least) sink.last("MAXIMUM", {x, sink.number(*least)});
  else if (most) sink.last("MINIMUM", {x, sink.number(*most)});
  else sink.pass_on();
}

Status write_relu(const Relu& op, Sink& sink) {
  const Place x = sink.input();
  if (op.threshold == 0 && op.negative_slope == 0) {
    if (!op.max_value) sink.last("RELU", {x});
    else if (*op.max_value == 6) sink.last("RELU6", {x});
    else if (*op.max_value > 0) sink.last("MINIMUM", {sink.like("RELU", {x}), sink.number(*op.max_value)});
    else return sink.refused("an activation with a bound of " + std::to_string(*op.max_value));
    return {};
  }
  if (op.threshold == 0 && !op.max_value) return sink.last("LEAKY_RELU", {x}, {{"alpha", op.negative_slope}}), Status();
  if (op.threshold == 0 && *op.max_value > 0)
    return sink.last("MINIMUM",
                     {sink.like("LEAKY_RELU", {x}, {{"alpha", op.negative_slope}}), sink.number(*op.max_value)}),
           Status();
  if (!op.strict || op.max_value || op.negative_slope != 0) return sink.refused("this activation with a threshold");
  const Place above = sink.step("GREATER", {x, sink.number(op.threshold)}, {DType::Bool, sink.type().shape});
  sink.last("SELECT_V2", {above, x, sink.number(0)});
  return {};
}

Status write_threshold(const Threshold& op, Sink& sink) {
  const Place x = sink.input();
  const Place above = sink.step("GREATER", {x, sink.number(op.threshold)}, {DType::Bool, sink.type().shape});
  sink.last("SELECT_V2", {above, x, sink.number(op.value)});
  return {};
}

Status write_elu(const Elu& op, Sink& sink) {
  if (op.alpha == 1) return sink.last("ELU", {sink.input()}), Status();
  return write_bent(sink, sink.input(), 1, 1, op.alpha);
}
Status write_celu(const Celu& op, Sink& sink) {
  if (op.alpha == 0) return sink.refused("a CELU with alpha 0");
  return write_bent(sink, sink.input(), 1, 1 / op.alpha, op.alpha);
}

Status write_clip(const Clip& op, Sink& sink) {
  if (op.least == -1.0 && op.most == 1.0) return sink.last("RELU_N1_TO_1", {sink.input()}), Status();
  if (op.least && op.most && *op.least > *op.most) return sink.refused("crossed bounds");
  write_bounds(sink, sink.input(), op.least, op.most);
  return {};
}

Status write_hard_sigmoid(const HardSigmoid& op, Sink& sink) {
  const Place line = sink.like("ADD", {sink.like("MUL", {sink.input(), sink.number(op.alpha)}), sink.number(op.beta)});
  write_bounds(sink, line, 0, 1);
  return {};
}

Status write_squareplus(const Squareplus& op, Sink& sink) {
  const Place x = sink.input();
  const Place root = sink.like("SQRT", {sink.like("ADD", {sink.like("SQUARE", {x}), sink.number(op.b)})});
  sink.last("MUL", {sink.like("ADD", {x, root}), sink.number(0.5)});
  return {};
}

Status write_softplus(const Softplus& op, Sink& sink) {
  if (op.threshold && *op.threshold * op.beta < 20) return sink.refused("a softplus with a threshold");
  if (op.beta == 0) return sink.refused("a softplus with beta 0");
  const Place y =
      softplus_of(sink, op.beta == 1 ? sink.input() : sink.like("MUL", {sink.input(), sink.number(op.beta)}));
  sink.last("MUL", {y, sink.number(1 / op.beta)});
  return {};
}

Status write_softmax(const Softmax& op, Sink& sink) {
  if (op.axes.size() != 1) return sink.refused("a softmax over several axes");
  const Size rank = sink.rank(), axis = op.axes[0];
  const Options options = op.logarithm ? Options{} : Options{{"beta", 1.0}};
  const char* word = op.logarithm ? "LOG_SOFTMAX" : "SOFTMAX";
  if (axis == rank - 1) return sink.last(word, {sink.input()}, options), Status();
  Sizes order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), Size{0});
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  TensorType type = sink.type();
  std::swap(type.shape[static_cast<std::size_t>(axis)], type.shape.back());
  const Place turned = sink.step("TRANSPOSE", {sink.input(), sink.numbers(order)}, type);
  sink.last("TRANSPOSE", {sink.step(word, {turned}, type, options), sink.numbers(order)});
  return {};
}

Status write_glu(const Glu& op, Sink& sink) {
  const Size axis = positive_axis(op.axis, sink.rank());
  const TensorType half = sink.result_type();
  const Dim n = at(half.shape, axis);
  if (!n.known()) return sink.refused("halves of an axis whose size is not known beforehand");
  const auto part = [&](Size from) {
    const auto rank = static_cast<std::size_t>(sink.rank());
    Sizes begin(rank, 0), size(rank, -1);
    begin[static_cast<std::size_t>(axis)] = from, size[static_cast<std::size_t>(axis)] = *n;
    return sink.step("SLICE", {sink.input(), sink.numbers(begin), sink.numbers(size)}, half);
  };
  const Place first = part(0), second = part(*n);
  sink.last("MUL", {first, sink.like("LOGISTIC", {second})});
  return {};
}

Status write_prelu(const PRelu&, Sink& sink) {
  if (!sink.constant(1)) return sink.refused("a slope that the model computes");
  sink.last("PRELU", {sink.input(0), sink.input(1)});
  return {};
}

constexpr std::array activation_writers{writes<write_unary>(),
                                        writes<write_relu>(),
                                        writes<write_elu>(),
                                        writes<write_celu>(),
                                        writes<write_clip>(),
                                        writes<write_hard_sigmoid>(),
                                        lacks<Shrink, Sink>("TFLite has no shrinking function"),
                                        writes<write_squareplus>(),
                                        writes<write_softplus>(),
                                        writes<write_threshold>(),
                                        writes<write_softmax>(),
                                        writes<write_glu>(),
                                        writes<write_prelu>()};
static_assert(decides<Activation>(activation_writers));

// ---- two numbers ------------------------------------------------------------------------------------------------------

std::string_view word_of(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::Add: return "ADD";
    case BinaryFunction::Subtract: return "SUB";
    case BinaryFunction::Multiply: return "MUL";
    case BinaryFunction::Divide: return "DIV";
    case BinaryFunction::Maximum: return "MAXIMUM";
    case BinaryFunction::Minimum: return "MINIMUM";
    case BinaryFunction::Power: return "POW";
    case BinaryFunction::Modulo: return "FLOOR_MOD";
    case BinaryFunction::FloorDivide: return "FLOOR_DIV";
    case BinaryFunction::Equal: return "EQUAL";
    case BinaryFunction::NotEqual: return "NOT_EQUAL";
    case BinaryFunction::Less: return "LESS";
    case BinaryFunction::LessOrEqual: return "LESS_EQUAL";
    case BinaryFunction::Greater: return "GREATER";
    case BinaryFunction::GreaterOrEqual: return "GREATER_EQUAL";
    case BinaryFunction::And: return "LOGICAL_AND";
    case BinaryFunction::Or: return "LOGICAL_OR";
    default: return {};
  }
}

Status write_binary(const Binary& op, Sink& sink) {
  const std::string_view word = word_of(op.function);
  if (word.empty()) return sink.refused("this function of two numbers");
  const DType a = sink.type(0).dtype, b = sink.type(1).dtype;
  const bool logic = op.function == BinaryFunction::And || op.function == BinaryFunction::Or;
  if (a != b || (logic && a != DType::Bool) || (!logic && a != DType::F32 && a != DType::I32 && a != DType::I64))
    return sink.refused("arithmetic of " + std::string(name_of(a)) + " with " + std::string(name_of(b)));
  if (a != DType::F32 && (op.function == BinaryFunction::Divide || op.function == BinaryFunction::Power))
    return sink.refused("fractions of whole numbers");
  Options options;
  if (const Size fused = sink.activation()) options.push_back({"fused_activation_function", fused});
  sink.last(word, {sink.input(0), sink.input(1)}, std::move(options));
  return {};
}

Status write_where(const Where&, Sink& sink) {
  if (sink.type(0).dtype != DType::Bool || sink.type(1).dtype != sink.type(2).dtype)
    return sink.refused("a choice between unlike types");
  sink.last("SELECT_V2", {sink.input(0), sink.input(1), sink.input(2)});
  return {};
}

Status write_affine(const Affine& op, Sink& sink) {
  if (sink.type().dtype != DType::F32) return sink.refused("an affine function of whole numbers");
  const Place x = sink.input();
  if (op.offset == 0) return sink.last("MUL", {x, sink.number(op.scale)}), Status();
  sink.last("ADD", {op.scale == 1 ? x : sink.like("MUL", {x, sink.number(op.scale)}), sink.number(op.offset)});
  return {};
}

Status write_dropout(const Dropout&, Sink& sink) { return sink.pass_on(), Status(); }
Status write_identity(const Identity&, Sink& sink) { return sink.pass_on(), Status(); }
Status write_cast(const Cast& op, Sink& sink) {
  if (op.to == sink.type().dtype) return sink.pass_on(), Status();
  sink.last("CAST", {sink.input()},
            {{"in_data_type", sink.code_of(sink.type().dtype)}, {"out_data_type", sink.code_of(op.to)}});
  return {};
}

constexpr std::array elementwise_writers{writes<write_binary>(),  writes<write_where>(),    writes<write_affine>(),
                                         writes<write_dropout>(), writes<write_identity>(), writes<write_cast>()};
static_assert(decides<Elementwise>(elementwise_writers));

// ---- products ---------------------------------------------------------------------------------------------------------

Status write_linear(const Linear& op, Sink& sink) {
  if (sink.type().dtype != DType::F32) return sink.refused("a product of whole numbers");
  const Tensor* kernel = sink.constant(1);
  if (!kernel) return sink.refused("a kernel that the model computes");
  if (op.order != LinearOrder::InOut) return sink.broken("a matrix in another order");
  Options options;
  if (const Size fused = sink.activation()) options.push_back({"fused_activation_function", fused});
  int version = sink.has(2) ? 1 : 6;
  if (sink.rank() != 2) {
    options.push_back({"keep_num_dims", Size{1}});
    version = std::max(version, 5);
  }
  sink.last("FULLY_CONNECTED", {sink.input(), sink.stored(1, kernel->permuted(Sizes{1, 0})), sink.input(2)},
            std::move(options), version);
  return {};
}

Status write_matmul(const MatMul&, Sink& sink) {
  if (sink.type(0).dtype != DType::F32 || sink.type(1).dtype != DType::F32)
    return sink.refused("a product of whole numbers");
  if (sink.rank(0) < 2 || sink.rank(1) < 2) return sink.refused("a product with a vector");
  sink.last("BATCH_MATMUL", {sink.input(0), sink.input(1)});
  return {};
}

Status write_embedding(const Embedding&, Sink& sink) {
  sink.last("GATHER", {sink.input(1), sink.input(0)}, {{"axis", Size{0}}});
  return {};
}

// One letter is summed: both sides with the letters that they share in front, then products of matrices.
Status write_einsum(const Einsum& op, Sink& sink) {
  const auto letters = letters_of(op);
  if (!letters) return std::unexpected(letters.error());
  const auto has = [](const std::string& text, char letter) { return text.find(letter) != std::string::npos; };
  std::string shared, summed, left, right;
  for (const char l : letters->a) (!has(letters->b, l) ? left : has(letters->out, l) ? shared : summed) += l;
  for (const char l : letters->b)
    if (!has(letters->a, l)) right += l;
  const bool all_there = shared.size() + left.size() + right.size() == letters->out.size();
  const bool in_matrices = left.size() == 1 || (shared.empty() && !left.empty());
  if (summed.size() != 1 || right.size() != 1 || !in_matrices || !all_there || sink.type().dtype != DType::F32)
    return sink.refused("the product '" + op.equation + "'");
  const auto ordered = [&](Place x, const std::string& from, const std::string& to) {
    if (from == to) return x;
    Sizes order;
    TensorType type = sink.type_of(x);
    const Shape before = type.shape;
    for (std::size_t i = 0; i < to.size(); ++i) {
      order.push_back(static_cast<Size>(from.find(to[i])));
      type.shape[i] = at(before, order.back());
    }
    return sink.step("TRANSPOSE", {x, sink.numbers(order)}, type);
  };
  const Place a = ordered(sink.input(0), letters->a, shared + left + summed);
  const Place b = ordered(sink.input(1), letters->b, shared + summed + right);
  const std::string made = shared + left + right;
  if (made == letters->out) return sink.last("BATCH_MATMUL", {a, b}), Status();
  TensorType type = sink.result_type();
  Sizes order;
  for (std::size_t i = 0; i < made.size(); ++i)
    type.shape[i] = at(sink.result_type().shape, static_cast<Size>(letters->out.find(made[i])));
  for (const char l : letters->out) order.push_back(static_cast<Size>(made.find(l)));
  sink.last("TRANSPOSE", {sink.step("BATCH_MATMUL", {a, b}, type), sink.numbers(order)});
  return {};
}

constexpr std::array linear_writers{writes<write_linear>(), writes<write_matmul>(), writes<write_einsum>(),
                                    writes<write_embedding>()};
static_assert(decides<LinearFamily>(linear_writers));

// ---- reductions -------------------------------------------------------------------------------------------------------

std::string_view word_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::Mean: return "MEAN";
    case Reduction::Sum: return "SUM";
    case Reduction::Maximum: return "REDUCE_MAX";
    case Reduction::Minimum: return "REDUCE_MIN";
    case Reduction::Product: return "REDUCE_PROD";
  }
  return {};
}

Status write_reduce(const Reduce& op, Sink& sink) {
  if (sink.type().dtype != DType::F32) return sink.refused("a fold of whole numbers");
  if (op.axes.empty()) return sink.pass_on(), Status();
  Options options;
  if (op.keeps_axes) options.push_back({"keep_dims", Size{1}});
  sink.last(word_of(op.reduction), {sink.input(), sink.numbers(op.axes)}, std::move(options));
  return {};
}

Status write_arg_extreme(const ArgExtreme& op, Sink& sink) {
  if (op.last) return sink.refused("the last of equal extremes");
  const char* word = op.largest ? "ARG_MAX" : "ARG_MIN";
  const Options options{{"output_type", Size{4}}};
  if (!op.keeps_axis) return sink.last(word, {sink.input(), sink.whole(op.axis)}, options), Status();
  TensorType type = sink.result_type();
  type.shape.erase(type.shape.begin() + op.axis);
  sink.last("EXPAND_DIMS", {sink.step(word, {sink.input(), sink.whole(op.axis)}, type, options), sink.whole(op.axis)});
  return {};
}

Status write_accumulate(const Accumulate& op, Sink& sink) {
  if (op.reduction != Reduction::Sum) return sink.refused("a running product");
  sink.last("CUMSUM", {sink.input(), sink.whole(op.axis)},
            {{"exclusive", Size{op.exclusive}}, {"reverse", Size{op.backwards}}});
  return {};
}

constexpr std::array reduction_writers{writes<write_reduce>(), writes<write_arg_extreme>(),
                                       lacks<TopK, Sink>("the largest few are not written to TFLite yet"),
                                       writes<write_accumulate>()};
static_assert(decides<ReductionFamily>(reduction_writers));

// ---- norms ------------------------------------------------------------------------------------------------------------

// Numbers of one axis as they broadcast against a tensor.
Sizes along(Size axis, Size rank, Size count) {
  Sizes shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = count;
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

// x * scale + offset, both computed in float64 from the four vectors.
Status write_batch_norm(const BatchNorm& op, Sink& sink) {
  const Tensor *mean = sink.constant(3), *variance = sink.constant(4);
  if (!mean || !variance || (sink.has(1) && !sink.constant(1)) || (sink.has(2) && !sink.constant(2)))
    return sink.refused("a normalisation with numbers that the model computes");
  const auto means = mean->doubles(), variances = variance->doubles();
  std::vector<float> scale, offset;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const double gamma = sink.has(1) ? sink.constant(1)->doubles()[i] : 1,
                 beta = sink.has(2) ? sink.constant(2)->doubles()[i] : 0;
    const double by = gamma / std::sqrt(variances[i] + op.epsilon);
    scale.push_back(static_cast<float>(by));
    offset.push_back(static_cast<float>(beta - means[i] * by));
  }
  const Sizes shape = along(op.axis, sink.rank(), static_cast<Size>(means.size()));
  const Place scaled = sink.like("MUL", {sink.input(), sink.constant("scale", Tensor::of(shape, std::move(scale)))});
  sink.last("ADD", {scaled, sink.constant("offset", Tensor::of(shape, std::move(offset)))});
  return {};
}

TensorType folded(TensorType type, const Sizes& axes) {
  for (const Size axis : axes) at(type.shape, axis) = Dim(1);
  return type;
}

Place fold(Sink& sink, std::string_view word, Place x, const Sizes& axes) {
  return sink.step(word, {x, sink.numbers(axes)}, folded(sink.type_of(x), axes), {{"keep_dims", Size{1}}});
}

// Parameters shaped by the axes, as they broadcast against the input.
Place parameter(Sink& sink, std::size_t i, const Sizes& axes) {
  Sizes shape(static_cast<std::size_t>(sink.rank()), 1);
  const Sizes own = sink.constant(i)->shape();
  for (std::size_t k = 0; k < axes.size() && k < own.size(); ++k) shape[static_cast<std::size_t>(axes[k])] = own[k];
  return sink.stored(i, sink.constant(i)->reshaped(shape));
}

Status scaled_and_moved(Sink& sink, Place y, const Sizes& axes) {
  const bool moves = sink.has(2);
  if ((sink.has(1) && !sink.constant(1)) || (moves && !sink.constant(2)))
    return sink.refused("a normalisation with numbers that the model computes");
  if (sink.has(1) && !moves) return sink.last("MUL", {y, parameter(sink, 1, axes)}), Status();
  if (sink.has(1)) y = sink.like("MUL", {y, parameter(sink, 1, axes)});
  sink.last("ADD", {y, moves ? parameter(sink, 2, axes) : sink.number(0)});
  return {};
}

Status write_layer_norm(const LayerNorm& op, Sink& sink) {
  const Place x = sink.input();
  const Place mean = fold(sink, "MEAN", x, op.axes), centred = sink.like("SUB", {x, mean});
  const Place variance = fold(sink, "MEAN", sink.like("SQUARE", {centred}), op.axes);
  const Place by = sink.like("RSQRT", {sink.like("ADD", {variance, sink.number(op.epsilon)})});
  return scaled_and_moved(sink, sink.like("MUL", {op.keras_rms_scaling ? x : centred, by}), op.axes);
}

Status write_rms_norm(const RmsNorm& op, Sink& sink) {
  const Place x = sink.input();
  const Place squares = fold(sink, "MEAN", sink.like("SQUARE", {x}), op.axes);
  const Place by = sink.like("RSQRT", {sink.like("ADD", {squares, sink.number(op.epsilon)})});
  return scaled_and_moved(sink, sink.like("MUL", {x, by}), op.axes);
}

Status write_unit_norm(const UnitNorm& op, Sink& sink) {
  const Place x = sink.input();
  const Place squares = fold(sink, "SUM", sink.like("SQUARE", {x}), op.axes);
  sink.last("MUL", {x, sink.like("RSQRT", {sink.like("MAXIMUM", {squares, sink.number(op.epsilon)})})});
  return {};
}

Status write_length_norm(const LengthNorm& op, Sink& sink) {
  if (op.p != 2) return sink.refused("a norm of another power than 2");
  const Place x = sink.input();
  const Place length = sink.like("SQRT", {fold(sink, "SUM", sink.like("SQUARE", {x}), op.axes)});
  sink.last("DIV", {x, sink.like("MAXIMUM", {length, sink.number(op.epsilon)})});
  return {};
}

// The channels of a group beside each other: [N, cells, groups, channels of one].
Status write_group_norm(const GroupNorm& op, Sink& sink) {
  const Size rank = sink.rank();
  if (op.axis != rank - 1 || rank < 2) return sink.refused("a normalisation by groups of this axis");
  Size cells = 1;
  for (Size i = 1; i < rank - 1; ++i) {
    if (!sink.dim(i).known()) return sink.refused("a normalisation by groups over sizes that are not known beforehand");
    cells *= *sink.dim(i);
  }
  const Dim channels = sink.dim(rank - 1);
  if (!channels.known()) return sink.refused("a normalisation by groups of channels that are not known beforehand");
  const Shape parted{sink.dim(0), Dim(cells), Dim(op.groups), Dim(*channels / op.groups)};
  const Place x = sink.input();
  const Place y = sink.step("RESHAPE", {x, sink.sizes(parted, x, {})}, {DType::F32, parted});
  const Place centred = sink.like("SUB", {y, fold(sink, "MEAN", y, {1, 3})});
  const Place variance = fold(sink, "MEAN", sink.like("SQUARE", {centred}), {1, 3});
  const Place by = sink.like("RSQRT", {sink.like("ADD", {variance, sink.number(op.epsilon)})});
  const Place normal = sink.like("MUL", {centred, by});
  const Place whole = sink.step("RESHAPE", {normal, sink.sizes(sink.type().shape, x, {})}, sink.type());
  return scaled_and_moved(sink, whole, {op.axis});
}

constexpr std::array normalization_writers{writes<write_batch_norm>(),
                                           writes<write_layer_norm>(),
                                           writes<write_group_norm>(),
                                           writes<write_rms_norm>(),
                                           writes<write_unit_norm>(),
                                           writes<write_length_norm>(),
                                           lacks<LocalResponseNorm, Sink>("a pass spells local response out")};
static_assert(decides<Normalization>(normalization_writers));

}  // namespace

std::span<const Row> activation_rows() { return activation_writers; }
std::span<const Row> elementwise_rows() { return elementwise_writers; }
std::span<const Row> linear_rows() { return linear_writers; }
std::span<const Row> reduction_rows() { return reduction_writers; }
std::span<const Row> normalization_rows() { return normalization_writers; }

}  // namespace convoy::tflite
