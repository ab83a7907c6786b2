// Group, layer, RMS and local response norms, lengths brought to one, weights in two parts. Those PyTorch has no module for
// are written as their formula. Source: nn/functional.py, ATen/native/layer_norm.cpp, group_norm.cpp.
#include "formats/torch/catalogue/normalization.h"

#include "containers/json.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/arithmetic.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/families.h"
#include "ops/expect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace convoy::torch {

// A weight or bias: one number per channel.
ValueId per_channel(FunctionCall& call, std::string_view argument, ValueId x) {
  const ValueId value = call.optional(argument);
  if (value && !call.failed() && call.shape(value) != Shape{call.dim(x, 1)} && call.dim(x, 1).known())
    call.refuse(Fault::Format, std::string(argument) + " has shape " + text_of(call.shape(value)) + ", expected " +
                                   text_of(Shape{call.dim(x, 1)}));
  return value;
}

// Statistics of one number are none.
void expect_several(FunctionCall& call, ValueId x, Size first, Size times) {
  Size product = times;
  for (Size i = first; i < call.rank(x); ++i) {
    const Dim n = call.dim(x, i);
    if (!n.known()) return;
    product *= std::min<Size>(*n, 2);  // only whether it is 1 counts
  }
  if (product == 1)
    call.refuse(Fault::Unsupported,
                "input has shape " + text_of(call.shape(x)) + ", which holds one number per mean and variance");
}

void expect_rank_from(FunctionCall& call, ValueId x, Size least) {
  if (!call.failed() && call.rank(x) < least)
    call.refuse(Fault::Format,
                "input has shape " + text_of(call.shape(x)) + ", expected rank " + std::to_string(least) + " or more");
}

double epsilon_of(FunctionCall& call, double otherwise) {
  const double epsilon = call.attrs.number("eps", otherwise);
  if (!(epsilon >= 0)) call.refuse(Fault::Format, "argument 'eps' is " + json_text(epsilon));
  return epsilon;
}

// affine says whether weight and bias are there.
void expect_affine(FunctionCall& call, bool affine) {
  call.attrs.ignore({"device", "dtype"});
  if (affine != static_cast<bool>(call.optional("weight")))
    call.refuse(Fault::Format, affine ? "the weight is missing" : "a weight is given, but the layer has none");
}

void expect_features(FunctionCall& call, ValueId x, std::string_view key) {
  const Size features = whole_number(call, key);
  if (!call.failed() && !agreed(call.dim(x, 1), features))
    call.refuse(Fault::Format,
                "input has shape " + text_of(call.shape(x)) + ", expected " + std::to_string(features) + " channels");
}

Tensor filled(Size count, float value) {
  return Tensor::of({count}, std::vector<float>(static_cast<std::size_t>(count), value));
}

void add_affine(Call& c, Size count, std::vector<State>& states, std::vector<std::string>& then) {
  states.push_back(c.has(1) ? c.state("weight", 1) : State{"weight", filled(count, 1), {}});
  states.push_back(c.has(2) ? c.state("bias", 2) : State{"bias", filled(count, 0), {}});
  if (!c.has(1)) then.emplace_back("weight.requires_grad_(False)");
  if (!c.has(2)) then.emplace_back("bias.requires_grad_(False)");
}

std::string short_number(double value) { return number(std::stod(fmt::format("{:.12g}", value))); }

namespace {

std::vector<ValueId> group_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size groups = whole_number(call, "num_groups");
  const double epsilon = epsilon_of(call, 1e-5);
  expect_least(call, "num_groups", {groups}, 1);
  expect_rank_from(call, x, 2);
  const ValueId weight = per_channel(call, "weight", x), bias = per_channel(call, "bias", x);
  if (call.failed()) return {};
  const Dim batch = call.dim(x, 0), channels = call.dim(x, 1);
  if (batch.known() && channels.known()) expect_several(call, x, 2, *batch * *channels / groups);
  return {call.add(GroupNorm{1, groups, epsilon}, {x, weight, bias})};
}

// The answer, and where they are asked for the mean over these axes and one over the root of the variance and epsilon.
std::vector<ValueId> with_statistics(FunctionCall& call, ValueId y, ValueId x, const Sizes& over, double epsilon,
                                     bool keeps) {
  if (call.results < 3 || call.failed()) return {y};
  Arithmetic apply(call, x);
  const ValueId mean = apply.folded(Reduction::Mean, x, over, true);
  const ValueId squares = apply(Function::Square, apply(BinaryFunction::Subtract, x, mean));
  const ValueId variance = apply.folded(Reduction::Mean, squares, over, keeps);
  return {y, keeps ? mean : call.add(Squeeze{over}, {mean}),
          apply(Function::Rsqrt, apply.scaled(variance, 1, epsilon))};
}

std::vector<ValueId> native_group_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input"), gamma = call.optional("weight"), beta = call.optional("bias");
  call.attrs.ignore({"N", "C", "HxW"});  // sizes of x
  const Size groups = call.attrs.integer("group");
  const double epsilon = call.attrs.number("eps", 1e-5);
  const ValueId y = call.add(GroupNorm{1, groups, epsilon}, {x, gamma, beta});
  if (call.results < 3) return {y};
  return with_statistics(call, y, call.add(Reshape{{0, groups, -1}}, {x}), {2}, epsilon, false);
}

// The last axes, whose sizes are repeated in normalized_shape.
Sizes normalized_axes(FunctionCall& call, ValueId x, const Sizes& shape) {
  if (call.failed()) return {};
  const Size rank = call.rank(x), count = static_cast<Size>(shape.size());
  bool fits = count >= 1 && count <= rank;
  Sizes axes;
  for (Size i = 0; fits && i < count; ++i) {
    axes.push_back(rank - count + i);
    fits = agreed(call.dim(x, axes.back()), at(shape, i)).has_value();
  }
  if (!fits)
    call.refuse(Fault::Format,
                "input has shape " + text_of(call.shape(x)) + ", which does not end with " + text_of(shape));
  return axes;
}

std::vector<ValueId> layer_norm_over(FunctionCall& call, const Sizes& shape) {
  const ValueId x = call.tensor("input"), weight = call.optional("weight"), bias = call.optional("bias");
  const double epsilon = epsilon_of(call, 1e-5);
  return {call.add(LayerNorm{normalized_axes(call, x, shape), epsilon}, {x, weight, bias})};
}

std::vector<ValueId> rms_norm_over(FunctionCall& call, const Sizes& shape) {
  const ValueId x = call.tensor("input"), weight = call.optional("weight");
  const bool wide = !call.failed() && call.type(x).dtype == DType::F64;
  const double least = wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const double epsilon = epsilon_of(call, least);
  return {call.add(RmsNorm{normalized_axes(call, x, shape), epsilon}, {x, weight})};
}

// The functions want a list.
Sizes normalized_shape(FunctionCall& call) {
  const Json* said = call.attrs.raw("normalized_shape");
  if (said && !said->is_array())
    call.refuse(Fault::Format, "argument 'normalized_shape' is " + said->dump() + ", expected a list");
  return whole_numbers(call, "normalized_shape");
}

std::vector<ValueId> layer_norm(FunctionCall& call) { return layer_norm_over(call, normalized_shape(call)); }
std::vector<ValueId> native_layer_norm(FunctionCall& call) {
  const Sizes shape = normalized_shape(call);
  const ValueId y = layer_norm_over(call, shape).front(), x = call.tensor("input");
  return with_statistics(call, y, x, normalized_axes(call, x, shape), epsilon_of(call, 1e-5), true);
}
std::vector<ValueId> rms_norm(FunctionCall& call) { return rms_norm_over(call, normalized_shape(call)); }

// alpha is shared by the cells of the window; `size` channels around each, the odd one before it.
std::vector<ValueId> local_response_norm(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size size = whole_number(call, "size");
  const double alpha = number_or_default(call, "alpha"), beta = number_or_default(call, "beta");
  const double k = number_or_default(call, "k");
  expect_least(call, "size", {size}, 1);
  expect_rank_from(call, x, 3);
  // The window slides by one, so that its place does not depend on the number of channels.
  const auto around = place({Spelling::SameLower}, {size, 1, 1}, std::max<Size>(size, 1)).value_or(Placement{});
  return {call.add(LocalResponseNorm{1, around.before, around.after, alpha / static_cast<double>(size), beta, k}, {x})};
}

std::vector<ValueId> normalize(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const double p = number_or_default(call, "p"), epsilon = number_or_default(call, "eps");
  const Sizes dims = call.attrs.has("dim") ? whole_numbers(call, "dim") : Sizes{1};
  Sizes axes;
  for (const Size dim : dims) axes.push_back(axis_of(call, dim, call.rank(x)));
  std::ranges::sort(axes);
  return {call.add(LengthNorm{axes, p, epsilon}, {x})};
}

// v * g / |v|, the norm over all axes but `dim`, over all where that is -1 (which does not count from the end here: ATen's
// norm_except_dim). Both are known, so the weight is too.
std::vector<ValueId> weight_norm(FunctionCall& call) {
  const ValueId direction = call.tensor("v"), length = call.tensor("g");
  const Tensor *v = call.constant(direction), *g = call.constant(length);
  const Size dim = integer_or_default(call, "dim");
  const std::size_t axis = dim == -1 ? 0 : static_cast<std::size_t>(axis_of(call, dim, call.rank(direction)));
  if (!v || !g) call.refuse(Fault::Unsupported, "a weight norm of weights that the model computes");
  else if (!is_floating(v->dtype())) call.refuse(Fault::Format, "a weight norm of whole numbers");
  if (call.failed()) return {};
  call.leave_to_training("weight_norm", direction);
  const Size count = dim == -1 ? 1 : v->shape()[axis];
  if (g->count() != count) {
    call.refuse(Fault::Format, "a weight norm of " + std::to_string(g->count()) + " lengths for " +
                                   std::to_string(count) + " directions");
    return {};
  }
  Size inner = 1;
  for (std::size_t i = axis + 1; i < v->shape().size(); ++i) inner *= v->shape()[i];
  const auto values = v->doubles(), lengths = g->doubles();
  std::vector<double> squares(static_cast<std::size_t>(count), 0);
  const auto row = [&](std::size_t i) { return i / static_cast<std::size_t>(inner) % static_cast<std::size_t>(count); };
  for (std::size_t i = 0; i < values.size(); ++i) squares[row(i)] += values[i] * values[i];
  std::vector<double> scaled(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    scaled[i] = values[i] * (lengths[row(i)] / std::sqrt(squares[row(i)]));
  return {call.make_constant("weight", Tensor::of(v->shape(), std::move(scaled)).converted(v->dtype()))};
}

std::vector<ValueId> group_norm_layer(FunctionCall& call) {
  expect_affine(call, truth_or_default(call, "affine"));
  expect_features(call, call.tensor("input"), "num_channels");
  call.attrs.ignore({"bias"});
  return group_norm(call);
}

std::vector<ValueId> layer_norm_layer(FunctionCall& call) {
  expect_affine(call, truth_or_default(call, "elementwise_affine"));
  call.attrs.ignore({"bias"});
  return layer_norm_over(call, whole_numbers(call, "normalized_shape"));
}

std::vector<ValueId> rms_norm_layer(FunctionCall& call) {
  expect_affine(call, truth_or_default(call, "elementwise_affine"));
  return rms_norm_over(call, whole_numbers(call, "normalized_shape"));
}

// The axes are the last ones of x and their sizes are known.
std::optional<Sizes> trailing(const TensorType& x, const Sizes& axes) {
  Sizes sizes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Size axis = x.rank() - static_cast<Size>(axes.size() - i);
    if (axes[i] != axis || axis < 0 || !x.shape[static_cast<std::size_t>(axis)].known()) return std::nullopt;
    sizes.push_back(*x.shape[static_cast<std::size_t>(axis)]);
  }
  return sizes;
}

std::string shape_argument(const Sizes& shape) { return shape.size() == 1 ? std::to_string(shape[0]) : tuple(shape); }

// A parameter over `axes` of x, shaped so that it broadcasts against x.
std::string broadcast_parameter(Call& c, const std::string& name, std::size_t i, const Sizes& axes) {
  const Tensor& t = *c.constant(i);
  Sizes shape;
  std::size_t at = 0;
  for (Size axis = axes.front(); axis < c.type(0).rank(); ++axis) {
    const bool named = std::ranges::find(axes, axis) != axes.end();
    shape.push_back(named && at < t.shape().size() ? t.shape()[at++] : 1);
  }
  return c.tensor(c.state(name, i, at == t.shape().size() ? t.reshaped(shape) : t));
}

Status write_layer_norm(const LayerNorm& norm, Call& c) {
  const auto shape = trailing(c.type(0), norm.axes);
  if (!norm.keras_rms_scaling && shape) {
    std::vector<State> states;
    std::string arguments = shape_argument(*shape);
    if (const std::string eps = unless(c, 1e-5, "eps", norm.epsilon); !eps.empty()) arguments += ", " + eps;
    std::vector<std::string> then;
    if (!c.has(1) && !c.has(2)) {
      arguments += ", elementwise_affine=False";
    } else {
      Tensor ones = c.has(1) ? Tensor() : filled(checked_count(*shape).value_or(0), 1).reshaped(*shape);
      states.push_back(c.has(1) ? c.state("weight", 1, c.constant(1)->reshaped(*shape)) : State{"weight", ones, {}});
      if (c.has(2)) states.push_back(c.state("bias", 2, c.constant(2)->reshaped(*shape)));
      else arguments += ", bias=False";
      if (!c.has(1)) then.emplace_back("weight.requires_grad_(False)");
    }
    const std::string self = c.module("nn.LayerNorm(" + arguments + ")", std::move(states), {}, std::move(then));
    c.result_of_module(self, c.follow(0));
    return {};
  }
  const std::string x = c.name(0), axes = shape_argument(norm.axes);
  const std::string root =
      fmt::format("torch.rsqrt({}.var(dim={}, correction=0, keepdim=True) + {})", x, axes, number(norm.epsilon));
  std::string text = norm.keras_rms_scaling
                         ? fmt::format("{} * {}", x, root)
                         : fmt::format("({0} - {0}.mean(dim={1}, keepdim=True)) * {2}", x, axes, root);
  if (c.has(1)) text += " * " + broadcast_parameter(c, "weight", 1, norm.axes);
  if (c.has(2)) text += " + " + broadcast_parameter(c, "bias", 2, norm.axes);
  c.result({text, c.has(2) ? Binds::Sum : Binds::Product, 4, false, {}});
  return {};
}

Status write_group_norm(const GroupNorm& norm, Call& c) {
  const TensorType& x = c.type(0);
  if (norm.axis != 1) return c.broken(fmt::format("a group normalization over axis {}", norm.axis));
  if (x.rank() < 2 || !x.shape[1].known()) return c.refused("a group normalization of unknown channels");
  const Size channels = *x.shape[1];
  std::vector<State> states;
  std::string arguments = fmt::format("{}, {}", norm.groups, channels);
  if (const std::string eps = unless(c, 1e-5, "eps", norm.epsilon); !eps.empty()) arguments += ", " + eps;
  std::vector<std::string> then;
  if (!c.has(1) && !c.has(2)) {
    arguments += ", affine=False";
  } else {
    add_affine(c, channels, states, then);
  }
  const std::string self = c.module("nn.GroupNorm(" + arguments + ")", std::move(states), {}, std::move(then));
  c.result_of_module(self, c.follow(0));
  return {};
}

Status write_rms_norm(const RmsNorm& norm, Call& c) {
  if (const auto shape = trailing(c.type(0), norm.axes)) {
    std::vector<State> states;
    if (c.has(1)) states.push_back(c.state("weight", 1, c.constant(1)->reshaped(*shape)));
    const std::string self = c.module(fmt::format("nn.RMSNorm({}, eps={}{})", shape_argument(*shape),
                                                  number(norm.epsilon), c.has(1) ? "" : ", elementwise_affine=False"),
                                      std::move(states));
    c.result_of_module(self, c.follow(0));
    return {};
  }
  const std::string x = c.name(0);
  std::string text = fmt::format("{0} * torch.rsqrt({0}.square().mean(dim={1}, keepdim=True) + {2})", x,
                                 shape_argument(norm.axes), number(norm.epsilon));
  if (c.has(1)) text += " * " + broadcast_parameter(c, "weight", 1, norm.axes);
  c.result({text, Binds::Product, 3, false, {}});
  return {};
}

Status write_unit_norm(const UnitNorm& norm, Call& c) {
  apply_function(c, "F.normalize",
                 fmt::format("dim={}, eps={}", shape_argument(norm.axes), short_number(std::sqrt(norm.epsilon))));
  return {};
}

Status write_length_norm(const LengthNorm& norm, Call& c) {
  std::string more = std::isinf(norm.p) ? "p=torch.inf, " : norm.p == 2 ? "" : "p=" + number(norm.p) + ", ";
  more += "dim=" + shape_argument(norm.axes);
  if (norm.epsilon != 1e-12) more += ", eps=" + number(norm.epsilon);
  apply_function(c, "F.normalize", more);
  return {};
}

// PyTorch's window lies around axis 1, an odd cell in front.
Status write_local_response_norm(const LocalResponseNorm& norm, Call& c) {
  const Size size = norm.before + norm.after + 1;
  if (norm.before - norm.after < 0 || norm.before - norm.after > 1)
    return c.refused("a local response norm whose window has its odd cell behind");
  if (c.type(0).rank() < 3) return c.refused("a local response norm of rank below 3");
  const Expression x = c.begin(0);
  const bool moves = norm.axis != 1;
  const std::string turn = moves ? fmt::format(".transpose(1, {})", norm.axis) : "";
  std::string more;
  if (const double alpha = norm.alpha * static_cast<double>(size); alpha != 1e-4)
    more += ", alpha=" + short_number(alpha);
  if (norm.beta != 0.75) more += ", beta=" + number(norm.beta);
  if (norm.bias != 1) more += ", k=" + number(norm.bias);
  const std::string operand = moves ? postfix(x) + turn : x.text;
  c.result({fmt::format("F.local_response_norm({}, {}{}){}", operand, size, more, turn),
            Binds::Atom,
            x.calls + 1,
            false,
            {}});
  return {};
}

constexpr std::array normalization_table{writes<write_batch_norm>(),         writes<write_layer_norm>(),
                                         writes<write_group_norm>(),         writes<write_rms_norm>(),
                                         writes<write_unit_norm>(),          writes<write_length_norm>(),
                                         writes<write_local_response_norm>()};
static_assert(decides<Normalization>(normalization_table), "every normalization needs one row: writes<> or lacks<>");

constexpr std::array rows_of_normalizations{
    CatalogueRow{"group_norm",
                 "input:T num_groups:i weight:T?= bias:T?= eps:f=1e-05 aten/cudnn_enabled:b=", group_norm},
    CatalogueRow{"aten.native_group_norm", "input:T weight:T? bias:T? N:i C:i HxW:i group:i eps:f -> TTT",
                 native_group_norm},
    CatalogueRow{"nn.GroupNorm", "num_groups:i num_channels:i eps:f=1e-05 affine:b=True device:d= dtype:t= bias:b=True",
                 group_norm_layer},
    CatalogueRow{"layer_norm",
                 "input:T normalized_shape:I weight:T?= bias:T?= eps:f=1e-05 aten/cudnn_enable:b=", layer_norm},
    CatalogueRow{"aten.native_layer_norm", "input:T normalized_shape:I weight:T? bias:T? eps:f -> TTT",
                 native_layer_norm},
    CatalogueRow{
        "nn.LayerNorm",
        "normalized_shape:I eps:f=1e-05 elementwise_affine:b=True bias:b=True device:d= dtype:t=", layer_norm_layer},
    CatalogueRow{"rms_norm", "input:T normalized_shape:I weight:T?= eps:f?=None", rms_norm},
    CatalogueRow{"nn.RMSNorm",
                 "normalized_shape:I eps:f?=None elementwise_affine:b=True device:d= dtype:t=", rms_norm_layer},
    CatalogueRow{"F.local_response_norm nn.LocalResponseNorm", "input:T size:i alpha:n=0.0001 beta:n=0.75 k:n=1.0",
                 local_response_norm},
    CatalogueRow{"F.normalize", "input:T p:n=2.0 dim:I=1 eps:n=1e-12 out:T?=", normalize},
    CatalogueRow{"aten._weight_norm", "v:T g:T dim:i=0", weight_norm},
};

}  // namespace

std::span<const CatalogueRow> normalization_operators() { return rows_of_normalizations; }

std::span<const Row> normalization_rows() { return normalization_table; }

}  // namespace convoy::torch
