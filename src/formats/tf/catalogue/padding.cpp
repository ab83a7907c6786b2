// Pads are what tf.pad is.
#include "formats/tf/catalogue/catalogue.h"

#include <array>

namespace convoy::tf {
namespace {

constexpr std::array padding_table{
    Operator{.name = "Pad", .inputs = "tensor paddings", .function = "pad"},
    Operator{.name = "PadV2", .inputs = "tensor paddings constant_values", .function = "pad"},
    Operator{.name = "MirrorPad", .inputs = "tensor paddings", .function = "pad"},
};

}  // namespace

std::span<const Operator> padding_operators() { return padding_table; }

}  // namespace convoy::tf
