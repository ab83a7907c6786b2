// Resizes are those of TensorFlow 1's functions, flags for corners and centres included, and of tf.image.resize.
#include "formats/tf/arguments.h"
#include "formats/tf/catalogue/catalogue.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::tf {
namespace {

struct Kernel {
  std::string_view word;
  Interpolation interpolation;
};
constexpr std::array kernels{
    Kernel{"lanczos3", Interpolation::Lanczos3}, Kernel{"lanczos5", Interpolation::Lanczos5},
    Kernel{"gaussian", Interpolation::Gaussian}, Kernel{"triangle", Interpolation::Linear},
    Kernel{"keyscubic", Interpolation::Cubic},   Kernel{"mitchellcubic", Interpolation::Mitchell}};

// What tf.image.resize calls: a whole image brought to a size, nothing moved.
std::vector<ValueId> scale_and_translate(FunctionCall& call) {
  ValueId x = call.tensor("images");
  const Sizes size = numbers(call, "size");
  const Tensor *scale = call.constant(call.tensor("scale")), *moves = call.constant(call.tensor("translation"));
  const std::string word = call.attrs.word("kernel_type", "lanczos3");
  Resize resize;
  resize.axes = {1, 2};
  resize.antialias = call.attrs.truth("antialias", true);
  const auto kernel = std::ranges::find(kernels, word, &Kernel::word);
  if (kernel == kernels.end()) call.refuse(Fault::Unsupported, "resizes by '" + word + "'");
  else resize.interpolation = kernel->interpolation;
  if (call.failed()) return {};
  bool plain = call.rank(x) == 4 && size.size() == 2 && scale && moves && scale->count() == 2 && moves->count() == 2;
  for (std::size_t i = 0; plain && i < 2; ++i) {
    const Dim in = call.dim(x, static_cast<Size>(i) + 1);
    plain = in.known() && size[i] > 0 && moves->doubles()[i] == 0 &&
            std::abs(scale->doubles()[i] * static_cast<double>(*in) / static_cast<double>(size[i]) - 1) < 1e-6;
  }
  if (!plain) call.refuse(Fault::Unsupported, "moves an image, or scales it by other factors than those to its size");
  resize.sizes = size;
  resize.rounding = Rounding::RoundHalfUp;
  resize.cubic_a = -0.5;
  resize.drops_outside = resize.antialias || resize.interpolation == Interpolation::Cubic;
  if (!call.failed() && call.type(x).dtype != DType::F32) x = call.add(Cast{DType::F32}, {x});
  return {call.add(std::move(resize), {x})};
}

constexpr std::array resize_operator_table{
    Operator{.name = "ResizeBilinear", .inputs = "images size", .function = "compat.v1.image.resize_bilinear"},
    Operator{.name = "ResizeNearestNeighbor",
             .inputs = "images size",
             .function = "compat.v1.image.resize_nearest_neighbor"},
    Operator{.name = "ResizeBicubic", .inputs = "images size", .function = "compat.v1.image.resize_bicubic"},
    Operator{.name = "ScaleAndTranslate", .inputs = "images size scale translation", .read = scale_and_translate},
    Operator{.name = "ResizeArea", .inputs = "images size", .function = "compat.v1.image.resize_area"},
};

}  // namespace

std::span<const Operator> resize_operators() { return resize_operator_table; }

}  // namespace convoy::tf
