// Source: ATen/autocast_mode.h and autocast_mode.cpp of torch 2.13; what other operators consist of was asked of torch itself.
#include "formats/torch/exported/autocast.h"

#include "base/words.h"
#include "ops/expect.h"

#include <algorithm>
#include <span>

namespace convoy::torch {
namespace {

using enum AutocastPolicy;

// "conv2d" stands for its default overload.
struct PolicyRow {
  AutocastPolicy policy;
  std::string_view operators;
};

constexpr PolicyRow on_processor[] = {
    {Lower,
     "_addmm_activation _convolution.deprecated _native_multi_head_attention addbmm addmm baddbmm bmm conv1d "
     "conv1d.padding conv2d "
     "conv2d.padding conv3d conv3d.padding conv_tbc conv_transpose1d conv_transpose2d.input conv_transpose3d.input "
     "linalg_multi_dot linalg_vecdot linear matmul mm prelu scaled_dot_product_attention"},
    {Single,
     "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist "
     "cholesky "
     "cholesky_inverse cholesky_solve cosine_embedding_loss cross_entropy_loss ctc_loss.IntList ctc_loss.Tensor "
     "fake_quantize_per_tensor_affine fractional_max_pool2d fractional_max_pool3d grid_sampler grid_sampler_2d "
     "grid_sampler_3d "
     "hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg_cholesky linalg_inv linalg_solve lu_solve "
     "margin_ranking_loss max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss "
     "nanquantile "
     "nanquantile.scalar nll_loss nll_loss2d nll_loss_nd pinverse poisson_nll_loss prod prod.dim_int quantile "
     "quantile.scalar "
     "reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d smooth_l1_loss "
     "soft_margin_loss "
     "trace triangular_solve triplet_margin_loss"},
    {Widest, "cat index_copy stack"},
    {AsRecorded, "einsum pad tensordot"},
    {Within,
     "corrcoef cov gru.data gru.input gru_cell linalg_matrix_power lstm.data lstm.input lstm_cell rnn_relu.data "
     "rnn_relu.input "
     "rnn_relu_cell rnn_tanh.data rnn_tanh.input rnn_tanh_cell"}};

constexpr PolicyRow on_cuda[] = {
    {Lower,
     "_convolution _convolution.deprecated addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv1d.padding "
     "conv2d conv2d.padding "
     "conv3d conv3d.padding conv_tbc conv_transpose1d conv_transpose2d.input conv_transpose3d.input convolution einsum "
     "gru_cell linalg_multi_dot linalg_vecdot "
     "linear lstm_cell matmul mm mv prelu rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention"},
    {Single,
     "_upsample_bicubic2d_aa _upsample_bicubic2d_aa.vec _upsample_bilinear2d_aa _upsample_bilinear2d_aa.vec "
     "_upsample_nearest_exact1d _upsample_nearest_exact1d.vec _upsample_nearest_exact2d _upsample_nearest_exact2d.vec "
     "_upsample_nearest_exact3d _upsample_nearest_exact3d.vec "
     "acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity "
     "cross_entropy_loss dist erfinv exp expm1 "
     "frobenius_norm.dim group_norm hinge_embedding_loss huber_loss kl_div l1_loss layer_norm log log10 log1p log2 "
     "logsumexp "
     "margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss native_layer_norm nll_loss nll_loss2d "
     "nll_loss_nd norm.Scalar "
     "norm.ScalarOpt_dim nuclear_norm nuclear_norm.dim pdist poisson_nll_loss pow.Scalar pow.Tensor_Scalar "
     "pow.Tensor_Tensor "
     "reciprocal renorm rms_norm rsqrt sinh smooth_l1_loss soft_margin_loss softplus square tan triplet_margin_loss "
     "upsample_bicubic2d "
     "upsample_bicubic2d.vec upsample_bilinear2d upsample_bilinear2d.vec upsample_linear1d upsample_linear1d.vec "
     "upsample_nearest1d upsample_nearest1d.vec upsample_nearest2d upsample_nearest2d.vec upsample_nearest3d "
     "upsample_nearest3d.vec upsample_trilinear3d upsample_trilinear3d.vec"},
    {SingleUnlessAsked,
     "cumprod cumsum linalg_matrix_norm linalg_matrix_norm.str_ord linalg_vector_norm log_softmax.int prod "
     "prod.dim_int softmax.int "
     "sum sum.dim_IntList"},
    {Widest, "addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put scatter_add tensordot vdot"},
    {Within,
     "corrcoef cov gru.data gru.input linalg_matrix_power lstm.data lstm.input rnn_relu.data rnn_relu.input "
     "rnn_tanh.data "
     "rnn_tanh.input"}};

}  // namespace

std::optional<AutocastPolicy> autocast_policy(std::string_view device, std::string_view overload) {
  constexpr std::string_view usual = ".default";
  if (overload.ends_with(usual)) overload.remove_suffix(usual.size());
  if (device != "cpu" && device != "cuda") return std::nullopt;
  for (const PolicyRow& row : device == "cpu" ? std::span<const PolicyRow>(on_processor) : std::span(on_cuda))
    if (has_word(row.operators, overload)) return row.policy;
  return None;
}

DType autocast_type(AutocastPolicy policy, DType lower, const std::vector<DType>& tensors) {
  if (policy == Lower) return lower;
  if (policy != Widest) return DType::F32;
  return std::ranges::find(tensors, DType::F32) == tensors.end() ? lower : DType::F32;
}

}  // namespace convoy::torch
