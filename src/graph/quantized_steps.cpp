#include "graph/quantized_steps.h"

#include "base/budget.h"
#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace convoy {

std::optional<WholeBounds> whole_bounds(DType dtype) {
  switch (dtype) {
    case DType::U8: return WholeBounds{0, 255};
    case DType::I8: return WholeBounds{-128, 127};
    case DType::U16: return WholeBounds{0, 65535};
    case DType::I16: return WholeBounds{-32768, 32767};
    default: return std::nullopt;
  }
}

namespace {

class StretchFinder {
 public:
  explicit StretchFinder(const Graph& graph) : graph_(graph), uses_(graph.values.size()) {
    for (const Node& node : graph.nodes)
      for (const ValueId v : node.inputs)
        if (v) ++uses_[v.slot()];
    for (const ValueId v : graph.outputs) ++uses_[v.slot()];
  }

  QuantizedStretches find() {
    QuantizedStretches found;
    found.goes.assign(graph_.nodes.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId last{static_cast<std::int32_t>(i)};
      auto stretch = rounding_to(last);
      if (!stretch) stretch = widening_to(last);
      if (!stretch) continue;
      for (const NodeId inner : stretch->nodes)
        if (inner != last) found.goes[inner.slot()] = 1;
      found.by_last.emplace(last, std::move(*stretch));
    }
    return found;
  }

 private:
  // The node in front of this one's input, of the same layer, whose result nobody else reads.
  NodeId before(NodeId node, std::size_t input = 0) const {
    const ValueId v = graph_[node].inputs[input];
    const NodeId made_by = v ? graph_[v].producer : NodeId{};
    if (!made_by || uses_[v.slot()] != 1) return {};
    return graph_[made_by].layer == graph_[node].layer ? made_by : NodeId{};
  }
  const Tensor* constant(NodeId node, std::size_t input) const {
    const auto& held = graph_[graph_[node].inputs[input]].constant;
    return held ? &*held : nullptr;
  }
  bool is(NodeId node, BinaryFunction function) const {
    const auto* op = node ? get_if<Binary>(&graph_[node].op) : nullptr;
    return op && op->function == function && graph_[graph_[node].inputs[0]].type.dtype == DType::F32 &&
           constant(node, 1) && constant(node, 1)->dtype() == DType::F32;
  }
  DType type_before(NodeId node) const { return graph_[graph_[node].inputs[0]].type.dtype; }

  // The scale and the zeros of a stretch that `by` divides or multiplies, of which `shift` may be none.
  bool take_steps(QuantizedStretch& stretch, NodeId by, NodeId shift) const {
    const Tensor& scale = *constant(by, 1);
    stretch.scale = graph_[by].inputs[1];
    const auto scales = scale.doubles();
    if (scales.empty() || !std::ranges::all_of(scales, [](double s) { return std::isfinite(s) && s > 0; }))
      return false;
    const auto whole_rank = graph_[stretch.x].type.rank();
    if (scale.rank() > whole_rank) return false;
    if (scale.count() > 1) {
      const auto longest = std::ranges::max_element(scale.shape());
      if (*longest != scale.count()) return false;
      stretch.axis = whole_rank - scale.rank() + (longest - scale.shape().begin());
      if (at(graph_[stretch.x].type.shape, *stretch.axis) != Dim(scale.count())) return false;
    }
    stretch.zeros.assign(scales.size(), 0);
    if (!shift) return true;
    const Tensor& zero = *constant(shift, 1);
    const bool of_each = zero.count() == scale.count() && (zero.count() == 1 || zero.shape() == scale.shape());
    if (zero.rank() > whole_rank || (!of_each && zero.count() != 1)) return false;
    const auto zeros = zero.doubles();
    const auto bounds = whole_bounds(stretch.held);
    if (!bounds) return false;
    for (std::size_t i = 0; i < stretch.zeros.size(); ++i) {
      const double z = zeros[zeros.size() == 1 ? 0 : i];
      if (z != std::round(z) || z < bounds->least || z > bounds->most) return false;
      stretch.zeros[i] = static_cast<std::int64_t>(z);
    }
    return true;
  }

  // x / scale, rounded, + zero, clip, cast
  std::optional<QuantizedStretch> rounding_to(NodeId last) const {
    const auto* cast = get_if<Cast>(&graph_[last].op);
    const auto bounds = cast ? whole_bounds(cast->to) : std::nullopt;
    const NodeId clip = bounds ? before(last) : NodeId{};
    const auto* kept = clip ? get_if<Clip>(&graph_[clip].op) : nullptr;
    if (!kept || kept->least != bounds->least || kept->most != bounds->most) return std::nullopt;
    NodeId shift = before(clip);
    NodeId round = shift;
    if (is(shift, BinaryFunction::Add)) round = before(shift);
    else shift = {};
    const auto* rounded = round ? get_if<Unary>(&graph_[round].op) : nullptr;
    if (!rounded || rounded->function != Function::Round) return std::nullopt;
    const NodeId divide = before(round);
    if (!is(divide, BinaryFunction::Divide)) return std::nullopt;
    QuantizedStretch found{true, graph_[divide].inputs[0], cast->to, {}, {}, {}, {divide, round}};
    if (shift) found.nodes.push_back(shift);
    found.nodes.insert(found.nodes.end(), {clip, last});
    if (!take_steps(found, divide, shift)) return std::nullopt;
    return found;
  }

  // cast, - zero, * scale
  std::optional<QuantizedStretch> widening_to(NodeId last) const {
    if (!is(last, BinaryFunction::Multiply)) return std::nullopt;
    NodeId shift = before(last);
    NodeId widen = shift;
    if (is(shift, BinaryFunction::Subtract)) widen = before(shift);
    else shift = {};
    const auto* cast = widen ? get_if<Cast>(&graph_[widen].op) : nullptr;
    if (!cast || cast->to != DType::F32 || !whole_bounds(type_before(widen))) return std::nullopt;
    QuantizedStretch found{false, graph_[widen].inputs[0], type_before(widen), {}, {}, {}, {widen}};
    if (shift) found.nodes.push_back(shift);
    found.nodes.push_back(last);
    if (!take_steps(found, last, shift)) return std::nullopt;
    return found;
  }

  const Graph& graph_;
  std::vector<int> uses_;
};

bool have_same_steps(const Graph& graph, const QuantizedStretch& a, const QuantizedStretch& b) {
  return a.held == b.held && a.axis == b.axis && a.zeros == b.zeros &&
         graph[a.scale].constant->doubles() == graph[b.scale].constant->doubles();
}

Clip range_of_steps(const Graph& graph, const QuantizedStretch& stretch) {
  const float scale = graph[stretch.scale].constant->floats().front();
  const WholeBounds bounds = *whole_bounds(stretch.held);
  const auto real = [&](double whole) {
    return static_cast<double>(static_cast<float>(whole - static_cast<double>(stretch.zeros.front())) * scale);
  };
  return {real(bounds.least), real(bounds.most)};
}

// Whole numbers of type T, the low bytes of each.
Tensor narrowed(DType dtype, const Sizes& shape, const std::vector<std::int64_t>& numbers) {
  const auto width = static_cast<std::size_t>(bytes_of(dtype));
  std::vector<std::byte> bytes(numbers.size() * width);
  for (std::size_t i = 0; i < numbers.size(); ++i) std::memcpy(bytes.data() + i * width, &numbers[i], width);
  return *Tensor::owning(dtype, shape, std::move(bytes));
}

// As the reader widens: the product rounded once to float32.
bool stands_for(std::int64_t steps, float scale, float real) {
  const float again = static_cast<float>(steps) * scale;
  return std::memcmp(&again, &real, sizeof again) == 0;
}

bool all_stand(const std::vector<std::int64_t>& whole, const std::vector<float>& real, const Quantization& as,
               const ScalePlaces& place) {
  for (std::size_t i = 0; i < real.size(); ++i) {
    const std::size_t at = place(i);
    if (!stands_for(whole[i] - as.zero_points[at], as.scales[at], real[i])) return false;
  }
  return true;
}

// Nothing: a number lies on no step, or float32 may stand for two steps there.
std::optional<Tensor> nearest_steps(const Tensor& real, const Quantization& as, const ScalePlaces& place) {
  auto bounds = whole_bounds(as.dtype);
  if (as.dtype == DType::I32) bounds = WholeBounds{-8388608, 8388608};
  if (!bounds) return std::nullopt;
  const auto numbers = real.floats();
  std::vector<std::int64_t> whole(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t at = place(i);
    const double steps = std::nearbyint(static_cast<double>(numbers[i]) / static_cast<double>(as.scales[at])) +
                         static_cast<double>(as.zero_points[at]);
    if (!(steps >= bounds->least && steps <= bounds->most)) return std::nullopt;
    whole[i] = static_cast<std::int64_t>(steps);
  }
  if (!all_stand(whole, numbers, as, place)) return std::nullopt;
  return narrowed(as.dtype, real.shape(), whole);
}

// A product that is rounded, and the scale that its factor is the inverse of.
struct InverseScale {
  NodeId product;
  ValueId scale;
};

bool are_inverse(const Tensor& a, const Tensor& b) {
  if (a.dtype() != DType::F32 || a.shape() != b.shape()) return false;
  const auto x = a.doubles(), y = b.doubles();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x[i] * y[i] - 1) <= 0x1p-22)) return false;
  return true;
}

// In front of whole numbers: a cast, a clip, perhaps a sum, a rounding and the product.
std::vector<InverseScale> inverse_scales_in(const Graph& graph) {
  std::vector<InverseScale> all;
  const auto before = [&](NodeId node) {
    const bool reads = node && !graph[node].inputs.empty() && graph[node].inputs[0];
    return reads ? graph[graph[node].inputs[0]].producer : NodeId{};
  };
  const auto binary = [&](NodeId node, BinaryFunction function) {
    const auto* op = node ? get_if<Binary>(&graph[node].op) : nullptr;
    return op && op->function == function;
  };
  for (const auto& [last, stretch] : quantized_stretches(graph).by_last) {
    if (stretch.rounds) continue;
    const NodeId cast = graph[stretch.x].producer, clip = before(cast);
    if (!clip || !holds_alternative<Cast>(graph[cast].op) || !holds_alternative<Clip>(graph[clip].op)) continue;
    const NodeId sum = before(clip), round = binary(sum, BinaryFunction::Add) ? before(sum) : sum;
    const auto* rounded = round ? get_if<Unary>(&graph[round].op) : nullptr;
    const NodeId product = rounded && rounded->function == Function::Round ? before(round) : NodeId{};
    if (!binary(product, BinaryFunction::Multiply)) continue;
    const auto& factor = graph[graph[product].inputs[1]].constant;
    if (factor && are_inverse(*factor, *graph[stretch.scale].constant)) all.push_back({product, stretch.scale});
  }
  return all;
}

}  // namespace

QuantizedStretches quantized_stretches(const Graph& graph) { return StretchFinder(graph).find(); }

std::vector<SteppedPair> stepped_pairs(const Graph& graph) {
  const QuantizedStretches found = quantized_stretches(graph);
  std::vector<SteppedPair> all;
  for (const auto& [last, stretch] : found.by_last) {
    if (stretch.rounds || stretch.axis) continue;
    const NodeId made_by = graph[stretch.x].producer;
    const auto rounding = made_by ? found.by_last.find(made_by) : found.by_last.end();
    if (rounding != found.by_last.end() && rounding->second.rounds && have_same_steps(graph, rounding->second, stretch))
      all.push_back({rounding->second, stretch});
  }
  return all;
}

std::size_t divide_by_scales(Graph& graph) {
  const auto found = inverse_scales_in(graph);
  for (const InverseScale& one : found) {
    graph[one.product].op = Binary{BinaryFunction::Divide};
    graph[one.product].inputs[1] = one.scale;
  }
  return found.size();
}

std::size_t inverse_scales(const Graph& graph) { return inverse_scales_in(graph).size(); }

RangesKept keep_ranges_alone(Graph& graph) {
  const auto pairs = stepped_pairs(graph);
  const QuantizedStretches found = quantized_stretches(graph);
  const auto widened = std::ranges::count_if(found.by_last, [](const auto& one) { return !one.second.rounds; });
  for (const auto& [rounding, widening] : pairs) {
    const Clip range = range_of_steps(graph, widening);
    Node& last = graph[widening.nodes.back()];
    last.op = range;
    last.inputs = {rounding.x};
  }
  return {pairs.size(), static_cast<std::size_t>(widened) - pairs.size()};
}

ScalePlaces::ScalePlaces(const Sizes& shape, const Quantization& as, Size axis) : count_(as.scales.size()) {
  auto i = static_cast<std::size_t>(axis);
  for (std::size_t reached = 1; i < shape.size() && reached < count_; ++i)
    reached *= static_cast<std::size_t>(shape[i]);
  for (; i < shape.size(); ++i) inner_ *= static_cast<std::size_t>(shape[i]);
}

std::optional<HeldAs> held_as(const Tensor& real, const HeldWeight& held) {
  const Quantization& as = held.as;
  if (real.dtype() != DType::F32 || as.scales.empty() || as.scales.size() != as.zero_points.size()) return std::nullopt;
  if (!budget::afford(real.count() * 24, "whole numbers of weights")) return std::nullopt;
  const auto along = [&](std::optional<Size> axis) -> std::optional<HeldAs> {
    const ScalePlaces place(real.shape(), as, axis.value_or(0));
    if (real.shape() == held.whole.shape() && all_stand(held.whole.integers(), real.floats(), as, place))
      return HeldAs{held.whole, axis};
    auto whole = nearest_steps(real, as, place);
    return whole ? std::optional(HeldAs{std::move(*whole), axis}) : std::nullopt;
  };
  if (!as.per_axis()) return along({});
  for (Size axis = 0; axis < real.rank(); ++axis)
    if (at(real.shape(), axis) == static_cast<Size>(as.scales.size()))
      if (auto found = along(axis)) return found;
  return std::nullopt;
}

}  // namespace convoy
