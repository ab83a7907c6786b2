// What goes wrong with resizing: interpolation, corners, coordinates, rounding, the cubic kernel.
#include "diagnose/hypothesis.h"

namespace convoy::diagnose {

void guess_resize(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const auto* resize = std::get_if<convoy::Resize>(&about.op);
  if (!resize) return;
  const auto with = [&](std::string_view cause, std::string says, const convoy::Resize& now) {
    if (!(now == *resize)) guesses.add(cause, about, std::move(says), with_op(scene.a, node, now));
  };
  for (const Coordinates coordinates : {Coordinates::AlignCorners, Coordinates::HalfPixel, Coordinates::Asymmetric,
                                        Coordinates::PytorchHalfPixel, Coordinates::HalfPixelCell}) {
    convoy::Resize now = *resize;
    now.coordinates = coordinates;
    const bool corners = coordinates == Coordinates::AlignCorners || resize->coordinates == Coordinates::AlignCorners;
    // Where a cell is taken as it is, coordinates only decide which one.
    const std::string_view cause = corners                                           ? "align_corners"
                                   : resize->interpolation == Interpolation::Nearest ? "resize_rounding"
                                                                                     : "resize_coordinates";
    with(cause, corners ? "the corners aligned otherwise" : "other coordinates", now);
    now.factors.clear();
    if (now.sizes.empty())
      for (const Size axis : now.axes)
        now.sizes.push_back(scene.shape(about.outputs[0])[static_cast<std::size_t>(axis)]);
    with(cause, "other coordinates", now);
  }
  for (const Rounding rounding : {Rounding::Floor, Rounding::RoundHalfUp, Rounding::RoundHalfDown, Rounding::Ceil}) {
    if (resize->interpolation != Interpolation::Nearest) break;
    convoy::Resize now = *resize;
    now.rounding = rounding;
    with("resize_rounding", "another rounding", now);
    for (const Coordinates coordinates :
         {Coordinates::HalfPixel, Coordinates::Asymmetric, Coordinates::HalfPixelCell}) {
      now.coordinates = coordinates;
      with("resize_rounding", "another rounding", now);
    }
  }
  for (const Interpolation kind :
       {Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic, Interpolation::Area}) {
    if (kind == resize->interpolation) continue;
    convoy::Resize now = *resize;
    now.interpolation = kind;
    with("resize_mode", "another interpolation", now);
    if (kind != Interpolation::Nearest) {
      for (const Coordinates coordinates : {Coordinates::HalfPixel, Coordinates::Asymmetric, Coordinates::AlignCorners,
                                            Coordinates::PytorchHalfPixel}) {
        now.coordinates = coordinates;
        now.factors = resize->factors;
        with("resize_mode", "another interpolation", now);
        now.factors.clear();
        if (!now.sizes.empty()) with("resize_mode", "another interpolation", now);
      }
      continue;
    }
    for (const Coordinates coordinates : {Coordinates::HalfPixel, Coordinates::Asymmetric}) {
      now.coordinates = coordinates;
      for (const Rounding rounding : {Rounding::Floor, Rounding::RoundHalfUp, Rounding::RoundHalfDown}) {
        now.rounding = rounding;
        with("resize_mode", "the nearest cell", now);
      }
    }
  }
  if (resize->interpolation == Interpolation::Cubic)
    for (const double a : {-0.5, -0.75})
      for (const bool drops : {false, true}) {
        convoy::Resize now = *resize;
        now.cubic_a = a;
        now.drops_outside = drops;
        with("resize_cubic", "another cubic kernel", now);
      }
  for (const Node* other : twins<convoy::Resize>(scene)) {
    const auto& theirs = std::get<convoy::Resize>(other->op);
    std::string_view cause = "resize_coordinates";
    if (theirs.interpolation != resize->interpolation) cause = "resize_mode";
    else if ((theirs.coordinates == Coordinates::AlignCorners) != (resize->coordinates == Coordinates::AlignCorners))
      cause = "align_corners";
    else if (theirs.interpolation == Interpolation::Nearest &&
             (theirs.rounding != resize->rounding || theirs.coordinates != resize->coordinates))
      cause = "resize_rounding";
    else if (theirs.interpolation == Interpolation::Cubic &&
             (theirs.cubic_a != resize->cubic_a || theirs.drops_outside != resize->drops_outside))
      cause = "resize_cubic";
    else if (theirs.coordinates == resize->coordinates) cause = "resize_size";
    if (theirs.axes == resize->axes) with(cause, "b's way", theirs);
  }
}

}  // namespace convoy::diagnose
