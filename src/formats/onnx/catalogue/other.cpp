// Operators without a row of their own among the families: those that the model's reader follows itself (Constant, If, Loop, Scan, Shape,
// Size, ConstantOfShape, Range of known numbers), and those that are not carried.
#include "formats/onnx/catalogue/catalogue.h"

#include <array>

namespace convoy::onnx {
namespace {

// clang-format off
constexpr std::array other_table{
    Operator{"Bernoulli", {15}, "input", "dtype:i seed:f"},
    Operator{"BitCast", {26}, "input", "to:i"},
    Operator{"BitwiseAnd", {18}, "A B", ""},
    Operator{"BitwiseNot", {18}, "X", ""},
    Operator{"BitwiseOr", {18}, "A B", ""},
    Operator{"BitwiseXor", {18}, "A B", ""},
    Operator{"CausalConvWithState", {27}, "input weight bias? past_state?", "activation:s", nullptr, {}, {2, 2}},
    Operator{"ConcatFromSequence", {11}, "input_sequence", "axis:i new_axis:i"},
    Operator{"Constant", {}, "", "sparse_value:p@11 value:t value_float:f@12 value_floats:F@12 value_int:i@12 value_ints:I@12 value_string:s@12 value_strings:S@12"},
    Operator{"ConstantOfShape", {9}, "input", "value:t"},
    Operator{"DeformConv", {19}, "X W offset B? mask?", "dilations:I group:i kernel_shape:I offset_group:i pads:I strides:I"},
    Operator{"Det", {11}, "X", ""},
    Operator{"If", {}, "cond", "else_branch:g then_branch:g", nullptr, {}, {1, any_number}},
    Operator{"ImageDecoder", {20}, "encoded_stream", "pixel_format:s"},
    Operator{"LinearAttention", {27}, "query key value past_state? decay? beta?", "chunk_size:i kv_num_heads:i q_num_heads:i scale:f update_rule:s", nullptr, {}, {2, 2}},
    Operator{"Loop", {}, "M cond v_initial...?", "body:g", nullptr, {}, {1, any_number}},
    Operator{"MaxRoiPool", {}, "X rois", "pooled_shape:I spatial_scale:f"},
    Operator{"MelWeightMatrix", {17}, "num_mel_bins dft_length sample_rate lower_edge_hertz upper_edge_hertz", "output_datatype:i"},
    Operator{"Multinomial", {}, "input", "dtype:i sample_size:i seed:f"},
    Operator{"NonMaxSuppression", {10}, "boxes scores max_output_boxes_per_class? iou_threshold? score_threshold?", "center_point_box:i"},
    Operator{"NonZero", {9}, "X", ""},
    Operator{"Optional", {15}, "input?", "type:p"},
    Operator{"OptionalGetElement", {15}, "input", ""},
    Operator{"OptionalHasElement", {15}, "input?", ""},
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
    Operator{"TfIdfVectorizer", {9}, "X", "max_gram_length:i max_skip_count:i min_gram_length:i mode:s ngram_counts:I ngram_indexes:I pool_int64s:I pool_strings:S weights:F"},
    Operator{"Unique", {11}, "X", "axis:i sorted:i", nullptr, {}, {1, 4}}};
// clang-format on

}  // namespace

std::span<const Operator> other_operators() { return other_table; }

}  // namespace convoy::onnx
