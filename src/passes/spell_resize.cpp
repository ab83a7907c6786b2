// Says resizing in interpolate's words: nearest by floor or by the cell's middle, linear by the middle or by corners,
// cubic with a = -0.75 and the border repeated. Everything else becomes, axis by axis, the cells taken or a product with
// the matrix of weights, which needs known sizes.
#include "passes/rewrites.h"

#include <algorithm>
#include <cmath>

namespace convoy {

namespace {

bool integer_factors(const Resize& op) {
  return !op.factors.empty() && std::ranges::all_of(op.factors, [](double f) { return f >= 1 && f == std::floor(f); });
}

std::optional<Size> size_of(const Shape& shape, const Resize& op, std::size_t i) {
  return shape[static_cast<std::size_t>(op.axes.spatial(static_cast<Size>(i)))].size();
}

std::size_t space_of(const Resize& op) { return static_cast<std::size_t>(op.axes.space); }

// Repeats every cell a whole number of times: whichever rounding the source names, the cells are the same.
bool repeats(const Resize& op) {
  const bool middle = op.coordinates == Coordinates::HalfPixel && op.rounding == Rounding::RoundHalfUp;
  const bool floor = op.coordinates == Coordinates::Asymmetric && op.rounding == Rounding::Floor;
  return op.interpolation == Interpolation::Nearest && integer_factors(op) && (middle || floor);
}

bool grows(const Resize& op, const Shape& shape) {
  for (std::size_t i = 0; i < space_of(op); ++i) {
    if (!op.factors.empty()) {
      if (op.factors[i] < 1) return false;
      continue;
    }
    const auto in = size_of(shape, op, i);
    if (!in || op.sizes[i] < *in) return false;
  }
  return true;
}

// A factor that leaves an axis as long as it was is ignored by the target's linear modes, unless it is 1.
bool idle_factor(const Resize& op, const Shape& shape) {
  for (std::size_t i = 0; i < op.factors.size(); ++i) {
    const double f = op.factors[i];
    const auto in = size_of(shape, op, i);
    if (f == std::floor(f)) continue;
    if (!in || std::floor(static_cast<double>(*in) * f) == static_cast<double>(*in)) return true;
  }
  return false;
}

// The same numbers in the target's words; nothing: it has no words for them.
std::optional<Resize> spoken(Resize op, const Shape& shape) {
  if (op.axes.order != Order::ChannelsFirst) return std::nullopt;
  if (op.antialias && op.interpolation == Interpolation::Linear && grows(op, shape)) op.antialias = false;
  if (op.antialias && op.interpolation != Interpolation::Nearest) return std::nullopt;
  switch (op.interpolation) {
    case Interpolation::Nearest: {
      op.antialias = op.drops_outside = op.cubic_table = false;
      if (repeats(op)) {
        op.coordinates = Coordinates::Asymmetric;
        op.rounding = Rounding::Floor;
        return op;
      }
      const bool middle = op.coordinates == Coordinates::HalfPixel && op.rounding == Rounding::RoundHalfUp;
      const bool floor = op.coordinates == Coordinates::Asymmetric && op.rounding == Rounding::Floor;
      if (middle || (floor && op.factors.empty())) return op;
      return std::nullopt;
    }
    case Interpolation::Linear:
      op.drops_outside = op.cubic_table = false;  // of two taps the one outside goes: the border cell either way
      if (op.coordinates == Coordinates::Asymmetric || idle_factor(op, shape)) return std::nullopt;
      if (op.coordinates == Coordinates::AlignCorners && !op.factors.empty() && !integer_factors(op))
        return std::nullopt;
      return op;
    case Interpolation::Cubic:
      if (op.axes.space != 2 || op.cubic_a != -0.75 || op.drops_outside || op.cubic_table ||
          op.coordinates == Coordinates::Asymmetric)
        return std::nullopt;
      return op;
    default: return std::nullopt;
  }
}

// Axis i alone: what its output cells read.
std::vector<Taps> taps_along(const Resize& op, const Shape& in, const Shape& out, std::size_t i) {
  const auto axis = static_cast<std::size_t>(op.axes.spatial(static_cast<Size>(i)));
  return taps_of(op, *in[axis], *out[axis], op.factors.empty() ? 0 : op.factors[i]);
}

bool leaves_as_is(const std::vector<Taps>& taps, Size in) {
  if (static_cast<Size>(taps.size()) != in) return false;
  for (std::size_t o = 0; o < taps.size(); ++o)
    for (std::size_t t = 0; t < taps[o].cells.size(); ++t)
      if (taps[o].weights[t] != (taps[o].cells[t] == static_cast<Size>(o) ? 1 : 0)) return false;
  return true;
}

Result<ValueId> take(Patch& patch, const Node& node, ValueId x, Size axis, const std::vector<Taps>& taps) {
  Take op{.axis = axis, .indices = {}};
  for (const Taps& t : taps) op.indices.push_back(t.cells.at(0));
  auto made = patch.node(node, op, {x});
  if (!made) return pass(made);
  return made->front();
}

// W [out, in] times x along `axis`: on the right of the last axis, on the left of the one before, by letters elsewhere.
Result<ValueId> product(Patch& patch, const Node& node, ValueId x, Size axis, const std::vector<Taps>& taps) {
  const Size rank = patch.fact(x).rank(), in = *patch.fact(x).shape[static_cast<std::size_t>(axis)];
  const auto out = static_cast<Size>(taps.size());
  std::vector<float> weights(static_cast<std::size_t>(in * out), 0.0F);
  for (std::size_t o = 0; o < taps.size(); ++o)
    for (std::size_t t = 0; t < taps[o].cells.size(); ++t) {
      float& weight = weights[o * static_cast<std::size_t>(in) + static_cast<std::size_t>(taps[o].cells[t])];
      weight = static_cast<float>(static_cast<double>(weight) + taps[o].weights[t]);
    }
  Tensor matrix = Tensor::of({out, in}, std::move(weights));
  const bool last = axis == rank - 1;
  if (last) matrix = matrix.permuted(Sizes{1, 0});
  const ValueId w = patch.constant(node.layer + "/axis" + std::to_string(axis), matrix, false);
  if (last || axis == rank - 2) {
    auto made = patch.node(node, MatMul{}, last ? std::vector{x, w} : std::vector{w, x});
    if (!made) return pass(made);
    return made->front();
  }
  std::string letters, result;
  for (Size a = 0; a < rank; ++a) letters += static_cast<char>('a' + a);
  result = letters;
  result[static_cast<std::size_t>(axis)] = 'z';
  auto made =
      patch.node(node, Einsum{letters + ",z" + letters[static_cast<std::size_t>(axis)] + "->" + result}, {x, w});
  if (!made) return pass(made);
  return made->front();
}

Status spell(const Graph& graph, NodeId id, const Resize& op, Patch& patch) {
  const Node& node = graph[id];
  const Shape& in = graph[node.inputs[0]].fact.shape;
  ValueId now = node.inputs[0];
  if (const auto direct = spoken(op, in)) {
    if (*direct == op) return {};
    auto made = patch.node(node, *direct, {now});
    if (!made) return pass(made);
    now = made->front();
  } else {
    for (std::size_t i = 0; i < space_of(op); ++i)
      if (!size_of(in, op, i))
        return within(place_of(node),
                      Status(fail(Fault::Unsupported,
                                  "resizes in a way that the target has no word for, and its weights depend on the "
                                  "input's size, which is free; give the input a size")));
    for (std::size_t i = 0; i < space_of(op); ++i) {
      const Size axis = op.axes.spatial(static_cast<Size>(i));
      const auto taps = taps_along(op, in, graph[node.outputs[0]].fact.shape, i);
      if (leaves_as_is(taps, *in[static_cast<std::size_t>(axis)])) continue;
      auto made = op.interpolation == Interpolation::Nearest ? take(patch, node, now, axis, taps)
                                                             : product(patch, node, now, axis, taps);
      if (!made) return pass(made);
      now = *made;
    }
    patch.remark(node, op.interpolation == Interpolation::Nearest
                           ? "resized by taking cells, because interpolate rounds in another way"
                           : "resized by products with the weights of each axis, because interpolate weighs in another "
                             "way; holds for this input size");
  }
  patch.remove(id);
  patch.replace(node.outputs[0], now);
  return {};
}

}  // namespace

Result<Patch> spell_resize(const Graph& graph) {
  Patch patch(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto* resize = std::get_if<Resize>(&graph.nodes[i].op))
      if (auto done = spell(graph, {static_cast<std::int32_t>(i)}, *resize, patch); !done) return pass(done);
  return patch;
}

}  // namespace convoy
