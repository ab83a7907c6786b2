// tf.image.resize, and the functions of TensorFlow 1 with their other coordinates.
#include "formats/tf/arguments.h"
#include "formats/tf/functions.h"

#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::tf {
namespace {

// An image without a batch axis gets one; what comes out loses it again. Everything but nearest becomes float32.
std::vector<ValueId> resized(FunctionCall& call, Resize resize, ValueId x) {
  const DType given = call.type(x).dtype;
  const bool alone = call.rank(x) == 3, nearest = resize.interpolation == Interpolation::Nearest;
  resize.axes = {1, 2};
  if (alone) x = call.add(Unsqueeze{{0}}, {x});
  if (!nearest && given != DType::F32) x = call.add(Cast{DType::F32}, {x});
  ValueId y = call.add(std::move(resize), {x});
  if (nearest && call.type(y).dtype != given && !call.failed()) y = call.add(Cast{given}, {y});
  if (alone) y = call.add(Squeeze{{0}}, {y});
  return {y};
}

struct Method {
  std::string_view word;
  Interpolation interpolation;
};
constexpr std::array methods{
    Method{"bilinear", Interpolation::Linear},   Method{"nearest", Interpolation::Nearest},
    Method{"bicubic", Interpolation::Cubic},     Method{"area", Interpolation::Area},
    Method{"lanczos3", Interpolation::Lanczos3}, Method{"lanczos5", Interpolation::Lanczos5},
    Method{"gaussian", Interpolation::Gaussian}, Method{"mitchellcubic", Interpolation::Mitchell}};
// TensorFlow 1 numbers the first four.
constexpr std::size_t numbered = 4;

Interpolation method_of(FunctionCall& call, bool first_version) {
  const Json* argument = call.attrs.raw("method");
  if (!argument) return Interpolation::Linear;
  if (argument->is_number_integer() && first_version && *argument >= 0 && *argument < numbered)
    return methods[argument->get<std::size_t>()].interpolation;
  const std::string word = argument->is_string() ? argument->get<std::string>() : argument->dump();
  const auto known = std::span(methods).first(first_version ? numbered : methods.size());
  const auto found = std::ranges::find(known, word, &Method::word);
  if (found != known.end()) return found->interpolation;
  call.refuse(Fault::Format, "argument 'method' is '" + word + "', which is no method of resizing");
  return Interpolation::Linear;
}

Sizes size_of(FunctionCall& call) {
  Sizes size = numbers(call, "size");
  constexpr Size most = Size{1} << 30;
  if (size.size() == 2 && size[0] > 0 && size[1] > 0 && size[0] <= most && size[1] <= most) return size;
  call.refuse(Fault::Format, "argument 'size' is " + text_of(size) + ", expected a height and a width");
  return {1, 1};
}

// The one factor for both axes under which the image still fits, and sizes rounded to even, in TensorFlow's float32.
void keep_aspect_ratio(FunctionCall& call, ValueId x, Sizes& size) {
  if (!call.attrs.truth("preserve_aspect_ratio", false) || call.failed()) return;
  const Size first = call.rank(x) - 3;
  const Dim height = call.dim(x, first), width = call.dim(x, first + 1);
  if (!height.known() || !width.known() || *height < 1 || *width < 1) {
    call.refuse(Fault::Unsupported, "preserve_aspect_ratio needs an image whose height and width are known");
    return;
  }
  const auto tall = static_cast<float>(*height), wide = static_cast<float>(*width);
  const float factor = std::min(static_cast<float>(size[0]) / tall, static_cast<float>(size[1]) / wide);
  size = {static_cast<Size>(std::nearbyint(factor * tall)), static_cast<Size>(std::nearbyint(factor * wide))};
}

void check_rank(FunctionCall& call, ValueId x) {
  if (!call.failed() && call.rank(x) != 3 && call.rank(x) != 4)
    call.refuse(Fault::Format, "images has shape " + text_of(call.shape(x)) + ", expected 3 or 4 axes");
}

// Half-pixel centres everywhere. Cubic: A = -0.5, taps beyond the border dropped, weights from a table of 1024 offsets.
std::vector<ValueId> resize(FunctionCall& call) {
  const ValueId x = call.tensor("images");
  ignore_name(call);
  check_rank(call, x);
  Resize resize;
  resize.interpolation = method_of(call, false);
  resize.sizes = size_of(call);
  keep_aspect_ratio(call, x, resize.sizes);
  const bool ignores = resize.interpolation == Interpolation::Nearest || resize.interpolation == Interpolation::Area;
  resize.antialias = call.attrs.truth("antialias", false) && !ignores;
  resize.rounding = Rounding::RoundHalfUp;
  resize.cubic_a = -0.5;
  resize.drops_outside = resize.antialias || resize.interpolation == Interpolation::Cubic;
  resize.cubic_table = resize.interpolation == Interpolation::Cubic && !resize.antialias;
  if (call.failed()) return {};
  return resized(call, std::move(resize), x);
}

// Cells from the corner (i * scale) unless one of the two flags says otherwise; then cubic has A = -0.75 and repeats
// the border.
void place_corners(FunctionCall& call, Resize& resize, bool half_pixel_centers) {
  const bool aligns = call.attrs.truth("align_corners", false);
  if (aligns && half_pixel_centers)
    call.refuse(Fault::Format, "align_corners and half_pixel_centers cannot both be set");
  if (aligns && resize.interpolation == Interpolation::Area)
    call.refuse(Fault::Unsupported, "an area resize with align_corners, which this version does not carry");
  resize.coordinates = aligns               ? Coordinates::AlignCorners
                       : half_pixel_centers ? Coordinates::HalfPixel
                                            : Coordinates::Asymmetric;
  const bool rounds = aligns || half_pixel_centers;
  resize.rounding = rounds ? Rounding::RoundHalfUp : Rounding::Floor;
  resize.cubic_a = half_pixel_centers ? -0.5 : -0.75;
  resize.drops_outside = half_pixel_centers && resize.interpolation == Interpolation::Cubic;
  resize.cubic_table = resize.interpolation == Interpolation::Cubic;
}

template <Interpolation interpolation>
std::vector<ValueId> first_version(FunctionCall& call) {
  const ValueId x = call.tensor("images");
  ignore_name(call);
  if (!call.failed() && call.rank(x) != 4)
    call.refuse(Fault::Format, "images has shape " + text_of(call.shape(x)) + ", expected 4 axes");
  Resize resize;
  resize.interpolation = interpolation;
  // A graph's reader says factors where sizes follow from those of an image that are not known.
  if (const Json* factors = call.name.starts_with("Resize") ? call.attrs.raw("size_factors") : nullptr)
    resize.factors = factors->get<std::vector<double>>();
  else resize.sizes = size_of(call);
  place_corners(call, resize, call.attrs.truth("half_pixel_centers", false));
  if (call.failed()) return {};
  return resized(call, std::move(resize), x);
}

// tf.compat.v1.image.resize: an image that has the size already is left alone, whatever its type.
std::vector<ValueId> first_resize(FunctionCall& call) {
  const ValueId x = call.tensor("images");
  ignore_name(call);
  check_rank(call, x);
  Resize resize;
  resize.interpolation = method_of(call, true);
  resize.sizes = size_of(call);
  keep_aspect_ratio(call, x, resize.sizes);
  place_corners(call, resize, false);
  if (call.failed()) return {};
  const Size first = call.rank(x) - 3;
  if (call.dim(x, first) == Dim(resize.sizes[0]) && call.dim(x, first + 1) == Dim(resize.sizes[1]))
    return {call.add(Identity{}, {x})};
  return resized(call, std::move(resize), x);
}

constexpr std::string_view first_parameters = "images size align_corners name half_pixel_centers";
constexpr std::string_view first_resize_parameters = "images size method align_corners preserve_aspect_ratio name";
constexpr std::array resize_table{
    FunctionRow{"image.resize", "images size method preserve_aspect_ratio antialias name", resize},
    FunctionRow{"compat.v1.image.resize", first_resize_parameters, first_resize},
    FunctionRow{"compat.v1.image.resize_images", first_resize_parameters, first_resize},
    FunctionRow{"compat.v1.image.resize_nearest_neighbor", first_parameters, first_version<Interpolation::Nearest>},
    FunctionRow{"compat.v1.image.resize_bilinear", first_parameters, first_version<Interpolation::Linear>},
    FunctionRow{"compat.v1.image.resize_bicubic", first_parameters, first_version<Interpolation::Cubic>},
    FunctionRow{"compat.v1.image.resize_area", "images size align_corners name", first_version<Interpolation::Area>},
};

}  // namespace

std::span<const FunctionRow> resize_functions() { return resize_table; }

}  // namespace convoy::tf
