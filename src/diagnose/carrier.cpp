#include "diagnose/carrier.h"

#include "diagnose/comparable.h"
#include "diagnose/family.h"
#include "diagnose/flattened_order.h"
#include "diagnose/hypothesis.h"
#include "ops/axes.h"
#include "ops/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace convoy::diagnose {

namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

bool is_kernel_layer(const Op& op) {
  const Family family = family_of(op);
  return family == Family::Convolution || family == Family::Transposed || family == Family::Product;
}

// Kernels with the output channels first, whatever the operator; transposed convolutions as they are.
Tensor outputs_first(const Node& node, const Tensor& kernel) {
  const auto* linear = get_if<Linear>(&node.op);
  const bool turned = (linear && linear->order == LinearOrder::InOut) || holds_alternative<MatMul>(node.op);
  return turned && kernel.rank() == 2 ? kernel.permuted(Sizes{1, 0}) : kernel;
}

class Carrier {
 public:
  Carrier(const Sides& sides, const Alignment& alignment, const Numbering& of_b)
      : sides_(sides),
        alignment_(alignment),
        of_b_(of_b),
        readers_a_(readers_of(sides.real)),
        readers_b_(readers_of(sides.b)) {}

  Status run() {
    for (const Match& match : alignment_.matches) {
      if (!match.node_a || !match.node_b || !is_kernel_layer(sides_.real[match.node_a].op)) continue;
      if (auto done = kernel_layer(match.node_a, match.node_b); !done) return done;
    }
    for (const Match& match : alignment_.matches) {
      if (!match.node_a || !match.node_b || done_a_.contains(match.node_a)) continue;
      if (auto done = other_layer(match.node_a, match.node_b); !done) return done;
    }
    return all_carried();
  }

  std::map<ValueId, CarriedNumbers> take() { return std::move(carried_); }

 private:
  CarriedNumbers of_a(NodeId n, std::size_t slot) const {
    const Tensor* real = constant_of(sides_.real, sides_.real[n], slot);
    const Tensor* places = constant_of(sides_.numbered, sides_.numbered[n], slot);
    return {real ? *real : Tensor(), places ? std::optional(*places) : std::nullopt, {}};
  }
  bool has_a(NodeId n, std::size_t slot) const { return constant_of(sides_.real, sides_.real[n], slot) != nullptr; }
  bool has_b(NodeId n, std::size_t slot) const { return constant_of(sides_.b, sides_.b[n], slot) != nullptr; }
  const std::string& name_a(NodeId n) const { return sides_.real[n].layer; }
  const std::string& name_b(NodeId n) const { return sides_.b[n].layer; }

  NodeId norm_behind(const Graph& graph, const std::vector<std::vector<NodeId>>& readers, NodeId n) const {
    const auto& next = readers[graph[n].outputs[0].slot()];
    if (next.size() != 1 || !holds_alternative<BatchNorm>(graph[next[0]].op)) return {};
    return constant_of(graph, graph[next[0]], 4) ? next[0] : NodeId{};
  }

  // Puts numbers where b's layer reads them, under its shape.
  Status put(NodeId a, NodeId b, std::size_t slot, CarriedNumbers numbers) {
    const ValueId to = sides_.b[b].inputs[slot];
    const Sizes& shape = sides_.b[to].constant->shape();
    const Sizes& from = numbers.values.shape();
    const bool same_rows = !from.empty() && !shape.empty() && from[0] == shape[0];
    const bool fits = from == shape || without_ones(from) == without_ones(shape) ||
                      (slot <= 1 && same_rows && numbers.values.count() == sides_.b[to].constant->count());
    if (!fits)
      return fail(Fault::Proof,
                  fmt::format("layer {} of a has weights of shape {} where {} of b has {}: these are not "
                              "the same layers",
                              quoted(name_a(a)), convoy::text_of(from), quoted(name_b(b)), convoy::text_of(shape)));
    numbers.values = numbers.values.reshaped(shape);
    if (numbers.places) numbers.places = numbers.places->reshaped(shape);
    const auto known = carried_.find(to);
    if (known != carried_.end() && !same_bytes(known->second.values, numbers.values))
      return fail(Fault::Proof,
                  fmt::format("layer {} of b is used more than once, and a has other weights there ({} is the other)",
                              quoted(name_b(b)), quoted(name_a(a))));
    numbers.node_a = a, numbers.node_b = b;
    carried_.insert_or_assign(to, std::move(numbers));
    done_a_.insert(a);
    done_b_.insert(b);
    return {};
  }

  std::size_t channels_axis(const Node& node) const {
    if (holds_alternative<ConvTranspose>(node.op)) return 1;
    return 0;
  }

  // The factor and offset per channel that a batch norm is.
  std::pair<std::vector<double>, std::vector<double>> affine_of(NodeId n) const {
    const Graph& graph = sides_.real;
    const auto mean = constant_of(graph, graph[n], 3)->doubles(), variance = constant_of(graph, graph[n], 4)->doubles();
    std::vector<double> factor(mean.size(), 1), offset(mean.size(), 0);
    if (const Tensor* gamma = constant_of(graph, graph[n], 1)) factor = gamma->doubles();
    if (const Tensor* beta = constant_of(graph, graph[n], 2)) offset = beta->doubles();
    const double epsilon = get<BatchNorm>(graph[n].op).epsilon;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      factor[i] /= std::sqrt(variance[i] + epsilon);
      offset[i] -= mean[i] * factor[i];
    }
    return {std::move(factor), std::move(offset)};
  }

  // A kernel with its batch norm in it; output channels as they lie in groups.
  CarriedNumbers folded(const Node& node, const Tensor& kernel, const std::vector<double>& factor,
                        const std::string& norm) const {
    const auto axis = channels_axis(node);
    const auto* up = get_if<ConvTranspose>(&node.op);
    const std::size_t groups = up ? static_cast<std::size_t>(up->groups) : 1;
    const Sizes& shape = kernel.shape();
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
    const auto width = static_cast<std::size_t>(shape[axis]);
    const std::size_t per_group = static_cast<std::size_t>(shape[0]) / groups;
    auto values = kernel.doubles();
    std::vector<float> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::size_t channel = i / inner % width;
      if (up) channel += i / (inner * width) / per_group * width;
      result[i] = static_cast<float>(values[i] * factor[channel]);
    }
    return {Tensor::of(shape, std::move(result)), {}, "with batch norm " + quoted(norm) + " folded in"};
  }

  // The columns of a's kernel, [outputs, features], as b flattens them.
  void order_features(NodeId a, NodeId b, CarriedNumbers& kernel) const {
    if (kernel.values.rank() != 2) return;
    const auto from = flattened_input(sides_.real, sides_.real[a]), to = flattened_input(sides_.b, sides_.b[b]);
    const auto order = from && to ? order_between(*from, *to) : std::nullopt;
    if (!order || is_identity(*order)) return;
    const Sizes shape = kernel.values.shape();
    Sizes split = from->shape;
    split[0] = shape[0];
    if (checked_count(split) != kernel.values.count()) return;
    kernel.values = kernel.values.reshaped(split).permuted(*order).reshaped(shape);
    if (kernel.places) kernel.places = kernel.places->reshaped(split).permuted(*order).reshaped(shape);
  }

  Status kernel_layer(NodeId a, NodeId b) {
    const Node &node_a = sides_.real[a], &node_b = sides_.b[b];
    const std::size_t slot_a = kernel_slot(sides_.real, node_a), slot_b = kernel_slot(sides_.b, node_b);
    if (!has_a(a, slot_a) && !has_b(b, slot_b)) return {};
    if (!has_a(a, slot_a) || !has_b(b, slot_b))
      return fail(Fault::Proof, fmt::format("layer {} of a and {} of b: only one of them has a kernel of its own",
                                            quoted(name_a(a)), quoted(name_b(b))));
    const NodeId norm_a = norm_behind(sides_.real, readers_a_, a), norm_b = norm_behind(sides_.b, readers_b_, b);
    const bool folds = norm_a && !norm_b, unfolds = norm_b && !norm_a;
    CarriedNumbers kernel = of_a(a, slot_a);
    kernel.values = outputs_first(node_a, kernel.values);
    if (kernel.places) kernel.places = outputs_first(node_a, *kernel.places);
    std::vector<double> factor, offset;
    if (folds) {
      std::tie(factor, offset) = affine_of(norm_a);
      kernel = folded(node_a, kernel.values, factor, name_a(norm_a));
      done_a_.insert(norm_a);
    }
    order_features(a, b, kernel);
    const Tensor* to = constant_of(sides_.b, node_b, slot_b);
    const bool turns =
        outputs_first(node_b, *to).shape() != to->shape() || (holds_alternative<MatMul>(node_b.op) && to->rank() == 2);
    if (turns) {
      const Sizes rows = outputs_first(node_b, *to).shape();
      if (checked_count(rows) == kernel.values.count() && kernel.values.shape()[0] == rows[0]) {
        kernel.values = kernel.values.reshaped(rows).permuted(Sizes{1, 0});
        if (kernel.places) kernel.places = kernel.places->reshaped(rows).permuted(Sizes{1, 0});
      }
    }
    if (auto done = put(a, b, slot_b, std::move(kernel)); !done) return done;
    if (unfolds)
      if (auto done = identity_norm(a, b, norm_b); !done) return done;
    return bias(a, b, folds ? norm_a : NodeId{}, norm_a && norm_b, norm_b, factor, offset);
  }

  // b keeps a batch norm that a has folded: one that changes nothing, but may hold a bias.
  Status identity_norm(NodeId a, NodeId b, NodeId norm) {
    const Size channels = constant_of(sides_.b, sides_.b[norm], 3)->count();
    const double epsilon = get<BatchNorm>(sides_.b[norm].op).epsilon;
    const std::string how = "a has it folded into " + quoted(name_a(a));
    CarriedNumbers beta{filled(channels, 0), {}, how};
    if (has_a(a, 2) && !has_b(b, 2)) beta = of_a(a, 2), beta.how.clear();
    if (has_b(norm, 1))
      if (auto done = put(a, norm, 1, {filled(channels, 1), {}, how}); !done) return done;
    if (has_b(norm, 2)) {
      if (auto done = put(a, norm, 2, std::move(beta)); !done) return done;
    } else if (has_a(a, 2) && !has_b(b, 2)) {
      return no_bias(a, b);
    }
    if (auto done = put(a, norm, 3, {filled(channels, 0), {}, how}); !done) return done;
    return put(a, norm, 4, {filled(channels, static_cast<float>(1 - epsilon)), {}, how});
  }

  Status no_bias(NodeId a, NodeId b) const {
    return fail(Fault::Proof, fmt::format("layer {} of a has a bias, {} of b has no place for one", quoted(name_a(a)),
                                          quoted(name_b(b))));
  }

  Status bias(NodeId a, NodeId b, NodeId folded_norm, bool both_norms, NodeId norm_b, const std::vector<double>& factor,
              const std::vector<double>& offset) {
    CarriedNumbers bias = has_a(a, 2) ? of_a(a, 2) : CarriedNumbers{};
    const bool has_one = has_a(a, 2);
    if (folded_norm) {
      auto values = has_one ? bias.values.doubles() : std::vector<double>(factor.size(), 0);
      std::vector<float> sums(values.size());
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<float>(values[i] * factor[i] + offset[i]);
      const auto channels = static_cast<Size>(sums.size());
      bias = {
          Tensor::of({channels}, std::move(sums)), {}, "with batch norm " + quoted(name_a(folded_norm)) + " folded in"};
      if (!has_b(b, 2)) return no_bias(folded_norm, b);
      return put(a, b, 2, std::move(bias));
    }
    if (has_b(b, 2)) {
      if (!has_one) {
        const Size channels = constant_of(sides_.b, sides_.b[b], 2)->count();
        bias = {filled(channels, 0), {}, "zeros: a has no bias"};
      }
      return put(a, b, 2, std::move(bias));
    }
    if (!has_one) return {};
    const auto values = bias.values.floats();
    if (std::ranges::all_of(values, [](float v) { return v == 0; })) return {};
    if (both_norms) {
      shifts_[norm_b] = bias.values.doubles();  // (x + bias) - mean = x - (mean - bias)
      return {};
    }
    return norm_b ? Status() : no_bias(a, b);  // an identity norm took it
  }

  // Everything else: what a's node holds goes to the same place of b's node.
  Status other_layer(NodeId a, NodeId b) {
    const Node &node_a = sides_.real[a], &node_b = sides_.b[b];
    if (holds_alternative<Binary>(node_b.op)) return scalars(a, b);
    const std::size_t slots = std::max(node_a.inputs.size(), node_b.inputs.size());
    const bool is_norm = family_of(node_b.op) == Family::Norm;
    const bool sums = holds_alternative<Lstm>(node_b.op) || holds_alternative<SimpleRnn>(node_b.op);
    for (std::size_t slot = 1; slot < slots; ++slot) {
      const bool here = has_a(a, slot), there = has_b(b, slot);
      if (!here && !there) continue;
      CarriedNumbers numbers = here ? of_a(a, slot) : CarriedNumbers{};
      const bool is_scale = is_norm && slot == 1;
      if (!here) {
        const Tensor& like = *constant_of(sides_.b, node_b, slot);
        numbers = {filled(like.count(), is_scale ? 1 : 0).reshaped(like.shape()), {}, "a has none"};
      }
      if (const auto shift = shifts_.find(b); slot == 3 && shift != shifts_.end()) {
        auto values = numbers.values.doubles();
        std::vector<float> shifted(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) shifted[i] = static_cast<float>(values[i] - shift->second[i]);
        numbers = {Tensor::of(numbers.values.shape(), std::move(shifted)), {}, "less the bias in front of it"};
      }
      if (!there) {
        const auto values = numbers.values.floats();
        const float none = is_scale ? 1.0F : 0.0F;
        if (std::ranges::all_of(values, [&](float v) { return v == none; })) continue;
        if (is_norm && slot <= 2)
          return fail(Fault::Proof,
                      fmt::format("layer {} of a has {}, and {} of b has no place for them", quoted(name_a(a)),
                                  is_scale ? "scales (gamma) that are not all 1" : "offsets (beta) that are not all 0",
                                  quoted(name_b(b))));
        return fail(Fault::Proof,
                    fmt::format("layer {} of a has weights that {} of b has no place for (input {} of {})",
                                quoted(name_a(a)), quoted(name_b(b)), slot, name_of(node_b.op)));
      }
      // A cell whose two biases are one tensor in b's file.
      if (sums && slot == 3 && has_a(a, 4) && is_made(b, 4) && !is_made(b, 3)) numbers = sum(a);
      if (sums && slot == 4 && is_made(b, 4) && !is_made(b, 3)) continue;
      if (sums && slot == 3 && has_a(a, 4) && is_made(b, 3) && !is_made(b, 4)) continue;
      if (sums && slot == 4 && is_made(b, 3) && !is_made(b, 4)) numbers = sum(a);
      if (auto done = put(a, b, slot, std::move(numbers)); !done) return done;
    }
    done_a_.insert(a);
    done_b_.insert(b);
    return {};
  }

  // Not from b's file: the zeros that stand for an absent bias.
  bool is_made(NodeId b, std::size_t slot) const {
    const Tensor* constant = constant_of(sides_.b, sides_.b[b], slot);
    return constant && constant->count() > 0 && !of_b_.place(constant->floats()[0]);
  }

  CarriedNumbers sum(NodeId a) const {
    CarriedNumbers first = of_a(a, 3);
    const auto second = of_a(a, 4).values.doubles();
    if (std::ranges::all_of(second, [](double v) { return v == 0; })) return first;
    auto values = first.values.doubles();
    if (std::ranges::all_of(values, [](double v) { return v == 0; })) return of_a(a, 4);
    std::vector<float> both(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) both[i] = static_cast<float>(values[i] + second[i]);
    return {Tensor::of(first.values.shape(), std::move(both)), {}, "the sum of a's two biases"};
  }

  Status scalars(NodeId a, NodeId b) {
    const auto constant = [](const Graph& graph, NodeId n) -> std::size_t {
      return constant_of(graph, graph[n], 0) ? 0 : constant_of(graph, graph[n], 1) ? 1 : 2;
    };
    const std::size_t from = constant(sides_.real, a), to = constant(sides_.b, b);
    if (from > 1 || to > 1) return {};
    if (constant_of(sides_.b, sides_.b[b], to)->count() == 1) return {};
    return put(a, b, to, of_a(a, from));
  }

  // Every layer with weights has found its counterpart.
  Status all_carried() const {
    const auto left = [](const Graph& graph, const std::set<NodeId>& done) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const Node& node = graph.nodes[i];
        const Family family = family_of(node.op);
        const bool has_weights = is_kernel_layer(node.op) || family == Family::Norm || family == Family::Recurrent ||
                                 family == Family::Table;
        bool holds = false;
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot)
          holds = holds || constant_of(graph, node, slot) != nullptr;
        const bool is_new = std::ranges::find(names, node.layer) == names.end();
        if (has_weights && holds && is_new && !done.contains({static_cast<std::int32_t>(i)}))
          names.push_back(node.layer);
      }
      return names;
    };
    const auto only_a = left(sides_.real, done_a_), only_b = left(sides_.b, done_b_);
    if (only_a.empty() && only_b.empty()) return {};
    std::string sentence = "the match is not certain: ";
    if (!only_a.empty()) sentence += fmt::format("nothing in b stands for {} of a", listed(only_a));
    if (!only_a.empty() && !only_b.empty()) sentence += ", ";
    if (!only_b.empty()) sentence += fmt::format("nothing in a stands for {} of b", listed(only_b));
    return fail(Fault::Proof, sentence);
  }

  const Sides& sides_;
  const Alignment& alignment_;
  const Numbering& of_b_;
  std::vector<std::vector<NodeId>> readers_a_, readers_b_;
  std::map<ValueId, CarriedNumbers> carried_;
  std::map<NodeId, std::vector<double>> shifts_;  // per batch norm of b: the bias in front of a's
  std::set<NodeId> done_a_, done_b_;
};

}  // namespace

Result<std::map<ValueId, CarriedNumbers>> carried_numbers(const Sides& sides, const Alignment& alignment,
                                                          const Numbering& of_b) {
  Carrier carrier(sides, alignment, of_b);
  if (auto done = carrier.run(); !done) return pass(done);
  return carrier.take();
}

std::size_t kernel_slot(const Graph& graph, const Node& node) {
  return holds_alternative<MatMul>(node.op) && !constant_of(graph, node, 1) ? 0 : 1;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + quoted(names[i]);
  return text;
}

}  // namespace convoy::diagnose
