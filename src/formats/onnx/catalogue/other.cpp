// Operators without a row of their own among the families: those that the model's reader follows itself (Constant, If, Loop, Scan, Shape,
// Size, ConstantOfShape, Range of known numbers), and those that are not carried.
#include "formats/onnx/composed.h"
#include "ops/expect.h"

#include <array>

namespace convoy::onnx {
namespace {

// Of a tensor there is one; an optional value that may be none is no input that is carried.
std::vector<ValueId> has_element(FunctionCall& call) {
  const bool has = bool(call.optional("input"));
  return {call.make_constant("has_element", whole_tensor(DType::Bool, {}, {has}))};
}

std::vector<ValueId> get_element(FunctionCall& call) { return {call.add(Identity{}, {call.tensor("input")})}; }

// clang-format off
constexpr std::array other_table{
    Operator{"Bernoulli", {15}, "input", "dtype:i seed:f"},
    Operator{"ConcatFromSequence", {11}, "input_sequence", "axis:i new_axis:i"},
    Operator{"Constant", {}, "", "sparse_value:p@11 value:t value_float:f@12 value_floats:F@12 value_int:i@12 value_ints:I@12 value_string:s@12 value_strings:S@12"},
    Operator{"ConstantOfShape", {9}, "input", "value:t"},
    Operator{"If", {}, "cond", "else_branch:g then_branch:g", nullptr, {}, {1, any_number}},
    Operator{"ImageDecoder", {20}, "encoded_stream", "pixel_format:s"},
    Operator{"Loop", {}, "M cond v_initial...?", "body:g", nullptr, {}, {1, any_number}},
    Operator{"MaxRoiPool", {}, "X rois", "pooled_shape:I spatial_scale:f"},
    Operator{"Multinomial", {}, "input", "dtype:i sample_size:i seed:f"},
    Operator{"Optional", {15}, "input?", "type:p"},
    Operator{"OptionalGetElement", {15}, "input", "", get_element},
    Operator{"OptionalHasElement", {15}, "input?", "", has_element},
    Operator{"RandomNormal", {}, "", "dtype:i mean:f scale:f seed:f shape:I"},
    Operator{"RandomNormalLike", {}, "input", "dtype:i mean:f scale:f seed:f"},
    Operator{"RandomUniform", {}, "", "dtype:i high:f low:f seed:f shape:I"},
    Operator{"RandomUniformLike", {}, "input", "dtype:i high:f low:f seed:f"},
    Operator{"Range", {11}, "start limit delta", "stash_type:i@27"},
    Operator{"RegexFullMatch", {20}, "X", "pattern:s"},
    Operator{"Scan", {8}, "initial_state_and_scan_inputs...", "body:g directions:I@-8 num_scan_inputs:i scan_input_axes:I@9 scan_input_directions:I@9 scan_output_axes:I@9 scan_output_directions:I@9", nullptr, {}, {1, any_number}},
    Operator{"SequenceAt", {11}, "input_sequence position", ""},
    Operator{"SequenceConstruct", {11}, "inputs...", ""},
    Operator{"SequenceEmpty", {11}, "", "dtype:i"},
    Operator{"SequenceErase", {11}, "input_sequence position?", ""},
    Operator{"SequenceInsert", {11}, "input_sequence tensor position?", ""},
    Operator{"SequenceLength", {11}, "input_sequence", ""},
    Operator{"SequenceMap", {17}, "input_sequence additional_inputs...?", "body:g", nullptr, {}, {1, any_number}},
    Operator{"Shape", {}, "data", "end:i@15 start:i@15"},
    Operator{"Size", {}, "data", ""},
    Operator{"SplitToSequence", {11}, "input split?", "axis:i keepdims:i"},
    Operator{"StringConcat", {20}, "X Y", ""},
    Operator{"StringNormalizer", {10}, "X", "case_change_action:s is_case_sensitive:i locale:s stopwords:S"},
    Operator{"StringSplit", {20}, "X", "delimiter:s maxsplit:i", nullptr, {}, {2, 2}},
    Operator{"TfIdfVectorizer", {9}, "X", "max_gram_length:i max_skip_count:i min_gram_length:i mode:s ngram_counts:I ngram_indexes:I pool_int64s:I pool_strings:S weights:F"}};
// clang-format on

}  // namespace

std::span<const Operator> other_operators() { return other_table; }

}  // namespace convoy::onnx
