#include "formats/tflite/write/integer_forms.h"

#include <algorithm>
#include <array>

namespace convoy::tflite {
namespace {

using enum IntegerKind;

constexpr std::array forms{
    IntegerForm{"RESHAPE", 1, Moves},
    IntegerForm{"TRANSPOSE", 2, Moves},
    IntegerForm{"PAD", 2, Moves},
    IntegerForm{"MIRROR_PAD", 2, Moves},
    IntegerForm{"EXPAND_DIMS", 1, Moves},
    IntegerForm{"SQUEEZE", 1, Moves},
    IntegerForm{"STRIDED_SLICE", 2, Moves},
    IntegerForm{"SLICE", 2, Moves},
    IntegerForm{"SPLIT_V", 2, Moves},
    IntegerForm{"SPACE_TO_DEPTH", 2, Moves},
    IntegerForm{"DEPTH_TO_SPACE", 2, Moves},
    IntegerForm{"SPACE_TO_BATCH_ND", 2, Moves},
    IntegerForm{"BATCH_TO_SPACE_ND", 2, Moves},
    IntegerForm{"CONCATENATION", 2, Moves},
    IntegerForm{"PACK", 2, Moves},
    IntegerForm{"GATHER", 2, Moves},
    IntegerForm{"RESIZE_NEAREST_NEIGHBOR", 2, Moves},
    IntegerForm{"MAX_POOL_2D", 2, Moves},
    IntegerForm{"MAXIMUM", 2, Moves},
    IntegerForm{"MINIMUM", 2, Moves},
    IntegerForm{"REDUCE_MAX", 2, Moves},
    IntegerForm{"REDUCE_MIN", 2, Moves},
    IntegerForm{"TILE", 3, Moves},
    IntegerForm{"SELECT_V2", 1, Moves, 1},
    IntegerForm{"CONV_2D", 3, Weighted, 0, 1, 2, 0},
    IntegerForm{"DEPTHWISE_CONV_2D", 3, Weighted, 0, 1, 2, 3},
    IntegerForm{"FULLY_CONNECTED", 4, Weighted, 0, 1, 2, 0},
    IntegerForm{"TRANSPOSE_CONV", 2, Weighted, 2, 1, 3, 0},
    IntegerForm{"ADD", 2, Function},
    IntegerForm{"SUB", 2, Function},
    IntegerForm{"MUL", 2, Function},
    IntegerForm{"MEAN", 2, Function},
    IntegerForm{"RELU", 2, Function},
    IntegerForm{"RELU6", 2, Function},
    IntegerForm{"LEAKY_RELU", 2, Function},
    IntegerForm{"HARD_SWISH", 1, Function},
    IntegerForm{"GELU", 2, Function},
    IntegerForm{"ABS", 2, Signed},
    IntegerForm{"EXP", 2, Signed},
    IntegerForm{"LOG", 2, Signed},
    IntegerForm{"RSQRT", 2, Signed},
    IntegerForm{"SQUARED_DIFFERENCE", 2, Signed},
    IntegerForm{"BATCH_MATMUL", 2, Signed, 0, 1},
    IntegerForm{"EQUAL", 2, Compares},
    IntegerForm{"NOT_EQUAL", 2, Compares},
    IntegerForm{"LESS", 2, Compares},
    IntegerForm{"LESS_EQUAL", 2, Compares},
    IntegerForm{"GREATER", 2, Compares},
    IntegerForm{"GREATER_EQUAL", 2, Compares},
    IntegerForm{"LOGISTIC", 2, To256},
    IntegerForm{"SOFTMAX", 2, To256},
    IntegerForm{"TANH", 2, To128},
    IntegerForm{"L2_NORMALIZATION", 2, To128},
    IntegerForm{"AVERAGE_POOL_2D", 2, SameSteps},
    IntegerForm{"RESIZE_BILINEAR", 2, SameSteps},
};
constexpr IntegerForm bounded_max_pool{"MAX_POOL_2D", 2, SameSteps};

}  // namespace

const IntegerForm* integer_form_of(const DocumentOperator& op) {
  const auto* found = std::ranges::find(forms, op.name, &IntegerForm::name);
  if (found == forms.end()) return nullptr;
  const auto fused = std::ranges::find(op.options, "fused_activation_function", &Option::name);
  return found->kind == Moves && fused != op.options.end() ? &bounded_max_pool : found;
}

bool takes_steps(IntegerKind kind, const Quantization& in, const Quantization& out) {
  const std::int64_t least = out.dtype == DType::U8 ? 0 : -128;
  switch (kind) {
    case Moves:
    case SameSteps: return in.scales == out.scales && in.zero_points == out.zero_points;
    case Signed: return in.dtype == DType::I8 && out.dtype == DType::I8;
    case To256: return out.scales.front() == 0x1p-8F && out.zero_points.front() == least;
    case To128: return out.scales.front() == 0x1p-7F && out.zero_points.front() == least + 128;
    default: return true;
  }
}

}  // namespace convoy::tflite
