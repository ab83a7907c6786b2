// Puts a cast in front of what makes fractions of whole numbers where the target's own function takes fractions alone: a
// square root of int32 is no valid ONNX, and Keras and PyTorch refuse some. What rounds leaves whole numbers as they are, and so
// does a ReLU those that have no sign; a sign of truths is the truths; extremes of truths are "or" and "and", and products of matrices
// that would run in float32 are written out. What a product multiplies meets in one type in front of it. What makes narrow whole
// numbers of fractions makes wide ones first.
#include "ops/expect.h"
#include "passes/exact_products.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

// What is whole is rounded; nothing lies below 0 in a type without a sign, and truths are their own sign.
bool keeps_all(const Op& op, DType dtype) {
  if (const auto* unary = get_if<Unary>(&op))
    return rounds(unary->function) || (unary->function == Function::Sign && dtype == DType::Bool);
  const auto* relu = get_if<Relu>(&op);
  const bool has_no_sign = dtype == DType::U8 || dtype == DType::U16 || dtype == DType::U32 || dtype == DType::U64;
  return relu && has_no_sign && *relu == Relu{};
}

// What PyTorch has a kernel for, or what is written out in plain arithmetic.
bool takes_whole_in_torch(const Op& op) {
  const auto* unary = get_if<Unary>(&op);
  if (!unary) return holds_alternative<Clip>(op);
  switch (unary->function) {
    case Function::Softplus:
    case Function::Silu:
    case Function::Gelu:
    case Function::GeluTanh:
    case Function::Selu:
    case Function::Mish:
    case Function::LogSigmoid:
    case Function::HardSwish: return false;
    default: return true;
  }
}

// PyTorch's plain functions of one number take whole ones; its other activations, averages and softmax do not, and nobody
// multiplies whole numbers by weights that are none or interpolates between them.
bool takes_fractions_alone(const Op& op, Framework framework) {
  if (holds_alternative<Affine>(op)) return framework == Framework::OnnxRuntime;
  if (holds_alternative<Linear>(op)) return true;
  switch (traits_of(op).kind) {
    case LayerKind::Activation: return framework != Framework::Torch || !takes_whole_in_torch(op);
    case LayerKind::Convolution:
    case LayerKind::Transposed:
    case LayerKind::Recurrence:
    case LayerKind::Resampling:
    case LayerKind::Softmax:
    case LayerKind::Reduction:
    case LayerKind::Pooling:
    case LayerKind::Normalization: return true;
    default: return false;
  }
}

Status cast(const Graph& graph, NodeId id, const Target& target, Patch& patch) {
  const Node& node = graph[id];
  if (node.inputs.empty() || !node.inputs[0] || is_floating(graph[node.inputs[0]].type.dtype)) return {};
  const bool leaves = keeps_all(node.op, graph[node.inputs[0]].type.dtype);
  if (!leaves && (!is_floating(graph[node.outputs[0]].type.dtype) || !takes_fractions_alone(node.op, target.framework)))
    return {};
  std::vector<ValueId> inputs = node.inputs;
  auto result = patch.one(node, leaves ? Op(Identity{}) : Op(Cast{DType::F32}), {inputs[0]});
  if (!result) return pass(result);
  if (!leaves) {
    inputs[0] = *result;
    result = patch.one(node, node.op, std::move(inputs));
    if (!result) return pass(result);
  }
  patch.remove(id);
  patch.replace(node.outputs[0], *result);
  patch.remark(node, leaves ? "leaves whole numbers as they are" : "a cast of whole numbers in front");
  return {};
}

// Frameworks multiply matrices of one type, and PyTorch subtracts no truths.
bool takes_one_type(const Op& op, Framework framework) {
  const auto* binary = get_if<Binary>(&op);
  return holds_alternative<MatMul>(op) || holds_alternative<Einsum>(op) ||
         (framework == Framework::Torch && binary && binary->function == BinaryFunction::Subtract);
}

Status meet_in_front(const Graph& graph, NodeId id, const Target& target, Patch& patch) {
  const Node& node = graph[id];
  if (!takes_one_type(node.op, target.framework)) return {};
  const DType a = graph[node.inputs[0]].type.dtype, b = graph[node.inputs[1]].type.dtype;
  if (a == b || (holds_alternative<Binary>(node.op) && a != DType::Bool && b != DType::Bool)) return {};
  const DType dtype = graph[node.outputs[0]].type.dtype;
  if (target.framework == Framework::Keras && !is_floating(dtype)) return {};  // its functions meet by themselves
  std::vector<ValueId> inputs = node.inputs;
  for (ValueId& v : inputs) {
    if (graph[v].type.dtype == dtype) continue;
    auto made = patch.one(node, Cast{dtype}, {v});
    if (!made) return pass(made);
    v = *made;
  }
  patch.remark(node, "a cast in front: both operands are of one type");
  return patch.become(id, patch.one(node, node.op, std::move(inputs)));
}

// Keras's extremes take no truths.
Status say_extreme_of_truths(const Graph& graph, NodeId id, Patch& patch) {
  const Node& node = graph[id];
  const auto* binary = get_if<Binary>(&node.op);
  if (!binary || (binary->function != BinaryFunction::Maximum && binary->function != BinaryFunction::Minimum) ||
      graph[node.outputs[0]].type.dtype != DType::Bool)
    return {};
  const bool largest = binary->function == BinaryFunction::Maximum;
  patch.remark(node, largest ? "the larger of two truths is their or" : "the smaller of two truths is their and");
  return patch.become(id, patch.one(node, Binary{largest ? BinaryFunction::Or : BinaryFunction::And}, node.inputs));
}

// ONNX Runtime chooses between no truths: where the condition holds the one, and where not the other.
Status choose_truths(const Graph& graph, NodeId id, Patch& patch) {
  const Node& node = graph[id];
  if (!holds_alternative<Where>(node.op) || graph[node.outputs[0]].type.dtype != DType::Bool) return {};
  auto first = patch.one(node, Binary{BinaryFunction::And}, {node.inputs[0], node.inputs[1]});
  if (!first) return pass(first);
  auto otherwise = patch.one(node, Unary{Function::Not}, {node.inputs[0]});
  if (otherwise) otherwise = patch.one(node, Binary{BinaryFunction::And}, {*otherwise, node.inputs[2]});
  if (!otherwise) return pass(otherwise);
  patch.remark(node, "a choice between truths by and, not and or");
  return patch.become(id, patch.one(node, Binary{BinaryFunction::Or}, {*first, *otherwise}));
}

// Keras multiplies matrices of whole numbers in float32, which holds them up to 2^24, and those of 8 bits in 32.
Status write_out_product(const Graph& graph, NodeId id, Patch& patch) {
  const Node& node = graph[id];
  if (!holds_alternative<MatMul>(node.op) || is_floating(graph[node.outputs[0]].type.dtype)) return {};
  auto single = product_in_single(graph, node, patch);
  if (!single) return pass(single);
  if (*single) return patch.become(id, **single);
  const TensorType& a = graph[node.inputs[0]].type;
  const TensorType& b = graph[node.inputs[1]].type;
  const Size rank_a = static_cast<Size>(a.shape.size()), rank_b = static_cast<Size>(b.shape.size());
  auto rows = patch.one(node, Unsqueeze{{rank_a}}, {node.inputs[0]});
  if (!rows) return pass(rows);
  auto columns = patch.one(node, Unsqueeze{{rank_b - 2}}, {node.inputs[1]});
  if (!columns) return pass(columns);
  auto y = patch.one(node, Binary{BinaryFunction::Multiply}, {*rows, *columns});
  if (y) y = patch.one(node, Reduce{Reduction::Sum, {std::max(rank_a, rank_b) - 1}}, {*y});
  patch.remark(node, "multiplies and adds whole numbers one by one: a product of matrices runs in float32");
  return patch.become(id, y);
}

// Whether a limit holds the numbers within those of the type.
bool is_clipped(const Graph& graph, ValueId value, DType dtype) {
  const NodeId maker = graph[value].producer;
  const auto* clip = maker ? get_if<Clip>(&graph[maker].op) : nullptr;
  if (!clip || !clip->least || !clip->most) return false;
  const bool has_sign = dtype == DType::I8 || dtype == DType::I16;
  const double count = bytes_of(dtype) == 1 ? 256 : 65536, least = has_sign ? -count / 2 : 0;
  return *clip->least > least - 1 && *clip->most < least + count;
}

// PyTorch takes the lowest bits of what a narrow type does not hold (300.0 as uint8 is 44); others stop at the last number, or
// do the one or the other by where a number lies in a vector. From 32 bits all of them take the lowest.
Status narrow_by_steps(const Graph& graph, NodeId id, Patch& patch) {
  const Node& node = graph[id];
  const auto* cast = get_if<Cast>(&node.op);
  const bool is_narrow =
      cast && (cast->to == DType::U8 || cast->to == DType::I8 || cast->to == DType::U16 || cast->to == DType::I16);
  if (!is_narrow || !is_floating(graph[node.inputs[0]].type.dtype) || is_clipped(graph, node.inputs[0], cast->to))
    return {};
  auto whole = patch.one(node, Cast{DType::I32}, {node.inputs[0]});
  if (!whole) return pass(whole);
  patch.remark(node, "a cast to 32 bits in front, whose lowest bits are taken");
  return patch.become(id, patch.one(node, Cast{cast->to}, {*whole}));
}

}  // namespace

Result<Patch> cast_whole_numbers(const Graph& graph, const Target& target) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id{static_cast<std::int32_t>(i)};
    if (auto done = cast(graph, id, target, patch); !done) return pass(done);
    Status done = meet_in_front(graph, id, target, patch);
    if (done && target.framework == Framework::Keras) done = say_extreme_of_truths(graph, id, patch);
    if (done && target.framework == Framework::Keras) done = write_out_product(graph, id, patch);
    if (done && target.framework != Framework::Torch && graph.rules == torch_rules)
      done = narrow_by_steps(graph, id, patch);
    if (done && target.framework == Framework::OnnxRuntime) done = choose_truths(graph, id, patch);
    if (!done) return pass(done);
  }
  return patch;
}

}  // namespace convoy
