// Whole numbers in a wider type where the target has no kernel for the one that they have, and wrapped around behind it. Which
// kernels there are: ONNX Runtime's own list (get_all_opkernel_def), opset 17; PyTorch 2.13 as it answers when asked. Sums that
// would stop at 32 bits take 64, what has no sign is negated with one, and truths are compared as 0 and 1.
#include "ops/expect.h"
#include "passes/rewrites.h"

#include <algorithm>

namespace convoy {

namespace {

// A choice reads its condition first.
std::size_t first_of_numbers(const Op& op) { return holds_alternative<Where>(op) ? 1 : 0; }

bool is_short(DType dtype) { return dtype == DType::I16 || dtype == DType::U16; }
bool is_at_most_16_bits(DType dtype) { return dtype != DType::Bool && bytes_of(dtype) < 4; }

bool compares(const Op& op) {
  const auto* binary = get_if<Binary>(&op);
  return binary && (binary->function == BinaryFunction::Less || binary->function == BinaryFunction::LessOrEqual ||
                    binary->function == BinaryFunction::Greater || binary->function == BinaryFunction::GreaterOrEqual);
}

bool is_extreme(const Op& op) {
  const auto* binary = get_if<Binary>(&op);
  return binary && (binary->function == BinaryFunction::Maximum || binary->function == BinaryFunction::Minimum);
}

bool wraps_around(const Op& op) {
  const auto* reduce = get_if<Reduce>(&op);
  return reduce && (reduce->reduction == Reduction::Sum || reduce->reduction == Reduction::Product);
}

// The type that the node computes whole numbers of `dtype` in. Nothing: in their own, or nothing holds them.
std::optional<DType> in_onnx_runtime(const Op& op, DType dtype, const EdgeRules& rules) {
  const bool limits = holds_alternative<Relu>(op) || holds_alternative<Clip>(op) || is_extreme(op) ||
                      holds_alternative<Pad>(op) || holds_alternative<Where>(op) || holds_alternative<Threshold>(op);
  if (limits && is_short(dtype)) return DType::I32;
  if (holds_alternative<Where>(op) && dtype == DType::U64) return DType::I64;
  if (holds_alternative<MatMul>(op) && is_at_most_16_bits(dtype)) return DType::I32;
  const bool fits_float64 = is_short(dtype) || dtype == DType::I32 || dtype == DType::U32;
  if (holds_alternative<MaxPool>(op) && fits_float64) return DType::F64;
  // Its sums and products stop at the last number of 32 bits, where the other frameworks' wrap around.
  if (wraps_around(op) && dtype == DType::I32 && !rules.whole_folds_in_fractions) return DType::I64;
  return std::nullopt;
}

// What PyTorch does with numbers of 16 bits and more without a sign: it moves, joins, chooses, multiplies, adds up and casts them,
// tells equal ones and works on their bits.
bool takes_wide_unsigned(const Op& op) {
  if (const auto* binary = get_if<Binary>(&op))
    return binary->function == BinaryFunction::Multiply || binary->function == BinaryFunction::Equal ||
           binary->function == BinaryFunction::NotEqual || works_on_bits(binary->function) ||
           binary->function == BinaryFunction::And || binary->function == BinaryFunction::Or ||
           binary->function == BinaryFunction::Xor;
  if (const auto* unary = get_if<Unary>(&op)) return unary->function == Function::Not;
  if (const auto* slice = get_if<Slice>(&op)) return slice->step > 0;
  if (holds_alternative<GatherElements>(op)) return false;
  const auto* pad = get_if<Pad>(&op);
  return wraps_around(op) || holds_alternative<Accumulate>(op) || holds_alternative<Cast>(op) ||
         holds_alternative<Where>(op) || (traits_of(op).moves_numbers() && (!pad || pad->mode == PadMode::Constant));
}

Result<std::optional<DType>> in_torch(const Op& op, DType dtype) {
  const auto* pool = get_if<MaxPool>(&op);
  const bool pools = holds_alternative<AdaptivePool>(op) ||
                     (pool && (pool->axes.space == 1 || (is_unsigned(dtype) && bytes_of(dtype) > 1)));
  if (pools && dtype != DType::Bool && bytes_of(dtype) <= 4) return DType::F64;
  if (!is_unsigned(dtype) || bytes_of(dtype) < 2 || takes_wide_unsigned(op)) return std::nullopt;
  if (dtype != DType::U64 || traits_of(op).moves_numbers()) return DType::I64;
  return fail(Fault::Unsupported,
              "computes with uint64, for which PyTorch has no kernel; cast to int64 in front of it");
}

// TensorFlow's sign takes numbers of 32 bits without one for numbers that have it, and Keras makes uint32 of two tensors of
// uint64. Source: Keras 3.15 on TensorFlow 2.21, as they answer when asked.
Result<std::optional<DType>> in_keras(const Graph& graph, const Node& node, DType dtype) {
  const bool signs = node.op == Op(Unary{Function::Sign});
  if (signs && dtype == DType::U32) return DType::I64;
  const auto is_longest = [&](ValueId v) { return v && graph[v].type.dtype == DType::U64; };
  if (!signs ? std::ranges::count_if(node.inputs, is_longest) < 2 : dtype != DType::U64) return std::nullopt;
  return fail(Fault::Unsupported,
              "computes with uint64, which Keras takes for uint32 there; cast to int64 in front of it");
}

// Neither ONNX nor TensorFlow negates a type without a sign, where PyTorch's wraps around; neither compares truths, and TensorFlow
// puts none in order.
Result<std::optional<DType>> wanted(const Graph& graph, const Node& node, const Target& target) {
  const std::size_t data = first_of_numbers(node.op);
  if (node.inputs.size() <= data || !node.inputs[data]) return std::nullopt;
  const DType dtype = graph[node.inputs[data]].type.dtype;
  if (is_floating(dtype)) return std::nullopt;
  if (holds_alternative<TopK>(node.op) && dtype == DType::Bool) return DType::I32;
  if (target.framework == Framework::Torch) return within(place_of(node), in_torch(node.op, dtype));
  if (node.op == Op(Unary{Function::Negate}) && is_unsigned(dtype))
    return bytes_of(dtype) < 4 ? DType::I32 : DType::I64;
  if (dtype == DType::Bool && compares(node.op)) return DType::I32;
  if (target.framework == Framework::OnnxRuntime) return in_onnx_runtime(node.op, dtype, graph.rules);
  if (target.framework != Framework::Keras) return std::nullopt;
  if (target.lite) return std::nullopt;
  return within(place_of(node), in_keras(graph, node, dtype));
}

// Every operand of that type is cast, and the first result back; the second of an order are places.
Status compute_as(DType wide, const Graph& graph, NodeId id, Patch& patch) {
  const Node& node = graph[id];
  const std::size_t data = first_of_numbers(node.op);
  const DType dtype = graph[node.inputs[data]].type.dtype, made = graph[node.outputs[0]].type.dtype;
  std::vector<ValueId> inputs = node.inputs;
  for (std::size_t i = data; i < inputs.size(); ++i) {
    if (!inputs[i] || graph[inputs[i]].type.dtype != dtype) continue;
    auto cast = patch.one(node, Cast{wide}, {inputs[i]});
    if (!cast) return pass(cast);
    inputs[i] = *cast;
  }
  auto results = patch.node(node, node.op, std::move(inputs), node.outputs.size());
  if (!results) return pass(results);
  if (patch.type(results->front()).dtype != made) {
    auto back = patch.one(node, Cast{made}, {results->front()});
    if (!back) return pass(back);
    results->front() = *back;
  }
  patch.remark(node, "computes " + std::string(name_of(dtype)) + " as " + std::string(name_of(wide)) +
                         ", which is wrapped around behind it");
  patch.remove(id);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) patch.replace(node.outputs[i], (*results)[i]);
  return {};
}

// A product as ONNX Runtime takes it: in float64, and as a cast of that has it, which stops at the last number of 32 bits; those of
// PyTorch and Keras wrap around. Sums are left: few are that large, and the proof tells them.
bool is_product_of_fractions(const Graph& graph, const Node& node, const Target& target) {
  const auto* reduce = get_if<Reduce>(&node.op);
  if (!reduce || reduce->reduction != Reduction::Product || target.lite || !graph.rules.whole_folds_in_fractions)
    return false;
  const DType dtype = graph[node.inputs[0]].type.dtype;
  return target.framework != Framework::OnnxRuntime && (dtype == DType::I32 || dtype == DType::I64);
}

Status multiply_in_fractions(const Graph& graph, NodeId id, Patch& patch) {
  const Node& node = graph[id];
  const DType dtype = graph[node.inputs[0]].type.dtype;
  auto product = patch.one(node, Cast{DType::F64}, {node.inputs[0]});
  if (product) product = patch.one(node, node.op, {*product});
  if (product && dtype == DType::I32) product = patch.one(node, Clip{-0x1p31, 0x1p31 - 1}, {*product});
  if (product) product = patch.one(node, Cast{dtype}, {*product});
  patch.remark(node, "multiplies " + std::string(name_of(dtype)) + " in float64");
  return patch.become(id, product);
}

}  // namespace

Result<Patch> widen_whole_numbers(const Graph& graph, const Target& target) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (is_product_of_fractions(graph, graph.nodes[i], target)) {
      if (auto done = multiply_in_fractions(graph, {static_cast<std::int32_t>(i)}, patch); !done) return pass(done);
      continue;
    }
    auto wide = wanted(graph, graph.nodes[i], target);
    if (!wide) return pass(wide);
    if (!*wide) continue;
    if (auto done = compute_as(**wide, graph, {static_cast<std::int32_t>(i)}, patch); !done) return pass(done);
  }
  return patch;
}

}  // namespace convoy
