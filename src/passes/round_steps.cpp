// In which order the steps of a recurrent cell of 16 bits round, as the target does it: PyTorch's modules and Keras's layers each
// in their own (a class that is written out for PyTorch in Keras's), ONNX Runtime not at all: its kernel works in float32.
#include "ops/expect.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

namespace convoy {

namespace {

template <class Cell>
Status take(NodeId id, const Cell& now, const Node& node, Patch& patch) {
  auto made = patch.node(node, now, node.inputs, node.outputs.size());
  if (!made) return pass(made);
  for (std::size_t i = 0; i < made->size(); ++i) patch.replace(node.outputs[i], (*made)[i]);
  patch.remove(id);
  return {};
}

}  // namespace

Result<Patch> round_steps(const Graph& graph, const Target& target) {
  Patch patch(graph);
  return node_by_node<Lstm, Gru, SimpleRnn>(graph, patch, [&](NodeId id, const auto& op) -> Status {
    const Node& node = graph[id];
    const DType dtype = graph[node.outputs[0]].type.dtype;
    if (!is_half(dtype)) return {};
    // Its kernels take float16, which it widens in front, and have none of bfloat16.
    if (target.framework == Framework::OnnxRuntime && dtype == DType::BF16)
      return within(place_of(node), Status(fail(Fault::Unsupported,
                                                "walks in bfloat16, of which ONNX Runtime has no recurrent kernel; "
                                                "--float32 carries the model in float32")));
    if (target.framework == Framework::OnnxRuntime && !is_half(op.rounds)) return {};
    auto now = op;
    now.rounds = dtype;
    if (target.framework == Framework::OnnxRuntime) {
      now.rounds = DType::F32;
      patch.remark(
          node, "walks in float32 and rounds what it gives to float16, for ONNX Runtime rounds nothing within a step");
      return take(id, now, node, patch);
    }
    if (target.framework == Framework::Keras) now.steps = StepOrder::Keras;
    else if (!is_half(op.rounds)) now.steps = StepOrder::TorchBatchFirst;
    if (now == op) return {};
    if (is_half(op.rounds)) patch.remark(node, "rounds the operators of a step in the order in which Keras adds");
    return take(id, now, node, patch);
  });
}

}  // namespace convoy
