// Normalizations as modules that can be trained on; those PyTorch has no module for as their formula.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace convoy::torch {
namespace {

// 1 - 0.99 as a person writes it.
std::string short_number(double value) { return number(std::stod(fmt::format("{:.12g}", value))); }

Tensor filled(Size count, float value) {
  return Tensor::of({count}, std::vector<float>(static_cast<std::size_t>(count), value));
}

// The axes are the last ones of x and their sizes are known.
std::optional<Sizes> trailing(const Fact& x, const Sizes& axes) {
  Sizes sizes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Size axis = x.rank() - static_cast<Size>(axes.size() - i);
    if (axes[i] != axis || axis < 0 || !x.shape[static_cast<std::size_t>(axis)].known()) return std::nullopt;
    sizes.push_back(*x.shape[static_cast<std::size_t>(axis)]);
  }
  return sizes;
}

std::string shape_text(const Sizes& shape) { return shape.size() == 1 ? std::to_string(shape[0]) : tuple(shape); }

// A parameter over `axes` of x, shaped so that it broadcasts against x.
std::string spread(Call& c, const std::string& name, std::size_t i, const Sizes& axes) {
  const Tensor& t = *c.constant(i);
  Sizes shape;
  std::size_t at = 0;
  for (Size axis = axes.front(); axis < c.fact(0).rank(); ++axis) {
    const bool named = std::ranges::find(axes, axis) != axes.end();
    shape.push_back(named && at < t.shape().size() ? t.shape()[at++] : 1);
  }
  return c.tensor(c.state(name, i, at == t.shape().size() ? t.reshaped(shape) : t));
}

// Where the axis that is normalized is not the channels: a transpose brought it there.
std::string axis_comment(const Call& c) {
  const Value& x = c.graph()[c.node().inputs[0]];
  if (!x.producer || c.graph()[x.producer].layer != c.node().layer) return {};
  const auto* moved = std::get_if<Transpose>(&c.graph()[x.producer].op);
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

Status write_batch_norm(const BatchNorm& norm, Call& c) {
  const Fact& x = c.fact(0);
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
    states.push_back(gamma ? c.state("weight", 1) : State{"weight", filled(n, 1), {}});
    states.push_back(beta ? c.state("bias", 2) : State{"bias", filled(n, 0), {}});
    if (!gamma)
      then.emplace_back("weight.requires_grad_(False)"), comment = "the source has no scale: the weight stays 1";
    if (!beta) then.emplace_back("bias.requires_grad_(False)"), comment = "the source has no offset: the bias stays 0";
  }
  states.push_back(c.state("running_mean", 3, true));
  states.push_back(c.state("running_var", 4, true));
  states.push_back({"num_batches_tracked", Tensor::of({}, std::vector<std::int64_t>{0}), {}, true});
  std::string arguments = std::to_string(n);
  if (norm.epsilon != 1e-5) arguments += ", eps=" + number(norm.epsilon);
  if (std::abs(norm.momentum - 0.9) > 1e-12) arguments += ", momentum=" + short_number(1 - norm.momentum);
  if (!affine) arguments += ", affine=False";
  const Size space = std::max<Size>(1, x.rank() - 2);
  const std::string self = c.module(fmt::format("nn.BatchNorm{}d({})", space, arguments), std::move(states),
                                    std::move(comment), std::move(then));
  c.result_of_module(self, c.follow(0));
  return {};
}

Status write_layer_norm(const LayerNorm& norm, Call& c) {
  const auto shape = trailing(c.fact(0), norm.axes);
  if (!norm.keras_rms_scaling && shape) {
    std::vector<State> states;
    std::string arguments = shape_text(*shape);
    if (norm.epsilon != 1e-5) arguments += ", eps=" + number(norm.epsilon);
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
  const std::string x = c.name(0), axes = shape_text(norm.axes);
  const std::string root =
      fmt::format("torch.rsqrt({}.var(dim={}, correction=0, keepdim=True) + {})", x, axes, number(norm.epsilon));
  std::string text = norm.keras_rms_scaling
                         ? fmt::format("{} * {}", x, root)
                         : fmt::format("({0} - {0}.mean(dim={1}, keepdim=True)) * {2}", x, axes, root);
  if (c.has(1)) text += " * " + spread(c, "weight", 1, norm.axes);
  if (c.has(2)) text += " + " + spread(c, "bias", 2, norm.axes);
  c.result({text, c.has(2) ? Binds::Sum : Binds::Product, 4, false, {}});
  return {};
}

Status write_group_norm(const GroupNorm& norm, Call& c) {
  const Fact& x = c.fact(0);
  if (norm.axis != 1) return c.broken(fmt::format("a group normalization over axis {}", norm.axis));
  if (x.rank() < 2 || !x.shape[1].known()) return c.refused("a group normalization of unknown channels");
  const Size channels = *x.shape[1];
  std::vector<State> states;
  std::string arguments = fmt::format("{}, {}", norm.groups, channels);
  if (norm.epsilon != 1e-5) arguments += ", eps=" + number(norm.epsilon);
  std::vector<std::string> then;
  if (!c.has(1) && !c.has(2)) {
    arguments += ", affine=False";
  } else {
    states.push_back(c.has(1) ? c.state("weight", 1) : State{"weight", filled(channels, 1), {}});
    states.push_back(c.has(2) ? c.state("bias", 2) : State{"bias", filled(channels, 0), {}});
    if (!c.has(1)) then.emplace_back("weight.requires_grad_(False)");
    if (!c.has(2)) then.emplace_back("bias.requires_grad_(False)");
  }
  const std::string self = c.module("nn.GroupNorm(" + arguments + ")", std::move(states), {}, std::move(then));
  c.result_of_module(self, c.follow(0));
  return {};
}

Status write_rms_norm(const RmsNorm& norm, Call& c) {
  if (const auto shape = trailing(c.fact(0), norm.axes)) {
    std::vector<State> states;
    if (c.has(1)) states.push_back(c.state("weight", 1, c.constant(1)->reshaped(*shape)));
    const std::string self = c.module(fmt::format("nn.RMSNorm({}, eps={}{})", shape_text(*shape), number(norm.epsilon),
                                                  c.has(1) ? "" : ", elementwise_affine=False"),
                                      std::move(states));
    c.result_of_module(self, c.follow(0));
    return {};
  }
  const std::string x = c.name(0);
  std::string text = fmt::format("{0} * torch.rsqrt({0}.square().mean(dim={1}, keepdim=True) + {2})", x,
                                 shape_text(norm.axes), number(norm.epsilon));
  if (c.has(1)) text += " * " + spread(c, "weight", 1, norm.axes);
  c.result({text, Binds::Product, 3, false, {}});
  return {};
}

Status write_unit_norm(const UnitNorm& norm, Call& c) {
  apply_function(c, "F.normalize",
                 fmt::format("dim={}, eps={}", shape_text(norm.axes), short_number(std::sqrt(norm.epsilon))));
  return {};
}

Status write_length_norm(const LengthNorm& norm, Call& c) {
  std::string more = std::isinf(norm.p) ? "p=torch.inf, " : norm.p == 2 ? "" : "p=" + number(norm.p) + ", ";
  more += "dim=" + shape_text(norm.axes);
  if (norm.epsilon != 1e-12) more += ", eps=" + number(norm.epsilon);
  apply_function(c, "F.normalize", more);
  return {};
}

// PyTorch's window lies around axis 1, an odd cell in front.
Status write_local_response_norm(const LocalResponseNorm& norm, Call& c) {
  const Size size = norm.before + norm.after + 1;
  if (norm.before - norm.after < 0 || norm.before - norm.after > 1)
    return c.refused("a local response norm whose window has its odd cell behind");
  if (c.fact(0).rank() < 3) return c.refused("a local response norm of rank below 3");
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

}  // namespace

std::span<const Row> normalization_rows() { return normalization_table; }

}  // namespace convoy::torch
