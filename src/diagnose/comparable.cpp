#include "diagnose/comparable.h"

#include "base/permute.h"
#include "diagnose/axis_order.h"
#include "diagnose/merge_calls.h"
#include "diagnose/recognise.h"
#include "diagnose/rules.h"
#include "graph/stored.h"
#include "ops/expect.h"
#include "passes/passes.h"
#include "passes/rewrites.h"
#include "prove/bound.h"
#include "prove/prove.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace convoy::diagnose {

namespace {

// ---- the passes ------------------------------------------------------------------------------------------------------

Result<Patch> number_pads(const Graph& graph, const Target&) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.inputs.empty() || !node.inputs[0]) continue;
    Op op = with_numbers(node.op, graph[node.inputs[0]].type.shape);
    if (op == node.op) continue;
    auto made = patch.node(node, std::move(op), node.inputs, node.outputs.size());
    if (!made) return pass(made);
    patch.remove({static_cast<std::int32_t>(i)});
    for (std::size_t o = 0; o < made->size(); ++o) patch.replace(node.outputs[o], (*made)[o]);
  }
  return patch;
}

// The constant of a sum as the bias of the layer it is added to: one number, or one per channel.
std::optional<Tensor> bias_of(const Tensor& constant, Size channels, std::size_t axis, std::size_t rank) {
  if (constant.count() != channels && constant.count() != 1) return std::nullopt;
  const Sizes& shape = constant.shape();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && i + rank != axis + shape.size()) return std::nullopt;
  if (constant.count() == channels) return constant.reshaped({channels});
  return filled(channels, constant.floats()[0]);
}

// Both together, number by number.
Tensor with_added(const Tensor& bias, const Tensor& more) {
  auto sum = bias.floats();
  const auto other = more.floats();
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  return Tensor::of(bias.shape(), std::move(sum));
}

// Numbers that are known and only stand under another shape or in another order of axes.
Result<Patch> fold_known_shapes(const Graph& graph, const Target&) {
  Patch patch(graph);
  std::map<ValueId, Tensor> made;  // of one such step on another
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.inputs.size() != 1 || !node.inputs[0] || node.outputs.size() != 1) continue;
    const auto before = made.find(node.inputs[0]);
    const Tensor* constant = before != made.end()             ? &before->second
                             : graph[node.inputs[0]].constant ? &*graph[node.inputs[0]].constant
                                                              : nullptr;
    const auto* turn = get_if<Transpose>(&node.op);
    const auto shape = sizes_of(graph[node.outputs[0]].type.shape);
    if (!constant || !shape || (!turn && !only_reshapes(node.op)) || checked_count(*shape) != constant->count())
      continue;
    Tensor now = turn ? constant->permuted(turn->permutation) : constant->reshaped(*shape);
    patch.remove({static_cast<std::int32_t>(i)});
    patch.replace(node.outputs[0], patch.constant(graph.unique_name(node.layer + "/known"), now));
    made.emplace(node.outputs[0], std::move(now));
  }
  return patch;
}

// A sum with a constant behind a layer, or behind what only moves its numbers, becomes its bias, or part of the one that it has.
Result<Patch> take_in_biases(const Graph& graph, const Target&) {
  Patch patch(graph);
  const auto readers = readers_of(graph);
  const auto only_reader = [&](ValueId v) -> const Node* {
    const auto& used = readers[v.slot()];
    if (used.size() != 1 || std::ranges::find(graph.outputs, v) != graph.outputs.end()) return nullptr;
    return &graph[used[0]];
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& layer = graph.nodes[i];
    const bool is_layer = holds_alternative<Conv>(layer.op) || holds_alternative<ConvTranspose>(layer.op) ||
                          holds_alternative<Linear>(layer.op);
    if (!is_layer) continue;
    const ValueId own = layer.inputs.size() > 2 ? layer.inputs[2] : ValueId{};
    if (own && !graph[own].constant) continue;
    ValueId y = layer.outputs[0];
    std::size_t axis = graph[y].type.shape.size() - 1;
    if (const auto* conv = get_if<Conv>(&layer.op)) axis = static_cast<std::size_t>(conv->axes.channel());
    if (const auto* up = get_if<ConvTranspose>(&layer.op)) axis = static_cast<std::size_t>(up->axes.channel());
    const Dim channels = graph[y].type.shape[axis];
    const Node* sum = only_reader(y);
    while (sum && channels.known()) {
      const auto next = axis_behind(graph, *sum, axis);
      if (!next) break;
      axis = *next, y = sum->outputs[0];
      sum = only_reader(y);
    }
    const auto* binary = sum ? get_if<Binary>(&sum->op) : nullptr;
    if (!binary || binary->function != BinaryFunction::Add || !channels.known()) continue;
    const ValueId other = sum->inputs[0] == y ? sum->inputs[1] : sum->inputs[0];
    if (!other || !graph[other].constant) continue;
    // One number added to everything is no bias.
    if (own && graph[other].constant->count() == 1) continue;
    const Shape& shape = graph[y].type.shape;
    if (graph[sum->outputs[0]].type.shape != shape) continue;
    auto bias = bias_of(*graph[other].constant, *channels, axis, shape.size());
    if (!bias || (own && graph[own].constant->shape() != bias->shape())) continue;
    if (own) bias = with_added(*graph[own].constant, *bias);
    std::vector<ValueId> inputs{layer.inputs[0], layer.inputs[1],
                                patch.constant(graph.unique_name(layer.layer + "/bias_of_sum"), *std::move(bias))};
    auto made = patch.node(layer, layer.op, std::move(inputs));
    if (!made) return pass(made);
    const bool is_apart = y != layer.outputs[0];
    patch.remove({static_cast<std::int32_t>(i)});
    patch.remove(graph[sum->outputs[0]].producer);
    if (is_apart) patch.replace(layer.outputs[0], made->front());
    patch.replace(sum->outputs[0], is_apart ? y : made->front());
  }
  return patch;
}

// Zeros in front of a convolution are its own padding, however unlike the sides are.
Result<Patch> take_in_pads(const Graph& graph, const Target&) {
  Patch patch(graph);
  const auto readers = readers_of(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& layer = graph.nodes[i];
    const auto* conv = get_if<Conv>(&layer.op);
    const NodeId maker = conv ? graph[layer.inputs[0]].producer : NodeId{};
    const Pad* pad = maker ? get_if<Pad>(&graph[maker].op) : nullptr;
    if (!pad || pad->mode != PadMode::Constant || pad->value != 0) continue;
    if (readers[layer.inputs[0].slot()].size() != 1) continue;
    Sizes before = pad->before, after = pad->after;
    Conv taken = *conv;
    bool fits = true;
    for (std::size_t axis = 0; axis < taken.paddings.size(); ++axis) {
      Padding& padding = taken.paddings[axis];
      const auto at = static_cast<std::size_t>(conv->axes.spatial(static_cast<Size>(axis)));
      const bool is_number = padding.spelling == Spelling::Explicit || padding.spelling == Spelling::Valid;
      fits = fits && is_number && before[at] >= 0 && after[at] >= 0;
      if (padding.spelling == Spelling::Valid) padding.before = padding.after = 0;
      padding = {Spelling::Explicit, padding.before + before[at], padding.after + after[at]};
      before[at] = after[at] = 0;
    }
    const auto is_zero = [](Size n) { return n == 0; };
    if (!fits || !std::ranges::all_of(before, is_zero) || !std::ranges::all_of(after, is_zero)) continue;
    std::vector<ValueId> inputs = layer.inputs;
    inputs[0] = graph[maker].inputs[0];
    auto made = patch.node(layer, taken, std::move(inputs));
    if (!made) return pass(made);
    patch.remove({static_cast<std::int32_t>(i)});
    patch.remove(maker);
    patch.replace(layer.outputs[0], made->front());
  }
  return patch;
}

Result<Patch> drop_noise(const Graph& graph, const Target&) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!holds_alternative<Dropout>(graph.nodes[i].op)) continue;
    patch.remove({static_cast<std::int32_t>(i)});
    patch.replace(graph.nodes[i].outputs[0], graph.nodes[i].inputs[0]);
  }
  return patch;
}

constexpr std::array passes{Pass{"drop_identities", "", drop_identities, false},
                            Pass{"drop_noise", "", drop_noise, false},
                            Pass{"move_axes", "", move_axes, true},
                            Pass{"order_kernels", "", order_kernels, true},
                            Pass{"order_gates", "", order_gates, true},
                            Pass{"fold_known_shapes", "", fold_known_shapes, false},
                            Pass{"take_in_biases", "", take_in_biases, false},
                            Pass{"number_pads", "", number_pads, false},
                            Pass{"take_in_pads", "", take_in_pads, false},
                            Pass{"take_in_pool_pads", "", take_in_pool_pads, false},
                            Pass{"recognise_leaky_relus", "", recognise_leaky_relus, false},
                            Pass{"recognise_limits", "", recognise_limits, false},
                            Pass{"recognise_hard_sigmoids", "", recognise_hard_sigmoids, false},
                            Pass{"recognise_softplus", "", recognise_softplus, false},
                            Pass{"recognise_depth_orders", "", recognise_depth_orders, false},
                            Pass{"recognise_averages", "", recognise_averages, false},
                            Pass{"recognise_norms", "", recognise_norms, false},
                            Pass{"recognise_group_norms", "", recognise_group_norms, false},
                            Pass{"take_in_norm_scales", "", take_in_norm_scales, false},
                            Pass{"take_in_norm_offsets", "", take_in_norm_offsets, false}};

}  // namespace

void name_wrappers(Graph& graph) {
  std::set<std::string> layers;
  for (const Node& node : graph.nodes) layers.insert(node.layer);
  for (Node& node : graph.nodes) {
    const std::string& value = graph[node.outputs[0]].name;
    const std::string end = "/" + node.layer;
    if (!value.ends_with(end)) continue;
    const std::string wrapper = value.substr(0, value.size() - end.size());
    if (layers.contains(wrapper)) node.layer = wrapper;
  }
}

namespace {

// Beyond x = 16, log(1 + exp(x)) is x in float32: a limit there, which keeps the exponential from overflowing, changes nothing
// that the model can tell.
void drop_silent_thresholds(Graph& graph) {
  for (Node& node : graph.nodes) {
    auto* op = get_if<Softplus>(&node.op);
    if (!op || !op->threshold || graph[node.outputs[0]].type.dtype == DType::F64) continue;
    if (std::exp(-*op->threshold) <= unit_rounding / 2 * *op->threshold) op->threshold.reset();
  }
}

}  // namespace

Result<Graph> comparable(const Graph& graph) { return comparable(graph, interface_of(graph, Order::ChannelsFirst)); }

Result<Graph> comparable(const Graph& graph, const Interface& outside) {
  Graph result = graph;
  name_wrappers(result);
  name_origins(result);
  Target form{Framework::Torch, 0, passes};
  form.interface = outside;
  const auto done = run_passes(result, form);
  if (!done) return std::unexpected(done.error());
  drop_silent_thresholds(result);
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    const ValueId v = result.outputs[i];
    const Value& value = result[v];
    const std::string layer = value.producer ? result[value.producer].layer : value.name;
    const auto origin = value.origin;
    auto made = result.add(Identity{}, {v}, layer, "output");
    if (!made) return pass(made);
    result.outputs[i] = made->front();
    result[made->front()].origin = origin;
  }
  return result;
}

// ---- sizes -----------------------------------------------------------------------------------------------------------

namespace {

Sizes order_of_input(const Graph& comparable_graph, std::size_t i) {
  const Value& value = comparable_graph[comparable_graph.inputs[i]];
  Sizes order = value.origin && value.origin->split.empty() ? value.origin->permutation : Sizes{};
  if (order.size() != value.type.shape.size()) {
    order.clear();
    for (Size axis = 0; axis < value.type.rank(); ++axis) order.push_back(axis);
  }
  return order;
}

// What one leaves open taken from the other. Nothing: two known sizes differ.
std::optional<Shape> merged(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return std::nullopt;
  Shape result = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].known()) result[i] = b[i];
    else if (b[i].known() && b[i] != a[i]) return std::nullopt;
  }
  return result;
}

}  // namespace

Sizes turned_order(std::size_t rank) {
  Sizes order;
  for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<Size>(i));
  if (rank == 4) std::swap(order[2], order[3]);
  return order;
}

namespace {

// Whether the second axis of the comparable form is known for one of channels.
bool has_channels(const Graph& graph, std::size_t input, const Interface& outside) {
  const Border& border = outside.inputs[input];
  return border.permutation.size() > 2 && (!is_identity(border.permutation) || !border.channels_of.empty() ||
                                           !interface_of(graph, Order::ChannelsLast).inputs[input].channels_of.empty());
}

}  // namespace

Result<Sized> at_one_size(const Graph& a, const Graph& b, int trial, std::uint64_t seed,
                          const std::vector<Tensor>& given, Unsaid unsaid, bool turned) {
  if (a.inputs.size() != b.inputs.size())
    return fail(Fault::Usage, "a has " + std::to_string(a.inputs.size()) + " inputs, b " +
                                  std::to_string(b.inputs.size()) + ": nothing can be compared");
  Sized result;
  result.outsides = outsides_of(a, b, unsaid);
  auto first = comparable(a, result.outsides.a);
  if (!first) return within("a", Result<Sized>(pass(first)));
  auto second = comparable(b, result.outsides.b);
  if (!second) return within("b", Result<Sized>(pass(second)));
  std::vector<Shape> common;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    Shape of_a = (*first)[first->inputs[i]].type.shape;
    Shape of_b = (*second)[second->inputs[i]].type.shape;
    if (turned) of_b = in_order(of_b, turned_order(of_b.size()));
    if (i < given.size()) of_a = in_order(type_of(given[i]).shape, order_of_input(*first, i));
    auto both = merged(of_a, of_b);
    if (!both)
      return fail(Fault::Usage, "input '" + a[a.inputs[i]].name + "' of a is " + text_of(of_a) + ", input '" +
                                    b[b.inputs[i]].name + "' of b " + text_of(of_b) +
                                    " (channels first); give sizes that fit with --size");
    for (std::size_t axis = 1; axis < both->size(); ++axis) result.free = result.free || !(*both)[axis].known();
    common.push_back(*std::move(both));
  }
  auto open = with_input_shapes(*first, common);
  if (!open) return within("a", Result<Sized>(pass(open)));
  auto numbers = probing_inputs(*open, trial, seed);
  if (!numbers) return pass(numbers);
  result.inputs = *std::move(numbers);
  for (std::size_t i = 0; i < given.size(); ++i)
    result.inputs[i] = given[i].permuted(order_of_input(*first, i)).converted(DType::F32);
  const auto sized = [&](const Graph& graph, const Graph& form, const Interface& outside, bool turns,
                         Rules& rules) -> Result<Graph> {
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < result.inputs.size(); ++i) {
      Shape shape = type_of(result.inputs[i]).shape;
      if (turns) shape = in_order(shape, turned_order(shape.size()));
      shapes.push_back(in_order(shape, inverse(order_of_input(form, i))));
    }
    auto at = with_input_shapes(graph, shapes);
    if (!at) return at;
    auto numbered = comparable(*at, outside);
    if (!numbered) return numbered;
    name_wrappers(*at);
    rules = rules_of(*at, *numbered);
    return numbered;
  };
  auto sized_a = sized(a, *first, result.outsides.a, false, result.rules_a);
  if (!sized_a) return within("a", Result<Sized>(pass(sized_a)));
  auto sized_b = sized(b, *second, result.outsides.b, turned, result.rules_b);
  if (!sized_b) return within("b", Result<Sized>(pass(sized_b)));
  result.a = *std::move(sized_a);
  result.b = *std::move(sized_b);
  if (auto merged_calls = merge_repeated_calls(result.a, result.b); !merged_calls) return pass(merged_calls);
  for (std::size_t i = 0; i < result.inputs.size(); ++i) {
    const Tensor& input = result.inputs[i];
    std::string one;
    // Of what no layer names channels of, all sizes are said: those behind the second axis would be no map's.
    const bool is_image = has_channels(a, i, result.outsides.a) || has_channels(b, i, result.outsides.b);
    for (std::size_t axis = is_image ? 2 : input.rank() > 2 ? 0 : 1; axis < input.shape().size(); ++axis)
      one += (one.empty() ? "" : "x") + std::to_string(input.shape()[axis]);
    result.size += (result.size.empty() ? "" : ", ") + one;
  }
  return result;
}

// ---- orders of axes --------------------------------------------------------------------------------------------------

Sizes without_ones(const Sizes& shape) {
  Sizes result;
  for (const Size n : shape)
    if (n != 1) result.push_back(n);
  return result;
}

std::vector<Sizes> permutations_between(const Sizes& from, const Sizes& to) {
  const Sizes wanted = without_ones(to);
  Sizes order;
  for (std::size_t i = 0; i < from.size(); ++i) order.push_back(static_cast<Size>(i));
  std::vector<Sizes> found;
  const auto consider = [&](const Sizes& candidate) {
    Sizes shape;
    for (const Size axis : candidate) shape.push_back(from[static_cast<std::size_t>(axis)]);
    if (without_ones(shape) == wanted && std::ranges::find(found, candidate) == found.end()) found.push_back(candidate);
  };
  consider(order);
  const Size space = static_cast<Size>(from.size()) - 2;
  if (space >= 1) {
    consider(to_channels_first(space));
    consider(to_channels_last(space));
  }
  if (from.size() > 6) return found;
  do consider(order);
  while (std::ranges::next_permutation(order).found);
  return found;
}

bool have_same_sizes(const Sizes& x, const Sizes& y) {
  Sizes of_x = without_ones(x), of_y = without_ones(y);
  std::ranges::sort(of_x);
  std::ranges::sort(of_y);
  return of_x == of_y;
}

Tensor arranged(const Tensor& from, const Sizes& permutation, const Sizes& to) {
  Tensor tensor = permutation.empty() || is_identity(permutation) ? from : from.permuted(permutation);
  return checked_count(to) == tensor.count() ? tensor.reshaped(to) : tensor;
}

Tensor filled(Size channels, float value) {
  return Tensor::of({channels}, std::vector<float>(static_cast<std::size_t>(channels), value));
}

}  // namespace convoy::diagnose
