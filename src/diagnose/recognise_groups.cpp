// A group norm as it is written where there is none: every group laid out as one channel, normalised by itself and laid back;
// and the scale and the offset of a norm as a product and a sum behind it.
#include "diagnose/comparable.h"
#include "diagnose/recognise.h"

#include <algorithm>

namespace convoy::diagnose {
namespace {

const Node* maker_of_value(const Graph& graph, ValueId v) {
  return v && graph[v].producer ? &graph[graph[v].producer] : nullptr;
}

// A vector per group as a vector per channel.
Tensor repeated(const Tensor& groups, Size channels) {
  const auto values = groups.floats();
  std::vector<float> all;
  for (Size c = 0; c < channels; ++c)
    all.push_back(values[static_cast<std::size_t>(c * static_cast<Size>(values.size()) / channels)]);
  return Tensor::of({channels}, std::move(all));
}

struct Grouped {
  const Node* norm;
  ValueId image;
  Size channels = 0;
};

// [N, C, n...] -> [N, groups, rest], normalised channel by channel, -> [N, C, n...]
std::optional<Grouped> grouped_at(const Graph& graph, const Node& back) {
  if (!holds_alternative<Reshape>(back.op)) return std::nullopt;
  const Node* norm = maker_of_value(graph, back.inputs[0]);
  const auto* op = norm ? get_if<GroupNorm>(&norm->op) : nullptr;
  const Node* apart = op && op->axis == 1 ? maker_of_value(graph, norm->inputs[0]) : nullptr;
  if (!apart || !holds_alternative<Reshape>(apart->op)) return std::nullopt;
  const Shape &x = graph[apart->inputs[0]].type.shape, &groups = graph[norm->inputs[0]].type.shape;
  if (x != graph[back.outputs[0]].type.shape || x.size() < 3 || groups.size() < 3 || x[0] != groups[0])
    return std::nullopt;
  if (!x[1].known() || groups[1] != Dim(op->groups) || op->groups < 1 || *x[1] % op->groups != 0) return std::nullopt;
  for (std::size_t i = 1; i < norm->inputs.size(); ++i)
    if (norm->inputs[i] && !graph[norm->inputs[i]].constant) return std::nullopt;
  return Grouped{norm, apart->inputs[0], *x[1]};
}

bool is_all(const Tensor& tensor, float number) {
  return std::ranges::all_of(tensor.floats(), [&](float v) { return v == number; });
}

// The axes of x that a norm's vectors lie along. Nothing: it is no norm whose vectors may lie behind it.
std::optional<Sizes> axes_of_vectors(const Op& op, std::size_t rank) {
  if (const auto* group = get_if<GroupNorm>(&op)) return Sizes{group->axis};
  const Sizes* axes = nullptr;
  if (const auto* layer = get_if<LayerNorm>(&op); layer && !layer->keras_rms_scaling) axes = &layer->axes;
  if (const auto* rms = get_if<RmsNorm>(&op)) axes = &rms->axes;
  if (!axes) return std::nullopt;
  for (std::size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != static_cast<Size>(rank - axes->size() + i)) return std::nullopt;
  return *axes;
}

// A constant that stretches over x of this shape as one number per cell along the axes, in their shape.
std::optional<Tensor> vector_along(const Tensor& constant, const Shape& x, const Sizes& axes) {
  Sizes wanted, full(x.size(), 1);
  for (const Size axis : axes) {
    const Dim n = x[static_cast<std::size_t>(axis)];
    if (!n.known()) return std::nullopt;
    wanted.push_back(*n);
    full[static_cast<std::size_t>(axis)] = *n;
  }
  if (constant.rank() > static_cast<Size>(x.size()) || constant.dtype() > DType::F64) return std::nullopt;
  Sizes shape(x.size() - constant.shape().size(), 1);
  shape.insert(shape.end(), constant.shape().begin(), constant.shape().end());
  return shape == full ? std::optional(constant.reshaped(wanted)) : std::nullopt;
}

// The norm right in front of a product or a sum with a constant.
struct Behind {
  std::size_t norm;
  Tensor vector;
};

std::optional<Behind> norm_in_front(const Graph& graph, const std::vector<std::vector<NodeId>>& readers,
                                    const Node& node, BinaryFunction function) {
  const auto* binary = get_if<Binary>(&node.op);
  if (!binary || binary->function != function) return std::nullopt;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const ValueId y = node.inputs[i], other = node.inputs[1 - i];
    const Node* norm = maker_of_value(graph, y);
    if (!norm || !graph[other].constant || readers[y.slot()].size() != 1) continue;
    if (std::ranges::find(graph.outputs, y) != graph.outputs.end()) continue;
    const Shape& shape = graph[y].type.shape;
    const auto axes = axes_of_vectors(norm->op, shape.size());
    auto vector = axes ? vector_along(*graph[other].constant, shape, *axes) : std::nullopt;
    if (!vector || graph[node.outputs[0]].type.shape != shape) continue;
    return Behind{graph[y].producer.slot(), *std::move(vector)};
  }
  return std::nullopt;
}

// Whether a norm has numbers of its own at this input.
bool has_vector(const Node& norm, std::size_t input) { return norm.inputs.size() > input && norm.inputs[input]; }

struct Vectors {
  Tensor scale, offset;
};

// A norm's own, one number per group, once per channel. Nothing: it scales by 1 and adds 0.
std::optional<Vectors> vectors_of_groups(const Graph& graph, const Grouped& found) {
  const auto vector = [&](std::size_t input, float otherwise) {
    return has_vector(*found.norm, input) ? repeated(*graph[found.norm->inputs[input]].constant, found.channels)
                                          : filled(found.channels, otherwise);
  };
  Vectors all{vector(1, 1), vector(2, 0)};
  if (is_all(all.scale, 1) && is_all(all.offset, 0)) return std::nullopt;
  return all;
}

Tensor both_numbers(const Tensor& x, const Tensor& y, bool multiplies) {
  auto numbers = x.floats();
  const auto others = y.floats();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = multiplies ? numbers[i] * others[i] : numbers[i] + others[i];
  return Tensor::of(x.shape(), std::move(numbers));
}

// The product and the sum per channel behind such a norm, which could not say them itself, taken into its vectors: their nodes.
std::vector<NodeId> with_vectors_behind(const Graph& graph, const std::vector<std::vector<NodeId>>& readers,
                                        ValueId from, Vectors& vectors) {
  std::vector<NodeId> taken;
  for (const BinaryFunction function : {BinaryFunction::Multiply, BinaryFunction::Add}) {
    const auto& next = readers[from.slot()];
    const auto* binary = next.size() == 1 ? get_if<Binary>(&graph[next[0]].op) : nullptr;
    if (!binary || binary->function != function) continue;
    const Node& node = graph[next[0]];
    const auto& other = graph[node.inputs[0] == from ? node.inputs[1] : node.inputs[0]].constant;
    const Shape& shape = graph[from].type.shape;
    const auto vector = other ? vector_along(*other, shape, {1}) : std::nullopt;
    if (!vector || graph[node.outputs[0]].type.shape != shape) continue;
    if (function == BinaryFunction::Multiply) vectors.scale = both_numbers(vectors.scale, *vector, true);
    vectors.offset = both_numbers(vectors.offset, *vector, function == BinaryFunction::Multiply);
    taken.push_back(next[0]);
    from = node.outputs[0];
  }
  return taken;
}

// The product, or else the sum, behind norms that have none yet.
Result<Patch> taken_in(const Graph& graph, bool is_scale) {
  Patch patch(graph);
  const auto readers = readers_of(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    auto found = norm_in_front(graph, readers, node, is_scale ? BinaryFunction::Multiply : BinaryFunction::Add);
    if (!found) continue;
    const Node& norm = graph.nodes[found->norm];
    if (has_vector(norm, 2) || (is_scale && has_vector(norm, 1))) continue;
    if (!is_scale && holds_alternative<RmsNorm>(norm.op)) continue;
    std::vector<ValueId> inputs{norm.inputs[0], has_vector(norm, 1) ? norm.inputs[1] : ValueId{}};
    const Sizes shape = found->vector.shape();
    const ValueId constant =
        patch.constant(graph.unique_name(node.layer + (is_scale ? "/scale" : "/offset")), std::move(found->vector));
    if (is_scale) inputs[1] = constant;
    else inputs.push_back(constant);
    if (!inputs[1])
      inputs[1] =
          patch.constant(graph.unique_name(node.layer + "/scale"),
                         Tensor::of(shape, std::vector<float>(static_cast<std::size_t>(*checked_count(shape)), 1.0F)));
    auto made = patch.node(norm, norm.op, std::move(inputs));
    if (!made) return pass(made);
    patch.remove({static_cast<std::int32_t>(i)});
    patch.remove({static_cast<std::int32_t>(found->norm)});
    patch.replace(node.outputs[0], made->front());
  }
  return patch;
}

}  // namespace

Result<Patch> recognise_group_norms(const Graph& graph, const Target&) {
  Patch patch(graph);
  const auto readers = readers_of(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto found = grouped_at(graph, graph.nodes[i]);
    if (!found) continue;
    std::vector<ValueId> inputs{found->image};
    patch.remove({static_cast<std::int32_t>(i)});
    ValueId end = graph.nodes[i].outputs[0];
    if (auto vectors = vectors_of_groups(graph, *found)) {
      for (const NodeId n : with_vectors_behind(graph, readers, end, *vectors)) {
        patch.remove(n);
        end = graph[n].outputs[0];
      }
      inputs.push_back(patch.constant(graph.unique_name(found->norm->layer + "/repeated"), vectors->scale));
      inputs.push_back(patch.constant(graph.unique_name(found->norm->layer + "/repeated"), vectors->offset));
    }
    auto made = patch.node(*found->norm, found->norm->op, std::move(inputs));
    if (!made) return pass(made);
    patch.replace(end, made->front());
  }
  return patch;
}

Result<Patch> take_in_norm_scales(const Graph& graph, const Target&) { return taken_in(graph, true); }
Result<Patch> take_in_norm_offsets(const Graph& graph, const Target&) { return taken_in(graph, false); }

}  // namespace convoy::diagnose
