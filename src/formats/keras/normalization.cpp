// Normalizing layers. The fused kernel of Keras 2 raises a small epsilon, and so does this reader.
#include "formats/keras/call.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::keras {
namespace {

// One axis, as a number or as a list of one.
Size single_axis(Call& call, Size rank) {
  const Sizes all = call.attrs.list("axis", Sizes{-1});
  if (all.size() != 1) {
    call.refuse(Fault::Unsupported, "normalizes over " + std::to_string(all.size()) + " axes at once");
    return 0;
  }
  return call.axis(all.front(), rank);
}

// TensorFlow's fused kernel never takes less than this.
constexpr double least_fused_epsilon = 1.001e-5;

bool is_fused(const Version& version, Size rank, Size axis) {
  return version.major == 2 && ((rank == 4 && (axis == 1 || axis == 3)) || (rank == 5 && (axis == 1 || axis == 4)));
}

Values batch_norm(Call& call) {
  call.attrs.ignore({"synchronized", "fused", "renorm_clipping", "renorm_momentum", "virtual_batch_size",
                     "moving_mean_initializer", "moving_variance_initializer"});
  const ValueId x = call.x();
  const Size rank = call.rank(x), axis = single_axis(call, rank);
  const double momentum = call.attrs.number("momentum", 0.99);
  double epsilon = call.attrs.number("epsilon", 1e-3);
  const bool scale = call.attrs.truth("scale", true), center = call.attrs.truth("center", true);
  if (call.attrs.has("adjustment")) call.refuse(Fault::Unsupported, "attribute 'adjustment' is not understood");
  if (call.attrs.integer("mode", 0) != 0)
    call.refuse(Fault::Unsupported, "normalizes by the batch at inference ('mode')");
  if (is_fused(call.version, rank, axis)) epsilon = std::max(epsilon, least_fused_epsilon);
  if (call.attrs.truth("renorm", false)) call.skip_weights();
  const Shape channels{call.dim(x, axis)};
  const ValueId gamma = scale ? call.weight("gamma", channels) : ValueId{};
  const ValueId beta = center ? call.weight("beta", channels) : ValueId{};
  const ValueId mean = call.weight("moving_mean", channels, false);
  const ValueId variance = call.weight("moving_variance", channels, false);
  return {call.add(BatchNorm{axis, epsilon, momentum}, {x, gamma, beta, mean, variance})};
}

Shape sizes_at(Call& call, ValueId x, const Sizes& axes) {
  Shape shape;
  for (const Size axis : axes) shape.push_back(call.dim(x, axis));
  return shape;
}

Values layer_norm(Call& call) {
  const ValueId x = call.x();
  const Sizes argument = call.attrs.list("axis", Sizes{-1}), axes = call.axes(argument, call.rank(x));
  const double epsilon = call.attrs.number("epsilon", 1e-3);
  const bool rms = call.attrs.truth("rms_scaling", false);
  const bool scale = call.attrs.truth("scale", true) || rms, center = call.attrs.truth("center", true) && !rms;
  Sizes in_order = argument;
  for (Size& one : in_order) one = positive_axis(one, call.rank(x));
  if (in_order != axes && (scale || center))
    call.refuse(Fault::Unsupported, "names its axes out of order, and its weights follow that order");
  const Shape shape = sizes_at(call, x, axes);
  const ValueId gamma = scale ? call.weight("gamma", shape) : ValueId{};
  const ValueId beta = center ? call.weight("beta", shape) : ValueId{};
  return {call.add(LayerNorm{axes, epsilon, rms}, {x, gamma, beta})};
}

Values group_norm(Call& call) {
  const ValueId x = call.x();
  const Size axis = single_axis(call, call.rank(x));
  Size groups = call.attrs.integer("groups", 32);
  const double epsilon = call.attrs.number("epsilon", 1e-3);
  const bool scale = call.attrs.truth("scale", true), center = call.attrs.truth("center", true);
  const Dim channels = call.dim(x, axis);
  if (groups == -1) {
    if (!channels.known())
      call.refuse(Fault::Unsupported, "has one group per channel and an unknown number of channels");
    else groups = *channels;
  }
  const ValueId gamma = scale ? call.weight("gamma", {channels}) : ValueId{};
  const ValueId beta = center ? call.weight("beta", {channels}) : ValueId{};
  return {call.add(GroupNorm{axis, groups, epsilon}, {x, gamma, beta})};
}

Values unit_norm(Call& call) {
  const ValueId x = call.x();
  return {call.add(UnitNorm{call.axes(call.attrs.list("axis", Sizes{-1}), call.rank(x)), 1e-12}, {x})};
}

Values rms_norm(Call& call) {
  const ValueId x = call.x();
  const Sizes axes = call.axes(call.attrs.list("axis", Sizes{-1}), call.rank(x));
  const double epsilon = call.attrs.number("epsilon", 1e-6);
  const ValueId scale = call.weight("scale", sizes_at(call, x, axes));
  return {call.add(RmsNorm{axes, epsilon}, {x, scale})};
}

// Numbers of an attribute: one, a list, or nested lists of one row.
std::vector<float> numbers(Call& call, const Json& value, std::string_view key, int depth = 0) {
  std::vector<float> all;
  if (value.is_number()) return {value.get<float>()};
  const Json* inner = &value;
  if (value.is_object() && value.contains("config") && value["config"].is_object() && value["config"].contains("value"))
    inner = &value["config"]["value"];
  if (!inner->is_array() || depth > 8) {
    if (inner->is_number()) return {inner->get<float>()};
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
Values normalization(Call& call) {
  const ValueId x = call.x();
  const Size rank = call.rank(x);
  const Sizes axes = call.axes(call.attrs.has("axis") ? call.attrs.list("axis") : Sizes{}, rank);
  const bool inverts = call.attrs.truth("invert", false);
  const Json* said_mean = call.attrs.raw("mean");
  const Json* said_variance = call.attrs.raw("variance");
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
  std::vector<float> mean, variance;
  if (said_mean && said_variance) {
    mean = numbers(call, *said_mean, "mean"), variance = numbers(call, *said_variance, "variance");
    for (auto* values : {&mean, &variance})
      if (values->size() == 1 && count > 1 && count < (1 << 24))
        values->assign(static_cast<std::size_t>(count), values->front());
  } else if (!call.bound("mean")) {
    mean = call.take("mean", kept).floats(), variance = call.take("variance", kept).floats();
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
    for (float& one : variance) one = std::max(std::sqrt(one), 1e-7F);
    center = call.constant("mean", Tensor::of(broadcast, std::move(mean)));
    deviation = call.constant("deviation", Tensor::of(broadcast, std::move(variance)));
  }
  if (inverts)
    return {call.add(Binary{BinaryFunction::Add},
                     {call.add(Binary{BinaryFunction::Multiply}, {x, deviation}, "scaled"), center})};
  return {call.add(Binary{BinaryFunction::Divide},
                   {call.add(Binary{BinaryFunction::Subtract}, {x, center}, "centered"), deviation})};
}

Values rescaling(Call& call) {
  ValueId x = call.x();
  const Json* scale = call.attrs.raw("scale");
  const Json* offset = call.attrs.raw("offset");
  call.attrs.ignore({"data_format"});
  if (!scale) call.refuse(Fault::Format, "attribute 'scale' is missing");
  if (call.failed()) return {};
  if (call.type(x).dtype != DType::F32) x = call.add(Cast{DType::F32}, {x}, "float");
  if (scale->is_number() && (!offset || offset->is_number()))
    return {call.add(Affine{scale->get<double>(), offset ? offset->get<double>() : 0.0}, {x})};
  const auto vector = [&](const Json& value, std::string_view name) {
    auto all = numbers(call, value, name);
    const Size n = static_cast<Size>(all.size());
    return call.constant(
        name, value.is_number() ? Tensor::of(Sizes{}, std::move(all)) : Tensor::of(Sizes{n}, std::move(all)));
  };
  const ValueId scaled =
      call.add(Binary{BinaryFunction::Multiply}, {x, vector(*scale, "scale")}, offset ? "scaled" : "");
  if (!offset) return {scaled};
  return {call.add(Binary{BinaryFunction::Add}, {scaled, vector(*offset, "offset")})};
}

constexpr std::array normalization_table{
    LayerRow{"BatchNormalization", batch_norm},   LayerRow{"BatchNormalizationV1", batch_norm},
    LayerRow{"BatchNormalizationV2", batch_norm}, LayerRow{"SyncBatchNormalization", batch_norm},
    LayerRow{"LayerNormalization", layer_norm},   LayerRow{"GroupNormalization", group_norm},
    LayerRow{"UnitNormalization", unit_norm},     LayerRow{"RMSNormalization", rms_norm},
    LayerRow{"Normalization", normalization},     LayerRow{"Rescaling", rescaling},
};

}  // namespace

std::span<const LayerRow> normalization_rows() { return normalization_table; }

}  // namespace convoy::keras
