// Whole numbers with a scale and a zero: stretches of steps that QuantizeLinear or DequantizeLinear say in one word, and weights
// that are held as whole numbers in the file.
#include "formats/numbers.h"
#include "formats/onnx/write/sink.h"

#include <algorithm>

namespace convoy::onnx {
namespace {

// Whether the operator set says whole numbers of this type in steps of one scale or several.
bool says_steps(DType dtype, bool per_axis, Size opset) {
  if (!whole_bounds(dtype) && dtype != DType::I32) return false;
  if (dtype == DType::I16 || dtype == DType::U16) return opset >= 21;
  return !per_axis || opset >= 13;
}

Tensor zeros_of(DType dtype, const std::vector<std::int64_t>& zeros, bool per_axis) {
  return whole_tensor(dtype, per_axis ? Sizes{static_cast<Size>(zeros.size())} : Sizes{}, zeros);
}

Attributes along(const std::optional<Size>& axis) { return axis ? Attributes{{"axis", *axis}} : Attributes{}; }

}  // namespace

void Sink::keep_quantized() {
  QuantizedStretches found = quantized_stretches(graph_);
  for (auto& [last, stretch] : found.by_last) {
    if (!says_steps(stretch.held, stretch.axis.has_value(), opset())) continue;
    for (const NodeId inner : stretch.nodes)
      if (inner != last) in_stretch_[inner.slot()] = 1;
    stretches_.emplace(last, std::move(stretch));
  }
}

void Sink::write_stretch(const QuantizedStretch& stretch) {
  begin(graph_[stretch.nodes.back()]);
  const Tensor& scale = *graph_[stretch.scale].constant;
  const std::string scale_name = scale.rank() == 0
                                     ? name_of(stretch.scale)
                                     : stored("scale", scale.reshaped(stretch.axis ? Sizes{scale.count()} : Sizes{}));
  const std::string zero = stored("zero_point", zeros_of(stretch.held, stretch.zeros, stretch.axis.has_value()));
  last(stretch.rounds ? "QuantizeLinear" : "DequantizeLinear", {name_of(stretch.x), scale_name, zero},
       along(stretch.axis));
}

void Sink::hold_weights(const HeldWeights& all) {
  std::set<std::string_view> read;
  for (const DocumentNode& each : document_.nodes) read.insert(each.inputs.begin(), each.inputs.end());
  std::vector<DocumentNode> widened;
  for (const Value& value : graph_.values) {
    const auto wanted = value.constant && read.contains(value.name) ? all.find(value.name) : all.end();
    if (wanted == all.end()) continue;
    const Quantization& as = wanted->second.as;
    const auto made = made_.find(value.name);
    const Tensor& real = made == made_.end() ? *value.constant : made->second;
    if (!says_steps(as.dtype, as.per_axis(), opset())) continue;
    auto held = held_as(real, wanted->second);
    if (!held) continue;
    const auto number = [&](std::string_view word, Tensor tensor) {
      std::string name = unique(value.name + "/" + std::string(word));
      made_.emplace(name, std::move(tensor));
      return name;
    };
    const Tensor scales = Tensor::of({static_cast<Size>(as.scales.size())}, as.scales);
    const std::string whole = number("whole", std::move(held->whole));
    const std::string scale = number("scale", held->axis ? scales : scales.reshaped({}));
    const std::string zero = number("zero_point", zeros_of(as.dtype, as.zero_points, held->axis.has_value()));
    widened.push_back({"DequantizeLinear",
                       node_names_.take(value.name, "/", 1),
                       {whole, scale, zero},
                       {value.name},
                       along(held->axis)});
    made_.erase(value.name);
    held_.insert(value.name);
  }
  document_.nodes.insert(document_.nodes.begin(), widened.begin(), widened.end());
}

}  // namespace convoy::onnx
