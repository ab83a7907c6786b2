// UpSampling, Resizing, CenterCrop and keras.ops.image.resize: image resizing by TensorFlow's rules. Source: keras/src/layers/
// preprocessing/image_preprocessing, utils/image_utils.py and backend/tensorflow/image.py of Keras 3.15.
#include "formats/keras/catalogue/write.h"
#include "ops/expect.h"
#include "ops/infer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::keras {
namespace {

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

// TensorFlow mixes cells of float64 in float32; what it only moves stays as it is.
Values resized(Use& use, const Resize& resize, ValueId x) {
  if (use.call.type(x).dtype != DType::F64 || resize.interpolation == Interpolation::Nearest)
    return use.add(resize, {x});
  const ValueId single = use.call.add(Cast{DType::F32}, {x}, "single");
  return use.add(Cast{DType::F64}, {use.call.add(resize, {single}, "resized")});
}

// Whole numbers that float32 does not hold, taken axis by axis. Nothing: the lengths are not known.
std::optional<ValueId> taken(Use& use, const Resize& resize, ValueId x) {
  Call& call = use.call;
  const TensorType from = call.type(x);
  const std::array inputs{Input{&from}};
  const auto resized = infer(resize, Inputs(inputs));
  if (!resized) return std::nullopt;  // said where it is added
  const Shape& to = resized->front().shape;
  std::vector<Take> takes;
  for (std::size_t i = 0; i < resize.axes.size(); ++i) {
    const Dim in = at(from.shape, resize.axes[i]), out = at(to, resize.axes[i]);
    if (!in.known() || !out.known()) return std::nullopt;
    Take take{resize.axes[i], {}};
    for (const Taps& taps : taps_of(resize, i, *in, *out)) take.indices.push_back(taps.cells.front());
    takes.push_back(std::move(take));
  }
  for (std::size_t i = 0; i < takes.size(); ++i)
    x = call.add(takes[i], {x}, i + 1 < takes.size() ? "taken_" + std::to_string(i) : "");
  return x;
}

// Keras 3 interpolates whole numbers in float32, rounds, and stops at the limits of their type, which comes out again; cells that
// are only taken come out as they are.
Values interpolated(Use& use, const Resize& resize, ValueId x) {
  Call& call = use.call;
  const DType came = call.type(x).dtype;
  const bool moves = resize.interpolation == Interpolation::Nearest;
  if (call.failed() || is_floating(came) || (call.version.major < 3 && !moves)) return resized(use, resize, x);
  if (came == DType::Bool && !moves) {
    call.refuse(Fault::Unsupported, "interpolates between truths, which TensorFlow does not");
    return {};
  }
  const bool is_wide = came != DType::Bool && bytes_of(came) >= 4;
  if (moves && is_wide)
    if (const auto cells = taken(use, resize, x)) return {*cells};
  ValueId y = call.add(Cast{moves && is_wide ? DType::F64 : DType::F32}, {x}, "float");
  y = call.add(resize, {y}, "resized");
  if (!moves) y = call.add(Unary{Function::Round}, {y}, "rounded");
  // Beyond the limits lies what overshoots, and what float32 rounds up.
  const bool overshoots = resize.interpolation != Interpolation::Linear && resize.interpolation != Interpolation::Area;
  if (!moves && (overshoots || is_wide)) {
    const double beyond = std::ldexp(1.0, static_cast<int>(8 * bytes_of(came)) - (is_unsigned(came) ? 0 : 1));
    // The last number of 32 bits and more is none of float32, which stops at the one in front of it.
    const double most = is_wide ? std::nextafter(static_cast<float>(beyond), 0.0F) : beyond - 1;
    y = call.add(Clip{least_of(came), most}, {y}, "limited");
  }
  return use.add(Cast{came}, {y});
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
  return interpolated(use, resize, x);
}

// Height and width of images.
struct Area {
  Size height = 0, width = 0;
};

std::optional<Area> area_of(Use& use, ValueId x, std::string_view reason) {
  const Axes axes{use.order(), 2};
  const Dim height = use.call.dim(x, axes.spatial(0)), width = use.call.dim(x, axes.spatial(1));
  if (height.known() && width.known()) return Area{*height, *width};
  use.call.refuse(Fault::Unsupported, std::string(reason) + ", which needs images of a known size; give it by --size");
  return std::nullopt;
}

// Cells at the borders of height and width, those that are less than nothing cut away. A step that does nothing is none.
ValueId bordered(Use& use, ValueId x, Area before, Area after, double value, std::string_view step) {
  const Axes axes{use.order(), 2};
  const Sizes none(static_cast<std::size_t>(axes.rank()), 0);
  Pad pad{none, none, PadMode::Constant, value};
  const auto put = [&](Sizes& at, Area cells) {
    at[static_cast<std::size_t>(axes.spatial(0))] = cells.height;
    at[static_cast<std::size_t>(axes.spatial(1))] = cells.width;
  };
  put(pad.before, before), put(pad.after, after);
  return !step.empty() && pad.before == none && pad.after == none ? x : use.call.add(pad, {x}, step);
}

// The middle of the image.
ValueId cropped(Use& use, ValueId x, Area from, Area to, std::string_view step = "crop") {
  const Area less{from.height - to.height, from.width - to.width}, first{less.height / 2, less.width / 2};
  return bordered(use, x, {-first.height, -first.width}, {first.height - less.height, first.width - less.width}, 0,
                  step);
}

// What is a times b / c as large, as TensorFlow counts it: in float32.
Size scaled_length(Size a, Size b, Size c) {
  return static_cast<Size>(static_cast<float>(a * b) / static_cast<float>(c));
}

// The largest part of an image in the middle that has the proportions of `to`.
Area in_proportion(Area from, Area to) {
  return {std::clamp<Size>(scaled_length(from.width, to.height, to.width), 1, from.height),
          std::clamp<Size>(scaled_length(from.height, to.width, to.height), 1, from.width)};
}

// With as many cells on either side as bring it closest to the proportions of `to`: one that is over is left out.
ValueId padded_in_proportion(Use& use, ValueId x, Area from, Area to, double value) {
  const Area whole{std::max(from.height, scaled_length(from.width, to.height, to.width)),
                   std::max(from.width, scaled_length(from.height, to.width, to.height))};
  const Area each{(whole.height - from.height) / 2, (whole.width - from.width) / 2};
  return bordered(use, x, each, each, value, "pad");
}

ValueId with_proportions(Use& use, ValueId x, Area to) {
  const bool crops = use.truth("crop_to_aspect_ratio"), pads = use.truth("pad_to_aspect_ratio");
  const std::string mode = use.word("fill_mode");
  const double value = use.number("fill_value");
  if (!crops && !pads) return x;
  if (crops && pads) use.call.refuse(Fault::Format, "sets both 'crop_to_aspect_ratio' and 'pad_to_aspect_ratio'");
  if (mode != "constant") use.call.refuse(Fault::Format, "fills by '" + mode + "', which is no word of Keras");
  const auto from = area_of(use, x, "keeps the proportions of images");
  if (!from || use.call.failed()) return x;
  return crops ? cropped(use, x, *from, in_proportion(*from, to)) : padded_in_proportion(use, x, *from, to, value);
}

bool is_size(Use& use, Area size) {
  constexpr Size most = Size{1} << 30;
  if (std::min(size.height, size.width) >= 1 && std::max(size.height, size.width) <= most) return true;
  use.call.refuse(Fault::Format, "is to make images of " + std::to_string(size.height) + " x " +
                                     std::to_string(size.width) + " cells");
  return false;
}

ValueId as_real(Use& use, ValueId x) {
  if (use.kind != Use::Kind::Layer || is_floating(use.call.type(x).dtype)) return x;
  return use.call.add(Cast{DType::F32}, {x}, "float");
}

Values resize_to(Use& use, ValueId x, Area size) {
  const Axes axes{use.order(), 2};
  const std::string word = use.word("interpolation");
  const bool antialias = use.truth("antialias");
  if (!use.call.expect_rank(x, 4) || !is_size(use, size)) return {};
  x = with_proportions(use, as_real(use, x), size);
  Resize resize = resize_by(use.call, axes, word, antialias);
  resize.sizes = {size.height, size.width};
  return interpolated(use, resize, x);
}

// Images that are smaller on one axis are resized instead, the middle of their proportions.
Values center_crop(Use& use) {
  const Area to{use.whole("height"), use.whole("width")};
  const Axes axes{use.order(), 2};
  ValueId x = use.call.x();
  if (!use.call.expect_rank(x, 4) || !is_size(use, to)) return {};
  const auto from = area_of(use, x, "cuts out the middle of images");
  if (!from) return {};
  x = as_real(use, x);
  if (from->height >= to.height && from->width >= to.width) return {cropped(use, x, *from, to, {})};
  Resize resize = resize_by(use.call, axes, "bilinear", false);
  resize.sizes = {to.height, to.width};
  return resized(use, resize, cropped(use, x, *from, in_proportion(*from, to)));
}

Values resizing(Use& use) { return resize_to(use, use.call.x(), Area{use.whole("height"), use.whole("width")}); }

Values resize(Use& use) {
  const Sizes size = use.list("size");
  if (size.size() != 2) use.call.refuse(Fault::Format, "argument 'size' is no pair");
  if (use.call.failed()) return {};
  return resize_to(use, use.operand("images"), {size[0], size[1]});
}

constexpr std::array rows_of_resizes{
    CatalogueRow{"layers.UpSampling1D", "size|length=2", up_sampling},
    CatalogueRow{"layers.UpSampling2D", "size=2 data_format= interpolation=nearest", up_sampling},
    CatalogueRow{"layers.UpSampling3D", "size=2 data_format=", up_sampling},
    CatalogueRow{"layers.Resizing",
                 "height width interpolation=bilinear crop_to_aspect_ratio=False pad_to_aspect_ratio=False "
                 "fill_mode=constant fill_value=0 antialias=False data_format=",
                 resizing},
    CatalogueRow{"layers.CenterCrop", "height width data_format=", center_crop},
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
