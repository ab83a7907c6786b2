// Normalizing layers and functions. The fused kernel of Keras 2 raises a small epsilon, and so does this reader. Source:
// keras/src/layers/normalization, layers/preprocessing and ops/nn.py of Keras 3.15.
#include "formats/keras/catalogue/write.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::keras {
namespace {

// One axis, as a number or as a list of one.
Size normalized_axis(Use& use, Size rank) {
  const Sizes all = use.list("axis");
  if (all.size() != 1) {
    use.call.refuse(Fault::Unsupported, "normalizes over " + std::to_string(all.size()) + " axes at once");
    return 0;
  }
  return use.call.axis(all.front(), rank);
}

// TensorFlow's fused kernel never takes less than this.
constexpr double least_fused_epsilon = 1.001e-5;

bool is_fused(const Version& version, Size rank, Size axis) {
  return version.major == 2 && ((rank == 4 && (axis == 1 || axis == 3)) || (rank == 5 && (axis == 1 || axis == 4)));
}

Values batch_norm(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"synchronized", "fused", "renorm_clipping", "renorm_momentum", "virtual_batch_size",
                     "moving_mean_initializer", "moving_variance_initializer"});
  const ValueId x = call.x();
  const Size rank = call.rank(x), axis = normalized_axis(use, rank);
  const double momentum = use.number("momentum");
  double epsilon = use.number("epsilon");
  const bool scale = use.truth("scale"), center = use.truth("center");
  if (use.option("adjustment")) call.refuse(Fault::Unsupported, "attribute 'adjustment' is not understood");
  if (use.whole("mode") != 0) call.refuse(Fault::Unsupported, "normalizes by the batch at inference ('mode')");
  if (is_fused(call.version, rank, axis)) epsilon = std::max(epsilon, least_fused_epsilon);
  if (use.truth("renorm")) call.skip_weights();
  const Shape channels{call.dim(x, axis)};
  const ValueId gamma = scale ? call.weight("gamma", channels) : ValueId{};
  const ValueId beta = center ? call.weight("beta", channels) : ValueId{};
  const ValueId mean = call.weight("moving_mean", channels, false);
  const ValueId variance = call.weight("moving_variance", channels, false);
  return use.add(BatchNorm{axis, epsilon, momentum}, {x, gamma, beta, mean, variance});
}

// Whether these axes, sorted, are the last ones.
bool lies_last(const Sizes& axes, Size rank) {
  return axes.empty() || axes.front() == rank - static_cast<Size>(axes.size());
}

Shape sizes_at(Call& call, ValueId x, const Sizes& axes) {
  Shape shape;
  for (const Size axis : axes) shape.push_back(call.dim(x, axis));
  return shape;
}

// Keras 3 normalises whole numbers in float32, and casts what it made of them back: fractions are cut off.
ValueId as_single(Use& use, ValueId x) {
  Call& call = use.call;
  if (call.failed() || call.version.major < 3 || is_floating(call.type(x).dtype)) return x;
  return call.add(Cast{DType::F32}, {x}, "float");
}

Values as_it_came(Use& use, DType came, Values made) {
  if (use.call.failed() || use.call.version.major < 3 || is_floating(came)) return made;
  return {use.call.add(Cast{came}, made, "whole")};
}

// What a layer casts to its own type behind that.
Values as_layer_gives(Use& use, Values made) {
  Call& call = use.call;
  return call.failed() || is_floating(call.type(made.front()).dtype) ? made : use.add(Cast{call.computes()}, made);
}

Values layer_norm(Use& use) {
  Call& call = use.call;
  const DType came = call.type(call.x()).dtype;
  const ValueId x = as_single(use, call.x());
  const Sizes argument = use.list("axis"), axes = call.axes(argument, call.rank(x));
  const double epsilon = use.number("epsilon");
  const bool rms = use.truth("rms_scaling");
  const bool scale = use.truth("scale") || rms, center = use.truth("center") && !rms;
  Sizes in_order = argument;
  for (Size& one : in_order) one = positive_axis(one, call.rank(x));
  if (in_order != axes && (scale || center))
    call.refuse(Fault::Unsupported, "names its axes out of order, and its weights follow that order");
  const Shape shape = sizes_at(call, x, axes);
  const ValueId gamma = scale ? call.weight("gamma", shape) : ValueId{};
  const ValueId beta = center ? call.weight("beta", shape) : ValueId{};
  return as_layer_gives(use, as_it_came(use, came, use.add(LayerNorm{axes, epsilon, rms}, {x, gamma, beta})));
}

Values group_norm(Use& use) {
  Call& call = use.call;
  const DType came = call.type(call.x()).dtype;
  const ValueId x = as_single(use, call.x());
  const Size axis = normalized_axis(use, call.rank(x));
  Size groups = use.whole("groups");
  const double epsilon = use.number("epsilon");
  const bool scale = use.truth("scale"), center = use.truth("center");
  const Dim channels = call.dim(x, axis);
  if (groups == -1) {
    if (!channels.known())
      call.refuse(Fault::Unsupported, "has one group per channel and an unknown number of channels");
    else groups = *channels;
  }
  const ValueId gamma = scale ? call.weight("gamma", {channels}) : ValueId{};
  const ValueId beta = center ? call.weight("beta", {channels}) : ValueId{};
  return as_layer_gives(use, as_it_came(use, came, use.add(GroupNorm{axis, groups, epsilon}, {x, gamma, beta})));
}

// What UnitNormalization gives ops.normalize.
constexpr double unit_epsilon = 1e-12;

Values unit_norm(Use& use) {
  Call& call = use.call;
  const ValueId x = call.x();
  return use.add(LengthNorm{call.axes(use.list("axis"), call.rank(x)), 2, unit_epsilon}, {x});
}

// The scale has the sizes of the normalised axes, in the order of their names, and lies along the last axes whichever those are.
Values rms_norm(Use& use) {
  Call& call = use.call;
  const DType came = call.type(call.x()).dtype;
  const ValueId x = as_single(use, call.x());
  const Size rank = call.rank(x);
  Sizes named = use.list("axis");
  const Sizes axes = call.axes(named, rank);
  const double epsilon = use.number("epsilon");
  if (call.failed()) return {};
  std::ranges::sort(named);  // by the numbers as they are said, so that -1 comes before 1
  for (Size& one : named) one = positive_axis(one, rank);
  const ValueId scale = call.weight("scale", sizes_at(call, x, named));
  if (named == axes && lies_last(axes, rank)) return as_it_came(use, came, use.add(RmsNorm{axes, epsilon}, {x, scale}));
  const ValueId normal = call.add(RmsNorm{axes, epsilon}, {x}, "normal");
  return as_it_came(use, came, use.add(Binary{BinaryFunction::Multiply}, {normal, scale}));
}

// Numbers of an attribute: one, a list, or nested lists of one row.
std::vector<double> numbers(Call& call, const Json& value, std::string_view key, int depth = 0) {
  std::vector<double> all;
  if (value.is_number()) return {value.get<double>()};
  const Json* inner = &value;
  if (value.is_object() && value.contains("config") && value["config"].is_object() && value["config"].contains("value"))
    inner = &value["config"]["value"];
  if (!inner->is_array() || depth > 8) {
    if (inner->is_number()) return {inner->get<double>()};
    call.refuse(Fault::Format, "attribute '" + std::string(key) + "' is no list of numbers");
    return {};
  }
  for (const Json& one : *inner) {
    const auto more = numbers(call, one, key, depth + 1);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// (x - mean) / max(sqrt(variance), 1e-7), or back.
Values normalization(Use& use) {
  Call& call = use.call;
  const ValueId x = call.x();
  const Size rank = call.rank(x);
  // Left out it is the last axis, None is none of them.
  const bool is_none = !use.option("axis") && call.layer.config && call.layer.config->contains("axis");
  const Sizes axes = call.axes(is_none ? Sizes{} : use.list("axis"), rank);
  const bool inverts = use.truth("invert");
  const Json* said_mean = use.option("mean");
  const Json* said_variance = use.option("variance");
  if (call.failed()) return {};
  Sizes broadcast(static_cast<std::size_t>(rank), 1);
  Shape kept;
  for (const Size axis : axes) {
    const Dim n = call.dim(x, axis);
    kept.push_back(n);
    if (n.known()) broadcast[static_cast<std::size_t>(axis)] = *n;
    else call.refuse(Fault::Unsupported, "normalizes along an axis of unknown size");
  }
  if (call.failed()) return {};
  const auto count = checked_count(broadcast).value_or(0);
  std::vector<double> mean, variance;
  if (said_mean && said_variance) {
    mean = numbers(call, *said_mean, "mean"), variance = numbers(call, *said_variance, "variance");
    for (auto* values : {&mean, &variance})
      for (double& one : *values) one = static_cast<double>(static_cast<float>(one));  // as Keras holds them
    for (auto* values : {&mean, &variance})
      if (values->size() == 1 && count > 1 && count < (1 << 24))
        values->assign(static_cast<std::size_t>(count), values->front());
  } else if (!call.bound("mean")) {
    mean = call.take("mean", kept).doubles(), variance = call.take("variance", kept).doubles();
    call.skip_weights();  // the count of the samples it was adapted to
  }
  ValueId center, deviation;
  if (call.bound("mean") && call.bound("deviation")) {
    center = *call.bound("mean"), deviation = *call.bound("deviation");
  } else {
    if (call.failed()) return {};
    if (static_cast<Size>(mean.size()) != count || static_cast<Size>(variance.size()) != count) {
      call.refuse(Fault::Format, "mean and variance have " + std::to_string(mean.size()) + " and " +
                                     std::to_string(variance.size()) + " numbers, expected " + std::to_string(count));
      return {};
    }
    const auto held = [&](std::vector<double> all) {
      return Tensor::of(broadcast, std::move(all)).converted(call.computes());
    };
    if (is_half(call.computes())) variance = held(std::move(variance)).doubles();  // rounded before the root is taken
    for (double& one : variance) one = std::max(std::sqrt(one), 1e-7);
    center = call.make_constant("mean", held(std::move(mean)));
    deviation = call.make_constant("deviation", held(std::move(variance)));
  }
  if (inverts)
    return {call.add(Binary{BinaryFunction::Add},
                     {call.add(Binary{BinaryFunction::Multiply}, {x, deviation}, "scaled"), center})};
  return {call.add(Binary{BinaryFunction::Divide},
                   {call.add(Binary{BinaryFunction::Subtract}, {x, center}, "centered"), deviation})};
}

// In the layer's type, to which its numbers come through float32.
Values rescaling(Use& use) {
  Call& call = use.call;
  ValueId x = call.x();
  const Json* scale = use.option("scale");
  const Json* offset = use.option("offset");
  call.attrs.ignore({"data_format"});
  if (!scale) call.refuse(Fault::Format, "attribute 'scale' is missing");
  if (call.failed()) return {};
  const DType dtype = call.computes();
  if (call.type(x).dtype != dtype) x = call.add(Cast{dtype}, {x}, "float");
  const bool are_numbers = scale->is_number() && (!offset || offset->is_number());
  const auto number = [](const Json* said) { return said ? static_cast<double>(said->get<float>()) : 0.0; };
  if (are_numbers && bytes_of(dtype) > 2) return use.add(Affine{number(scale), number(offset)}, {x});
  const auto vector = [&](const Json& value, std::string_view name) {
    const auto all = numbers(call, value, name);
    const Size n = static_cast<Size>(all.size());
    const Tensor held = Tensor::of(value.is_number() ? Sizes{} : Sizes{n}, std::vector<double>(all.begin(), all.end()));
    return call.make_constant(name, held.converted(dtype));
  };
  const ValueId scaled =
      call.add(Binary{BinaryFunction::Multiply}, {x, vector(*scale, "scale")}, offset ? "scaled" : "");
  if (!offset) return {scaled};
  return use.add(Binary{BinaryFunction::Add}, {scaled, vector(*offset, "offset")});
}

// Divides by max(length, epsilon).
Values normalize(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  const double order = use.number("order"), epsilon = use.number("epsilon");
  const Sizes axes = call.axes(use.list("axis"), call.rank(x));
  if (order <= 0) call.refuse(Fault::Unsupported, "normalizes by a norm of order " + std::to_string(order));
  return use.add(LengthNorm{axes, order, epsilon}, {x});
}

Values rms_norm_of_operand(Use& use) {
  Call& call = use.call;
  const ValueId given = use.operand("x"), x = as_single(use, given);
  if (use.option("scale")) call.refuse(Fault::Unsupported, "scales by a tensor");
  const Sizes axes = call.axes(use.list("axis"), call.rank(x));
  return as_it_came(use, call.type(given).dtype, use.add(RmsNorm{axes, use.number("epsilon")}, {x}));
}

constexpr std::array rows_of_norms{
    CatalogueRow{"layers.BatchNormalization|BatchNormalizationV1|BatchNormalizationV2|SyncBatchNormalization",
                 "axis=-1 momentum=0.99 epsilon=1e-3 center=True scale=True beta_initializer= gamma_initializer= "
                 "moving_mean_initializer= moving_variance_initializer= beta_regularizer= gamma_regularizer= "
                 "beta_constraint= gamma_constraint= renorm=False renorm_clipping= renorm_momentum= synchronized=False "
                 "mode=0 adjustment=",
                 batch_norm},
    CatalogueRow{"layers.LayerNormalization", "axis=-1 epsilon=1e-3 center=True scale=True rms_scaling=False",
                 layer_norm},
    CatalogueRow{"layers.GroupNormalization", "groups=32 axis=-1 epsilon=1e-3 center=True scale=True", group_norm},
    CatalogueRow{"layers.UnitNormalization", "axis=-1", unit_norm},
    CatalogueRow{"layers.RMSNormalization", "axis=-1 epsilon=1e-6", rms_norm},
    CatalogueRow{"layers.Normalization", "axis=-1 mean= variance= invert=False", normalization},
    CatalogueRow{"layers.Rescaling", "scale offset=0", rescaling},
    CatalogueRow{"nn.Normalize", "x axis=-1 order=2 epsilon=1e-7", normalize},
    CatalogueRow{"nn.RMSNorm code.rms_normalization", "x scale= axis=-1 epsilon=1e-7", rms_norm_of_operand},
};

}  // namespace

std::span<const CatalogueRow> normalization_operators() { return rows_of_norms; }

namespace writing {
namespace {

// The axes as Keras's default says them.
Json axes_in(const Sizes& axes, const Sink& sink) {
  if (axes.size() != 1) return axes;
  return axes[0] == sink.rank() - 1 ? Size{-1} : axes[0];
}

Status weigh_scale(LayerConfig& config, Sink& sink) {
  if (sink.has(1))
    if (auto ok = sink.weigh(config, 1, "gamma"); !ok) return ok;
  return sink.has(2) ? sink.weigh(config, 2, "beta") : Status();
}

// Keras's layers make their weights as long as these axes are.
Status check_lengths(const Sink& sink, const Sizes& axes, const char* what) {
  const auto is_free = [&](Size axis) { return !sink.dim(positive_axis(axis, sink.rank())).known(); };
  if (std::ranges::none_of(axes, is_free)) return {};
  return sink.refused(std::string(what) + " of channels whose number is free");
}

Status write_batch_norm(const BatchNorm& op, Sink& sink) {
  if (auto ok = check_lengths(sink, {op.axis}, "a batch norm"); !ok) return ok;
  LayerConfig config = layer_as(sink, "layers.BatchNormalization",
                                {{"axis", axes_in({op.axis}, sink)},
                                 {"momentum", op.momentum},
                                 {"epsilon", op.epsilon},
                                 {"center", sink.has(2)},
                                 {"scale", sink.has(1)}});
  if (auto ok = weigh_scale(config, sink); !ok) return ok;
  if (auto ok = sink.weigh(config, 3, "moving_mean"); !ok) return ok;
  if (auto ok = sink.weigh(config, 4, "moving_variance"); !ok) return ok;
  return sink.last(std::move(config));
}

Status write_layer_norm(const LayerNorm& op, Sink& sink) {
  const bool rms = op.keras_rms_scaling;
  if (sink.has(1) || sink.has(2))
    if (auto ok = check_lengths(sink, op.axes, "a layer norm"); !ok) return ok;
  if (rms && !sink.has(1)) return sink.refused("a normalisation by roots of mean squares without a scale");
  LayerConfig config = layer_as(sink, "layers.LayerNormalization",
                                {{"axis", axes_in(op.axes, sink)},
                                 {"epsilon", op.epsilon},
                                 {"rms_scaling", rms},
                                 {"center", rms || sink.has(2)},
                                 {"scale", rms || sink.has(1)}});
  if (auto ok = rms ? sink.weigh(config, 1, "gamma") : weigh_scale(config, sink); !ok) return ok;
  return sink.last(std::move(config));
}

Status write_group_norm(const GroupNorm& op, Sink& sink) {
  if (auto ok = check_lengths(sink, {op.axis}, "a group norm"); !ok) return ok;
  // A group of its own for every channel is what Keras writes as -1.
  const bool each = sink.dim(op.axis) == Dim(op.groups) && op.groups != 1;
  LayerConfig config = layer_as(sink, "layers.GroupNormalization",
                                {{"groups", each ? Size{-1} : op.groups},
                                 {"axis", axes_in({op.axis}, sink)},
                                 {"epsilon", op.epsilon},
                                 {"center", sink.has(2)},
                                 {"scale", sink.has(1)}});
  if (auto ok = weigh_scale(config, sink); !ok) return ok;
  return sink.last(std::move(config));
}

// Keras lays the scale along the last axes, whichever ones are normalised: a product of its own lays it along others.
Status write_rms_norm_elsewhere(const RmsNorm& op, Sink& sink) {
  LayerConfig norm = sink.operation("nn", "RMSNorm");
  norm.args = {sink.argument()};
  norm.arguments["axis"] = one_or_list(op.axes);
  norm.arguments["epsilon"] = op.epsilon;
  norm.kwargs.emplace_back("scale", Json());
  const Argument normal = sink.step(std::move(norm), "normal", sink.type());
  std::string letters, scaled;
  Json shape = Json::array();
  for (Size i = 0; i < sink.rank(); ++i) {
    letters += static_cast<char>('a' + i);
    if (i > 0) shape.push_back(sink.dim(i).known() ? Json(*sink.dim(i)) : Json());
  }
  Sizes lengths;
  for (const Size axis : op.axes) {
    scaled += letters[static_cast<std::size_t>(axis)];
    lengths.push_back(sink.dim(axis).known() ? *sink.dim(axis) : 1);
  }
  LayerConfig config = sink.layer("EinsumDense");
  config.args = {normal};
  config.arguments["equation"] = letters + "," + scaled + "->" + letters;
  config.arguments["output_shape"] = std::move(shape);
  if (auto ok = sink.weigh(config, 1, "kernel"); !ok) return ok;
  Tensor& kernel = config.weights.back().tensor;
  if (kernel.count() != checked_count(lengths).value_or(-1)) return sink.refused("a scale of axes of unknown length");
  kernel = kernel.reshaped(lengths);
  return sink.last(std::move(config));
}

Status write_rms_norm(const RmsNorm& op, Sink& sink) {
  if (sink.has(1) && !lies_last(op.axes, sink.rank())) return write_rms_norm_elsewhere(op, sink);
  if (!sink.has(1)) {
    LayerConfig config = sink.operation("nn", "RMSNorm");
    config.arguments["axis"] = one_or_list(op.axes);
    config.arguments["epsilon"] = op.epsilon;
    config.kwargs.emplace_back("scale", Json());
    return sink.last(std::move(config));
  }
  LayerConfig config =
      layer_as(sink, "layers.RMSNormalization", {{"axis", axes_in(op.axes, sink)}, {"epsilon", op.epsilon}});
  if (auto ok = sink.weigh(config, 1, "scale"); !ok) return ok;
  return sink.last(std::move(config));
}

// ops.normalize divides by max(length, epsilon).
Status write_length(const Sizes& axes, Size order, double epsilon, Sink& sink) {
  LayerConfig config = layer_as(sink, "nn.Normalize", {{"axis", one_or_list(axes)}, {"order", order}});
  config.arguments["epsilon"] = epsilon;  // Keras has another where it is None
  return sink.last(std::move(config));
}

Status write_unit_norm(const UnitNorm& op, Sink& sink) { return write_length(op.axes, 2, std::sqrt(op.epsilon), sink); }

Status write_length_norm(const LengthNorm& op, Sink& sink) {
  constexpr double most_order = 1 << 20;
  const bool is_order = op.p >= 1 && op.p <= most_order && op.p == std::floor(op.p);  // an int, for Keras
  if (!is_order || (op.p != 2 && op.axes.size() != 1)) return sink.refused("a normalisation by this norm");
  if (op.p == 2 && op.epsilon == unit_epsilon)
    return write_as(sink, "layers.UnitNormalization", {{"axis", axes_in(op.axes, sink)}});
  return write_length(op.axes, static_cast<Size>(op.p), op.epsilon, sink);
}

constexpr std::array normalization_table{
    writes<write_batch_norm>(),
    writes<write_layer_norm>(),
    writes<write_group_norm>(),
    writes<write_rms_norm>(),
    writes<write_unit_norm>(),
    writes<write_length_norm>(),
    lacks<LocalResponseNorm, Sink>("Keras has no normalisation over neighbouring channels")};
static_assert(decides<Normalization>(normalization_table));

}  // namespace

std::span<const Row> normalization_rows() { return normalization_table; }

}  // namespace writing
}  // namespace convoy::keras
