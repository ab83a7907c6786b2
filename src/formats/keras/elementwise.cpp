// Merges of several inputs, and layers that leave numbers as they are at inference.
#include "formats/keras/call.h"
#include "formats/keras/merge_modes.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

// Keras puts axes behind the batch of those inputs that have fewer.
Values aligned(Call& call) {
  Size most = 0;
  for (const ValueId v : call.inputs) most = std::max(most, call.rank(v));
  Values all;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Size missing = most - call.rank(call.inputs[i]);
    Sizes axes;
    for (Size k = 0; k < missing; ++k) axes.push_back(1 + k);
    all.push_back(missing == 0 ? call.inputs[i]
                               : call.add(Unsqueeze{axes}, {call.inputs[i]}, "aligned_" + std::to_string(i)));
  }
  return all;
}

ValueId folded(Call& call, BinaryFunction function, std::string_view last_step) {
  if (call.inputs.size() < 2) {
    call.refuse(Fault::Format, "merges " + std::to_string(call.inputs.size()) + " inputs, expected at least 2");
    return {};
  }
  const Values all = aligned(call);
  ValueId sum = all.front();
  for (std::size_t i = 1; i < all.size(); ++i)
    sum = call.add(Binary{function}, {sum, all[i]},
                   i + 1 == all.size() ? std::string(last_step) : "part_" + std::to_string(i));
  return sum;
}

template <BinaryFunction function>
Values merge(Call& call) {
  return {folded(call, function, "")};
}

Values subtract(Call& call) {
  if (call.inputs.size() != 2)
    call.refuse(Fault::Format, "subtracts " + std::to_string(call.inputs.size()) + " inputs, expected 2");
  return {folded(call, BinaryFunction::Subtract, "")};
}

Values average(Call& call) {
  const ValueId sum = folded(call, BinaryFunction::Add, "sum");
  // Keras divides; multiplying by 1/3 would round differently.
  return {
      call.add(Binary{BinaryFunction::Divide}, {sum, call.scalar("count", static_cast<float>(call.inputs.size()))})};
}

Values drop(Call& call, Noise noise, std::string_view key) {
  call.attrs.ignore({"noise_shape", "seed", "p"});
  const ValueId x = call.x();
  const double rate = call.attrs.number_of(call.attrs.raw({key, "p", "sigma"}), key, 0.0);
  Size channel = std::max<Size>(call.rank(x) - 1, 0);
  if (noise == Noise::SpatialDropout && call.order() == Order::ChannelsFirst) channel = 1;
  call.skip_weights();  // the state of the random generator
  return {call.add(Dropout{noise, rate, channel}, {x})};
}

Values dropout(Call& call) { return drop(call, Noise::Dropout, "rate"); }
Values spatial_dropout(Call& call) { return drop(call, Noise::SpatialDropout, "rate"); }
Values alpha_dropout(Call& call) { return drop(call, Noise::AlphaDropout, "rate"); }
Values gaussian_dropout(Call& call) { return drop(call, Noise::GaussianDropout, "rate"); }
Values gaussian_noise(Call& call) { return drop(call, Noise::GaussianNoise, "stddev"); }

// What only training does; its settings are passed over as a whole.
Values augmentation(Call& call) {
  const ValueId x = call.x();
  if (call.layer.config && call.layer.config->is_object())
    for (const auto& [key, unused] : call.layer.config->items()) call.attrs.ignore({key});
  call.skip_weights();
  return {call.add(Dropout{Noise::Augmentation, 0, std::max<Size>(call.rank(x) - 1, 0)}, {x})};
}

// Of keras.applications' ConvNeXt: every channel times a number that is trained.
Values layer_scale(Call& call) {
  call.attrs.ignore({"init_values", "projection_dim"});
  const ValueId x = call.x();
  if (call.failed()) return {};
  const ValueId gamma = call.weight("gamma", {call.dim(x, call.rank(x) - 1)});
  return {call.add(Binary{BinaryFunction::Multiply}, {x, gamma})};
}

Values identity(Call& call) {
  call.attrs.ignore({"l1", "l2"});
  return {call.add(Identity{}, {call.x()})};
}

// Keras 1: one layer with a word for what it does.
Values old_merge(Call& call) {
  call.attrs.ignore({"mode_type", "output_shape", "output_shape_type", "output_mask", "output_mask_type", "arguments",
                     "layers", "node_indices", "tensor_indices", "dot_axes"});
  const std::string mode = call.attrs.word("mode", "sum");
  const Size concat_axis = call.attrs.integer("concat_axis", -1);
  const std::string_view merging = merging_class(mode);
  if (merging == "Concatenate" && !call.inputs.empty())
    return {call.add(Concat{call.axis(concat_axis, call.rank(call.inputs.front()))}, call.inputs)};
  for (const LayerRow& row : elementwise_rows())
    if (row.type == merging) return row.read(call);
  call.refuse(Fault::Unsupported, "merges by '" + mode + "', which this version does not carry");
  return {};
}

constexpr std::array elementwise_table{
    LayerRow{"Add", merge<BinaryFunction::Add>},
    LayerRow{"Multiply", merge<BinaryFunction::Multiply>},
    LayerRow{"Maximum", merge<BinaryFunction::Maximum>},
    LayerRow{"Minimum", merge<BinaryFunction::Minimum>},
    LayerRow{"Subtract", subtract},
    LayerRow{"Average", average},
    LayerRow{"Merge", old_merge},
    LayerRow{"Dropout", dropout},
    LayerRow{"SpatialDropout1D", spatial_dropout},
    LayerRow{"SpatialDropout2D", spatial_dropout},
    LayerRow{"SpatialDropout3D", spatial_dropout},
    LayerRow{"AlphaDropout", alpha_dropout},
    LayerRow{"GaussianDropout", gaussian_dropout},
    LayerRow{"GaussianNoise", gaussian_noise},
    LayerRow{"LayerScale", layer_scale},
    LayerRow{"StochasticDepth", augmentation},
    LayerRow{"ActivityRegularization", identity},
    LayerRow{"Identity", identity},
    LayerRow{"RandomFlip", augmentation},
    LayerRow{"RandomRotation", augmentation},
    LayerRow{"RandomZoom", augmentation},
    LayerRow{"RandomTranslation", augmentation},
    LayerRow{"RandomContrast", augmentation},
    LayerRow{"RandomBrightness", augmentation},
    LayerRow{"RandomHeight", augmentation},
    LayerRow{"RandomWidth", augmentation},
    LayerRow{"RandomShear", augmentation},
    LayerRow{"RandomHue", augmentation},
    LayerRow{"RandomSaturation", augmentation},
    LayerRow{"RandomColorJitter", augmentation},
    LayerRow{"RandomColorDegeneration", augmentation},
    LayerRow{"RandomGrayscale", augmentation},
    LayerRow{"RandomSharpness", augmentation},
    LayerRow{"RandomPosterization", augmentation},
    LayerRow{"RandomInvert", augmentation},
    LayerRow{"RandomErasing", augmentation},
    LayerRow{"RandomGaussianBlur", augmentation},
    LayerRow{"RandomPerspective", augmentation},
    LayerRow{"RandomElasticTransform", augmentation},
};

}  // namespace

std::span<const LayerRow> elementwise_rows() { return elementwise_table; }

}  // namespace convoy::keras
