// torch.nn.functional.interpolate and its layers: which mode goes with which rank, where the given factor places the
// cells, and where their number does. Source: nn/functional.py, ATen/native/UpSample.h, cpu/UpSampleKernel.cpp.
#include "formats/torch/functions/arguments.h"
#include "formats/torch/functions/functions.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

struct ResizeMode {
  std::string_view word;
  Size rank;      // of the only input that it takes; 0: any of 3 to 5
  bool corners;   // takes align_corners
  bool filters;   // takes antialias
};
constexpr std::array resize_modes{ResizeMode{"nearest", 0, false, false},  ResizeMode{"nearest-exact", 0, false, false},
                                  ResizeMode{"area", 0, false, false},     ResizeMode{"linear", 3, true, false},
                                  ResizeMode{"bilinear", 4, true, true},   ResizeMode{"bicubic", 4, true, true},
                                  ResizeMode{"trilinear", 5, true, false}, ResizeMode{"lanczos", 4, true, true}};

struct Words {
  std::string_view mode;
  std::optional<bool> corners;
  bool recompute = false, antialias = false;
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
std::vector<double> factors_of(FunctionCall& call, Size space) {
  const Json* said = call.attrs.raw("scale_factor");
  const auto count = static_cast<std::size_t>(space);
  if (!said) return {};
  if (!said->is_array()) return std::vector<double>(count, call.attrs.number_of(said, "scale_factor"));
  std::vector<double> factors;
  for (const Json& one : *said) factors.push_back(call.attrs.number_of(&one, "scale_factor"));
  if (factors.size() != count)
    call.refuse(Fault::Format,
                "argument 'scale_factor' is " + said->dump() + ", expected one number or " + std::to_string(space));
  return factors;
}

// The length that a factor gives; PyTorch rounds toward zero.
Size length(FunctionCall& call, ValueId x, Size axis, double factor) {
  const Dim n = call.dim(x, axis);
  if (!n.known()) call.refuse(Fault::Unsupported, "sizes that come from scale_factor need an input of known size");
  const double cells = std::trunc(static_cast<double>(n.known() ? *n : 1) * factor);
  if (cells >= 0 && cells < 0x1p40) return static_cast<Size>(cells);
  call.refuse(Fault::Unsupported, "argument 'scale_factor' is " + Json(factor).dump() + ", which makes no size of an " +
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

std::vector<ValueId> resized(FunctionCall& call, ValueId x, const Words& words) {
  const Size space = call.rank(x) - 2;
  const bool sized = call.attrs.has("size");
  if (sized == call.attrs.has("scale_factor"))
    call.refuse(Fault::Format,
                sized ? "size and scale_factor are both given" : "neither size nor scale_factor is given");
  if (sized && words.recompute) call.refuse(Fault::Format, "recompute_scale_factor has no meaning where size is given");
  if (call.failed()) return {};
  Resize resize{spatial_axes({Order::ChannelsFirst, space})};
  if (sized) resize.sizes = per_axis(call, "size", space, {}, ListOfOne::ForOne);
  else resize.factors = factors_of(call, space);
  if (!sized && (words.recompute || words.mode == "area")) {
    for (Size i = 0; i < space && !call.failed(); ++i)
      resize.sizes.push_back(length(call, x, i + 2, resize.factors[static_cast<std::size_t>(i)]));
    resize.factors.clear();
  }
  if (call.failed()) return {};
  if (words.mode == "area") return adaptive(call, x, Extreme::Average, resize.sizes, Positions::None);
  set_interpolation(resize, words, space);
  return {call.add(resize, {x})};
}

std::vector<ValueId> interpolate(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return resized(call, x, words_of(call, x, call.attrs.word("mode", "nearest"), truth(call, "align_corners")));
}

std::vector<ValueId> upsampling_nearest(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return resized(call, x, words_of(call, x, "nearest", {}));
}

std::vector<ValueId> upsampling_bilinear(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  return resized(call, x, words_of(call, x, "bilinear", true));
}

constexpr std::array resize_table{
    FunctionRow{"interpolate", "input size scale_factor mode align_corners recompute_scale_factor antialias",
                interpolate},
    FunctionRow{"Upsample", "size scale_factor mode align_corners recompute_scale_factor", interpolate},
    FunctionRow{"UpsamplingNearest2d", "size scale_factor", upsampling_nearest},
    FunctionRow{"UpsamplingBilinear2d", "size scale_factor", upsampling_bilinear}};

}  // namespace

std::span<const FunctionRow> resize_functions() { return resize_table; }

}  // namespace convoy::torch
