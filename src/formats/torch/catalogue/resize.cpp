// Resizing and reading at computed places: which mode goes with which rank, where the given factor places the cells, and
// where their number does. Source: nn/functional.py, ATen/native/UpSample.h, cpu/UpSampleKernel.cpp.
#include "containers/json.h"
#include "formats/resize_like.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/families.h"
#include "ops/expect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

struct ResizeMode {
  std::string_view word;
  Size rank;  // of the only input that it takes; 0: any of 3 to 5
  bool corners;  // takes align_corners
  bool filters;  // takes antialias
};
constexpr std::array resize_modes{ResizeMode{"nearest", 0, false, false},  ResizeMode{"nearest-exact", 0, false, false},
                                  ResizeMode{"area", 0, false, false},     ResizeMode{"linear", 3, true, false},
                                  ResizeMode{"bilinear", 4, true, true},   ResizeMode{"bicubic", 4, true, true},
                                  ResizeMode{"trilinear", 5, true, false}, ResizeMode{"lanczos", 4, true, true}};

struct Words {
  std::string_view mode;
  std::optional<bool> corners;
  bool recompute = false, antialias = false;
  std::string_view size = "size", factor = "scale_factor";  // as the arguments are called
};

std::optional<bool> truth(FunctionCall& call, std::string_view key) {
  return call.attrs.has(key) ? std::optional(call.attrs.truth(key)) : std::nullopt;
}

// The words, checked against each other and the rank of the input.
Words words_of(FunctionCall& call, ValueId x, const std::string& word, std::optional<bool> corners) {
  Words words{{}, corners, call.attrs.truth("recompute_scale_factor", false), call.attrs.truth("antialias", false)};
  const auto mode = std::ranges::find(resize_modes, word, &ResizeMode::word);
  if (mode == resize_modes.end()) {
    call.refuse(Fault::Format, "argument 'mode' is '" + word + "', which PyTorch does not know");
    return words;
  }
  words.mode = mode->word;
  const Size rank = call.rank(x);
  if (!call.failed() && (mode->rank == 0 ? rank < 3 || rank > 5 : rank != mode->rank))
    call.refuse(Fault::Unsupported, "input has shape " + text_of(call.shape(x)) + ", but mode '" + word +
                                        "' takes rank " + (mode->rank == 0 ? "3 to 5" : std::to_string(mode->rank)));
  if (corners && !mode->corners)
    call.refuse(Fault::Unsupported, "argument 'align_corners' has no meaning with mode '" + word + "'");
  if (words.antialias && !mode->filters)
    call.refuse(Fault::Unsupported,
                "argument 'antialias' is for 'bilinear', 'bicubic' and 'lanczos', not for '" + word + "'");
  if (word == "lanczos" && (!words.antialias || corners.value_or(false)))
    call.refuse(Fault::Unsupported, "mode 'lanczos' wants antialias and no align_corners");
  return words;
}

// One factor for every axis, or one number for each.
std::vector<double> factors_of(FunctionCall& call, const Words& words, Size space) {
  const Json* argument = call.attrs.raw(words.factor);
  const auto count = static_cast<std::size_t>(space);
  if (!argument) return {};
  if (!argument->is_array()) return std::vector<double>(count, call.attrs.number_of(argument, words.factor));
  std::vector<double> factors;
  for (const Json& one : *argument) factors.push_back(call.attrs.number_of(&one, words.factor));
  if (factors.size() != count)
    call.refuse(Fault::Format, "argument '" + std::string(words.factor) + "' is " + argument->dump() +
                                   ", expected one number or " + std::to_string(space));
  return factors;
}

// The length that a factor gives; PyTorch rounds toward zero.
Size length(FunctionCall& call, ValueId x, Size axis, double factor) {
  const Dim n = call.dim(x, axis);
  if (!n.known()) call.refuse(Fault::Unsupported, "sizes that come from scale_factor need an input of known size");
  const double cells = std::trunc(static_cast<double>(n.known() ? *n : 1) * factor);
  if (cells >= 0 && cells < 0x1p40) return static_cast<Size>(cells);
  call.refuse(Fault::Unsupported, "argument 'scale_factor' is " + json_text(factor) + ", which makes no size of an " +
                                      "input of shape " + text_of(call.shape(x)));
  return 1;
}

void set_interpolation(Resize& resize, const Words& words, Size space) {
  const bool corners = words.corners.value_or(false);
  resize.antialias = words.antialias;
  if (corners) resize.coordinates = words.antialias ? Coordinates::CornerSteps : Coordinates::AlignCorners;
  if (words.mode == "nearest") {
    resize.coordinates = Coordinates::Asymmetric;
    if (space == 2) resize.fixed = FixedLengths::EqualAndDouble;
  } else if (words.mode == "nearest-exact") {
    resize.rounding = Rounding::RoundHalfUp;
  } else if (words.mode == "bicubic") {
    resize.interpolation = Interpolation::Cubic;
    resize.cubic_a = words.antialias ? -0.5 : -0.75;
  } else {
    resize.interpolation = words.mode == "lanczos" ? Interpolation::Lanczos3 : Interpolation::Linear;
    resize.fixed = FixedLengths::Equal;
  }
  if (words.antialias) {
    resize.drops_outside = true;
    resize.fixed = FixedLengths::Equal;
  }
}

// As large as other tensors are, whose sizes are free: `sizes` where none is named. An image of one cell is that cell everywhere.
std::vector<ValueId> resized_to_others(FunctionCall& call, ValueId x, const Words& words, const Sizes& sizes) {
  const Sizes from = call.attrs.list("from");
  bool is_one_cell = call.rank(x) > 2 && call.rank(x) == std::ssize(from) + 2 && words.mode != "bicubic";
  for (Size axis = 2; axis < call.rank(x); ++axis) is_one_cell = is_one_cell && call.dim(x, axis) == Dim(1);
  if (words.mode == "area")
    call.refuse(Fault::Unsupported, "mode 'area' to a size that is free; give the input a size");
  if (call.failed()) return {};
  if (!is_one_cell) {
    Resize resize{spatial_axes({Order::ChannelsFirst, call.rank(x) - 2})};
    set_interpolation(resize, words, call.rank(x) - 2);
    resize.sizes = sizes;
    return resized_like(call, x, resize, from);
  }
  for (std::size_t i = 0; i < sizes.size() && !call.failed(); ++i) {
    const auto axis = static_cast<Size>(i) + 2;
    if (const ValueId like = call.optional("like." + std::to_string(i)))
      x = call.add(ExpandLike{axis, from[i]}, {x, like});
    else if (sizes[i] != 1) x = call.add(Tile{axis, sizes[i]}, {x});
  }
  return {x};
}

std::vector<ValueId> resized(FunctionCall& call, ValueId x, const Words& words) {
  const Size space = call.rank(x) - 2;
  const bool sized = call.attrs.has(words.size);
  if (sized == call.attrs.has(words.factor))
    call.refuse(Fault::Format,
                sized ? "size and scale_factor are both given" : "neither size nor scale_factor is given");
  if (sized && words.recompute) call.refuse(Fault::Format, "recompute_scale_factor has no meaning where size is given");
  if (call.failed()) return {};
  Resize resize{spatial_axes({Order::ChannelsFirst, space})};
  if (sized) resize.sizes = per_axis(call, words.size, space, {}, ListOfOne::ForOne);
  else resize.factors = factors_of(call, words, space);
  if (!sized && (words.recompute || words.mode == "area")) {
    for (Size i = 0; i < space && !call.failed(); ++i)
      resize.sizes.push_back(length(call, x, i + 2, resize.factors[static_cast<std::size_t>(i)]));
    resize.factors.clear();
  }
  if (call.failed()) return {};
  if (call.attrs.has("from")) return resized_to_others(call, x, words, resize.sizes);
  if (words.mode == "area") return adaptive(call, x, Extreme::Average, resize.sizes, Positions::None);
  set_interpolation(resize, words, space);
  return {call.add(resize, {x})};
}

std::vector<ValueId> interpolate(FunctionCall& call) {
  const ValueId x = real_tensor(call, "input");
  return resized(call, x, words_of(call, x, word_or_default(call, "mode"), truth(call, "align_corners")));
}

std::vector<ValueId> upsampling_nearest(FunctionCall& call) {
  const ValueId x = real_tensor(call, "input");
  return resized(call, x, words_of(call, x, "nearest", {}));
}

std::vector<ValueId> upsampling_bilinear(FunctionCall& call) {
  const ValueId x = real_tensor(call, "input");
  return resized(call, x, words_of(call, x, "bilinear", true));
}

constexpr std::size_t place_of_mode(std::string_view word) {
  return static_cast<std::size_t>(std::ranges::find(resize_modes, word, &ResizeMode::word) - resize_modes.begin());
}
constexpr std::size_t nearest_mode = place_of_mode("nearest"), nearest_exact_mode = place_of_mode("nearest-exact"),
                      linear_mode = place_of_mode("linear"), bilinear_mode = place_of_mode("bilinear"),
                      bicubic_mode = place_of_mode("bicubic"), trilinear_mode = place_of_mode("trilinear");

// An operator of one mode, which its name says. Where the mode has no corners to align, its `false` says nothing.
template <std::size_t Place, bool Antialias = false>
std::vector<ValueId> upsampled(FunctionCall& call) {
  constexpr ResizeMode mode = resize_modes[Place];
  const ValueId x = real_tensor(call, "input");
  if (call.attrs.has("from")) {
    call.attrs.ignore({"scale_factors"});
    Words words = words_of(call, x, std::string(mode.word), mode.corners ? truth(call, "align_corners") : std::nullopt);
    words.antialias = Antialias;
    if (call.failed()) return {};
    return resized_to_others(call, x, words, call.attrs.list("output_size"));
  }
  if (!mode.corners) call.attrs.ignore({"align_corners"});
  Words words = words_of(call, x, std::string(mode.word), mode.corners ? truth(call, "align_corners") : std::nullopt);
  words.antialias = Antialias;
  words.size = "output_size";
  words.factor = "scale_factors";
  return resized(call, x, words);
}

// Modes and borders come as numbers. Source: ATen/native/GridSamplerUtils.h.
std::vector<ValueId> grid_sampler(FunctionCall& call) {
  const ValueId x = call.tensor("input"), grid = call.tensor("grid");
  constexpr Interpolation modes[] = {Interpolation::Linear, Interpolation::Nearest, Interpolation::Cubic};
  constexpr PadMode borders[] = {PadMode::Constant, PadMode::Edge, PadMode::Reflect};
  const Size mode = call.attrs.integer("interpolation_mode"), border = call.attrs.integer("padding_mode");
  if (mode < 0 || mode > 2 || border < 0 || border > 2) call.refuse(Fault::Format, "a mode that is not known");
  const bool corners = call.attrs.truth("align_corners", false);
  if (call.failed()) return {};
  return {call.add(GridSample{modes[mode], borders[border], corners}, {x, grid})};
}

// grid[n, y, x] = theta[n] (x, y, 1), for places from -1 to 1: of the cells' centres, or corner to corner.
std::vector<ValueId> affine_grid(FunctionCall& call) {
  const ValueId theta = call.tensor("theta");
  const Sizes size = call.attrs.list("size");
  const bool corners = call.attrs.truth("align_corners", false);
  if (size.size() < 4 || size.size() > 5) call.refuse(Fault::Format, "argument 'size' is not of 4 or 5 numbers");
  constexpr Size most = Size{1} << 24;
  const auto cells = checked_count({size.begin() + std::min<std::ptrdiff_t>(2, std::ssize(size)), size.end()});
  if (!cells || *cells < 1 || *cells > most) call.refuse(Fault::Limit, "a grid of too many cells");
  if (call.failed()) return {};
  const std::size_t space = size.size() - 2;
  std::vector<float> base;
  for (Size cell = 0; cell < *cells; ++cell) {
    Size rest = cell;
    for (std::size_t i = 0; i < space; ++i) {  // the last axis first
      const Size n = size[size.size() - 1 - i], at = rest % n;
      rest /= n;
      const auto length = static_cast<float>(n), place = static_cast<float>(at);
      const float whole = corners ? (n == 1 ? 0.0F : 2 * place / (length - 1) - 1) : (2 * place + 1) / length - 1;
      base.push_back(whole);
    }
    base.push_back(1);
  }
  const auto width = static_cast<Size>(space);
  const ValueId places = call.make_constant("places", Tensor::of({1, *cells, width + 1}, std::move(base)));
  const ValueId grid = call.add(MatMul{}, {places, call.add(Transpose{{0, 2, 1}}, {theta})});
  Sizes to{-1};
  to.insert(to.end(), size.begin() + 2, size.end());
  to.push_back(width);
  return {call.add(Reshape{to}, {grid})};
}

struct WrittenMode {
  std::string name, more;
};

std::optional<WrittenMode> written_mode(const Resize& r, bool says_corners) {
  const std::size_t space = r.axes.size();
  const bool half = r.coordinates == Coordinates::HalfPixel, aligned = r.coordinates == Coordinates::AlignCorners;
  const std::string corners = aligned ? ", align_corners=True" : says_corners ? ", align_corners=False" : "";
  switch (r.interpolation) {
    case Interpolation::Nearest:
      if (r.coordinates == Coordinates::Asymmetric && r.rounding == Rounding::Floor) return WrittenMode{"nearest", ""};
      if (half && r.rounding == Rounding::RoundHalfUp) return WrittenMode{"nearest-exact", ""};
      return std::nullopt;
    case Interpolation::Linear:
      if ((!half && !aligned) || (r.antialias && (space != 2 || aligned))) return std::nullopt;
      return WrittenMode{space == 1   ? "linear"
                         : space == 2 ? "bilinear"
                                      : "trilinear",
                         corners + (r.antialias ? ", antialias=True" : "")};
    case Interpolation::Cubic:
      if (space != 2 || r.cubic_table || (!half && !aligned)) return std::nullopt;
      if (r.antialias && half && r.cubic_a == -0.5 && r.drops_outside)
        return WrittenMode{"bicubic", ", antialias=True"};
      if (r.antialias || r.cubic_a != -0.75 || r.drops_outside) return std::nullopt;
      return WrittenMode{"bicubic", corners};
    default: return std::nullopt;
  }
}

Status write_resize(const Resize& op, Call& c) {
  const Size space = c.type(0).rank() - 2;
  if (space < 1 || space > 3) return c.refused(fmt::format("a resize of rank {}", c.type(0).rank()));
  if (op.axes != spatial_axes({Order::ChannelsFirst, space})) return c.broken("a resize of other axes than space");
  if (!op.sizes.empty() && !op.factors.empty()) return c.broken("a resize by factors to other sizes");
  const auto mode = written_mode(op, c.always_says("align_corners"));
  if (!mode) return c.refused("this interpolation");
  std::string to;
  if (!op.sizes.empty()) {
    to = "size=" + tuple(op.sizes);
  } else {
    std::vector<std::string> factors;
    for (const double f : op.factors)
      factors.push_back(f == std::floor(f) ? std::to_string(static_cast<Size>(f)) : number(f));
    const bool equal = std::ranges::all_of(factors, [&](const std::string& f) { return f == factors[0]; });
    to = "scale_factor=" + (equal ? factors[0] : "(" + joined(factors) + ")");
  }
  const Expression x = c.begin(0);
  c.result({fmt::format("F.interpolate({}, {}, mode=\"{}\"{})", x.text, to, mode->name, mode->more),
            Binds::Atom,
            x.calls + 1,
            false,
            {}});
  return {};
}

Status write_grid_sample(const GridSample& op, Call& c) {
  if (c.type(0).rank() < 4) return c.refused("reading a sequence at computed places");
  const char* mode = op.interpolation == Interpolation::Nearest ? "nearest"
                     : op.interpolation == Interpolation::Cubic ? "bicubic"
                                                                : "bilinear";
  const char* border = op.border == PadMode::Constant ? "zeros" : op.border == PadMode::Edge ? "border" : "reflection";
  const Expression x = c.begin(0), grid = c.follow(1);
  c.result({fmt::format("F.grid_sample({}, {}, mode=\"{}\", padding_mode=\"{}\", align_corners={})", x.text, grid.text,
                        mode, border, op.align_corners ? "True" : "False"),
            Binds::Atom,
            x.calls + grid.calls + 1,
            false,
            {}});
  return {};
}

constexpr std::array resize_table{writes<write_resize>(), writes<write_grid_sample>()};
static_assert(decides<ResizeFamily>(resize_table), "every resize needs one row: writes<> or lacks<>");

constexpr std::string_view upsamples =
    "default(input:T output_size:I [1]/scales:f?= [3]/scales_d:f?= [23]/scales_h:f?= [23]/scales_w:f?=) "
    "vec(input:T output_size:I? scale_factors:F?)";
constexpr std::string_view upsamples_corners =
    "default(input:T output_size:I align_corners:b [1]/scales:f?= [3]/scales_d:f?= [23]/scales_h:f?= "
    "[23]/scales_w:f?=) vec(input:T output_size:I? align_corners:b scale_factors:F?)";

constexpr std::array rows_of_resizes{
    CatalogueRow{"F.interpolate nn.Upsample",
                 "input:T size:I?=None scale_factor:F?=None mode:s='nearest' align_corners:b?=None "
                 "recompute_scale_factor:b?=None call/antialias:b=False",
                 interpolate},
    CatalogueRow{"F.upsample", "input:T size:I?=None scale_factor:F?=None mode:s='nearest' align_corners:b?=None",
                 interpolate},
    CatalogueRow{"nn.UpsamplingNearest2d", "size:I?=None scale_factor:F?=None", upsampling_nearest},
    CatalogueRow{"nn.UpsamplingBilinear2d", "size:I?=None scale_factor:F?=None", upsampling_bilinear},
    CatalogueRow{"as.interpolate aten.upsample_nearest[123]d", upsamples, upsampled<nearest_mode>},
    CatalogueRow{"as.interpolate aten._upsample_nearest_exact[123]d", upsamples, upsampled<nearest_exact_mode>},
    CatalogueRow{"as.interpolate aten.upsample_linear[1]d", upsamples_corners, upsampled<linear_mode>},
    CatalogueRow{"as.interpolate aten.upsample_bilinear[2]d", upsamples_corners, upsampled<bilinear_mode>},
    CatalogueRow{"as.interpolate aten.upsample_trilinear[3]d", upsamples_corners, upsampled<trilinear_mode>},
    CatalogueRow{"as.interpolate aten.upsample_bicubic[2]d", upsamples_corners, upsampled<bicubic_mode>},
    CatalogueRow{"as.interpolate aten._upsample_bilinear[2]d_aa", upsamples_corners, upsampled<bilinear_mode, true>},
    CatalogueRow{"as.interpolate aten._upsample_bicubic[2]d_aa", upsamples_corners, upsampled<bicubic_mode, true>},
    CatalogueRow{"aten.grid_sampler aten.grid_sampler_2d aten.grid_sampler_3d",
                 "input:T grid:T interpolation_mode:i padding_mode:i align_corners:b", grid_sampler},
    CatalogueRow{"aten.affine_grid_generator", "theta:T size:I align_corners:b", affine_grid},
};

}  // namespace

std::span<const CatalogueRow> resize_operators() { return rows_of_resizes; }

std::span<const Row> resize_rows() { return resize_table; }

}  // namespace convoy::torch
