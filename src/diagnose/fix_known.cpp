// What to do about causes that no argument of a layer says: weights loaded otherwise, steps in another order.
#include "diagnose/fix_parts.h"

#include <algorithm>
#include <array>

namespace convoy::diagnose {

namespace {

struct Known {
  std::string_view cause, torch, keras;
};
constexpr std::array known{
    Known{"depthwise_order",
          "weight = kernel.permute(2, 3, 0, 1).reshape(c * m, 1, *kernel.shape[:2])  # output channel = input channel "
          "* m + multiplier",
          "kernel = weight.reshape(c, m, *weight.shape[2:]).permute(2, 3, 0, 1)"},
    Known{
        "group_order",
        "the output channels of a group stay together: channels shuffled where the original does it, and nowhere else",
        "the output channels of a group stay together: channels shuffled where the original does it, and nowhere else"},
    Known{"bias_missing", "bias=True, with the original's bias", "use_bias=True, with the original's bias"},
    Known{"bias_extra", "bias=False", "use_bias=False"},
    Known{"bias_doubled", "the bias once: in the layer or behind it", "the bias once: in the layer or behind it"},
    Known{"bn_mean_var_swapped", "running_mean, running_var = moving_mean, moving_variance",
          "set_weights([gamma, beta, moving_mean, moving_variance])"},
    Known{"bn_gamma_beta_swapped", "weight, bias = gamma, beta",
          "set_weights([gamma, beta, moving_mean, moving_variance])"},
    Known{"bn_batch_statistics", "model.eval()", "training=False"},
    Known{"bn_variance_is_deviation", "running_var = deviation ** 2", "moving_variance = deviation ** 2"},
    Known{"statistics_not_loaded", "load running_mean and running_var of the original",
          "load moving_mean and moving_variance of the original"},
    Known{"weights_not_loaded", "load the original's weights", "load the original's weights"},
    Known{"weights_exchanged", "load the weights of this layer, not those of the other",
          "load the weights of this layer, not those of the other"},
    Known{"weights_rounded", "load the original's float32 weights", "load the original's float32 weights"},
    Known{"weights_differ", "load the original's weights", "load the original's weights"},
    Known{"dense_transposed", "weight = kernel.T", "kernel = weight.T"},
    Known{"activation_extra", "no activation here", "activation=None"},
    Known{"pool_pad_value", "F.pad(x, ..., value=float('-inf')), or the pool's own padding",
          "padding='same', which pads with minus infinity"},
    Known{"gate_order",
          "the gates in PyTorch's order: i, f, g, o of an LSTM; r, z, n of a GRU (Keras: i, f, c, o; z, r, h)",
          "the gates in Keras's order: i, f, c, o of an LSTM; z, r, h of a GRU (PyTorch: i, f, g, o; r, z, n)"},
    Known{"order_of_layers", "the layers in the original's order", "the layers in the original's order"},
    Known{"concat_order", "torch.cat([...], 1) with the original's order of inputs",
          "Concatenate()([...]) with the original's order of inputs"},
    Known{"preprocessing", "the original's scale and offset in front of the model",
          "Rescaling with the original's scale and offset in front of the model"},
    Known{"attention_mask",
          "in front of the softmax what the original has: scores.masked_fill(hidden, float('-inf')), or nothing",
          "in front of the softmax the mask that the original has, or none (attention_mask=)"},
    Known{"mask_missing",
          "nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False) in front of the cell, "
          "where what counts comes first",
          "Embedding(..., mask_zero=True), or Masking() in front of the cell"},
    Known{"branches_exchanged", "the two in the original's order", "the two in the original's order"},
    Known{"reads_another", "the output of the original's layer here", "the output of the original's layer here"},
    Known{"bn_vector_order", "weight, bias, running_mean, running_var = gamma, beta, moving_mean, moving_variance",
          "set_weights([gamma, beta, moving_mean, moving_variance])"},
    Known{"norm_variance", "x.var(..., unbiased=False): divided by how many there are",
          "ops.var(x): divided by how many there are"},
    Known{"norm_kind", "the original's norm here", "the original's norm here"},
    Known{"number", "the original's number here", "the original's number here"},
    Known{"quant_steps_of_another", "the scale and the zero point of this tensor",
          "the scale and the zero point of this tensor"},
    Known{"quant_symmetric", "the original's scale and zero point", "the original's scale and zero point"},
    Known{"quant_saturates", "the original's scale and zero point", "the original's scale and zero point"},
    Known{"quant_scale", "the original's scale", "the original's scale"},
    Known{"quant_zero_point", "the original's zero point", "the original's zero point"},
    Known{"quant_type", "the original's type of whole numbers, with its zero point",
          "the original's type of whole numbers, with its zero point"},
    Known{"quant_rounding", "torch.round, which takes halves to the even number",
          "ops.round, which takes halves to the even number"},
    Known{"quant_missing", "the original's rounding here", "the original's rounding here"},
    Known{"quant_extra", "no rounding here", "no rounding here"},
    Known{"quant_per_tensor", "the original's scales of the weights", "the original's scales of the weights"},
    Known{"weights_rounded_twice", "load the original's whole numbers", "load the original's whole numbers"},
    Known{"cast_missing", "x.half().float()", "ops.cast(ops.cast(x, 'float16'), 'float32')"},
    Known{"cast_extra", "no cast here", "no cast here"},
    Known{"whole_rounded", "no .float() here: whole numbers as they are",
          "no cast to float32 here: whole numbers as they are"},
    Known{"whole_not_rounded", "x.float() here", "ops.cast(x, 'float32') here"},
    Known{"crop", "all cells: no slice here", "all cells: no slice here"},
    Known{"layer_extra", "no layer here", "no layer here"},
    Known{"layer_missing", "the original's layer here", "the original's layer here"},
    Known{"initial_state", "the original's state as the second argument of the call",
          "initial_state= with the original's state"},
    Known{"peepholes", "the cell written out step by step with its peepholes, or without: nn.LSTM has none",
          "the cell written out step by step with its peepholes, or without: layers.LSTM has none"},
    Known{"reset_after", "nn.GRU applies the reset gate behind the recurrent product; write the cell out",
          "reset_after=True is what PyTorch does"},
    Known{
        "depth_to_space_order",
        "n, c, h, w = x.shape; x = x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, "
        "h * b, w * b)",
        "tf.nn.depth_to_space(x, b)"},
};

}  // namespace

Fix fix_of_cause(std::string_view cause) {
  const auto found = std::ranges::find(known, cause, &Known::cause);
  return found == known.end() ? Fix{} : Fix{std::string(found->torch), std::string(found->keras)};
}

}  // namespace convoy::diagnose
