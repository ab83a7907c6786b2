// Resize and its forerunner Upsample. Until opset 10 there are no attributes for places: cell i reads i / factor, and a
// nearest cell is the next one where an axis shrinks.
#include "formats/onnx/arguments.h"
#include "formats/resize_like.h"
#include "formats/shape_inputs.h"

#include "ops/expect.h"
#include "ops/grid_rounding.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::onnx {
namespace {

template <class T>
struct Word {
  std::string_view word;
  T meaning;
  Size since = 11, until = newest_read;
};
constexpr Word<Interpolation> modes[] = {
    {"nearest", Interpolation::Nearest, 7}, {"linear", Interpolation::Linear, 7}, {"cubic", Interpolation::Cubic}};
constexpr Word<Coordinates> places[] = {{"half_pixel", Coordinates::HalfPixel},
                                        {"pytorch_half_pixel", Coordinates::PytorchHalfPixel},
                                        {"align_corners", Coordinates::AlignCorners},
                                        {"asymmetric", Coordinates::Asymmetric},
                                        {"tf_half_pixel_for_nn", Coordinates::HalfPixelCell, 11, 12},
                                        {"tf_crop_and_resize", Coordinates::CropAndResize},
                                        {"half_pixel_symmetric", Coordinates::HalfPixelSymmetric}};
constexpr Word<Rounding> roundings[] = {{"round_prefer_floor", Rounding::RoundHalfDown},
                                        {"round_prefer_ceil", Rounding::RoundHalfUp},
                                        {"floor", Rounding::Floor},
                                        {"ceil", Rounding::Ceil}};

template <class T, std::size_t n>
T meaning_of(FunctionCall& call, const char* name, const Word<T> (&words)[n]) {
  const std::string word = call.attrs.word(name, std::string(words[0].word));
  for (const Word<T>& one : words)
    if (one.word == word && call.opset >= one.since && call.opset <= one.until) return one.meaning;
  call.refuse(Fault::Unsupported, "attribute '" + std::string(name) + "' is '" + word + "', which is not known");
  return words[0].meaning;
}

// The factors as float32 numbers; an empty input counts as absent.
std::optional<std::vector<double>> factors_of(FunctionCall& call) {
  if (takes_attribute(call, "scales")) {
    std::vector<double> factors;
    const Json* argument = call.attrs.raw("scales");
    if (!argument || !argument->is_array()) call.refuse(Fault::Format, "attribute 'scales' is missing");
    if (call.failed()) return std::nullopt;
    for (const Json& one : *argument)
      factors.push_back(static_cast<double>(static_cast<float>(call.attrs.number_of(&one, "scales"))));
    return factors;
  }
  // The second input until opset 10, where the third and fourth do not exist.
  auto factors = known_numbers(call, "scales");
  if (!factors && call.opset == 10) factors = known_numbers(call, "roi");
  if (factors && factors->empty()) return std::nullopt;
  return factors;
}

// Where the factors of all axes lead: the axes that change, to which sizes, by which factors.
struct Target {
  Sizes axes, sizes;
  std::vector<double> factors;
};

bool right_count(FunctionCall& call, std::string_view what, std::size_t count, std::size_t wanted) {
  if (count == wanted) return true;
  call.refuse(Fault::Format, "'" + std::string(what) + "' has " + std::to_string(count) + " numbers, expected " +
                                 std::to_string(wanted));
  return false;
}

// One factor for all axes, the least or the largest of those that `sizes` ask for. Source: ONNX Resize-18.
void keep_ratio(FunctionCall& call, ValueId x, Target& target, bool larger) {
  std::optional<float> factor;
  for (std::size_t i = 0; i < target.axes.size(); ++i) {
    const Dim in = call.dim(x, target.axes[i]);
    if (!in.known() || *in < 1) {
      call.refuse(Fault::Unsupported, "attribute 'keep_aspect_ratio_policy' needs known sizes");
      return;
    }
    // More is no length of an axis, and its share of another one might be no integer.
    constexpr Size most = Size{1} << 30;
    if (const Size length = target.sizes[i]; length < 1 || length > most || *in > most) {
      call.refuse(Fault::Format, "'sizes' makes " + std::to_string(*in) + " cells into " + std::to_string(length));
      return;
    }
    const float mine = static_cast<float>(target.sizes[i]) / static_cast<float>(*in);
    factor = !factor ? mine : larger ? std::max(*factor, mine) : std::min(*factor, mine);
  }
  if (!factor) return;
  for (std::size_t i = 0; i < target.axes.size(); ++i) {
    target.sizes[i] = static_cast<Size>(std::round(*factor * static_cast<float>(*call.dim(x, target.axes[i]))));
    target.factors.push_back(static_cast<double>(*factor));
  }
}

Target target_of(FunctionCall& call, ValueId x) {
  Target target;
  const auto argument =
      takes(call, "axes") && call.attrs.has("axes") ? std::optional(call.attrs.list("axes")) : std::nullopt;
  target.axes = argument ? *argument : all_axes(call.rank(x));
  for (Size& axis : target.axes) axis = axis_of(call, "axes", axis, call.rank(x));
  axes_of(call, "axes", target.axes, call.rank(x));
  const auto factors = factors_of(call);
  auto sizes = takes(call, "sizes") ? known_integers(call, "sizes") : std::nullopt;
  if (sizes && sizes->empty()) sizes.reset();
  const std::string policy =
      takes(call, "keep_aspect_ratio_policy") ? call.attrs.word("keep_aspect_ratio_policy", "stretch") : "stretch";
  if (call.failed()) return target;
  if (factors.has_value() == sizes.has_value()) {
    call.refuse(Fault::Format,
                factors ? "both 'scales' and 'sizes' are given" : "neither 'scales' nor 'sizes' is given");
    return target;
  }
  if (factors) {
    if (!right_count(call, "scales", factors->size(), target.axes.size())) return target;
    target.factors = *factors;
    for (const double factor : *factors)
      if (!(factor > 0) || !std::isfinite(factor))
        call.refuse(Fault::Format, "'scales' holds " + std::to_string(factor));
    return target;
  }
  if (!right_count(call, "sizes", sizes->size(), target.axes.size())) return target;
  target.sizes = *sizes;
  for (std::size_t i = target.axes.size(); i-- > 0;) {
    if (target.sizes[i] != own_length) continue;
    target.axes.erase(target.axes.begin() + static_cast<std::ptrdiff_t>(i));
    target.sizes.erase(target.sizes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (policy == "not_larger" || policy == "not_smaller") keep_ratio(call, x, target, policy == "not_smaller");
  else if (policy != "stretch") call.refuse(Fault::Format, "attribute 'keep_aspect_ratio_policy' is '" + policy + "'");
  return target;
}

// Starts, then ends, of the part that tf_crop_and_resize reads, as shares of each axis.
void crop(FunctionCall& call, Resize& resize) {
  const auto roi = known_numbers(call, "roi");
  if (!roi) call.refuse(Fault::Format, "input 'roi' is missing");
  const std::size_t n = resize.axes.size();
  if (call.failed() || !right_count(call, "roi", roi->size(), 2 * n)) return;
  resize.starts.assign(roi->begin(), roi->begin() + static_cast<std::ptrdiff_t>(n));
  resize.ends.assign(roi->begin() + static_cast<std::ptrdiff_t>(n), roi->end());
}

template <class T>
std::vector<T> picked(const std::vector<T>& all, const std::vector<std::size_t>& chosen) {
  std::vector<T> some;
  for (const std::size_t i : chosen)
    if (i < all.size()) some.push_back(all[i]);
  return some;
}

// Takes out axes that stay as they are, and sorts the others.
void keep_changed(FunctionCall& call, ValueId x, Resize& resize) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < resize.axes.size(); ++i) {
    const Dim in = call.dim(x, resize.axes[i]);
    const bool same_factor = resize.factors.empty() || resize.factors[i] == 1;
    const bool same_size = resize.sizes.empty() || (in.known() && in == Dim(resize.sizes[i]));
    if (resize.coordinates == Coordinates::CropAndResize || !same_factor || !same_size) kept.push_back(i);
  }
  std::ranges::sort(kept, {}, [&](std::size_t i) { return resize.axes[i]; });
  resize.axes = picked(resize.axes, kept);
  resize.sizes = picked(resize.sizes, kept);
  resize.factors = picked(resize.factors, kept);
  resize.starts = picked(resize.starts, kept);
  resize.ends = picked(resize.ends, kept);
}

// ONNX Runtime copies an input that keeps all its sizes, also where a factor is not 1: 2 cells by 1.25 are 2 cells.
bool keeps_sizes(FunctionCall& call, ValueId x, const Resize& resize) {
  if (resize.coordinates == Coordinates::CropAndResize) return false;
  const std::array inputs{Input{&call.type(x)}};
  const auto types = infer(resize, Inputs(inputs));
  const auto known = [](Dim n) { return n.known(); };
  return types && std::ranges::all_of(call.shape(x), known) && types->front().shape == call.shape(x);
}

std::vector<ValueId> resized(FunctionCall& call, ValueId x, Resize resize) {
  if (call.failed()) return {};
  keep_changed(call, x, resize);
  if (resize.axes.empty() || keeps_sizes(call, x, resize)) return {call.add(Identity{}, {x})};
  const DType dtype = call.type(x).dtype;
  if (is_floating(dtype)) return {call.add(std::move(resize), {x})};
  // Whole numbers come out as such: what was weighed in float32 is cut toward zero.
  const bool is_nearest = resize.interpolation == Interpolation::Nearest;
  if (is_nearest && bytes_of(dtype) > 4)
    call.refuse(Fault::Unsupported, "resizes " + std::string(name_of(dtype)) + ", which no fraction holds");
  const ValueId real = call.add(Cast{is_nearest && bytes_of(dtype) > 2 ? DType::F64 : DType::F32}, {x});
  const ValueId y = call.add(std::move(resize), {real});
  return {call.add(Cast{dtype}, {y})};
}

Resize asymmetric(FunctionCall& call, ValueId x) {
  Resize resize;
  resize.interpolation = meaning_of(call, "mode", modes);
  resize.coordinates = Coordinates::Asymmetric;
  resize.rounding = Rounding::CeilToShrink;
  resize.arithmetic = Arithmetic::Divided;
  const Target target = target_of(call, x);
  resize.axes = target.axes;
  resize.factors = target.factors;
  return resize;
}

std::vector<ValueId> upsample(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  if (call.opset >= 10) call.refuse(Fault::Unsupported, "is not known since opset 10");
  return resized(call, x, asymmetric(call, x));
}

std::vector<ValueId> resize(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  if (call.opset < 10) call.refuse(Fault::Unsupported, "is not known before opset 10");
  if (call.opset == 10) return resized(call, x, asymmetric(call, x));
  Resize op;
  op.interpolation = meaning_of(call, "mode", modes);
  op.coordinates = meaning_of(call, "coordinate_transformation_mode", places);
  op.rounding = meaning_of(call, "nearest_mode", roundings);
  op.arithmetic = Arithmetic::Divided;
  op.cubic_a = call.attrs.number("cubic_coeff_a", -0.75);
  op.drops_outside = call.attrs.truth("exclude_outside", false);
  op.outside_value = call.attrs.number("extrapolation_value", 0);
  op.antialias = takes(call, "antialias") && call.attrs.truth("antialias", false);
  const Target target = target_of(call, x);
  op.axes = target.axes;
  op.sizes = target.sizes;
  op.factors = target.factors;
  if (op.coordinates == Coordinates::CropAndResize) crop(call, op);
  else call.optional("roi");  // says nothing in the other modes
  if (call.attrs.has("from") && !call.failed()) {  // to the sizes of other values
    if (!is_floating(call.type(x).dtype))
      call.refuse(Fault::Unsupported, "resizes whole numbers to a size that is free");
    return resized_like(call, x, op, call.attrs.list("from"));
  }
  return resized(call, x, op);
}

// Modes carry other words since opset 20.
std::vector<ValueId> grid_sample(FunctionCall& call) {
  const ValueId x = call.tensor("X"), grid = call.tensor("grid");
  const bool renamed = call.opset >= 20;
  const std::string mode = call.attrs.word("mode", renamed ? "linear" : "bilinear"),
                    border = call.attrs.word("padding_mode", "zeros");
  GridSample op{.align_corners = call.attrs.truth("align_corners", false)};
  if (mode == "nearest") op.interpolation = Interpolation::Nearest;
  else if (mode == (renamed ? "cubic" : "bicubic")) op.interpolation = Interpolation::Cubic;
  else if (mode != (renamed ? "linear" : "bilinear")) call.refuse(Fault::Format, "attribute 'mode' is '" + mode + "'");
  if (border == "border") op.border = PadMode::Edge;
  else if (border == "reflection") op.border = PadMode::Reflect;
  else if (border != "zeros") call.refuse(Fault::Format, "attribute 'padding_mode' is '" + border + "'");
  if (hangs_on_rounding_first(op))
    call.refuse(Fault::Unsupported,
                "mode 'nearest' with padding_mode 'reflection' and align_corners 0, which ONNX Runtime "
                "rounds before it reflects");
  return {call.add(op, {x, grid})};
}

// clang-format off
constexpr std::array resize_table{
    Operator{"GridSample", {16}, "X grid", "align_corners:i mode:s padding_mode:s", grid_sample},
    Operator{"Upsample", {7, 9}, "X scales@9", "mode:s scales:F@-8", upsample},
    Operator{"Resize", {10}, "X roi?@11 scales? sizes?@11", "antialias:i@18 axes:I@18 coordinate_transformation_mode:s@11 cubic_coeff_a:f@11 exclude_outside:i@11 extrapolation_value:f@11 keep_aspect_ratio_policy:s@18 mode:s nearest_mode:s@11", resize}};
// clang-format on

}  // namespace

std::span<const Operator> resize_operators() { return resize_table; }

}  // namespace convoy::onnx
