// Batch normalization in its three versions, and the response of neighbouring channels.
#include "formats/tf/arguments.h"
#include "formats/tf/catalogue/catalogue.h"

#include <array>

namespace convoy::tf {
namespace {

// The operator takes its epsilon as it is; the function tf.compat.v1.nn.fused_batch_norm raises small ones.
std::vector<ValueId> fused(FunctionCall& call) {
  const ValueId x = call.tensor("x"), scale = call.tensor("scale"), offset = call.tensor("offset"),
                mean = call.tensor("mean"), variance = call.tensor("variance");
  call.attrs.ignore({"exponential_avg_factor"});
  const Size space = call.rank(x) - 2;
  if (!call.failed() && space != 2 && space != 3)
    call.refuse(Fault::Format, "x has shape " + text_of(call.shape(x)) + ", expected 4 or 5 axes");
  if (call.failed()) return {};
  const Axes axes = axes_of(call, space);
  const double epsilon = call.attrs.number("epsilon", 1e-4);
  if (call.attrs.truth("is_training", true))
    call.refuse(Fault::Unsupported, "normalizes by the statistics of the batch (is_training), as in training");
  const ValueId y = call.add(BatchNorm{axes.channel(), epsilon, 0.99}, {x, scale, offset, mean, variance});
  const ValueId same_mean = call.add(Identity{}, {mean}), same_variance = call.add(Identity{}, {variance});
  return {y, same_mean, same_variance, same_mean, same_variance, same_variance};
}

// The oldest form: of channels last, with or without its scale.
std::vector<ValueId> first_batch_norm(FunctionCall& call) {
  const ValueId x = call.tensor("t"), mean = call.tensor("m"), variance = call.tensor("v"), beta = call.tensor("beta"),
                gamma = call.tensor("gamma");
  const double epsilon = call.attrs.number("variance_epsilon");
  const bool scales = call.attrs.truth("scale_after_normalization");
  if (call.failed()) return {};
  return {call.add(BatchNorm{call.rank(x) - 1, epsilon, 0.99}, {x, scales ? gamma : ValueId{}, beta, mean, variance})};
}

constexpr std::string_view batch_norm_inputs = "x scale offset mean variance",
                           batch_norm_outputs =
                               "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3";
constexpr std::array normalization_operator_table{
    Operator{.name = "FusedBatchNorm", .inputs = batch_norm_inputs, .read = fused, .outputs = batch_norm_outputs},
    Operator{.name = "FusedBatchNormV2", .inputs = batch_norm_inputs, .read = fused, .outputs = batch_norm_outputs},
    Operator{.name = "FusedBatchNormV3", .inputs = batch_norm_inputs, .read = fused, .outputs = batch_norm_outputs},
    Operator{.name = "BatchNormWithGlobalNormalization", .inputs = "t m v beta gamma", .read = first_batch_norm},
    Operator{.name = "LRN", .inputs = "input", .function = "nn.local_response_normalization"},
};

}  // namespace

std::span<const Operator> normalization_operators() { return normalization_operator_table; }

}  // namespace convoy::tf
