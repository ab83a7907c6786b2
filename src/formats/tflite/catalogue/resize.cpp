// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: cells from the corner unless one of two flags says otherwise.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"

#include "ops/expect.h"

#include <array>

namespace convoy::tflite {
namespace {

template <Interpolation interpolation>
std::vector<ValueId> resize(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const bool aligns = call.attrs.truth("align_corners", false), centres = call.attrs.truth("half_pixel_centers", false);
  if (aligns && centres) call.refuse(Fault::Format, "align_corners and half_pixel_centers cannot both be set");
  Resize resize;
  resize.axes = {1, 2};
  // A file whose sizes are free computes these: the reader tells how often each axis is repeated.
  if (const Sizes times = call.attrs.list("times", Sizes()); !times.empty()) {
    resize.factors.assign(times.begin(), times.end());
  } else {
    resize.sizes = numbers(call, "size");
    if (!call.failed() && resize.sizes.size() != 2)
      call.refuse(Fault::Format, "tensor 'size' holds " + text_of(resize.sizes) + ", expected a height and a width");
  }
  resize.interpolation = interpolation;
  resize.coordinates = aligns ? Coordinates::AlignCorners : centres ? Coordinates::HalfPixel : Coordinates::Asymmetric;
  resize.rounding = aligns || centres ? Rounding::RoundHalfUp : Rounding::Floor;
  return {call.add(std::move(resize), {x})};
}

constexpr std::array resize_table{
    Operator{"RESIZE_BILINEAR", 23, "input size", 15, "- - align_corners:b half_pixel_centers:b",
             resize<Interpolation::Linear>},
    Operator{"RESIZE_NEAREST_NEIGHBOR", 97, "input size", 74, "align_corners:b half_pixel_centers:b",
             resize<Interpolation::Nearest>},
};

}  // namespace

std::span<const Operator> resize_operators() { return resize_table; }

}  // namespace convoy::tflite
