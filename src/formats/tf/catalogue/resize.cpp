// Resizes are those of TensorFlow 1's functions, flags for corners and centres included.
#include "formats/tf/catalogue/catalogue.h"

#include <array>

namespace convoy::tf {
namespace {

constexpr std::array resize_operator_table{
    Operator{.name = "ResizeBilinear", .inputs = "images size", .function = "compat.v1.image.resize_bilinear"},
    Operator{.name = "ResizeNearestNeighbor",
             .inputs = "images size",
             .function = "compat.v1.image.resize_nearest_neighbor"},
    Operator{.name = "ResizeBicubic", .inputs = "images size", .function = "compat.v1.image.resize_bicubic"},
    Operator{.name = "ResizeArea", .inputs = "images size", .function = "compat.v1.image.resize_area"},
};

}  // namespace

std::span<const Operator> resize_operators() { return resize_operator_table; }

}  // namespace convoy::tf
