// Normalisations: Keras's layers, and keras.ops.normalize for lengths.
#include "formats/keras/write/sink.h"

#include <array>
#include <cmath>

namespace convoy::keras::writing {
namespace {

// `axis`, unless it is the last one, which Keras takes by itself.
void say_axes(LayerConfig& config, const Sizes& axes, Size rank) {
  if (axes == Sizes{rank - 1}) return;
  if (axes.size() == 1) config.arguments["axis"] = axes[0];
  else config.arguments["axis"] = axes;
}

void say_number(LayerConfig& config, const char* name, double value, double usual) {
  if (value != usual) config.arguments[name] = value;
}

Status say_scale(LayerConfig& config, Sink& sink) {
  if (!sink.has(2)) config.arguments["center"] = false;
  if (!sink.has(1)) config.arguments["scale"] = false;
  if (sink.has(1))
    if (auto ok = sink.weigh(config, 1, "gamma"); !ok) return ok;
  return sink.has(2) ? sink.weigh(config, 2, "beta") : Status();
}

Status write_batch_norm(const BatchNorm& op, Sink& sink) {
  LayerConfig config = sink.layer("BatchNormalization");
  say_axes(config, {op.axis}, sink.rank());
  say_number(config, "momentum", op.momentum, 0.99);
  say_number(config, "epsilon", op.epsilon, 1e-3);
  if (auto ok = say_scale(config, sink); !ok) return ok;
  if (auto ok = sink.weigh(config, 3, "moving_mean"); !ok) return ok;
  if (auto ok = sink.weigh(config, 4, "moving_variance"); !ok) return ok;
  return sink.last(std::move(config));
}

Status write_layer_norm(const LayerNorm& op, Sink& sink) {
  LayerConfig config = sink.layer("LayerNormalization");
  say_axes(config, op.axes, sink.rank());
  say_number(config, "epsilon", op.epsilon, 1e-3);
  if (op.keras_rms_scaling) {
    if (!sink.has(1)) return sink.refused("a normalisation by roots of mean squares without a scale");
    config.arguments["rms_scaling"] = true;
    if (auto ok = sink.weigh(config, 1, "gamma"); !ok) return ok;
  } else if (auto ok = say_scale(config, sink); !ok) {
    return ok;
  }
  return sink.last(std::move(config));
}

Status write_group_norm(const GroupNorm& op, Sink& sink) {
  LayerConfig config = sink.layer("GroupNormalization");
  // A group of its own for every channel is what Keras writes as -1.
  const bool each = sink.dim(op.axis) == Dim(op.groups) && op.groups != 1;
  if (each || op.groups != 32) config.arguments["groups"] = each ? Size{-1} : op.groups;
  say_axes(config, {op.axis}, sink.rank());
  say_number(config, "epsilon", op.epsilon, 1e-3);
  if (auto ok = say_scale(config, sink); !ok) return ok;
  return sink.last(std::move(config));
}

// Keras lays the scale along the last axes, whichever ones are normalised: a product of its own lays it along others.
Status write_rms_norm_elsewhere(const RmsNorm& op, Sink& sink) {
  LayerConfig norm = sink.operation("nn", "RMSNorm");
  norm.args = {sink.argument()};
  norm.arguments["axis"] = op.axes.size() == 1 ? Json(op.axes.front()) : Json(op.axes);
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
  const auto count = static_cast<Size>(op.axes.size());
  if (sink.has(1) && !op.axes.empty() && op.axes.front() != sink.rank() - count)
    return write_rms_norm_elsewhere(op, sink);
  if (!sink.has(1)) {
    LayerConfig config = sink.operation("nn", "RMSNorm");
    config.arguments["axis"] = one_or_all(op.axes).is_array() ? Json(op.axes) : Json(op.axes.front());
    config.arguments["epsilon"] = op.epsilon;
    config.kwargs.emplace_back("scale", Json());
    return sink.last(std::move(config));
  }
  LayerConfig config = sink.layer("RMSNormalization");
  say_axes(config, op.axes, sink.rank());
  say_number(config, "epsilon", op.epsilon, 1e-6);
  if (auto ok = sink.weigh(config, 1, "scale"); !ok) return ok;
  return sink.last(std::move(config));
}

// ops.normalize divides by max(length, epsilon).
LayerConfig length(const Sizes& axes, Size order, double epsilon, const Sink& sink) {
  LayerConfig config = sink.operation("nn", "Normalize");
  if (axes.size() == 1) config.arguments["axis"] = axes[0];
  else config.arguments["axis"] = axes;
  if (order != 2) config.arguments["order"] = order;
  config.arguments["epsilon"] = epsilon;
  return config;
}

Status write_unit_norm(const UnitNorm& op, Sink& sink) {
  if (op.epsilon != 1e-12) return sink.last(length(op.axes, 2, std::sqrt(op.epsilon), sink));
  LayerConfig config = sink.layer("UnitNormalization");
  say_axes(config, op.axes, sink.rank());
  return sink.last(std::move(config));
}

Status write_length_norm(const LengthNorm& op, Sink& sink) {
  constexpr double most_order = 1 << 20;
  const bool is_order = op.p >= 1 && op.p <= most_order && op.p == std::floor(op.p);  // an int, for Keras
  if (!is_order || (op.p != 2 && op.axes.size() != 1)) return sink.refused("a normalisation by this norm");
  return sink.last(length(op.axes, static_cast<Size>(op.p), op.epsilon, sink));
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

}  // namespace convoy::keras::writing
