// UpSampling, Resizing and keras.ops.image.resize: image resizing by TensorFlow's rules.
#include "formats/keras/catalogue/write.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::keras {
namespace {

// What cuts or fills to keep proportions must be at its default.
void expect_plain_resize(Use& use) {
  for (const auto key : {"crop_to_aspect_ratio", "pad_to_aspect_ratio"})
    if (use.truth(key))
      use.call.refuse(Fault::Unsupported, "sets '" + std::string(key) + "', which this version does not carry");
  for (const auto key : {"fill_mode", "fill_value"}) use.option(key);
}

struct Word {
  std::string_view word;
  Interpolation interpolation;
  bool may_antialias;
};
constexpr std::array words_of_resizes{
    Word{"nearest", Interpolation::Nearest, false},  Word{"bilinear", Interpolation::Linear, true},
    Word{"bicubic", Interpolation::Cubic, true},     Word{"area", Interpolation::Area, false},
    Word{"lanczos3", Interpolation::Lanczos3, true}, Word{"lanczos5", Interpolation::Lanczos5, true},
    Word{"gaussian", Interpolation::Gaussian, true}, Word{"mitchellcubic", Interpolation::Mitchell, true}};

// Fills everything but sizes and factors.
Resize resize_by(Call& call, const Axes& axes, const std::string& word, bool antialias) {
  Resize resize;
  resize.axes = spatial_axes(axes);
  resize.coordinates = Coordinates::HalfPixel;
  resize.rounding = Rounding::RoundHalfUp;
  const auto known = std::ranges::find(words_of_resizes, word, &Word::word);
  if (known == words_of_resizes.end()) {
    call.refuse(Fault::Unsupported, "interpolates by '" + word + "', which is no word of Keras");
    return resize;
  }
  resize.interpolation = known->interpolation;
  resize.antialias = antialias && known->may_antialias;
  if (resize.interpolation == Interpolation::Linear) resize.drops_outside = antialias;
  if (resize.interpolation == Interpolation::Cubic) {
    resize.cubic_a = -0.5;
    resize.drops_outside = true;
    resize.cubic_table = !antialias;
  }
  return resize;
}

Values up_sampling(Use& use) {
  Call& call = use.call;
  const ValueId x = call.x();
  const Axes axes{call.order(), use.space()};
  const Sizes size = use.sizes("size", static_cast<std::size_t>(axes.space));
  const std::string word = use.takes("interpolation") ? use.word("interpolation") : "nearest";
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
  return use.add(resize, {x});
}

Values resize_to(Use& use, ValueId x, Sizes size) {
  const Axes axes{use.order(), 2};
  const std::string word = use.word("interpolation");
  const bool antialias = use.truth("antialias");
  expect_plain_resize(use);
  if (!use.call.expect_rank(x, 4)) return {};
  if (use.kind == Use::Kind::Layer && use.call.type(x).dtype != DType::F32)
    x = use.call.add(Cast{DType::F32}, {x}, "float");
  Resize resize = resize_by(use.call, axes, word, antialias);
  resize.sizes = std::move(size);
  return use.add(resize, {x});
}

Values resizing(Use& use) { return resize_to(use, use.call.x(), {use.whole("height"), use.whole("width")}); }

Values resize(Use& use) {
  const Sizes size = use.list("size");
  if (size.size() != 2) use.call.refuse(Fault::Format, "argument 'size' is no pair");
  return resize_to(use, use.operand("images"), size);
}

constexpr std::array rows_of_resizes{
    CatalogueRow{"layers.UpSampling1D", "size|length=2", up_sampling},
    CatalogueRow{"layers.UpSampling2D", "size=2 data_format= interpolation=nearest", up_sampling},
    CatalogueRow{"layers.UpSampling3D", "size=2 data_format=", up_sampling},
    CatalogueRow{"layers.Resizing",
                 "height width interpolation=bilinear crop_to_aspect_ratio=False pad_to_aspect_ratio=False "
                 "fill_mode=constant fill_value=0 antialias=False data_format=",
                 resizing},
    CatalogueRow{"image.Resize",
                 "images size interpolation=bilinear antialias=False crop_to_aspect_ratio=False "
                 "pad_to_aspect_ratio=False fill_mode=constant fill_value=0 data_format=",
                 resize},
};

}  // namespace

std::span<const CatalogueRow> resize_operators() { return rows_of_resizes; }

namespace writing {
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
    case Interpolation::Gaussian:
    case Interpolation::Mitchell: return nullptr;  // Keras 2 had these
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
    const std::string name = class_of("layers.UpSampling", space);
    if (space != 2) return write_as(sink, name, {{"size", one_or_all(factors)}});
    return write_as(sink, name, {{"size", one_or_all(factors)}, {"interpolation", nearest ? "nearest" : word}});
  }
  const Shape& to = sink.result_type().shape;
  if (!word || space != 2) return sink.broken("an interpolation");
  if (!to[1].known() || !to[2].known()) return sink.refused("a resize to a size that is not known beforehand");
  // layers.Resizing says training=True to every layer behind it where a call says nothing (Keras 3.15).
  return write_as(sink, "image.Resize",
                  {{"size", Sizes{*to[1], *to[2]}}, {"interpolation", word}, {"antialias", op.antialias}});
}

constexpr std::array resize_table{
    writes<write_resize>(),
    lacks<GridSample, Sink>("Keras looks cells up bilinearly or at the nearest place, in images of two axes and grids "
                            "whose sizes are known (a pass spells it); this is another one")};
static_assert(decides<ResizeFamily>(resize_table));

}  // namespace

std::span<const Row> resize_rows() { return resize_table; }

}  // namespace writing
}  // namespace convoy::keras
