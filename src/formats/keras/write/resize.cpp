// UpSampling for whole factors, Resizing for sizes that are known beforehand: image resizing by TensorFlow's rules.
#include "formats/keras/write/sink.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::keras::writing {
namespace {

// The word of keras.layers.Resizing whose numbers these are; null where there is none.
const char* word_of(const Resize& op) {
  if (op.coordinates != Coordinates::HalfPixel || op.arithmetic != Arithmetic::Multiplied) return nullptr;
  if (op.fixed != FixedLengths::None) return nullptr;
  switch (op.interpolation) {
    case Interpolation::Nearest: return op.rounding == Rounding::RoundHalfUp && !op.antialias ? "nearest" : nullptr;
    // Without antialias two cells are read, both within the axis.
    case Interpolation::Linear: return !op.antialias || op.drops_outside ? "bilinear" : nullptr;
    case Interpolation::Cubic:
      return op.cubic_a == -0.5 && op.drops_outside && op.cubic_table == !op.antialias ? "bicubic" : nullptr;
    case Interpolation::Area: return op.antialias ? nullptr : "area";
    case Interpolation::Lanczos3: return "lanczos3";
    case Interpolation::Lanczos5: return "lanczos5";
    case Interpolation::Gaussian: return "gaussian";
    case Interpolation::Mitchell: return "mitchellcubic";
  }
  return nullptr;
}

// Whole factors from 1, or none.
Sizes whole_factors(const Resize& op) {
  Sizes all;
  for (const double f : op.factors)
    if (f >= 1 && f == std::floor(f) && f <= 4096) all.push_back(static_cast<Size>(f));
  if (all.size() != op.axes.size() || !op.sizes.empty()) return {};
  return all;
}

// Every cell repeated: with whole factors the first cell of each block is also the nearest one.
bool repeats(const Resize& op) {
  return op.interpolation == Interpolation::Nearest && op.coordinates == Coordinates::Asymmetric &&
         op.rounding == Rounding::Floor;
}

Status write_resize(const Resize& op, Sink& sink) {
  if (!over_space(op.axes, sink.rank())) return sink.broken("a resize of other axes than those of space");
  const Size space = sink.rank() - 2;
  const Sizes factors = whole_factors(op);
  const char* word = word_of(op);
  const bool nearest = repeats(op) || (word && op.interpolation == Interpolation::Nearest);
  if (!factors.empty() && (nearest || (space == 2 && word && !op.antialias))) {
    LayerConfig config = sink.layer(class_of("UpSampling", space));
    if (std::ranges::any_of(factors, [](Size n) { return n != 2; }))
      config.arguments["size"] = space == 1 ? Json(factors[0]) : one_or_all(factors);
    if (!nearest) config.arguments["interpolation"] = word;
    return sink.last(std::move(config));
  }
  const Shape& to = sink.result_type().shape;
  if (!word || space != 2) return sink.broken("an interpolation");
  if (!to[1].known() || !to[2].known()) return sink.refused("a resize to a size that is not known beforehand");
  LayerConfig config = sink.layer("Resizing");
  config.arguments["height"] = *to[1];
  config.arguments["width"] = *to[2];
  if (op.interpolation != Interpolation::Linear) config.arguments["interpolation"] = word;
  if (op.antialias) config.arguments["antialias"] = true;
  return sink.last(std::move(config));
}

constexpr std::array resize_table{
    writes<write_resize>(),
    lacks<GridSample, Sink>("Keras looks cells up bilinearly or at the nearest place, in images of two axes and grids "
                            "whose sizes are known (a pass spells it); this is another one")};
static_assert(decides<ResizeFamily>(resize_table));

}  // namespace

std::span<const Row> resize_rows() { return resize_table; }

}  // namespace convoy::keras::writing
