#include "formats/onnx/write/element_types.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {

namespace {

struct Since {
  std::string_view op;
  Size opset;
};
// All others take it since 13.
constexpr std::array later{Since{"Acos", 22},
                           Since{"Acosh", 22},
                           Since{"AffineGrid", 20},
                           Since{"Asin", 22},
                           Since{"Asinh", 22},
                           Since{"Atan", 22},
                           Since{"Atanh", 22},
                           Since{"AveragePool", 22},
                           Since{"BatchNormalization", 14},
                           Since{"CastLike", 15},
                           Since{"Celu", 28},
                           Since{"CenterCropPad", 18},
                           Since{"Col2Im", 18},
                           Since{"Compress", 28},
                           Since{"ConstantOfShape", 20},
                           Since{"Conv", 22},
                           Since{"ConvTranspose", 22},
                           Since{"Cos", 22},
                           Since{"Cosh", 22},
                           Since{"CumSum", 14},
                           Since{"DequantizeLinear", 19},
                           Since{"Einsum", 28},
                           Since{"Elu", 22},
                           Since{"EyeLike", 22},
                           Since{"GRU", 22},
                           Since{"Gelu", 20},
                           Since{"GlobalAveragePool", 22},
                           Since{"GlobalLpPool", 22},
                           Since{"GlobalMaxPool", 22},
                           Since{"GreaterOrEqual", 16},
                           Since{"GridSample", 22},
                           Since{"GroupNormalization", 18},
                           Since{"HardSigmoid", 22},
                           Since{"HardSwish", 22},
                           Since{"InstanceNormalization", 22},
                           Since{"IsInf", 20},
                           Since{"LSTM", 22},
                           Since{"LayerNormalization", 17},
                           Since{"LeakyRelu", 16},
                           Since{"LessOrEqual", 16},
                           Since{"LpNormalization", 22},
                           Since{"LpPool", 22},
                           Since{"MaxPool", 22},
                           Since{"MaxUnpool", 22},
                           Since{"Mish", 22},
                           Since{"OneHot", 0},
                           Since{"PRelu", 16},
                           Since{"QuantizeLinear", 19},
                           Since{"RNN", 22},
                           Since{"Range", 27},
                           Since{"ReverseSequence", 28},
                           Since{"Round", 22},
                           Since{"Selu", 22},
                           Since{"Shrink", 0},
                           Since{"Sin", 22},
                           Since{"Sinh", 22},
                           Since{"Softplus", 22},
                           Since{"Softsign", 22},
                           Since{"Tan", 22},
                           Since{"ThresholdedRelu", 22},
                           Since{"TopK", 24},
                           Since{"Trilu", 14},
                           Since{"Upsample", 0},
                           Since{"Where", 16}};

constexpr auto without_doubles = std::to_array<std::string_view>({"Acos",
                                                                  "Acosh",
                                                                  "Asin",
                                                                  "Asinh",
                                                                  "Atan",
                                                                  "Atanh",
                                                                  "AveragePool",
                                                                  "Conv",
                                                                  "ConvTranspose",
                                                                  "Celu",
                                                                  "Cosh",
                                                                  "Det",
                                                                  "Elu",
                                                                  "Erf",
                                                                  "GlobalAveragePool",
                                                                  "GlobalLpPool",
                                                                  "GlobalMaxPool",
                                                                  "GridSample",
                                                                  "HardSigmoid",
                                                                  "HardSwish",
                                                                  "Hardmax",
                                                                  "InstanceNormalization",
                                                                  "LRN",
                                                                  "LeakyRelu",
                                                                  "LpPool",
                                                                  "MaxRoiPool",
                                                                  "MaxUnpool",
                                                                  "Mean",
                                                                  "MeanVarianceNormalization",
                                                                  "OneHot",
                                                                  "PRelu",
                                                                  "RNN",
                                                                  "Resize",
                                                                  "Selu",
                                                                  "Sinh",
                                                                  "Softplus",
                                                                  "Softsign",
                                                                  "Tan",
                                                                  "ThresholdedRelu"});

}  // namespace

bool has_kernel_of_doubles(std::string_view op) {
  return std::ranges::find(without_doubles, op) == without_doubles.end();
}

Size takes_bfloat_since(std::string_view op) {
  const auto found = std::ranges::find(later, op, &Since::op);
  return found == later.end() ? 13 : found->opset;
}

}  // namespace convoy::onnx
