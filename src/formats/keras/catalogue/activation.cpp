// Activations: how Keras's words, layers and functions of one number, and those along an axis, are read, and how they are
// written. Source: keras/src/activations/activations.py, layers/activations, ops/nn.py of Keras 3.15.
#include "formats/keras/catalogue/write.h"
#include "formats/keras/operation.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace convoy::keras {
namespace {

Values activation(Use& use) {
  const ValueId x = use.x();
  if (!use.call.has_activation()) return use.add(Identity{}, {x});
  return {use.call.activated(x)};
}

Values linear(Use& use) { return use.add(Identity{}, {use.x()}); }

Values relu(Use& use) {
  const ValueId x = use.x();
  Relu op;
  if (use.option("max_value")) op.max_value = use.number("max_value");
  op.negative_slope = use.number("negative_slope");
  op.threshold = use.number("threshold");
  op.strict = op.threshold != 0;
  // The bound is kept by what passed the threshold: one below it does not take numbers in between.
  if (op.strict && op.max_value && *op.max_value <= op.threshold) {
    const Clip bounded{{}, std::exchange(op.max_value, std::nullopt)};
    return use.add(bounded, use.add(op, {x}));
  }
  return use.add(op, {x});
}

Values relu6(Use& use) { return use.add(Relu{6.0, 0, 0, false}, {use.x()}); }
Values leaky_relu(Use& use) { return use.add(Relu{{}, use.number("negative_slope"), 0, false}, {use.x()}); }
Values thresholded_relu(Use& use) { return use.add(Relu{{}, 0, use.number("theta"), true}, {use.x()}); }
Values threshold(Use& use) {
  return use.add(Threshold{use.number("threshold"), use.number("default_value")}, {use.x()});
}
Values elu(Use& use) { return use.add(Elu{use.number("alpha")}, {use.x()}); }
Values celu(Use& use) { return use.add(Celu{use.number("alpha")}, {use.x()}); }
Values hard_tanh(Use& use) { return use.add(Clip{-1.0, 1.0}, {use.x()}); }
Values squareplus(Use& use) { return use.add(Squareplus{use.number("b")}, {use.x()}); }

template <bool soft>
Values shrink(Use& use) {
  return use.add(Shrink{use.number("threshold"), soft}, {use.x()});
}

Values gelu(Use& use) {
  return use.add(Unary{use.truth("approximate") ? Function::GeluTanh : Function::Gelu}, {use.x()});
}

// Keras 3 changed the slope from 1/5 to 1/6.
Values hard_sigmoid(Use& use) {
  const bool old = use.kind == Use::Kind::Word && use.call.version.major < 3;
  return use.add(old ? HardSigmoid{0.2, 0.5} : HardSigmoid{1.0 / 6, 0.5}, {use.x()});
}

// What the mask leaves out is put far below; Keras 3 makes it 0 behind, too. Source: keras/src/layers/activations/softmax.py.
Values masked_softmax(Use& use, ValueId x, ValueId mask, const Sizes& axes) {
  Call& call = use.call;
  const Size missing = call.rank(x) - call.rank(mask);
  if (missing < 0) call.refuse(Fault::Format, "has a mask of more axes than its input");
  if (call.failed()) return {};
  if (call.version.major < 3) {
    const ValueId kept = call.type(mask).dtype == DType::F32 ? mask : call.add(Cast{DType::F32}, {mask}, "kept");
    const ValueId below = call.add(Affine{1e9, -1e9}, {kept}, "far_below");  // (1 - mask) * -1e9
    return use.add(Softmax{axes, false}, {call.add(Binary{BinaryFunction::Add}, {x, below}, "masked")});
  }
  const DType dtype = call.type(mask).dtype;
  if (is_floating(dtype) && dtype != call.computes()) mask = call.add(Cast{call.computes()}, {mask}, "mask");
  if (is_floating(dtype)) mask = call.add(Binary{BinaryFunction::Greater}, {mask, call.scalar("half", 0.5F)}, "counts");
  else if (dtype != DType::Bool) mask = call.add(Cast{DType::Bool}, {mask}, "counts");
  const ValueId masked =
      call.add(Where{}, {mask, x, call.scalar("below", static_cast<float>(far_below(call.computes())))}, "masked");
  const ValueId weights = call.add(Softmax{axes, false}, {masked}, "weights");
  return use.add(Where{}, {mask, weights, call.scalar("zero", 0)});
}

template <bool logarithm>
Values softmax(Use& use) {
  Call& call = use.call;
  if (use.kind == Use::Kind::Layer) call.understands("mask", 1);
  const bool names = use.kind == Use::Kind::Layer && !logarithm && call.inputs.size() == 2 && option(call, "mask", 1);
  const ValueId x = names ? call.inputs.front() : use.x();
  std::optional<ValueId> mask;
  if (names) mask = operand(call, "mask", 1);
  else if (use.kind == Use::Kind::Layer) mask = call.mask();
  const Sizes axes = call.axes(use.list("axis"), call.rank(x));
  if (!mask) return use.add(Softmax{axes, logarithm}, {x});
  return masked_softmax(use, x, *mask, axes);
}

Values glu(Use& use) {
  const ValueId x = use.x();
  return use.add(Glu{use.call.axis(use.whole("axis"), use.call.rank(x))}, {x});
}

// alpha has the shape of the input without its batch axis, and size 1 along the shared axes.
Values prelu(Use& use) {
  Call& call = use.call;
  const ValueId x = use.x();
  const Size rank = call.rank(x);
  const Sizes shared = use.list("shared_axes");
  if (call.failed()) return {};
  Shape shape;
  for (Size i = 1; i < rank; ++i) shape.push_back(call.dim(x, i));
  for (const Size one : shared) {
    const Size axis = call.axis(one, rank);
    if (call.failed()) return {};
    if (axis == 0) call.refuse(Fault::Format, "shares its slope along the batch");
    else shape[static_cast<std::size_t>(axis - 1)] = Dim(1);
  }
  return use.add(PRelu{}, {x, call.weight("alpha", shape)});
}

constexpr std::array rows_of_activations{
    one_number<Function::Sigmoid>("activations.sigmoid nn.Sigmoid"),
    one_number<Function::Tanh>("activations.tanh numpy.Tanh"),
    one_number<Function::Softplus>("activations.softplus nn.Softplus"),
    one_number<Function::Softsign>("activations.softsign nn.Softsign"),
    one_number<Function::Exp>("activations.exponential numpy.Exp"),
    one_number<Function::Silu>("activations.silu activations.swish nn.Silu nn.Swish code.swish"),
    one_number<Function::Selu>("activations.selu nn.Selu"),
    one_number<Function::Mish>("activations.mish nn.Mish"),
    one_number<Function::LogSigmoid>("activations.log_sigmoid nn.LogSigmoid"),
    one_number<Function::HardSwish>("activations.hard_silu activations.hard_swish nn.HardSilu nn.HardSwish"),
    one_number<Function::TanhShrink>("activations.tanh_shrink nn.TanhShrink"),
    one_number<Function::SparsePlus>("activations.sparse_plus nn.SparsePlus"),
    one_number<Function::SparseSigmoid>("activations.sparse_sigmoid nn.SparseSigmoid"),
    CatalogueRow{"activations.gelu", "x approximate=False", gelu, Function::Gelu},
    CatalogueRow{"nn.Gelu", "x approximate=True", gelu, Function::GeluTanh},
    CatalogueRow{"layers.Activation", "activation", activation},
    CatalogueRow{"activations.linear", "x", linear},
    CatalogueRow{"layers.ReLU", "max_value= negative_slope=0 threshold=0", relu},
    CatalogueRow{"activations.relu", "x negative_slope=0 max_value= threshold=0", relu},
    CatalogueRow{"nn.Relu", "x", relu},
    CatalogueRow{"activations.relu6 nn.Relu6", "x", relu6},
    CatalogueRow{"layers.LeakyReLU", "negative_slope|alpha=0.3", leaky_relu},
    CatalogueRow{"activations.leaky_relu nn.LeakyRelu", "x negative_slope=0.2", leaky_relu},
    CatalogueRow{"layers.ThresholdedReLU", "theta=1", thresholded_relu},
    CatalogueRow{"activations.threshold nn.Threshold", "x threshold default_value", threshold},
    CatalogueRow{"layers.ELU activations.elu nn.Elu", "x alpha=1", elu},
    CatalogueRow{"activations.celu nn.Celu", "x alpha=1", celu},
    CatalogueRow{"activations.hard_sigmoid nn.HardSigmoid", "x", hard_sigmoid},
    CatalogueRow{"activations.hard_tanh nn.HardTanh", "x", hard_tanh},
    CatalogueRow{"activations.hard_shrink nn.HardShrink", "x threshold=0.5", shrink<false>},
    CatalogueRow{"activations.soft_shrink nn.SoftShrink", "x threshold=0.5", shrink<true>},
    CatalogueRow{"activations.squareplus nn.Squareplus", "x b=4", squareplus},
    CatalogueRow{"layers.Softmax activations.softmax nn.Softmax", "x axis=-1", softmax<false>},
    CatalogueRow{"activations.log_softmax nn.LogSoftmax", "x axis=-1", softmax<true>},
    CatalogueRow{"activations.glu nn.Glu", "x axis=-1", glu},
    CatalogueRow{"layers.PReLU", "alpha_initializer= alpha_regularizer= alpha_constraint= shared_axes=", prelu},
};

}  // namespace

std::span<const CatalogueRow> activation_operators() { return rows_of_activations; }

namespace writing {
namespace {

Status write_unary(const Unary& op, Sink& sink) {
  const bool is_gelu = op.function == Function::Gelu || op.function == Function::GeluTanh;
  if (is_gelu && sink.always_says("approximate"))
    return write_as(sink, "nn.Gelu", {{"approximate", op.function == Function::GeluTanh}});
  const std::string_view name = written_name(op.function);
  return name.empty() ? sink.refused("this function") : write_as(sink, name);
}

Status write_relu(const Relu& op, Sink& sink) {
  // Keras's threshold is strict: what is equal to it is not above it.
  if (op.threshold != 0 && !op.strict) return sink.refused("an activation that passes its threshold itself");
  const bool bent = op.max_value || op.negative_slope != 0;
  if (bent && (op.threshold < 0 || (op.strict && op.max_value && *op.max_value <= op.threshold)))
    return sink.refused("this activation with a threshold");
  if (op.strict && !bent) return write_as(sink, "nn.Threshold", {{"threshold", op.threshold}, {"default_value", 0.0}});
  if (!op.max_value && op.threshold == 0 && op.negative_slope != 0)
    return write_as(sink,
                    op.negative_slope < 0 ? "nn.LeakyRelu" : "layers.LeakyReLU",  // the layer takes no slope below 0
                    {{"negative_slope", op.negative_slope}});
  return write_as(sink, "layers.ReLU",
                  {{"max_value", op.max_value ? Json(*op.max_value) : Json()},
                   {"negative_slope", op.negative_slope},
                   {"threshold", op.threshold}});
}

Status write_elu(const Elu& op, Sink& sink) { return write_as(sink, "layers.ELU", {{"alpha", op.alpha}}); }
Status write_celu(const Celu& op, Sink& sink) { return write_as(sink, "activations.celu", {{"alpha", op.alpha}}); }

// The lowest and the highest whole number of a type, as far as 64 bits with a sign hold it.
std::pair<std::int64_t, std::int64_t> range_of(DType dtype) {
  const int bits = 8 * static_cast<int>(std::min<Size>(bytes_of(dtype), 8));
  if (is_unsigned(dtype) && bits < 64) return {0, (std::int64_t{1} << bits) - 1};
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t highest = bits < 64 ? (std::int64_t{1} << (bits - 1)) - 1 : most;
  return {is_unsigned(dtype) ? 0 : -highest - 1, highest};
}

Status write_clip(const Clip& op, Sink& sink) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (op.least == -1 && op.most == 1) return write_as(sink, "activations.hard_tanh");
  if (op.least == 0 && (!op.most || *op.most >= 0))
    return write_as(sink, "layers.ReLU", {{"max_value", op.most ? Json(*op.most) : Json()}});
  // Keras leaves x_min where the bounds cross, Clip the upper one.
  const bool cross = op.least && op.most && *op.least > *op.most;
  if (const DType dtype = sink.result_type().dtype; !is_floating(dtype)) {
    // The bounds of whole numbers are whole, and within their type.
    const auto [lowest, highest] = range_of(dtype);
    const auto bound = [&](std::optional<double> config, std::int64_t otherwise) {
      if (!config || *config <= static_cast<double>(lowest)) return config ? lowest : otherwise;
      return *config >= static_cast<double>(highest) ? highest : static_cast<std::int64_t>(*config);
    };
    return write_as(sink, "numpy.Clip",
                    {{"x_min", bound(cross ? op.most : op.least, lowest)}, {"x_max", bound(op.most, highest)}});
  }
  return write_as(sink, "numpy.Clip",
                  {{"x_min", cross ? *op.most : op.least.value_or(-infinity)}, {"x_max", op.most.value_or(infinity)}});
}

Status write_hard_sigmoid(const HardSigmoid& op, Sink& sink) {
  if (op.alpha == 1.0 / 6 && op.beta == 0.5) return write_as(sink, "activations.hard_sigmoid");
  LayerConfig line = sink.layer("Rescaling");
  line.arguments["scale"] = op.alpha;
  line.arguments["offset"] = op.beta;
  const Argument between = sink.step(std::move(line), "line", sink.type());
  LayerConfig config = layer_as(sink, "layers.ReLU", {{"max_value", 1.0}});
  config.args = {between};
  return sink.last(std::move(config));
}

Status write_shrink(const Shrink& op, Sink& sink) {
  return write_as(sink, op.soft ? "activations.soft_shrink" : "activations.hard_shrink", {{"threshold", op.lambda}});
}

Status write_squareplus(const Squareplus& op, Sink& sink) {
  return write_as(sink, "activations.squareplus", {{"b", op.b}});
}

// log(1 + exp(beta * x)) / beta. Beyond PyTorch's threshold, which is 20, it is x itself to float32.
Status write_softplus(const Softplus& op, Sink& sink) {
  if (op.threshold && *op.threshold < 17) return sink.refused("a softplus cut off at " + std::to_string(*op.threshold));
  if (op.beta == 1) return write_as(sink, "activations.softplus");
  LayerConfig before = sink.layer("Rescaling"), middle = layer_as(sink, "activations.softplus"),
              after = sink.layer("Rescaling");
  before.arguments["scale"] = op.beta;
  before.arguments["offset"] = 0.0;
  after.arguments["scale"] = 1 / op.beta;
  after.arguments["offset"] = 0.0;
  middle.args = {sink.step(std::move(before), "scaled", sink.type())};
  after.args = {sink.step(std::move(middle), "softplus", sink.type())};
  return sink.last(std::move(after));
}

Status write_threshold(const Threshold& op, Sink& sink) {
  return write_as(sink, "nn.Threshold", {{"threshold", op.threshold}, {"default_value", op.value}});
}

// The last axis as Keras's default says it.
Json axis_in(Size axis, const Sink& sink) { return axis == sink.rank() - 1 ? Size{-1} : axis; }

Status write_softmax(const Softmax& op, Sink& sink) {
  if (op.logarithm && op.axes.size() != 1) return sink.broken("a logarithm of a softmax over several axes");
  return write_as(sink, op.logarithm ? "activations.log_softmax" : "layers.Softmax",
                  {{"axis", op.axes.size() == 1 ? axis_in(op.axes[0], sink) : Json(op.axes)}});
}

Status write_glu(const Glu& op, Sink& sink) {
  return write_as(sink, "activations.glu", {{"axis", axis_in(positive_axis(op.axis, sink.rank()), sink)}});
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
  LayerConfig config = layer_as(sink, "layers.PReLU", {{"shared_axes", shared.empty() ? Json() : Json(shared)}});
  if (auto ok = sink.weigh(config, 1, "alpha"); !ok) return ok;
  return sink.last(std::move(config));
}

constexpr std::array activation_table{
    writes<write_unary>(),    writes<write_relu>(),
    writes<write_elu>(),      writes<write_celu>(),
    writes<write_clip>(),     writes<write_hard_sigmoid>(),
    writes<write_shrink>(),   writes<write_squareplus>(),
    writes<write_softplus>(), writes<write_threshold>(),
    writes<write_softmax>(),  lacks<Hardmax, Sink>("Keras has no hardmax (a pass spells it)"),
    writes<write_glu>(),      writes<write_prelu>()};
static_assert(decides<Activation>(activation_table));

}  // namespace

std::span<const Row> activation_rows() { return activation_table; }

}  // namespace writing
}  // namespace convoy::keras
