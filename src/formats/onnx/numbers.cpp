// Shape arithmetic by ONNX's names. What only moves numbers about goes through the operator's own row and kernel.
#include "formats/onnx/numbers.h"

#include "formats/onnx/catalogue/catalogue.h"
#include "formats/onnx/constants.h"
#include "formats/onnx/types.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::onnx {
namespace {

std::optional<Numbers> filled(const ModelNode& node, const Numbers& shape) {
  if (!shape.known()) return std::nullopt;
  Numbers out{DType::F32, {}, {}};
  for (const Number& n : shape.all) out.shape.push_back(n.whole);
  const auto count = checked_count(out.shape);
  if (!count || *count > most_numbers) return std::nullopt;
  Number value = Number::of(0.0);
  if (const Attribute* argument = node.attribute("value")) {
    if (!argument->tensor) return std::nullopt;
    const auto tensor = TensorSource({}, {}).tensor(*argument->tensor);
    if (!tensor || tensor->count() != 1) return std::nullopt;
    out.dtype = tensor->dtype();
    value = numbers_of(*tensor).all.front();
  }
  out.all.assign(static_cast<std::size_t>(*count), value);
  return out;
}

std::optional<Numbers> of_type(const ModelNode& node, const Numbers& x) {
  const Attribute* to = node.attribute("to");
  const auto dtype = to ? dtype_of(to->integer) : std::nullopt;
  return dtype ? std::optional(as_type(x, *dtype)) : std::nullopt;
}

std::optional<std::vector<Numbers>> one(std::optional<Numbers> numbers) {
  if (!numbers) return std::nullopt;
  return std::vector{std::move(*numbers)};
}

// Of two, or one after the other of several, as Min, Max and Sum have them.
std::optional<Numbers> of_all(BinaryFunction function, const std::vector<const Numbers*>& inputs) {
  if (inputs.size() < 2) return std::nullopt;
  std::optional<Numbers> all = *inputs.front();
  for (std::size_t i = 1; i < inputs.size() && all; ++i)
    all = inputs[i] ? by_pairs(function, *all, *inputs[i]) : std::nullopt;
  return all;
}

// Bounds that are absent bound nothing.
std::optional<Numbers> between(const std::vector<const Numbers*>& inputs) {
  std::optional<Numbers> all = *inputs.front();
  for (std::size_t i = 1; i < std::min<std::size_t>(inputs.size(), 3) && all; ++i)
    if (inputs[i]) all = by_pairs(i == 1 ? BinaryFunction::Maximum : BinaryFunction::Minimum, *all, *inputs[i]);
  return all;
}

bool keeps_axes(const ModelNode& node) {
  const Attribute* keeps = node.attribute("keepdims");
  return !keeps || keeps->integer != 0;
}

}  // namespace

std::optional<std::vector<Numbers>> computed(const ModelNode& node, Size opset,
                                             const std::vector<const Numbers*>& inputs) {
  if (inputs.empty() || !inputs[0]) return std::nullopt;
  if (node.type == "Where")
    return one(inputs.size() == 3 && inputs[1] && inputs[2] ? chosen(*inputs[0], *inputs[1], *inputs[2])
                                                            : std::nullopt);
  if (node.type == "Range") return one(range(inputs));
  if (node.type == "ConstantOfShape") return one(filled(node, *inputs[0]));
  if (node.type == "Cast") return one(of_type(node, *inputs[0]));
  if (node.type == "Clip" && opset > 10) return one(between(inputs));
  const Signature* signature = signature_of(node.type);
  if (!signature || (node.type == "Mod" && node.attribute("fmod"))) return std::nullopt;
  return std::visit(
      [&]<class Kind>(const Kind& meaning) -> std::optional<std::vector<Numbers>> {
        if constexpr (std::is_same_v<Kind, Function>) return one(one_by_one(meaning, *inputs[0]));
        else if constexpr (std::is_same_v<Kind, BinaryFunction>) return one(of_all(meaning, inputs));
        else if constexpr (std::is_same_v<Kind, Reduction>) return one(folded(meaning, keeps_axes(node), *inputs[0]));
        else if constexpr (std::is_same_v<Kind, Moved>)

          return moved(inputs, signature->inputs[0].several ? inputs.size() : 1,
                       [&](const std::vector<std::optional<Tensor>>& tensors) {
                         Allowance allowance{2 * most_numbers};
                         return compute(node, opset, tensors, allowance);
                       });
        else return std::nullopt;
      },
      signature->row->meaning);
}

}  // namespace convoy::onnx
