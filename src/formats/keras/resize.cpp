// UpSampling and Resizing: image resizing by TensorFlow's rules.
#include "formats/keras/resize.h"

#include <array>

namespace convoy::keras {
namespace {

Values repeated(Call& call, Size space) {
  const ValueId x = call.x();
  const Axes axes{call.order(), space};
  const Json* argument = call.attrs.raw({"size", "length"});
  const Sizes size = call.attrs.sizes_of(argument, "size", static_cast<std::size_t>(space), 2);
  const std::string word = space == 2 ? call.attrs.word("interpolation", "nearest") : "nearest";
  if (!call.expect_rank(x, axes.rank())) return {};
  Resize resize = resize_by(call, axes, word, false);
  for (const Size n : size) {
    if (n < 1 || n > (1 << 20)) call.refuse(Fault::Format, "attribute 'size' holds " + std::to_string(n));
    resize.factors.push_back(static_cast<double>(n));
  }
  if (word == "nearest") {  // every cell repeated; said the way that every framework says it
    resize.coordinates = Coordinates::Asymmetric;
    resize.rounding = Rounding::Floor;
  }
  // Keras by itself called TensorFlow's older resize from 2.2.3 on; tf.keras never did.
  if (word == "bilinear" && call.version.major == 2 && !call.version.tensorflow)
    resize.coordinates = Coordinates::Asymmetric;
  return {call.add(resize, {x})};
}

template <Size space>
Values up_sampling(Call& call) {
  return repeated(call, space);
}

Values resizing(Call& call) {
  ValueId x = call.x();
  const Axes axes{call.order(), 2};
  const Size height = call.attrs.integer("height"), width = call.attrs.integer("width");
  const std::string word = call.attrs.word("interpolation", "bilinear");
  const bool antialias = call.attrs.truth("antialias", false);
  expect_plain_resize(call);
  if (!call.expect_rank(x, 4)) return {};
  if (call.type(x).dtype != DType::F32) x = call.add(Cast{DType::F32}, {x}, "float");
  Resize resize = resize_by(call, axes, word, antialias);
  resize.sizes = {height, width};
  return {call.add(resize, {x})};
}

constexpr std::array resize_table{LayerRow{"UpSampling1D", up_sampling<1>}, LayerRow{"UpSampling2D", up_sampling<2>},
                                  LayerRow{"UpSampling3D", up_sampling<3>}, LayerRow{"Resizing", resizing}};

}  // namespace

void expect_plain_resize(Call& call) {
  for (const auto key : {"crop_to_aspect_ratio", "pad_to_aspect_ratio"})
    if (call.attrs.truth(key, false))
      call.refuse(Fault::Unsupported, "sets '" + std::string(key) + "', which this version does not carry");
  call.attrs.ignore({"fill_mode", "fill_value"});
}

Resize resize_by(Call& call, const Axes& axes, const std::string& word, bool antialias) {
  Resize resize;
  resize.axes = spatial_axes(axes);
  resize.antialias = antialias;
  resize.coordinates = Coordinates::HalfPixel;
  resize.rounding = Rounding::RoundHalfUp;
  if (word == "nearest") {
    resize.interpolation = Interpolation::Nearest;
    resize.antialias = false;
  } else if (word == "bilinear") {
    resize.interpolation = Interpolation::Linear;
    resize.drops_outside = antialias;
  } else if (word == "bicubic") {
    resize.interpolation = Interpolation::Cubic;
    resize.cubic_a = -0.5;
    resize.drops_outside = true;
    resize.cubic_table = !antialias;
  } else if (word == "area") {
    resize.interpolation = Interpolation::Area;
    resize.antialias = false;
  } else if (word == "lanczos3") {
    resize.interpolation = Interpolation::Lanczos3;
  } else if (word == "lanczos5") {
    resize.interpolation = Interpolation::Lanczos5;
  } else if (word == "gaussian") {
    resize.interpolation = Interpolation::Gaussian;
  } else if (word == "mitchellcubic") {
    resize.interpolation = Interpolation::Mitchell;
  } else {
    call.refuse(Fault::Unsupported, "interpolates by '" + word + "', which is no word of Keras");
  }
  return resize;
}

std::span<const LayerRow> resize_rows() { return resize_table; }

}  // namespace convoy::keras
