// Tensors of the document, each with a name of its own, and activations that are fused.
#include "formats/tflite/write/sink.h"

#include "formats/tflite/types.h"
#include "ops/expect.h"

#include <algorithm>
#include <utility>

namespace convoy::tflite {
namespace {

// As the options say it; 0: none that is fused.
Size fused_word(const Op& op) {
  if (const auto* relu = get_if<Relu>(&op)) {
    if (relu->negative_slope != 0 || relu->threshold != 0) return 0;
    if (!relu->max_value) return 1;
    return *relu->max_value == 6 ? 3 : 0;
  }
  const auto* clip = get_if<Clip>(&op);
  return clip && clip->least == -1.0 && clip->most == 1.0 ? 2 : 0;
}

bool takes_activation(const Graph& graph, const Node& node) {
  if (graph[node.outputs[0]].type.dtype != DType::F32) return false;
  if (const auto* binary = get_if<Binary>(&node.op))
    return binary->function == BinaryFunction::Add || binary->function == BinaryFunction::Subtract ||
           binary->function == BinaryFunction::Multiply || binary->function == BinaryFunction::Divide;
  if (const auto* linear = get_if<Linear>(&node.op); linear) return graph[node.inputs[1]].constant.has_value();
  if (const auto* pool = get_if<MaxPool>(&node.op)) return pool->axes.space <= 2;
  if (const auto* pool = get_if<AveragePool>(&node.op)) return pool->axes.space <= 2;
  return holds_alternative<Conv>(node.op);
}

}  // namespace

Sink::Sink(const Graph& graph, Document& document) : graph_(graph), document_(document), uses_(graph.values.size(), 0) {
  for (const Node& node : graph.nodes)
    for (const ValueId v : node.inputs)
      if (v) ++uses_[v.slot()];
  for (const ValueId v : graph.outputs) ++uses_[v.slot()];
  std::set<std::string> taken;
  for (const Value& value : graph.values) taken.insert(value.name);
  names_ = FreshNames(std::move(taken));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId n{static_cast<std::int32_t>(i)};
    const Node& node = graph.nodes[i];
    if (fused_word(node.op) == 0) continue;
    const ValueId x = node.inputs[0];
    const NodeId front = graph[x].producer;
    if (!front || uses_[x.slot()] != 1 || fuses_.contains(front)) continue;
    if (std::ranges::count(graph.outputs, x) > 0 || !takes_activation(graph, graph[front])) continue;
    fused_into_[n] = front;
    fuses_[front] = n;
  }
}

void Sink::begin(NodeId node) { at_ = node; }

const Tensor* Sink::constant(std::size_t i) const {
  return has(i) && graph_[node().inputs[i]].constant ? &*graph_[node().inputs[i]].constant : nullptr;
}

// Whole numbers of 8 bits that roundings alone make, and that alone what widens them to the same steps reads.
void Sink::keep_stretches() {
  in_stretch_.assign(graph_.nodes.size(), 0);
  const QuantizedStretches found = quantized_stretches(graph_);
  std::vector<int> reads(graph_.values.size(), 0);
  std::vector<char> other(graph_.values.size(), 0);
  for (const auto& [last, stretch] : found.by_last) {
    const ValueId whole = stretch.rounds ? graph_[last].outputs[0] : stretch.x;
    const auto place = whole.slot();
    if (!stretch.rounds) ++reads[place];
    const Quantization as{stretch.held, {graph_[stretch.scale].constant->floats().front()}, stretch.zeros, 0};
    auto& steps = steps_[whole];
    if (!steps) steps = std::make_shared<const Quantization>(as);
    if (stretch.axis || bytes_of(stretch.held) != 1 || graph_[whole].constant || !(*steps == as)) other[place] = 1;
  }
  for (const ValueId v : graph_.outputs) ++reads[v.slot()];
  std::erase_if(steps_, [&](const auto& one) {
    const auto place = one.first.slot();
    const NodeId made_by = graph_[one.first].producer;
    return other[place] != 0 || reads[place] != uses_[place] || (made_by && !found.by_last.contains(made_by));
  });
  for (const auto& [last, stretch] : found.by_last) {
    if (!steps_.contains(stretch.rounds ? graph_[last].outputs[0] : stretch.x)) continue;
    for (const NodeId inner : stretch.nodes)
      if (inner != last) in_stretch_[inner.slot()] = 1;
    stretches_.emplace(last, stretch);
    if (const auto fused = fuses_.find(last); fused != fuses_.end()) {  // DEQUANTIZE takes no activation
      fused_into_.erase(fused->second);
      fuses_.erase(fused);
    }
  }
}

void Sink::write_stretch(const QuantizedStretch& stretch) {
  const Place x = place_of(stretch.x), made = place_of(node().outputs[0]);
  document_.operators.push_back({stretch.rounds ? "QUANTIZE" : "DEQUANTIZE", stretch.rounds ? 1 : 2, {x}, {made}, {}});
}

bool Sink::is_read(std::size_t result) const {
  return result < node().outputs.size() && uses_[node().outputs[result].slot()] > 0;
}

std::string Sink::own_name(ValueId value) {
  const std::string& name = graph_[value].name;
  return owned_.insert(name).second ? name : unique(name);
}

Place Sink::add(std::string name, TensorType type, std::optional<Tensor> constant) {
  document_.tensors.push_back({std::move(name), std::move(type), std::move(constant)});
  return static_cast<Place>(document_.tensors.size()) - 1;
}

Place Sink::place_of(ValueId value) {
  const auto found = given_.find(value);
  if (found != given_.end()) return found->second;
  const Value& v = graph_[value];
  const Place made = given_[value] = add(own_name(value), v.type, v.constant);
  if (v.constant) document_.tensors[static_cast<std::size_t>(made)].value = v.name;
  if (const auto steps = steps_.find(value); steps != steps_.end())
    document_.tensors[static_cast<std::size_t>(made)].quantization = steps->second;
  return made;
}

Place Sink::input(std::size_t i) { return has(i) ? place_of(node().inputs[i]) : -1; }

Place Sink::stored(std::size_t i, Tensor tensor) {
  TensorType type = convoy::type_of(tensor);
  const Place made = add(own_name(node().inputs[i]), std::move(type), std::move(tensor));
  document_.tensors[static_cast<std::size_t>(made)].value = graph_[node().inputs[i]].name;
  return made;
}

Place Sink::constant(std::string_view word, Tensor tensor) {
  TensorType type = convoy::type_of(tensor);
  return add(unique(node().layer + "/" + std::string(word)), std::move(type), std::move(tensor));
}

Place Sink::numbers(const Sizes& values) {
  return constant("sizes", int32_of(values, {static_cast<Size>(values.size())}));
}

Place Sink::stored_shape(Place constant, const Sizes& shape) {
  DocumentTensor& tensor = document_.tensors[static_cast<std::size_t>(constant)];
  tensor.constant = tensor.constant->reshaped(shape);
  tensor.type = convoy::type_of(*tensor.constant);
  return constant;
}

Place Sink::whole(Size value) { return constant("size", int32_of({value}, {})); }

Place Sink::number(double value) {
  return constant("number", Tensor::of({}, std::vector<float>{static_cast<float>(value)}));
}

namespace {

// The shape of a constant of several numbers that stretches over this one. Nothing: there is none.
std::optional<Sizes> shape_of_several(const Shape& shape) {
  Sizes sizes;
  for (auto axis = shape.rbegin(); axis != shape.rend() && axis->size(); ++axis) {
    sizes.insert(sizes.begin(), *axis->size());
    if (*axis->size() > 1) break;
  }
  const auto count = checked_count(sizes);
  if (!count || *count < 2 || *count > 65536) return std::nullopt;
  return sizes;
}

}  // namespace

Place Sink::at_least(Place x, double least) {
  const TensorType type = type_of(x);
  if (const auto sizes = shape_of_several(type.shape)) return step("MAXIMUM", {x, lower_bounds(*sizes, least)}, type);
  return like("NEG", {like("MINIMUM", {like("NEG", {x}), number(-least)})});
}

void Sink::last_at_least(Place x, double least) {
  if (const auto sizes = shape_of_several(type_of(x).shape)) last("MAXIMUM", {x, lower_bounds(*sizes, least)});
  else last("NEG", {like("MINIMUM", {like("NEG", {x}), number(-least)})});
}

Place Sink::lower_bounds(const Sizes& shape, double least) {
  const std::vector<float> all(static_cast<std::size_t>(*checked_count(shape)), static_cast<float>(least));
  return constant("number", Tensor::of(shape, all));
}

Size Sink::activation() const {
  const auto found = fuses_.find(at_);
  return found == fuses_.end() ? 0 : fused_word(graph_[found->second].op);
}

Place Sink::step(std::string_view op, std::vector<Place> inputs, TensorType result, Options options, int version) {
  const Place made = add(unique(node().layer + "/" + std::string(op)), std::move(result));
  document_.operators.push_back({op, version, std::move(inputs), {made}, std::move(options)});
  return made;
}

void Sink::last(std::string_view op, std::vector<Place> inputs, Options options, int version) {
  const auto fused = fuses_.find(at_);
  std::vector<Place> outputs;
  for (const ValueId v : graph_[fused == fuses_.end() ? at_ : fused->second].outputs) outputs.push_back(place_of(v));
  document_.operators.push_back({op, version, std::move(inputs), std::move(outputs), std::move(options)});
}

Place Sink::last_but(std::size_t i, TensorType type, std::string_view op, std::vector<Place> inputs, Options options) {
  const Place made = add(unique(node().layer + "/" + std::string(op)), std::move(type));
  std::vector<Place> outputs;
  for (std::size_t k = 0; k < node().outputs.size(); ++k)
    outputs.push_back(k == i ? made : place_of(node().outputs[k]));
  document_.operators.push_back({op, 1, std::move(inputs), std::move(outputs), std::move(options)});
  return made;
}

void Sink::give(std::size_t i, std::string_view op, std::vector<Place> inputs, Options options) {
  document_.operators.push_back({op, 1, std::move(inputs), {place_of(node().outputs[i])}, std::move(options)});
}

void Sink::pass_on() {
  const ValueId x = node().inputs[0], y = node().outputs[0];
  const Place place = place_of(x);
  // An output has a name of its own, and numbers that are known are given by an operator.
  const auto has_it = [&](ValueId output) {
    const auto found = given_.find(output);
    return found != given_.end() && found->second == place;
  };
  const bool is_output = std::ranges::count(graph_.outputs, y) > 0;
  if (!is_output || (graph_[x].producer && std::ranges::none_of(graph_.outputs, has_it))) {
    given_[y] = place;
    return;
  }
  last("RESHAPE", {input(), sizes(type().shape, input(), {})});
}

Place Sink::sizes(const Shape& wanted, Place x, const std::vector<Size>& from, const Sizes& times, const Sizes& more) {
  const auto free = std::ranges::count_if(wanted, [](Dim n) { return !n.known(); });
  Sizes known;
  for (const Dim n : wanted) known.push_back(n.known() ? *n : -1);
  if (free == 0 || (free == 1 && times.empty())) return numbers(known);
  const TensorType scalar{DType::I32, {}};
  const Place shape = step("SHAPE", {x}, {DType::I32, {Dim(type_of(x).rank())}}, {{"out_type", Size{2}}});
  std::vector<Place> all;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].known()) {
      all.push_back(whole(*wanted[i]));
      continue;
    }
    const Size axis = i < from.size() ? from[i] : static_cast<Size>(i);
    Place one = step("STRIDED_SLICE", {shape, numbers({axis}), numbers({axis + 1}), numbers({1})}, scalar,
                     {{"shrink_axis_mask", Size{1}}});
    if (i < times.size() && times[i] != 1) one = step("MUL", {one, whole(times[i])}, scalar);
    if (i < more.size() && more[i] != 0) one = step("ADD", {one, whole(more[i])}, scalar);
    all.push_back(one);
  }
  const auto count = static_cast<Size>(all.size());
  return step("PACK", std::move(all), {DType::I32, {Dim(count)}}, {{"values_count", count}, {"axis", Size{0}}});
}

Place Sink::places(std::size_t i) {
  TensorType wanted = type(i);
  const DType own = std::exchange(wanted.dtype, DType::I32);
  if (own == DType::I32 || own == DType::I64) return input(i);
  return step("CAST", {input(i)}, std::move(wanted),
              {{"in_data_type", code_of(own)}, {"out_data_type", code_of(DType::I32)}});
}

Size Sink::code_of(DType dtype) { return type_code_of(dtype); }

void Sink::add_input(ValueId value) {
  const Place place = place_of(value);
  document_.inputs.push_back(place);
  document_.input_names.push_back(document_.tensors[static_cast<std::size_t>(place)].name);
}

void Sink::add_output(ValueId value, const std::string& name) {
  document_.outputs.push_back(place_of(value));
  document_.output_names.push_back(name);
}

}  // namespace convoy::tflite
