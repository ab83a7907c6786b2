// Batch and instance norms: of running statistics, or of those of the input itself. Source: nn/functional.py,
// ATen/native/Normalization.cpp.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/catalogue/normalization.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

// [C] -> [C, 1...], which stretches over an input [N, C, n...].
ValueId along_channels(FunctionCall& call, ValueId value, Size rank) {
  if (!value || rank <= 2) return value;
  Sizes axes;
  for (Size i = 1; i < rank - 1; ++i) axes.push_back(i);
  return call.add(Unsqueeze{axes}, {value});
}

// Running statistics that are not used must still make sense.
void expect_both_running(FunctionCall& call, ValueId x) {
  const ValueId mean = per_channel(call, "running_mean", x), variance = per_channel(call, "running_var", x);
  if (static_cast<bool>(mean) != static_cast<bool>(variance))
    call.refuse(Fault::Format, "running_mean and running_var go together");
}

// With the statistics of this very batch.
ValueId batch_statistics(FunctionCall& call, ValueId x, double epsilon) {
  const Size rank = call.rank(x);
  const ValueId weight = per_channel(call, "weight", x), bias = per_channel(call, "bias", x);
  const Dim batch = call.dim(x, 0);
  expect_several(call, x, 2, batch.known() ? *batch : 2);
  LayerNorm norm{{0}, epsilon};
  for (Size i = 2; i < rank; ++i) norm.axes.push_back(i);
  ValueId y = call.add(norm, {x});
  if (weight) y = call.add(Binary{BinaryFunction::Multiply}, {y, along_channels(call, weight, rank)});
  if (bias) y = call.add(Binary{BinaryFunction::Add}, {y, along_channels(call, bias, rank)});
  return y;
}

// With the statistics that are given. They stay as they are: this is one call, not a training step.
ValueId running_statistics(FunctionCall& call, ValueId x, double epsilon, double momentum) {
  const ValueId weight = per_channel(call, "weight", x), bias = per_channel(call, "bias", x);
  const ValueId mean = per_channel(call, "running_mean", x), variance = per_channel(call, "running_var", x);
  if (!mean || !variance)
    call.refuse(Fault::Format, "running_mean and running_var are wanted where the input's own statistics are not used");
  return call.add(BatchNorm{1, epsilon, 1 - momentum}, {x, weight, bias, mean, variance});
}

std::vector<ValueId> batch_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const bool training = truth_or_default(call, "training");
  const double momentum = number_or_default(call, "momentum"), epsilon = epsilon_of(call, 1e-5);
  expect_rank_from(call, x, 2);
  if (!training) return {running_statistics(call, x, epsilon, momentum)};
  if (epsilon == 0) call.refuse(Fault::Format, "argument 'eps' is 0 in training");
  expect_both_running(call, x);
  return {batch_statistics(call, x, epsilon)};
}

// Statistics of the batch itself: a layer without running ones, or an instance norm decomposed.
std::vector<ValueId> statistics_of_batch(FunctionCall& call) {
  const ValueId x = call.tensor("input"), gamma = call.optional("weight"), beta = call.optional("bias");
  call.attrs.ignore({"momentum"});
  const Size rank = call.rank(x);
  Sizes over;
  for (Size axis = 0; axis < rank; ++axis)
    if (axis != 1) over.push_back(axis);
  const double epsilon = call.attrs.number("eps", 1e-5);
  const ValueId mean = call.add(Reduce{Reduction::Mean, over, true}, {x});
  const ValueId centred = call.add(Binary{BinaryFunction::Subtract}, {x, mean});
  const ValueId variance =
      call.add(Reduce{Reduction::Mean, over, true}, {call.add(Unary{Function::Square}, {centred})});
  const ValueId root = call.add(Unary{Function::Sqrt}, {call.add(Affine{1, epsilon}, {variance})});
  ValueId y = call.add(Binary{BinaryFunction::Divide}, {centred, root});
  if (gamma) y = call.add(Binary{BinaryFunction::Multiply}, {y, along_channels(call, gamma, rank)});
  if (beta) y = call.add(Binary{BinaryFunction::Add}, {y, along_channels(call, beta, rank)});
  if (call.results < 3) return {y};
  return {y, call.add(Squeeze{over}, {mean}), call.add(Squeeze{over}, {call.add(Unary{Function::Reciprocal}, {root})})};
}

// Files say 0 of what is None in the module.
void note_momentum(FunctionCall& call, double momentum) {
  if (momentum == 0) call.leave_to_training("a momentum of 0, which stands for None, too,");
}

// The statistics of training are results of these operators, too; in eval mode nobody reads them.
std::vector<ValueId> batch_norm_at_rest(FunctionCall& call) {
  if (!call.optional("running_mean")) return statistics_of_batch(call);
  const double momentum = call.attrs.number("momentum", 0.1), epsilon = call.attrs.number("eps", 1e-5);
  note_momentum(call, momentum);
  const ValueId y = running_statistics(call, call.tensor("input"), epsilon, momentum);
  if (call.results < 3) return {y};
  if (call.failed()) return {};
  // Of the batch nothing was looked at.
  const DType dtype = call.type(y).dtype;
  const ValueId none = call.make_constant("none", Tensor::of({0}, std::vector<float>{}).converted(dtype));
  return {y, none, none};
}

// Of the input's own statistics, every channel of every example by itself.
ValueId own_statistics(FunctionCall& call, ValueId x, double epsilon) {
  const ValueId weight = per_channel(call, "weight", x), bias = per_channel(call, "bias", x);
  expect_both_running(call, x);
  expect_several(call, x, 2, 1);
  const Dim channels = call.dim(x, 1);
  if (!channels.known()) call.refuse(Fault::Unsupported, "instance_norm needs a known number of channels");
  return call.add(GroupNorm{1, channels.known() ? *channels : 1, epsilon}, {x, weight, bias});
}

// At rest those of all examples; a port takes those of the batch in training.
ValueId tracked_statistics(FunctionCall& call, ValueId x, double epsilon, double momentum) {
  call.leave_to_training("statistics of each example by itself");
  return running_statistics(call, x, epsilon, momentum);
}

std::vector<ValueId> instance_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const bool own = call.attrs.truth("use_input_stats", true);
  const double momentum = call.attrs.number("momentum", 0.1), epsilon = epsilon_of(call, 1e-5);
  expect_rank_from(call, x, own ? 3 : 2);
  return {own ? own_statistics(call, x, epsilon) : tracked_statistics(call, x, epsilon, momentum)};
}

std::vector<ValueId> batch_norm_layer(FunctionCall& call) {
  const Size space = space_of(call.name);
  const ValueId x = call.tensor("input");
  const double momentum = number_or_default(call, "momentum"), epsilon = epsilon_of(call, 1e-5);
  const bool tracked = truth_or_default(call, "track_running_stats");
  if (tracked && call.attrs.says_none("momentum"))
    call.leave_to_training("momentum=None, the average over all batches,");
  expect_affine(call, truth_or_default(call, "affine"));
  call.attrs.ignore({"bias"});
  if (!call.failed() && call.rank(x) != space + 2 && !(space == 1 && call.rank(x) == 2))
    call.refuse(Fault::Format, "input has shape " + text_of(call.shape(x)) + ", expected rank " +
                                   (space == 1 ? "2 or 3" : std::to_string(space + 2)));
  expect_features(call, x, "num_features");
  return {tracked ? running_statistics(call, x, epsilon, momentum) : batch_statistics(call, x, epsilon)};
}

std::vector<ValueId> instance_norm_layer(FunctionCall& call) {
  const Batched input = with_batch(call, call.tensor("input"), space_of(call.name));
  const double momentum = number_or_default(call, "momentum"), epsilon = epsilon_of(call, 1e-5);
  const bool tracked = truth_or_default(call, "track_running_stats"), affine = truth_or_default(call, "affine");
  expect_affine(call, affine);
  call.attrs.ignore({"bias"});
  if (affine || tracked) expect_features(call, input.value, "num_features");
  else whole_number(call, "num_features");
  const ValueId y =
      tracked ? tracked_statistics(call, input.value, epsilon, momentum) : own_statistics(call, input.value, epsilon);
  return {without_batch(call, input, y)};
}

// Where the axis that is normalized is not the channels: a transpose brought it there.
std::string axis_comment(const Call& c) {
  const Value& x = c.graph()[c.node().inputs[0]];
  if (!x.producer || c.graph()[x.producer].layer != c.node().layer) return {};
  const auto* moved = get_if<Transpose>(&c.graph()[x.producer].op);
  if (!moved || moved->permutation.size() < 3 || moved->permutation[1] == 1) return {};
  const Size axis = moved->permutation[1];
  if (moved->permutation.size() == 4 && axis >= 2) return axis == 2 ? "over the rows" : "over the columns";
  return fmt::format("over axis {}", axis);
}

// A scale, an offset or statistics that the model computes: the function takes what no module holds.
Status write_computed_norm(const BatchNorm& norm, Call& c) {
  const auto operand = [&](const char* known_as, std::size_t i, bool buffer) -> std::string {
    if (!c.has(i)) return "None";
    return c.constant(i) ? c.tensor(c.state(known_as, i, buffer)) : c.name(i);
  };
  const std::string mean = operand("running_mean", 3, true), variance = operand("running_var", 4, true);
  const std::string x = c.name(0), weight = operand("weight", 1, false), bias = operand("bias", 2, false);
  c.result(
      {fmt::format("F.batch_norm({}, {}, {}, {}, {}, eps={})", x, mean, variance, weight, bias, number(norm.epsilon)),
       Binds::Atom,
       1,
       false,
       {}});
  return {};
}

constexpr std::array rows_of_batch_norms{
    CatalogueRow{
        "F.batch_norm",
        "input:T running_mean:T? running_var:T? weight:T?= bias:T?= training:b=False momentum:f=0.1 eps:f=1e-05",
        batch_norm},
    CatalogueRow{"aten.batch_norm",
                 "input:T weight:T? bias:T? running_mean:T? running_var:T? training:b momentum:f eps:f cudnn_enabled:b",
                 batch_norm_at_rest},
    CatalogueRow{"aten.native_batch_norm",
                 "input:T weight:T? bias:T? running_mean:T? running_var:T? training:b momentum:f eps:f -> TTT",
                 batch_norm_at_rest},
    CatalogueRow{"aten._native_batch_norm_legit",
                 "default(input:T weight:T? bias:T? running_mean:T running_var:T training:b momentum:f eps:f -> TTT) "
                 "no_stats(input:T weight:T? bias:T? training:b momentum:f eps:f -> TTT)",
                 batch_norm_at_rest},
    CatalogueRow{"aten._native_batch_norm_legit_no_training",
                 "input:T weight:T? bias:T? running_mean:T running_var:T momentum:f eps:f -> TTT", batch_norm_at_rest},
    CatalogueRow{
        "nn.BatchNorm[123]d",
        "num_features:i eps:f=1e-05 momentum:f?=0.1 affine:b=True track_running_stats:b=True device:d= dtype:t= "
        "bias:b=True",
        batch_norm_layer},
    CatalogueRow{"F.instance_norm",
                 "input:T running_mean:T?= running_var:T?= weight:T?= bias:T?= use_input_stats:b=True momentum:f=0.1 "
                 "eps:f=1e-05",
                 instance_norm},
    CatalogueRow{"aten.instance_norm",
                 "input:T weight:T? bias:T? running_mean:T? running_var:T? use_input_stats:b momentum:f eps:f "
                 "cudnn_enabled:b",
                 instance_norm},
    CatalogueRow{
        "nn.InstanceNorm[123]d",
        "num_features:i eps:f=1e-05 momentum:f=0.1 affine:b=False track_running_stats:b=False device:d= dtype:t= "
        "bias:b=True",
        instance_norm_layer},
};

}  // namespace

Status write_batch_norm(const BatchNorm& norm, Call& c) {
  const TensorType& x = c.type(0);
  if (norm.axis != 1) return c.broken(fmt::format("a batch normalization over axis {}", norm.axis));
  if (x.rank() < 2 || x.rank() > 5) return c.refused(fmt::format("a batch normalization of rank {}", x.rank()));
  const Tensor *mean = c.constant(3), *variance = c.constant(4);
  if (!mean || !variance || (c.has(1) && !c.constant(1)) || (c.has(2) && !c.constant(2)))
    return write_computed_norm(norm, c);
  const Size n = mean->count();
  const bool gamma = c.has(1), beta = c.has(2), affine = gamma || beta;
  std::vector<State> states;
  std::vector<std::string> then;
  std::string comment = axis_comment(c);
  if (affine) {
    add_affine(c, n, states, then);
    if (!gamma) comment = "the source has no scale: the weight stays 1";
    if (!beta) comment = "the source has no offset: the bias stays 0";
  }
  states.push_back(c.state("running_mean", 3, true));
  states.push_back(c.state("running_var", 4, true));
  states.push_back({"num_batches_tracked", Tensor::of({}, std::vector<std::int64_t>{0}), {}, true});
  std::string arguments = std::to_string(n);
  if (const std::string eps = unless(c, 1e-5, "eps", norm.epsilon); !eps.empty()) arguments += ", " + eps;
  if (std::abs(norm.momentum - 0.9) > 1e-12) arguments += ", momentum=" + short_number(1 - norm.momentum);
  if (!affine) arguments += ", affine=False";
  const Size space = std::max<Size>(1, x.rank() - 2);
  const std::string self = c.module(fmt::format("nn.BatchNorm{}d({})", space, arguments), std::move(states),
                                    std::move(comment), std::move(then));
  c.result_of_module(self, c.follow(0));
  return {};
}

std::span<const CatalogueRow> batch_norm_operators() { return rows_of_batch_norms; }

}  // namespace convoy::torch
