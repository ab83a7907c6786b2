// Of which element types the interpreter computes each operator that is written: those whose plain numbers the kernels of every
// resolver that has the operator answer as arithmetic has it. Bytes and int16 are missing where the kernels take them for
// quantised. Source: the interpreter's own answers, tests/oracle/test_tflite_types.py.
#include "formats/tflite/catalogue/catalogue.h"

#include <algorithm>
#include <array>

namespace convoy::tflite {
namespace {

struct PlainTypes {
  std::string_view name, types;
};

constexpr std::string_view of_fractions = "float32", of_logic = "bool", of_whole = "float32 int32 int64",
                           of_int32 = "float32 int32", of_whole_and_logic = "float32 int32 int64 bool",
                           of_extreme = "float32 int8 uint8 int16 int32 int64",
                           of_moved = "float32 int8 uint8 int16 int32 int64",
                           of_moved_with_logic = "float32 int8 uint8 int16 int32 int64 bool",
                           of_every = "float32 float16 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool",
                           of_cast = "float32 float16 float64 int8 uint8 int16 uint16 int32 uint32 int64 bool";

constexpr std::array plain_types{
    PlainTypes{"ADD", of_whole},
    PlainTypes{"SUB", of_whole},
    PlainTypes{"MUL", of_whole},
    PlainTypes{"DIV", of_int32},
    PlainTypes{"MAXIMUM", of_extreme},
    PlainTypes{"MINIMUM", of_extreme},
    PlainTypes{"POW", of_fractions},
    PlainTypes{"FLOOR_DIV", of_int32},
    PlainTypes{"FLOOR_MOD", of_whole},
    PlainTypes{"EQUAL", of_whole_and_logic},
    PlainTypes{"NOT_EQUAL", of_whole_and_logic},
    PlainTypes{"LESS", of_whole},
    PlainTypes{"LESS_EQUAL", of_whole},
    PlainTypes{"GREATER", of_whole},
    PlainTypes{"GREATER_EQUAL", of_whole},
    PlainTypes{"LOGICAL_AND", of_logic},
    PlainTypes{"LOGICAL_OR", of_logic},
    PlainTypes{"LOGICAL_NOT", of_logic},
    PlainTypes{"BITWISE_XOR", "int32"},
    PlainTypes{"SELECT_V2", of_moved_with_logic},
    PlainTypes{"CAST", of_cast},
    PlainTypes{"RELU", of_fractions},
    PlainTypes{"RELU6", of_fractions},
    PlainTypes{"RELU_N1_TO_1", of_fractions},
    PlainTypes{"LEAKY_RELU", of_fractions},
    PlainTypes{"ELU", of_fractions},
    PlainTypes{"GELU", of_fractions},
    PlainTypes{"PRELU", of_fractions},
    PlainTypes{"SOFTMAX", of_fractions},
    PlainTypes{"LOG_SOFTMAX", of_fractions},
    PlainTypes{"LOGISTIC", of_fractions},
    PlainTypes{"TANH", of_fractions},
    PlainTypes{"HARD_SWISH", of_fractions},
    PlainTypes{"EXP", of_fractions},
    PlainTypes{"LOG", of_fractions},
    PlainTypes{"SQRT", of_fractions},
    PlainTypes{"RSQRT", of_fractions},
    PlainTypes{"SQUARE", of_fractions},
    PlainTypes{"ABS", of_fractions},
    PlainTypes{"NEG", of_fractions},
    PlainTypes{"FLOOR", of_fractions},
    PlainTypes{"CEIL", of_fractions},
    PlainTypes{"ROUND", of_fractions},
    PlainTypes{"SIN", of_fractions},
    PlainTypes{"COS", of_fractions},
    PlainTypes{"SIGN", of_fractions},
    PlainTypes{"SQUARED_DIFFERENCE", of_int32},
    PlainTypes{"L2_NORMALIZATION", of_fractions},
    PlainTypes{"MEAN", of_fractions},
    PlainTypes{"SUM", of_whole},
    PlainTypes{"REDUCE_MAX", of_whole},
    PlainTypes{"REDUCE_MIN", of_whole},
    PlainTypes{"REDUCE_PROD", of_whole},
    PlainTypes{"REDUCE_ANY", of_logic},
    PlainTypes{"REDUCE_ALL", of_logic},
    PlainTypes{"ARG_MAX", "float32 int8 uint8 int32 bool"},
    PlainTypes{"ARG_MIN", "float32 int8 uint8 int32 bool"},
    PlainTypes{"TOPK_V2", of_whole},
    PlainTypes{"CUMSUM", of_whole},
    PlainTypes{"PAD", of_moved_with_logic},
    PlainTypes{"PADV2", of_moved_with_logic},
    PlainTypes{"MIRROR_PAD", of_moved},
    PlainTypes{"RESHAPE", of_every},
    PlainTypes{"TRANSPOSE", of_moved_with_logic},
    PlainTypes{"EXPAND_DIMS", of_every},
    PlainTypes{"SQUEEZE", of_every},
    PlainTypes{"SHAPE", of_every},
    PlainTypes{"DEPTH_TO_SPACE", "float32 int8 uint8 int32 int64"},
    PlainTypes{"SPACE_TO_DEPTH", "float32 int8 uint8 int32 int64"},
    PlainTypes{"SPACE_TO_BATCH_ND", of_moved},
    PlainTypes{"BATCH_TO_SPACE_ND", of_moved},
    PlainTypes{"SPLIT_V", of_moved},
    PlainTypes{"CONCATENATION", of_moved_with_logic},
    PlainTypes{"PACK", of_moved},
    PlainTypes{"GATHER", of_moved_with_logic},
    PlainTypes{"STRIDED_SLICE", of_moved_with_logic},
    PlainTypes{"SLICE", of_moved_with_logic},
    PlainTypes{"TILE", "float32 int8 uint8 int32 int64 bool"},
    PlainTypes{"RESIZE_BILINEAR", of_fractions},
    PlainTypes{"RESIZE_NEAREST_NEIGHBOR", of_fractions},
    PlainTypes{"MAX_POOL_2D", of_fractions},
    PlainTypes{"AVERAGE_POOL_2D", of_fractions},
    PlainTypes{"BATCH_MATMUL", of_fractions},
    PlainTypes{"FULLY_CONNECTED", of_fractions},
    PlainTypes{"CONV_2D", of_fractions},
    PlainTypes{"DEPTHWISE_CONV_2D", of_fractions},
    PlainTypes{"CONV_3D", of_fractions},
    PlainTypes{"CONV_3D_TRANSPOSE", of_fractions},
    PlainTypes{"TRANSPOSE_CONV", of_fractions},
};

}  // namespace

std::string_view plain_types_of(std::string_view name) {
  const auto* found = std::ranges::find(plain_types, name, &PlainTypes::name);
  return found == plain_types.end() ? std::string_view{} : found->types;
}

}  // namespace convoy::tflite
