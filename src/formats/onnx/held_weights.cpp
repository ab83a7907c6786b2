// Weights that a file holds as whole numbers, and what these stand for.
#include "formats/onnx/model.h"
#include "formats/onnx/onnx.h"
#include "formats/onnx/tensor.h"
#include "ops/expect.h"

#include <map>

namespace convoy::onnx {
namespace {

using Stored = std::map<std::string_view, const StoredTensor*>;

Stored stored_in(const ModelGraph& graph) {
  Stored all;
  for (const StoredTensor& tensor : graph.initializers) all.emplace(tensor.name, &tensor);
  for (const ModelNode& node : graph.nodes)
    if (const Attribute* value = node.type == "Constant" ? node.attribute("value") : nullptr;
        value && value->tensor && node.outputs.size() == 1)
      all.emplace(node.outputs.front(), &*value->tensor);
  return all;
}

}  // namespace

HeldWeights held_weights_of_model(const Blob& blob, const std::filesystem::path& folder) {
  const auto model = parse_model(blob.bytes);
  if (!model) return {};
  const Stored stored = stored_in(model->graph);
  TensorSource source(blob.keeper, folder);
  const auto tensor = [&](const std::string& name) -> std::optional<Tensor> {
    const auto found = stored.find(name);
    if (found == stored.end()) return std::nullopt;
    auto read = source.tensor(*found->second);
    return read ? std::optional(std::move(*read)) : std::nullopt;
  };
  HeldWeights all;
  for (const ModelNode& node : model->graph.nodes) {
    if (node.type != "DequantizeLinear" || node.inputs.size() < 2 || node.outputs.size() != 1) continue;
    const Attribute* block = node.attribute("block_size");
    const auto whole = tensor(node.inputs[0]), scale = tensor(node.inputs[1]);
    if (!whole || is_floating(whole->dtype()) || !scale || scale->dtype() != DType::F32 || scale->rank() > 1 ||
        (block && block->integer > 0))
      continue;
    Quantization as{whole->dtype(), scale->floats(), {}, 0};
    as.zero_points.assign(as.scales.size(), 0);
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
      const auto zero = tensor(node.inputs[2]);
      if (!zero) continue;
      as.zero_points = zero->integers();
    }
    if (!as.scales.empty() && as.zero_points.size() == as.scales.size())
      all.emplace(node.outputs.front(), HeldWeight{*whole, std::move(as)});
  }
  return all;
}

}  // namespace convoy::onnx
