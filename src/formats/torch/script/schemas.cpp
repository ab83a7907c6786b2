// Source: the operators that PyTorch 2.13 registers, and those of torch 1.13 that it no longer does.
#include "formats/torch/script/schemas.h"

#include "base/words.h"

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

// Sorted by name; overloads in the order in which PyTorch tries them. "$": where and in which type a tensor is made.
constexpr auto schemas = std::to_array<Schema>({
    Schema{"_native_multi_head_attention", "default",
           "query:T key:T value:T embed_dim:i num_head:i qkv_weight:T qkv_bias:T proj_weight:T proj_bias:T mask:T?= "
           "need_weights:b= average_attn_weights:b= mask_type:i?=",
           "TT"},
    Schema{
        "_transformer_encoder_layer_fwd", "default",
        "src:T embed_dim:i num_heads:i qkv_weight:T qkv_bias:T proj_weight:T proj_bias:T use_gelu:b norm_first:b eps:f "
        "norm_weight_1:T norm_bias_1:T norm_weight_2:T norm_bias_2:T ffn_weight_1:T ffn_bias_1:T ffn_weight_2:T "
        "ffn_bias_2:T mask:T?= mask_type:i?=",
        "T"},
    Schema{"_unsafe_index", "Tensor", "input:T indices:L", "T"},
    Schema{"arange", "default", "end:n * $", "T"},
    Schema{"arange", "start", "start:n end:n * $", "T"},
    Schema{"arange", "start_step", "start:n end:n step:n= * $", "T"},
    Schema{"eye", "default", "n:i * $", "T"},
    Schema{"eye", "m", "n:i m:i * $", "T"},
    Schema{"full", "default", "size:I fill_value:n * $", "T"},
    Schema{"full_like", "default", "input:T fill_value:n * $", "T"},
    Schema{"gather", "default", "input:T dim:i index:T * sparse_grad:b=", "T"},
    Schema{"gru", "input",
           "input:T hx:T params:L has_biases:b num_layers:i dropout:f train:b bidirectional:b batch_first:b", "TT"},
    Schema{"index", "Tensor", "input:T indices:L", "T"},
    Schema{"index_select", "default", "input:T dim:i index:T", "T"},
    Schema{"linspace", "default", "start:n end:n steps:i * $", "T"},
    Schema{"lstm", "input",
           "input:T hx:L params:L has_biases:b num_layers:i dropout:f train:b bidirectional:b batch_first:b", "TTT"},
    Schema{"new_full", "default", "input:T size:I fill_value:n * $", "T"},
    Schema{"new_ones", "default", "input:T size:I * $", "T"},
    Schema{"new_zeros", "default", "input:T size:I * $", "T"},
    Schema{"norm", "Scalar", "input:T p:n=", "T"},
    Schema{"norm", "ScalarOpt_dim", "input:T p:n? dim:I keepdim:b=", "T"},
    Schema{"ones", "default", "size:I * $", "T"},
    Schema{"ones_like", "default", "input:T * $", "T"},
    Schema{"reshape_as", "default", "input:T other:T", "T"},
    Schema{"rnn_relu", "input",
           "input:T hx:T params:L has_biases:b num_layers:i dropout:f train:b bidirectional:b batch_first:b", "TT"},
    Schema{"rnn_tanh", "input",
           "input:T hx:T params:L has_biases:b num_layers:i dropout:f train:b bidirectional:b batch_first:b", "TT"},
    Schema{"scalar_tensor", "default", "s:n * $", "T"},
    Schema{"scaled_dot_product_attention", "default",
           "query:T key:T value:T attn_mask:T?= dropout_p:f= is_causal:b= * scale:f?= enable_gqa:b=", "T"},
    Schema{"tile", "default", "input:T dims:I", "T"},
    Schema{"type_as", "default", "input:T other:T", "T"},
    Schema{"unfold", "default", "input:T dimension:i size:i step:i", "T"},
    Schema{"view_as", "default", "input:T other:T", "T"},
    Schema{"zeros", "default", "size:I * $", "T"},
    Schema{"zeros_like", "default", "input:T * $", "T"},
});
static_assert(std::ranges::is_sorted(schemas, {}, &Schema::name));

}  // namespace

std::span<const Schema> all_schemas() {
  static const std::vector<Schema> all = [] {
    std::vector<Schema> made = catalogued_schemas();
    made.insert(made.end(), schemas.begin(), schemas.end());
    std::ranges::stable_sort(made, {}, &Schema::name);
    return made;
  }();
  return all;
}

std::span<const Schema> schemas_named(std::string_view name) {
  const auto found = std::ranges::equal_range(all_schemas(), name, {}, &Schema::name);
  return {found.begin(), found.end()};
}

}  // namespace convoy::torch
