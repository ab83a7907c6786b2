// Pools are what the functions of tf.nn are.
#include "formats/tf/catalogue/catalogue.h"

#include <array>

namespace convoy::tf {
namespace {

constexpr std::array pooling_catalogue{
    Operator{.name = "MaxPool", .inputs = "input", .function = "nn.max_pool2d"},
    Operator{.name = "MaxPoolV2", .inputs = "input ksize strides", .function = "nn.max_pool2d"},
    Operator{.name = "MaxPool3D", .inputs = "input", .function = "nn.max_pool3d"},
    Operator{.name = "AvgPool", .inputs = "input", .function = "nn.avg_pool2d"},
    Operator{.name = "AvgPool3D", .inputs = "input", .function = "nn.avg_pool3d"},
    Operator{.name = "MaxPoolWithArgmax",
             .inputs = "input",
             .function = "nn.max_pool_with_argmax",
             .outputs = "output argmax"},
};

}  // namespace

std::span<const Operator> pooling_operators() { return pooling_catalogue; }

}  // namespace convoy::tf
