// What the source computes by one operator of 16 bits, in float32 and rounded once, where the target says it by several that
// round one after the other: squares of 300 are beyond float16, and so are sums of a large pool. Which nodes these are, the other
// passes tell, asked about each node by itself.
#include "graph/rounding_steps.h"
#include "ops/expect.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace convoy {

namespace {

bool gives_halves(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.outputs, [&](ValueId v) { return is_half(graph[v].type.dtype); });
}

// ONNX's operators take all real numbers of one type; PyTorch's norms take parameters of float32 beside 16 bits.
bool mixes_types(const Graph& graph, const Node& node, const Target& target) {
  if (target.framework != Framework::OnnxRuntime) return false;
  return std::ranges::any_of(node.inputs, [&](ValueId v) { return v && graph[v].type.dtype == DType::F32; }) &&
         std::ranges::any_of(node.inputs, [&](ValueId v) { return v && is_half(graph[v].type.dtype); });
}

// ONNX's operator takes no such type. Sums are rounded once on either side of the casts; what only moves numbers, not at all.
bool lacks_type(const Graph& graph, const Node& node, const Target& target) {
  if (target.framework != Framework::OnnxRuntime) return false;
  if (holds_alternative<Celu>(node.op)) return true;
  const bool takes_float16_alone =
      holds_alternative<Einsum>(node.op) || holds_alternative<TopK>(node.op) || holds_alternative<Shrink>(node.op);
  return takes_float16_alone && graph[node.outputs[0]].type.dtype == DType::BF16;
}

// Composed in Keras itself, of operations of 16 bits. Source: keras/src/ops/nn.py, normalize and adaptive_average_pool, which
// takes one axis after the other; over one cell it is a mean.
bool is_composed_by_keras(const Op& op) {
  if (const auto* pool = get_if<AdaptivePool>(&op))
    return pool->kind == Extreme::Average && std::ranges::any_of(pool->out, [](Size cells) { return cells != 1; });
  return holds_alternative<LengthNorm>(op) || holds_alternative<UnitNorm>(op);
}

// A factor or summand is a number of the file there, of the tensor's type; one that this hardly holds is another number.
bool loses_its_number(const Op& op, DType dtype, const Target& target) {
  const auto* affine = get_if<Affine>(&op);
  if (!affine || target.framework == Framework::Torch) return false;  // PyTorch multiplies by a number of Python's
  const double unit = dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
  return std::ranges::any_of(std::array{affine->scale, affine->offset}, [&](double number) {
    const double held = Tensor::of({}, std::vector<double>{number}).converted(dtype).doubles().front();
    return !(std::abs(held - number) <= unit * std::abs(number));
  });
}

// The node's own words for the target, made in a graph that holds nothing else. A product's are made of its weights, which may be
// large, and it is one product in nearly all of them.
Result<bool> takes_several_steps(const Graph& graph, const Node& node, const Target& target) {
  if (traits_of(node.op).is_product() || rounding_steps_of(node.op) == 0) return false;
  Graph alone;
  alone.rules = graph.rules;
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs) {
    if (!input) {
      inputs.emplace_back();
      continue;
    }
    const Value& value = graph[input];
    const std::string name = alone.unique_name(value.name);
    inputs.push_back(value.constant ? alone.constant(name, *value.constant) : alone.input(name, value.type));
  }
  auto outputs = alone.add(node.op, std::move(inputs), node.layer, node.kind);
  if (!outputs) return pass(outputs);
  alone.outputs = *outputs;
  for (const ValueId output : *outputs) alone.output_names.push_back(alone[output].name);
  Target words = target;
  words.outside = Outside::Source;
  words.interface.reset();
  if (!run_passes(alone, words, {"widen_halves"})) return false;  // the passes say why on the whole graph
  return rounding_depth(alone) > 1;
}

Status compute_in_float32(const Graph& graph, NodeId id, Patch& patch, std::string_view why) {
  const Node& node = graph[id];
  std::vector<ValueId> inputs = node.inputs;
  DType narrow = DType::F16;
  for (ValueId& input : inputs) {
    if (!input || !is_half(graph[input].type.dtype)) continue;
    narrow = graph[input].type.dtype;
    auto wide = patch.one(node, Cast{DType::F32}, {input});
    if (!wide) return pass(wide);
    input = *wide;
  }
  auto results = patch.node(node, node.op, std::move(inputs), node.outputs.size());
  if (!results) return pass(results);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    ValueId result = (*results)[i];
    if (const DType made = graph[node.outputs[i]].type.dtype; patch.type(result).dtype != made) {
      auto rounded = patch.one(node, Cast{made}, {result});
      if (!rounded) return pass(rounded);
      result = *rounded;
    }
    patch.replace(node.outputs[i], result);
  }
  patch.remove(id);
  patch.remark(node,
               "computed in float32 and rounded once to " + std::string(name_of(narrow)) + ", " + std::string(why));
  return {};
}

// Bounds are numbers of the tensor's type, in every framework.
Status hold_bounds(const Graph& graph, NodeId id, Patch& patch) {
  const Node& node = graph[id];
  const auto* clip = get_if<Clip>(&node.op);
  if (!clip) return {};
  const DType dtype = graph[node.outputs[0]].type.dtype;
  const auto held = [&](std::optional<double> bound) {
    if (bound) bound = Tensor::of({}, std::vector<double>{*bound}).converted(dtype).doubles().front();
    return bound;
  };
  Clip in_type = *clip;
  in_type.least = held(clip->least), in_type.most = held(clip->most);
  if (in_type == *clip) return {};
  return patch.become(id, patch.one(node, in_type, node.inputs));
}

}  // namespace

Result<Patch> widen_halves(const Graph& graph, const Target& target) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id{static_cast<std::int32_t>(i)};
    const Node& node = graph[id];
    if (target.lite || !gives_halves(graph, node)) continue;
    if (mixes_types(graph, node, target)) {
      if (auto done = compute_in_float32(graph, id, patch, "as the target's operator is of one type"); !done)
        return pass(done);
      continue;
    }
    if (lacks_type(graph, node, target)) {
      if (auto done = compute_in_float32(graph, id, patch, "as the target's operator does not take that type"); !done)
        return pass(done);
      continue;
    }
    const bool composed = target.framework == Framework::Keras && is_composed_by_keras(node.op);
    auto widens = composed || loses_its_number(node.op, graph[node.outputs[0]].type.dtype, target)
                      ? Result<bool>(true)
                      : takes_several_steps(graph, node, target);
    if (!widens) return pass(widens);
    constexpr std::string_view why = "which the target would round step by step";
    if (auto done = *widens ? compute_in_float32(graph, id, patch, why) : hold_bounds(graph, id, patch); !done)
      return pass(done);
  }
  return patch;
}

}  // namespace convoy
