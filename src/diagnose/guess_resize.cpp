// What goes wrong with resizing: interpolation, corners, coordinates, rounding, the cubic kernel.
#include "diagnose/hypothesis.h"

namespace convoy::diagnose {

namespace {

class ResizeGuesses {
 public:
  ResizeGuesses(Guesses& guesses, std::size_t node, const convoy::Resize& resize)
      : guesses_(guesses),
        scene_(guesses.scene),
        node_(node),
        about_(scene_.a.nodes[node]),
        resize_(resize) {}

  void coordinates() {
    for (const Coordinates coordinates : {Coordinates::AlignCorners, Coordinates::HalfPixel, Coordinates::Asymmetric,
                                          Coordinates::PytorchHalfPixel, Coordinates::HalfPixelCell}) {
      convoy::Resize now = resize_;
      now.coordinates = coordinates;
      const std::string_view cause = cause_of(now);
      with(cause, cause == "align_corners" ? "the corners aligned otherwise" : "other coordinates", now);
      now.factors.clear();
      if (now.sizes.empty())
        for (const Size axis : now.axes)
          now.sizes.push_back(scene_.shape(about_.outputs[0])[static_cast<std::size_t>(axis)]);
      with(cause, "other coordinates", now);
    }
  }

  void rounding() {
    for (const Rounding rounding : {Rounding::Floor, Rounding::RoundHalfUp, Rounding::RoundHalfDown, Rounding::Ceil}) {
      if (resize_.interpolation != Interpolation::Nearest) break;
      convoy::Resize now = resize_;
      now.rounding = rounding;
      with("resize_rounding", "another rounding", now);
      for (const Coordinates coordinates :
           {Coordinates::HalfPixel, Coordinates::Asymmetric, Coordinates::HalfPixelCell}) {
        now.coordinates = coordinates;
        with(cause_of(now), now.rounding == resize_.rounding ? "other coordinates" : "another rounding", now);
      }
    }
  }

  void interpolation() {
    for (const Interpolation kind :
         {Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic, Interpolation::Area}) {
      if (kind == resize_.interpolation) continue;
      convoy::Resize now = resize_;
      now.interpolation = kind;
      with("resize_mode", "another interpolation", now);
      if (kind != Interpolation::Nearest) {
        for (const Coordinates coordinates : {Coordinates::HalfPixel, Coordinates::Asymmetric,
                                              Coordinates::AlignCorners, Coordinates::PytorchHalfPixel}) {
          now.coordinates = coordinates;
          now.factors = resize_.factors;
          with("resize_mode", "another interpolation", now);
          now.factors.clear();
          if (!now.sizes.empty()) with("resize_mode", "another interpolation", now);
        }
        continue;
      }
      nearest(now);
    }
  }

  void cubic() {
    if (resize_.interpolation == Interpolation::Cubic)
      for (const double a : {-0.5, -0.75})
        for (const bool drops : {false, true}) {
          convoy::Resize now = resize_;
          now.cubic_a = a;
          now.drops_outside = drops;
          with("resize_cubic", "another cubic kernel", now);
        }
  }

  // What another layer of b does.
  void of_twins() {
    for (const Node* other : twins<convoy::Resize>(scene_)) {
      const auto& theirs = get<convoy::Resize>(other->op);
      std::string_view cause = "resize_coordinates";
      if (theirs.interpolation != resize_.interpolation || theirs.antialias != resize_.antialias) cause = "resize_mode";
      else if (const auto own = cause_of(theirs); own != cause) cause = own;
      else if (theirs.interpolation == Interpolation::Cubic &&
               (theirs.cubic_a != resize_.cubic_a || theirs.drops_outside != resize_.drops_outside))
        cause = "resize_cubic";
      else if (theirs.coordinates == resize_.coordinates) cause = "resize_size";
      if (theirs.axes == resize_.axes) with(cause, "b's way", theirs);
    }
  }

 private:
  // Where both take the nearest cell, a rounding tells which; so does the middle of a cell in place of its corner.
  std::string_view cause_of(const convoy::Resize& now) const {
    const auto has = [&](Coordinates one) { return (now.coordinates == one) != (resize_.coordinates == one); };
    if (has(Coordinates::AlignCorners)) return "align_corners";
    const bool is_nearest =
        resize_.interpolation == Interpolation::Nearest && now.interpolation == Interpolation::Nearest;
    const bool rounds_otherwise = now.rounding != resize_.rounding || has(Coordinates::HalfPixelCell);
    return is_nearest && rounds_otherwise ? "resize_rounding" : "resize_coordinates";
  }
  void with(std::string_view cause, std::string says, const convoy::Resize& now) {
    if (!(now == resize_)) guesses_.add(cause, about_, std::move(says), with_op(scene_.a, node_, now));
  }
  void nearest(convoy::Resize now) {
    for (const Coordinates coordinates : {Coordinates::HalfPixel, Coordinates::Asymmetric}) {
      now.coordinates = coordinates;
      for (const Rounding rounding : {Rounding::Floor, Rounding::RoundHalfUp, Rounding::RoundHalfDown}) {
        now.rounding = rounding;
        with("resize_mode", "the nearest cell", now);
      }
    }
  }

  Guesses& guesses_;
  const Scene& scene_;
  const std::size_t node_;
  const Node& about_;
  const convoy::Resize& resize_;
};

}  // namespace

void guess_resize(Guesses& guesses, std::size_t node) {
  const auto* resize = get_if<convoy::Resize>(&guesses.scene.a.nodes[node].op);
  if (!resize) return;
  ResizeGuesses about(guesses, node, *resize);
  about.coordinates();
  about.rounding();
  about.interpolation();
  about.cubic();
  about.of_twins();
}

}  // namespace convoy::diagnose
