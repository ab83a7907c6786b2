// Normalisations as exported programs spell them: with every argument, decomposed or not, and weights in two parts.
#include "formats/torch/aten/aten.h"
#include "formats/torch/functions/arguments.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <numeric>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

// Statistics of the batch itself: a layer without running ones, or an instance norm decomposed.
Results own_statistics(FunctionCall& call) {
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
  Sizes places(static_cast<std::size_t>(rank > 2 ? rank - 2 : 0));
  std::iota(places.begin(), places.end(), Size{1});
  const auto along_channels = [&](ValueId parameter) {
    return places.empty() ? parameter : call.add(Unsqueeze{places}, {parameter});
  };
  if (gamma) y = call.add(Binary{BinaryFunction::Multiply}, {y, along_channels(gamma)});
  if (beta) y = call.add(Binary{BinaryFunction::Add}, {y, along_channels(beta)});
  return {y};
}

// The statistics of training are results of these operators, too; at rest nobody reads them.
Results batch_norm(FunctionCall& call) {
  if (!call.optional("running_mean")) return own_statistics(call);
  const ValueId x = call.tensor("input"), gamma = call.optional("weight"), beta = call.optional("bias");
  const ValueId mean = call.tensor("running_mean"), variance = call.tensor("running_var");
  const double momentum = call.attrs.number("momentum", 0.1), epsilon = call.attrs.number("eps", 1e-5);
  return {call.add(BatchNorm{1, epsilon, 1 - momentum}, {x, gamma, beta, mean, variance})};
}

Results layer_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input"), gamma = call.optional("weight"), beta = call.optional("bias");
  const auto count = static_cast<Size>(call.attrs.list("normalized_shape").size());
  Sizes axes;
  for (Size axis = call.rank(x) - count; axis < call.rank(x); ++axis) axes.push_back(axis);
  return {call.add(LayerNorm{axes, call.attrs.number("eps", 1e-5), false}, {x, gamma, beta})};
}

Results group_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input"), gamma = call.optional("weight"), beta = call.optional("bias");
  call.attrs.ignore({"N", "C", "HxW"});  // sizes of x
  return {call.add(GroupNorm{1, call.attrs.integer("group"), call.attrs.number("eps", 1e-5)}, {x, gamma, beta})};
}

// v * g / |v|, the norm over all axes but `dim`. Both are known, so the weight is too.
Results weight_norm(FunctionCall& call) {
  const ValueId direction = call.tensor("v"), length = call.tensor("g");
  const Tensor *v = call.constant(direction), *g = call.constant(length);
  const Size rank = call.rank(direction), axis = axis_of(call, call.attrs.integer("dim", 0), rank);
  if (!v || !g) call.refuse(Fault::Unsupported, "a weight norm of weights that the model computes");
  else if (!is_floating(v->dtype())) call.refuse(Fault::Format, "a weight norm of whole numbers");
  if (call.failed()) return {};
  const Size count = v->shape()[static_cast<std::size_t>(axis)];
  if (g->count() != count) {
    call.refuse(Fault::Format, "a weight norm of " + std::to_string(g->count()) + " lengths for " +
                                   std::to_string(count) + " directions");
    return {};
  }
  Size inner = 1;
  for (auto i = static_cast<std::size_t>(axis) + 1; i < v->shape().size(); ++i) inner *= v->shape()[i];
  const auto values = v->doubles(), lengths = g->doubles();
  std::vector<double> squares(static_cast<std::size_t>(count), 0);
  const auto row = [&](std::size_t i) { return i / static_cast<std::size_t>(inner) % static_cast<std::size_t>(count); };
  for (std::size_t i = 0; i < values.size(); ++i) squares[row(i)] += values[i] * values[i];
  std::vector<double> scaled(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    scaled[i] = values[i] * (lengths[row(i)] / std::sqrt(squares[row(i)]));
  return {call.make_constant("weight", Tensor::of(v->shape(), std::move(scaled)).converted(v->dtype()))};
}

constexpr std::array normalizations_table{
    FunctionRow{"batch_norm", "input weight bias running_mean running_var momentum eps", batch_norm},
    FunctionRow{"native_batch_norm", "input weight bias running_mean running_var momentum eps", batch_norm},
    FunctionRow{"_native_batch_norm_legit_no_training", "input weight bias running_mean running_var momentum eps",
                batch_norm},
    FunctionRow{"_native_batch_norm_legit.no_stats", "input weight bias momentum eps", own_statistics},
    FunctionRow{"native_layer_norm", "input normalized_shape weight bias eps", layer_norm},
    FunctionRow{"native_group_norm", "input weight bias N C HxW group eps", group_norm},
    FunctionRow{"_weight_norm", "v g dim", weight_norm},
};

}  // namespace

std::span<const FunctionRow> aten_normalizations() { return normalizations_table; }

}  // namespace convoy::torch
