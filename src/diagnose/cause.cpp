#include "diagnose/cause.h"

#include <algorithm>
#include <array>

namespace convoy::diagnose {

namespace {

constexpr std::array table{
    Cause{"same_as_symmetric", "pads as much in front as behind where SAME does not, or the other way round"},
    Cause{"odd_cell_on_the_other_side", "has the odd cell of the padding on the other side"},
    Cause{"pad_missing", "does not pad"},
    Cause{"pad_where_none", "pads where there is no padding"},
    Cause{"pads_hw_swapped", "has the pads of the two axes exchanged"},
    Cause{"pad_ignores_dilation", "pads for the kernel without its dilation"},
    Cause{"causal_as_symmetric", "pads causal windows on both sides"},
    Cause{"causal_other_side", "pads causal windows behind instead of in front"},
    Cause{"pad_mode", "fills the border in another way"},
    Cause{"pool_pad_value", "pads a maximum with zeros instead of minus infinity"},
    Cause{"pool_divisor", "divides an average by another number of cells at the border"},
    Cause{"pool_kind", "pools by another function"},
    Cause{"ceil_mode", "rounds the number of windows the other way"},
    Cause{"strides_swapped", "has the strides of the two axes exchanged"},
    Cause{"stride", "has another stride"},
    Cause{"dilation", "has another dilation"},
    Cause{"transposed_shifted", "cuts the transposed convolution at the other end"},
    Cause{"transposed_output_size", "keeps another length of the transposed convolution"},
    Cause{"transposed_tail_bias", "treats the bias on the extended tail otherwise"},
    Cause{"kernel_flipped", "has the kernel reversed"},
    Cause{"kernel_hw_swapped", "has height and width of the kernel exchanged"},
    Cause{"kernel_not_transposed", "has the kernel's numbers under another order of axes"},
    Cause{"channels_swapped", "has input and output channels of the kernel exchanged"},
    Cause{"depthwise_order", "orders channels and multiplier of the depthwise kernel the other way"},
    Cause{"group_order", "orders the output channels of the groups in another way"},
    Cause{"channel_order", "has channels in another order"},
    Cause{"axis_order", "has the cells of an axis in another order"},
    Cause{"preprocessing", "scales or shifts the input in another way"},
    Cause{"input_hw_swapped", "works on transposed images"},
    Cause{"bias_missing", "lacks the bias"},
    Cause{"bias_extra", "has a bias where there is none"},
    Cause{"bias_doubled", "adds the bias twice"},
    Cause{"bn_eps", "has another epsilon in the batch norm"},
    Cause{"bn_axis", "normalises over another axis"},
    Cause{"bn_mean_var_swapped", "has mean and variance exchanged"},
    Cause{"bn_gamma_beta_swapped", "has scale and offset of the norm exchanged"},
    Cause{"bn_vector_order", "has the vectors of the batch norm in another order"},
    Cause{"bn_batch_statistics", "uses the statistics of the batch instead of the running ones"},
    Cause{"bn_variance_is_deviation", "takes a variance for a standard deviation, or the other way round"},
    Cause{"dense_transposed", "has the matrix transposed"},
    Cause{"statistics_not_loaded", "has running statistics as they are before training"},
    Cause{"weights_not_loaded", "has weights as they are before training"},
    Cause{"weights_exchanged", "has the weights of another layer"},
    Cause{"weights_rounded", "has weights rounded to half precision"},
    Cause{"norm_eps", "has another epsilon in the normalisation"},
    Cause{"norm_axes", "normalises over other axes"},
    Cause{"norm_groups", "normalises over another number of groups"},
    Cause{"activation_missing", "lacks the activation"},
    Cause{"activation_extra", "has an activation where there is none"},
    Cause{"activation_slope", "has another slope on the negative side"},
    Cause{"activation_limit", "has another limit in the activation"},
    Cause{"activation_variant", "computes the activation by another formula"},
    Cause{"activation_kind", "has another activation"},
    Cause{"order_of_layers", "applies layers in another order"},
    Cause{"softmax_axis", "takes the softmax over another axis"},
    Cause{"attention_mask", "hides other scores from the softmax"},
    Cause{"mask_missing", "walks steps that the mask leaves out"},
    Cause{"flatten_order", "reads the features of the flattened input in another order of axes"},
    Cause{"depth_to_space_order", "orders blocks and channels the other way"},
    Cause{"reshape_layout", "reshapes the numbers in another order of axes"},
    Cause{"concat_order", "puts the inputs side by side in another order"},
    Cause{"concat_axis", "puts the inputs side by side along another axis"},
    Cause{"branches_exchanged", "has two branches, or the operands of an operation, exchanged"},
    Cause{"reads_another", "reads the output of another layer"},
    Cause{"merge_kind", "puts branches together by another operation"},
    Cause{"align_corners", "aligns the corners otherwise"},
    Cause{"resize_mode", "resizes by another interpolation"},
    Cause{"resize_size", "resizes to another size"},
    Cause{"resize_coordinates", "maps coordinates in another way"},
    Cause{"resize_rounding", "rounds to the nearest cell in another way"},
    Cause{"resize_cubic", "has another cubic kernel"},
    Cause{"gate_order", "has the gates in another order"},
    Cause{"sequence_end", "takes the other end of the sequence"},
    Cause{"sequence_axis", "walks along the batch instead of the sequence"},
    Cause{"norm_variance", "divides the squares by another number"},
    Cause{"norm_kind", "normalises in another way"},
    Cause{"number", "computes with another number"},
    Cause{"parameter", "has another parameter"},
    // Beyond the table of the original catalogue; found by comparing what both files say.
    Cause{"pad_amount", "pads by another number of cells"},
    Cause{"crop", "keeps other cells of what is cut"},
    Cause{"initial_state", "begins with another state"},
    Cause{"peepholes", "lets the gates see the cell otherwise"},
    Cause{"reset_after", "applies the reset gate on the other side of the product"},
    Cause{"cell_kind", "has a recurrent cell of another kind"},
    Cause{"groups", "has another number of groups"},
    Cause{"kernel_size", "has a kernel of another size"},
    Cause{"channels", "has another number of channels"},
    Cause{"outputs", "gives another number of outputs"},
    Cause{"quant_steps_of_another", "rounds with the scale or the zero point of another tensor"},
    Cause{"quant_symmetric", "rounds symmetrically around 0 where there is a zero point, or the other way round"},
    Cause{"quant_saturates", "rounds to a range that is too narrow"},
    Cause{"quant_scale", "rounds to steps of another size"},
    Cause{"quant_zero_point", "rounds with another zero point"},
    Cause{"quant_type", "holds signed whole numbers where a's are unsigned, or of another type"},
    Cause{"quant_rounding", "rounds to steps in another direction"},
    Cause{"quant_missing", "does not round to steps"},
    Cause{"quant_extra", "rounds to steps where nothing is rounded"},
    Cause{"quant_per_tensor", "has one scale for all weights in place of one for each channel, or the other way round"},
    Cause{"weights_rounded_twice", "has weights that were rounded to steps again"},
    Cause{"cast_missing", "does not round to half precision"},
    Cause{"cast_extra", "rounds to half precision where nothing is rounded"},
    Cause{"whole_rounded", "carries whole numbers in float32, which holds 24 bits of them"},
    Cause{"whole_not_rounded", "keeps whole numbers as they are that a carries in float32"},
    Cause{"layer_missing", "lacks the layer"},
    Cause{"layer_extra", "has a layer where there is none"},
    Cause{"weights_differ", "has other weights"},
};

}  // namespace

std::span<const Cause> causes() { return table; }

int rank_of(std::string_view id) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].id == id) return static_cast<int>(i);
  return static_cast<int>(table.size());
}

bool is_rival(std::string_view other, std::string_view of) {
  if (other == "weights_differ" || other == "pad_amount" || other == "number") return false;
  // Channels in another order are said so, and a reshape in another layout says no more.
  if (other == "reshape_layout" && (of == "channel_order" || of == "group_order")) return false;
  constexpr std::array orders{"flatten_order", "depthwise_order", "group_order", "concat_order",
                              "kernel_not_transposed"};
  return other != "channel_order" || std::ranges::find(orders, of) == orders.end();
}

std::string_view words_of_cause(std::string_view id) {
  for (const Cause& cause : table)
    if (cause.id == id) return cause.says;
  return "differs";
}

}  // namespace convoy::diagnose
