// Windows laid out side by side.
#include "formats/keras/write/sink.h"

#include <array>

namespace convoy::keras::writing {
namespace {

constexpr std::array unfold_table{
    lacks<Unfold, Sink>("Keras lays out patches of images in another order, and only of images"),
    lacks<Fold, Sink>("Keras has nothing that adds patches back into an image")};
static_assert(decides<Unfolding>(unfold_table));

}  // namespace

std::span<const Row> unfold_rows() { return unfold_table; }

}  // namespace convoy::keras::writing
