// What goes wrong with normalisations: epsilon, axes, exchanged vectors, statistics.
#include "diagnose/channel_order.h"
#include "diagnose/comparable.h"
#include "diagnose/hypothesis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

namespace convoy::diagnose {

namespace {

constexpr std::size_t gamma = 1, beta = 2, mean = 3, variance = 4;

template <class O>
std::vector<double> epsilons(const Scene& scene, double own) {
  std::vector<double> all;
  const auto add = [&](double value) {
    if (value != own && std::ranges::find(all, value) == all.end()) all.push_back(value);
  };
  for (const Node* other : twins<O>(scene)) add(get<O>(other->op).epsilon);
  for (const double value : usual_epsilons) add(value);
  return all;
}

template <class O>
void guess_epsilon(Guesses& guesses, std::size_t node, const O& op, std::string_view cause) {
  for (const double value : epsilons<O>(guesses.scene, op.epsilon)) {
    O now = op;
    now.epsilon = value;
    guesses.add(cause, guesses.scene.a.nodes[node],
                "epsilon " + number_text(value) + " in place of " + number_text(op.epsilon),
                with_op(guesses.scene.a, node, now));
  }
}

Tensor changed(const Tensor& tensor, const std::function<double(double)>& f) {
  auto values = tensor.doubles();
  for (double& value : values) value = f(value);
  return Tensor::of(tensor.shape(), std::move(values));
}

// Mean and biased variance along `axis` of x.
std::pair<Tensor, Tensor> statistics(const Tensor& x, std::size_t axis) {
  const auto values = x.doubles();
  const Sizes& shape = x.shape();
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto channels = static_cast<std::size_t>(shape[axis]);
  std::vector<double> sum(channels, 0), squares(channels, 0);
  const double n = static_cast<double>(values.size()) / static_cast<double>(channels);
  for (std::size_t i = 0; i < values.size(); ++i) sum[i / inner % channels] += values[i] / n;
  for (std::size_t i = 0; i < values.size(); ++i)
    squares[i / inner % channels] +=
        (values[i] - sum[i / inner % channels]) * (values[i] - sum[i / inner % channels]) / n;
  return {Tensor::of({shape[axis]}, std::move(sum)), Tensor::of({shape[axis]}, std::move(squares))};
}

// Where b holds the norm folded into the layer in front, that layer's bias is what the norm adds: gone, or there twice.
void guess_folded_bias(Guesses& guesses, std::size_t node, const BatchNorm& norm) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const NodeId maker = scene.a[about.inputs[0]].producer;
  if (!maker || !constant_of(scene.a, scene.a[maker], 1)) return;
  const auto m = constant_of(scene.a, about, mean)->doubles(), v = constant_of(scene.a, about, variance)->doubles();
  const auto vector = [&](const Node& at, std::size_t input, double otherwise) {
    const Tensor* tensor = constant_of(scene.a, at, input);
    return tensor ? tensor->doubles() : std::vector<double>(m.size(), otherwise);
  };
  const auto c = vector(scene.a[maker], 2, 0), g = vector(about, gamma, 1), o = vector(about, beta, 0);
  if (c.size() != m.size()) return;
  std::vector<double> none(m.size()), twice(m.size());
  for (std::size_t i = 0; i < m.size(); ++i) {
    const double moved = g[i] / std::sqrt(v[i] + norm.epsilon) * (c[i] - m[i]);
    none[i] = -moved;
    twice[i] = 2 * o[i] + moved;
  }
  const Sizes shape{static_cast<Size>(m.size())};
  guesses.add("bias_missing", scene.a[maker], "without what the norm adds",
              with_constant(scene.a, node, beta, Tensor::of(shape, std::move(none))));
  guesses.add("bias_doubled", scene.a[maker], "with what the norm adds twice",
              with_constant(scene.a, node, beta, Tensor::of(shape, std::move(twice))));
}

// Files list the four vectors one after the other: each in the place of another.
void guess_vector_order(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  constexpr std::array words{"scale", "offset", "mean", "variance"};
  std::array<std::size_t, 4> order{gamma, beta, mean, variance};
  const Tensor* first = constant_of(scene.a, about, mean);
  for (const std::size_t input : order) {
    const Tensor* vector = constant_of(scene.a, about, input);
    if (!vector || vector->shape() != first->shape()) return;
  }
  const std::array<std::size_t, 4> other_scale{beta, gamma, mean, variance}, other_mean{gamma, beta, variance, mean};
  while (std::ranges::next_permutation(order).found) {
    if (order == other_scale || order == other_mean) continue;  // these have names of their own
    Graph changed = scene.a;
    std::string says = "in the order";
    for (std::size_t i = 0; i < order.size(); ++i) {
      changed = with_constant(changed, node, gamma + i, *constant_of(scene.a, about, order[i]));
      says += (i == 0 ? " " : ", ") + std::string(words[order[i] - gamma]);
    }
    guesses.add("bn_vector_order", about, std::move(says), std::move(changed));
  }
}

// One of the four vectors with its numbers in another order.
void guess_order_in_vector(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  constexpr std::array words{"scale", "offset", "mean", "variance"};
  for (const Node* other : twins<BatchNorm>(scene))
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Tensor *own = constant_of(scene.a, about, gamma + i), *theirs = constant_of(scene.b, *other, gamma + i);
      if (!own || !theirs || own->shape() != theirs->shape() || own->rank() != 1) continue;
      if (const auto order = order_between(*own, *theirs, 0))
        guesses.add("bn_vector_order", about, std::string("the numbers of the ") + words[i] + " " + order_text(*order),
                    with_constant(scene.a, node, gamma + i, *theirs));
    }
}

void guess_batch_norm(Guesses& guesses, std::size_t node, const BatchNorm& norm) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  guess_epsilon(guesses, node, norm, "bn_eps");
  const Sizes& shape = scene.shape(about.inputs[0]);
  const auto length = shape[static_cast<std::size_t>(norm.axis)];
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    BatchNorm now = norm;
    now.axis = static_cast<Size>(axis);
    if (now != norm && shape[axis] == length)
      guesses.add("bn_axis", about, fmt::format("over axis {}", axis), with_op(scene.a, node, now));
  }
  const Tensor *m = constant_of(scene.a, about, mean), *v = constant_of(scene.a, about, variance);
  const Tensor *g = constant_of(scene.a, about, gamma), *o = constant_of(scene.a, about, beta);
  if (!m || !v) return;
  const auto set = [&](std::vector<std::pair<std::size_t, Tensor>> vectors) {
    Graph piece = scene.a;
    for (auto& [input, tensor] : vectors) piece = with_constant(piece, node, input, std::move(tensor));
    return piece;
  };
  guesses.add("bn_mean_var_swapped", about, "mean and variance exchanged", set({{mean, *v}, {variance, *m}}));
  // Somebody who saw a negative variance may have taken its magnitude.
  guesses.add("bn_mean_var_swapped", about, "mean and variance exchanged, without its sign",
              set({{mean, *v}, {variance, changed(*m, [](double x) { return std::abs(x); })}}));
  if (g || o) {
    const Tensor ones = filled(length, 1), zeros = filled(length, 0);
    guesses.add("bn_gamma_beta_swapped", about, "scale and offset exchanged",
                set({{gamma, o ? *o : zeros}, {beta, g ? *g : ones}}));
  }
  guess_vector_order(guesses, node);
  guess_order_in_vector(guesses, node);
  const auto [batch_mean, batch_variance] =
      statistics(scene.values[about.inputs[0].slot()], static_cast<std::size_t>(norm.axis));
  guesses.add("bn_batch_statistics", about, "the statistics of the batch",
              set({{mean, batch_mean}, {variance, batch_variance}}));
  guesses.add("bn_variance_is_deviation", about, "the root of the variance",
              set({{variance, changed(*v, [](double x) { return std::sqrt(x); })}}));
  guesses.add("bn_variance_is_deviation", about, "the square of the variance",
              set({{variance, changed(*v, [](double x) { return x * x; })}}));
  guesses.add("statistics_not_loaded", about, "mean 0 and variance 1",
              set({{mean, filled(length, 0)}, {variance, filled(length, 1)}}));
  guesses.add("statistics_not_loaded", about, "mean 0", set({{mean, filled(length, 0)}}));
  guesses.add("statistics_not_loaded", about, "variance 1", set({{variance, filled(length, 1)}}));
  if (g) guesses.add("weights_not_loaded", about, "scale 1", without_input(scene.a, node, gamma));
  if (o) guesses.add("weights_not_loaded", about, "offset 0", without_input(scene.a, node, beta));
  if (g && o)
    guesses.add("weights_not_loaded", about, "scale 1 and offset 0",
                without_input(without_input(scene.a, node, gamma), node, beta));
  guesses.add("weights_not_loaded", about, "everything as before training",
              without_input(without_input(set({{mean, filled(length, 0)}, {variance, filled(length, 1)}}), node, gamma),
                            node, beta));
  if (twins<BatchNorm>(scene).empty()) guess_folded_bias(guesses, node, norm);
  for (const Node* other : twins<BatchNorm>(scene)) {
    // Over another axis, with the vectors that belong to that one.
    const auto& theirs_op = get<BatchNorm>(other->op);
    if (theirs_op.axis != norm.axis) {
      Graph theirs = with_op(scene.a, node, theirs_op);
      for (std::size_t input = gamma; input <= variance; ++input) {
        const Tensor* vector = constant_of(scene.b, *other, input);
        theirs = vector ? with_constant(theirs, node, input, *vector) : without_input(theirs, node, input);
      }
      guesses.add("bn_axis", about, fmt::format("over axis {} with b's vectors", theirs_op.axis), std::move(theirs));
    }
    Graph all = scene.a;
    for (std::size_t input = gamma; input <= variance; ++input) {
      const Tensor *ours = constant_of(scene.a, about, input), *theirs = constant_of(scene.b, *other, input);
      if (theirs && theirs->count() == length && (!ours || !same_bytes(*ours, *theirs))) {
        guesses.add("weights_differ", about, "one vector of b's", with_constant(scene.a, node, input, *theirs));
        all = with_constant(all, node, input, *theirs);
      }
      if (!theirs && ours) all = without_input(all, node, input);
    }
    guesses.add("weights_differ", about, "b's vectors", std::move(all));
  }
}

// Scale and offset as b's norm of the same kind has them.
template <class O>
void guess_their_parameters(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  for (const Node* other : twins<O>(scene)) {
    Graph both = scene.a;
    int taken = 0;
    std::optional<std::string> owner;
    for (const std::size_t input : {gamma, beta}) {
      const Tensor *own = constant_of(scene.a, about, input), *theirs = constant_of(scene.b, *other, input);
      if (!theirs || (own && (own->shape() != theirs->shape() || same_bytes(*own, *theirs)))) continue;
      const auto others = owner_of(scene, *theirs, about.layer);
      const std::string says = others ? "a vector of '" + *others + "'" : "one vector of b's";
      if (input == beta && !own)
        guesses.add("bias_extra", about, "with b's offset", with_constant(scene.a, node, input, *theirs));
      else
        guesses.add(others ? "weights_exchanged" : "weights_differ", about, says,
                    with_constant(scene.a, node, input, *theirs));
      both = with_constant(both, node, input, *theirs);
      owner = taken == 0 || owner == others ? others : std::nullopt;
      ++taken;
    }
    if (taken == 2)
      guesses.add(owner ? "weights_exchanged" : "weights_differ", about,
                  owner ? "the vectors of '" + *owner + "'" : "b's vectors", std::move(both));
  }
}

template <class O>
void guess_parameters(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  guess_their_parameters<O>(guesses, node);
  const Tensor *g = constant_of(scene.a, about, gamma), *o = constant_of(scene.a, about, beta);
  if (g && o && g->shape() == o->shape())
    guesses.add("bn_gamma_beta_swapped", about, "scale and offset exchanged",
                with_constant(with_constant(scene.a, node, gamma, *o), node, beta, *g));
  for (const std::size_t input : {gamma, beta})
    if (constant_of(scene.a, about, input))
      guesses.add("weights_not_loaded", about, input == gamma ? "scale 1" : "offset 0",
                  without_input(scene.a, node, input));
  if (constant_of(scene.a, about, gamma) && constant_of(scene.a, about, beta))
    guesses.add("weights_not_loaded", about, "scale 1 and offset 0",
                without_input(without_input(scene.a, node, gamma), node, beta));
}

// Every other choice of as many axes.
template <class O>
void guess_axes(Guesses& guesses, std::size_t node, const O& norm) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const Size rank = static_cast<Size>(scene.shape(about.inputs[0]).size());
  for (Size mask = 1; rank <= 6 && mask < (Size{1} << rank); ++mask) {
    O now = norm;
    now.axes.clear();
    for (Size axis = 0; axis < rank; ++axis)
      if (mask >> axis & 1) now.axes.push_back(axis);
    if (now == norm || mask & 1) continue;
    guesses.add("norm_axes", about, "over other axes", with_op(scene.a, node, now));
  }
}

// A number added under a root, where the norm is written out.
void guess_number_under_root(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  const auto is_root = [](const Op& op) {
    const auto* unary = get_if<Unary>(&op);
    return unary && (unary->function == Function::Sqrt || unary->function == Function::Rsqrt);
  };
  bool is_under = about.outputs[0] == scene.a.outputs[0] && std::ranges::any_of(scene.readers, is_root);
  for (const Node& next : scene.a.nodes)
    is_under = is_under || (is_root(next.op) && next.inputs[0] == about.outputs[0]);
  if (!is_under) return;
  const auto number_in = [](const Graph& graph, const Node& sum, std::size_t& input) -> std::optional<double> {
    const auto* binary = get_if<Binary>(&sum.op);
    if (!binary || binary->function != BinaryFunction::Add) return std::nullopt;
    for (input = 0; input < 2; ++input)
      if (const Tensor* number = constant_of(graph, sum, input); number && number->count() == 1)
        return number->doubles()[0];
    return std::nullopt;
  };
  std::size_t own = 0, other = 0;
  const auto* affine = get_if<Affine>(&about.op);
  const auto epsilon = affine ? std::optional(affine->offset) : number_in(scene.a, about, own);
  if (!epsilon || (affine && affine->scale != 1)) return;
  std::set<double> values{1e-3, 1e-5, 1e-6, 1e-12};
  for (const Node& theirs : scene.b.nodes) {
    if (const auto number = number_in(scene.b, theirs, other)) values.insert(*number);
    if (const auto* line = get_if<Affine>(&theirs.op); line && line->scale == 1) values.insert(line->offset);
  }
  for (const double value : values) {
    if (value == *epsilon) continue;
    const std::string says = "epsilon " + number_text(value) + " in place of " + number_text(*epsilon);
    if (affine) {
      guesses.add("norm_eps", about, says, with_op(scene.a, node, Affine{1, value}));
      continue;
    }
    const Tensor& number = *constant_of(scene.a, about, own);
    guesses.add(
        "norm_eps", about, says,
        with_constant(scene.a, node, own, Tensor::of(number.shape(), std::vector<float>{static_cast<float>(value)})));
  }
}

// Squares divided by one number fewer: the same norm with a smaller epsilon, and smaller by a factor.
void guess_variance(Guesses& guesses, std::size_t node, const LayerNorm& norm) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  double count = 1;
  for (const Size axis : norm.axes)
    count *= static_cast<double>(scene.shape(about.inputs[0])[static_cast<std::size_t>(axis)]);
  if (count < 2) return;
  const double share = (count - 1) / count;
  LayerNorm now = norm;
  now.epsilon = norm.epsilon * share;
  const Graph smaller = with_op(scene.a, node, now);
  const Tensor* scale = constant_of(scene.a, about, gamma);
  const std::string says = fmt::format("the squares divided by {} in place of {}", count - 1, count);
  if (scale)
    guesses.add("norm_variance", about, says,
                with_constant(smaller, node, gamma, changed(*scale, [&](double x) { return x * std::sqrt(share); })));
  else if (!constant_of(scene.a, about, beta))
    guesses.add("norm_variance", about, says,
                with_node_behind(smaller, about.outputs[0], Affine{std::sqrt(share), 0}, about));
}

}  // namespace

void guess_norm(Guesses& guesses, std::size_t node) {
  const Scene& scene = guesses.scene;
  const Node& about = scene.a.nodes[node];
  guess_number_under_root(guesses, node);
  if (const auto* norm = get_if<BatchNorm>(&about.op)) guess_batch_norm(guesses, node, *norm);
  if (const auto* norm = get_if<LayerNorm>(&about.op)) {
    guess_epsilon(guesses, node, *norm, "norm_eps");
    guess_variance(guesses, node, *norm);
    if (!constant_of(scene.a, about, beta)) {
      std::set<double> epsilons{norm->epsilon};
      for (const Node* other : twins<RmsNorm>(scene)) epsilons.insert(get<RmsNorm>(other->op).epsilon);
      for (const double epsilon : epsilons)
        guesses.add("norm_kind", about, "by the mean of squares, nothing subtracted",
                    with_op(scene.a, node, RmsNorm{norm->axes, epsilon}));
    }
    guess_axes(guesses, node, *norm);
    guess_parameters<LayerNorm>(guesses, node);
  }
  if (const auto* norm = get_if<RmsNorm>(&about.op)) {
    guesses.add("norm_kind", about, "the mean subtracted first",
                with_op(scene.a, node, LayerNorm{norm->axes, norm->epsilon, false}));
    guess_epsilon(guesses, node, *norm, "norm_eps");
    guess_axes(guesses, node, *norm);
    guess_parameters<RmsNorm>(guesses, node);
  }
  if (const auto* norm = get_if<GroupNorm>(&about.op)) {
    guess_epsilon(guesses, node, *norm, "norm_eps");
    const Size channels = scene.shape(about.inputs[0])[static_cast<std::size_t>(norm->axis)];
    for (Size groups = 1; groups <= channels; ++groups) {
      GroupNorm now = *norm;
      now.groups = groups;
      if (now != *norm && channels % groups == 0)
        guesses.add("norm_groups", about, fmt::format("{} groups in place of {}", groups, norm->groups),
                    with_op(scene.a, node, now));
    }
    guess_parameters<GroupNorm>(guesses, node);
  }
  if (const auto* norm = get_if<UnitNorm>(&about.op)) guess_axes(guesses, node, *norm);
  if (const auto* norm = get_if<LengthNorm>(&about.op)) guess_axes(guesses, node, *norm);
}

}  // namespace convoy::diagnose
