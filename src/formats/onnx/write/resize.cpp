// Resize with the modes that say the same; lower_resize has put the rest into other words.
#include "formats/onnx/write/sink.h"
#include "ops/grid_rounding.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

const char* mode_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::Nearest: return "nearest";
    case Interpolation::Linear: return "linear";
    case Interpolation::Cubic: return "cubic";
    default: return nullptr;
  }
}

const char* word_of(Coordinates coordinates) {
  switch (coordinates) {
    case Coordinates::HalfPixel: return "half_pixel";
    case Coordinates::Asymmetric: return "asymmetric";
    case Coordinates::AlignCorners: return "align_corners";
    case Coordinates::PytorchHalfPixel: return "pytorch_half_pixel";
    case Coordinates::HalfPixelSymmetric: return "half_pixel_symmetric";
    case Coordinates::CropAndResize: return "tf_crop_and_resize";
    default: return nullptr;
  }
}

const char* word_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::Floor: return "floor";
    case Rounding::RoundHalfUp: return "round_prefer_ceil";
    case Rounding::RoundHalfDown: return "round_prefer_floor";
    case Rounding::Ceil: return "ceil";
    default: return nullptr;
  }
}

Result<Attributes> attributes_of(const Resize& op, const Sink& sink) {
  const char *mode = mode_of(op.interpolation), *coordinates = word_of(op.coordinates);
  const char* rounding = op.interpolation == Interpolation::Nearest ? word_of(op.rounding) : "floor";
  if (!mode || !coordinates || !rounding || op.cubic_table) return sink.broken("a resize of another kind");
  if (op.antialias && !sink.takes("Resize", "antialias"))
    return sink.too_old("a resize with antialias", "Resize", "antialias");
  if (op.coordinates == Coordinates::HalfPixelSymmetric && sink.opset() < 19)
    return sink.too_old("a resize about the middle", 19);
  Attributes attributes;
  if (op.antialias) attributes.emplace_back("antialias", Size{1});
  attributes.emplace_back("coordinate_transformation_mode", std::string(coordinates));
  if (op.interpolation == Interpolation::Cubic) attributes.emplace_back("cubic_coeff_a", op.cubic_a);
  if (op.drops_outside) attributes.emplace_back("exclude_outside", Size{1});
  if (op.coordinates == Coordinates::CropAndResize) attributes.emplace_back("extrapolation_value", op.outside_value);
  attributes.emplace_back("mode", std::string(mode));
  if (op.interpolation == Interpolation::Nearest) attributes.emplace_back("nearest_mode", std::string(rounding));
  return attributes;
}

// The lengths of all axes. One that is unknown is taken from the input when the model runs.
std::string lengths(const Resize& op, Sink& sink) {
  std::vector<std::string> parts;
  Sizes known;
  const auto flush = [&] {
    if (!known.empty()) parts.push_back(sink.numbers(std::exchange(known, {})));
  };
  std::string shape;
  for (Size axis = 0; axis < sink.rank(); ++axis) {
    const auto found = std::ranges::find(op.axes, axis);
    const Dim in = sink.type().shape[static_cast<std::size_t>(axis)];
    if (found != op.axes.end()) {
      known.push_back(op.sizes[static_cast<std::size_t>(found - op.axes.begin())]);
    } else if (in.known()) {
      known.push_back(*in);
    } else {
      flush();
      if (shape.empty()) shape = sink.step("Shape", {sink.name()});
      parts.push_back(sink.step("Slice", {shape, sink.numbers({axis}), sink.numbers({axis + 1}), sink.numbers({0})}));
    }
  }
  flush();
  return parts.size() == 1 ? parts.front() : sink.step("Concat", std::move(parts), {{"axis", Size{0}}});
}

// Inputs may be left out from operator set 13 on; before, nothing is said by no numbers.
std::string absent(std::string_view word, Sink& sink) {
  return sink.opset() < 13 ? sink.stored(word, Tensor::of({0}, std::vector<float>{})) : std::string();
}

std::string region(const Resize& op, Sink& sink) {
  if (op.coordinates != Coordinates::CropAndResize) return absent("roi", sink);
  const auto rank = static_cast<std::size_t>(sink.rank());
  std::vector<float> roi(2 * rank, 0);
  std::fill(roi.begin() + static_cast<std::ptrdiff_t>(rank), roi.end(), 1.0F);
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    roi[static_cast<std::size_t>(op.axes[i])] = static_cast<float>(op.starts[i]);
    roi[rank + static_cast<std::size_t>(op.axes[i])] = static_cast<float>(op.ends[i]);
  }
  return sink.stored("roi", Tensor::of({static_cast<Size>(2 * rank)}, std::move(roi)));
}

// Factors of the axes that make these lengths of the input's, where the input has other axes of free size: lengths are
// said for all axes or none. Nothing: a length is free, or float32 has no factor that is exactly right.
std::vector<double> factors_of(const Resize& op, const Sink& sink) {
  std::vector<double> factors;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const Dim in = sink.type().shape[static_cast<std::size_t>(op.axes[i])];
    if (!in.known()) return {};
    const float factor = static_cast<float>(op.sizes[i]) / static_cast<float>(*in);
    if (static_cast<double>(factor) * static_cast<double>(*in) != static_cast<double>(op.sizes[i])) return {};
    factors.push_back(factor);
  }
  return factors;
}

Status write_resize(const Resize& op, Sink& sink) {
  auto attributes = attributes_of(op, sink);
  if (!attributes) return pass(attributes);
  const bool free = std::ranges::any_of(sink.type().shape, [](Dim size) { return !size.known(); });
  const auto given = op.factors.empty() && free ? factors_of(op, sink) : op.factors;
  if (!given.empty() && (op.sizes.empty() || op.factors.empty())) {
    std::vector<float> scales(static_cast<std::size_t>(sink.rank()), 1);
    for (std::size_t i = 0; i < op.axes.size(); ++i)
      scales[static_cast<std::size_t>(op.axes[i])] = static_cast<float>(given[i]);
    const auto factors = sink.stored("scales", Tensor::of({sink.rank()}, std::move(scales)));
    sink.last("Resize", {sink.name(), region(op, sink), factors}, std::move(*attributes));
    return {};
  }
  if (!op.factors.empty()) return sink.broken("a resize with sizes and factors");
  if (free && sink.takes("Resize", "axes") && op.coordinates != Coordinates::CropAndResize) {
    attributes->emplace_back("axes", op.axes);
    sink.last("Resize", {sink.name(), "", "", sink.numbers(op.sizes)}, std::move(*attributes));
    return {};
  }
  sink.last("Resize", {sink.name(), region(op, sink), absent("scales", sink), lengths(op, sink)},
            std::move(*attributes));
  return {};
}

// Two spatial axes since operator set 16, any number since 20, under other words.
Status write_grid_sample(const GridSample& op, Sink& sink) {
  const Size needed = sink.rank() == 4 ? 16 : 20;
  if (sink.opset() < needed) return sink.too_old("GridSample", needed);
  if (hangs_on_rounding_first(op)) return sink.refused("a grid at free sizes that reflects before it rounds");
  const bool renamed = sink.opset() >= 20;
  std::string mode = "nearest";
  if (op.interpolation == Interpolation::Linear) mode = renamed ? "linear" : "bilinear";
  if (op.interpolation == Interpolation::Cubic) mode = renamed ? "cubic" : "bicubic";
  const std::string border = op.border == PadMode::Constant ? "zeros"
                             : op.border == PadMode::Edge   ? "border"
                                                            : "reflection";
  sink.last("GridSample", {sink.name(0), sink.name(1)},
            {{"mode", mode}, {"padding_mode", border}, {"align_corners", Size{op.align_corners}}});
  return {};
}

constexpr std::array resize_writers{writes<write_resize>(), writes<write_grid_sample>()};
static_assert(decides<ResizeFamily>(resize_writers));

}  // namespace

std::span<const Row> resize_rows() { return resize_writers; }

}  // namespace convoy::onnx
