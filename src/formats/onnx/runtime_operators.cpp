// Source: docs/ContribOperators.md of ONNX Runtime.
#include "formats/onnx/runtime_operators.h"

#include "base/words.h"
#include "formats/onnx/spelling.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace convoy::onnx {

namespace {

// Takes whole numbers, each behind it its scale and its zero, and gives whole numbers of a scale.
struct Quantised {
  std::string_view name, standard;
  std::size_t tensors;        // 0: as many as there are, behind the scale and the zero of the result
  std::string_view attributes;  // that both have
  std::size_t plain = 0;      // inputs in front that have no scale
};
constexpr std::array quantised{
    Quantised{"QLinearAdd", "Add", 2, ""},
    Quantised{"QLinearMul", "Mul", 2, ""},
    Quantised{"QLinearSigmoid", "Sigmoid", 1, ""},
    Quantised{"QLinearLeakyRelu", "LeakyRelu", 1, "alpha"},
    Quantised{"QLinearSoftmax", "Softmax", 1, "axis"},
    Quantised{"QLinearReduceMean", "ReduceMean", 1, "axes keepdims"},
    Quantised{"QLinearGlobalAveragePool", "GlobalAveragePool", 1, ""},
    Quantised{"QLinearAveragePool", "AveragePool", 1, "auto_pad ceil_mode count_include_pad kernel_shape pads strides"},
    Quantised{"QLinearConcat", "Concat", 0, "axis"},
    Quantised{"QLinearWhere", "Where", 2, "", 1},
};

// The operator's own name in the standard.
constexpr std::array<std::string_view, 3> renamed{"QuantizeLinear", "DequantizeLinear", "Gelu"};

Result<std::vector<ModelNode>> between_steps(const ModelNode& node, const Quantised& known) {
  std::vector<Attribute> attributes;
  for (const Attribute& one : node.attributes) {
    if (has_word(known.attributes, one.name)) attributes.push_back(one);
    else if (one.name == "opset" || (one.name == "channels_last" && one.integer == 0)) continue;  // as it is
    else return fail(Fault::Unsupported, "attribute '" + one.name + "' is not understood");
  }
  Spelling spell(node);
  const bool any_number = known.tensors == 0;
  const std::size_t first = any_number ? 2 : known.plain;
  const std::size_t tensors = any_number ? (std::max<std::size_t>(node.inputs.size(), 2) - 2) / 3 : known.tensors;
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < known.plain; ++i) inputs.push_back(spell.input(i));
  for (std::size_t i = 0; i < tensors; ++i) {
    const std::size_t at = first + 3 * i;
    std::vector<std::string> of{spell.input(at), spell.input(at + 1), spell.input(at + 2)};
    if (of.back().empty()) of.pop_back();
    inputs.push_back(spell.add("DequantizeLinear", std::move(of), "real_" + std::to_string(i)));
  }
  const std::size_t scale = any_number ? 0 : first + 3 * tensors;
  const std::string made = spell.add(std::string(known.standard), std::move(inputs), "real", std::move(attributes));
  std::vector<std::string> steps{made, spell.input(scale), spell.input(scale + 1)};
  if (steps.back().empty()) steps.pop_back();
  spell.add("QuantizeLinear", std::move(steps), "");
  return std::move(spell.nodes);
}

// Whole sums and a whole bias, in steps of the result. Without a scale of the result they are real numbers.
Result<std::vector<ModelNode>> product(const ModelNode& node) {
  Spelling spell(node);
  std::array turned{false, false};
  for (const Attribute& one : node.attributes) {
    if (one.name == "transA") turned[0] = one.integer != 0;
    else if (one.name == "transB") turned[1] = one.integer != 0;
    else if (one.name != "alpha" || one.number != 1)
      return fail(Fault::Unsupported, "attribute '" + one.name + "' is not understood, or has another value than 1");
  }
  std::array<std::string, 2> sides;
  for (std::size_t i = 0; i < 2; ++i) {
    sides[i] = spell.input(3 * i);
    if (turned[i]) sides[i] = spell.add("Transpose", {sides[i]}, i == 0 ? "a" : "b");
  }
  std::string sums = spell.add("MatMulInteger", {sides[0], sides[1], spell.input(2), spell.input(5)}, "sums");
  if (!spell.input(6).empty()) sums = spell.add("Add", {sums, spell.input(6)}, "biased");
  const std::string scales = spell.add("Mul", {spell.input(1), spell.input(4)}, "scales");
  const std::string real = spell.add("Cast", {sums}, "real", {Spelling::whole("to", 1)});
  if (spell.input(7).empty()) {
    spell.add("Mul", {real, scales}, "");
    return std::move(spell.nodes);
  }
  const std::string factor = spell.add("Div", {scales, spell.input(7)}, "factor");
  const std::string in_steps = spell.add("Mul", {real, factor}, "in_steps");
  const std::string one = spell.add("Div", {spell.input(7), spell.input(7)}, "one");
  std::vector<std::string> steps{in_steps, one, spell.input(8)};
  if (steps.back().empty()) steps.pop_back();
  spell.add("QuantizeLinear", std::move(steps), "");
  return std::move(spell.nodes);
}

// Whole sums as real numbers, a bias of which is added: MatMulIntegerToFloat (A, B, their scales, their zeros, the bias), and
// DynamicQuantizeMatMul (A in real numbers, which is rounded to steps of its own, B, its scale, its zero, the bias).
Result<std::vector<ModelNode>> real_product(const ModelNode& node, bool rounds_a) {
  if (!node.attributes.empty())
    return fail(Fault::Unsupported, "attribute '" + node.attributes.front().name + "' is not understood");
  Spelling spell(node);
  std::string a = spell.input(0), a_scale = spell.input(2), a_zero = spell.input(4);
  std::string b_scale = spell.input(3), b_zero = spell.input(5), bias = spell.input(6);
  if (rounds_a) {
    const std::string x = a;
    a = spell.add("DynamicQuantizeLinear", {x}, "whole");
    a_scale = node.outputs.front() + "/whole_scale", a_zero = node.outputs.front() + "/whole_zero";
    spell.nodes.back().outputs = {a, a_scale, a_zero};
    b_scale = spell.input(2), b_zero = spell.input(3), bias = spell.input(4);
  }
  const std::string sums = spell.add("MatMulInteger", {a, spell.input(1), a_zero, b_zero}, "sums");
  const std::string real = spell.add("Cast", {sums}, "real", {Spelling::whole("to", 1)});
  const std::string scales = spell.add("Mul", {a_scale, b_scale}, "scales");
  const std::string scaled = spell.add("Mul", {real, scales}, bias.empty() ? "" : "scaled");
  if (!bias.empty()) spell.add("Add", {scaled, bias}, "");
  return std::move(spell.nodes);
}

}  // namespace

Result<std::vector<ModelNode>> in_standard_operators(const ModelNode& node) {
  const auto known = std::ranges::find(quantised, node.type, &Quantised::name);
  if (known != quantised.end()) return between_steps(node, *known);
  if (node.type == "QGemm") return product(node);
  if (node.type == "MatMulIntegerToFloat" || node.type == "DynamicQuantizeMatMul") {
    if (node.outputs.size() != 1) return fail(Fault::Format, "has " + std::to_string(node.outputs.size()) + " outputs");
    return real_product(node, node.type == "DynamicQuantizeMatMul");
  }
  if (std::ranges::find(renamed, node.type) != renamed.end()) {
    ModelNode standard = node;
    standard.domain.clear();
    return std::vector{standard};
  }
  return fail(Fault::Unsupported, "is an operator of domain '" + node.domain + "', which this version does not read");
}

}  // namespace convoy::onnx
