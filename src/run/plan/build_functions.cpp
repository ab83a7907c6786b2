// Which functions of numbers, norms and pairs become steps, and which are taken into the step in front of them.
#include "run/plan/builder.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace convoy::plan {

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

std::vector<float> floats_of(const std::optional<Tensor>& tensor) {
  return tensor ? tensor->floats() : std::vector<float>();
}

std::string text_of(const fast::MapCall& map) {
  switch (map.map) {
    case fast::Map::None: return "";
    case fast::Map::Clamp: return map.a == 0 && map.b == infinite ? "relu" : "clamp";
    case fast::Map::Leaky: return "leaky relu";
    case fast::Map::Affine: return "scale";
    case fast::Map::Sigmoid: return "sigmoid";
    case fast::Map::Tanh: return "tanh";
    case fast::Map::Silu: return "silu";
    case fast::Map::HardSigmoid: return "hard sigmoid";
    case fast::Map::HardSwish: return "hard swish";
    case fast::Map::Exp: return "exp";
    case fast::Map::Elu: return "elu";
    case fast::Map::GeluTanh:
    case fast::Map::GeluErf: return "gelu";
    case fast::Map::Erf: return "erf";
    case fast::Map::Over: return "divide";
  }
  return "";
}

}  // namespace

std::optional<fast::MapCall> Builder::map_of(const Node& node) const {
  if (node.inputs.empty() || !node.inputs[0] || !is_real(node.inputs[0]) || !is_real(node.outputs[0]))
    return std::nullopt;
  const auto number = [](double v) { return static_cast<float>(v); };
  if (const auto* relu = get_if<Relu>(&node.op)) {
    if (relu->threshold != 0 || relu->strict) return std::nullopt;
    if (relu->negative_slope != 0)
      return relu->max_value ? std::nullopt
                             : std::optional(fast::MapCall{fast::Map::Leaky, number(relu->negative_slope)});
    return fast::MapCall{fast::Map::Clamp, 0, relu->max_value ? number(*relu->max_value) : infinite};
  }
  if (const auto* clip = get_if<Clip>(&node.op)) {
    const float end = graph_.rules.open_bounds_are_finite ? std::numeric_limits<float>::max() : infinite;
    return fast::MapCall{fast::Map::Clamp, clip->least ? number(*clip->least) : -end,
                         clip->most ? number(*clip->most) : end};
  }
  if (const auto* hard = get_if<HardSigmoid>(&node.op))
    return fast::MapCall{fast::Map::HardSigmoid, number(hard->alpha), number(hard->beta)};
  if (const auto* elu = get_if<Elu>(&node.op)) return fast::MapCall{fast::Map::Elu, number(elu->alpha)};
  if (const auto* affine = get_if<Affine>(&node.op))
    return fast::MapCall{fast::Map::Affine, number(affine->scale), number(affine->offset)};
  if (const auto* unary = get_if<Unary>(&node.op)) switch (unary->function) {
      case Function::Sigmoid: return fast::MapCall{fast::Map::Sigmoid};
      case Function::Tanh: return fast::MapCall{fast::Map::Tanh};
      case Function::Silu: return fast::MapCall{fast::Map::Silu};
      case Function::HardSwish: return fast::MapCall{fast::Map::HardSwish};
      case Function::Exp: return fast::MapCall{fast::Map::Exp};
      case Function::GeluTanh: return fast::MapCall{fast::Map::GeluTanh};
      case Function::Gelu: return fast::MapCall{fast::Map::GeluErf, std::numbers::sqrt2_v<float>, 0.5F};
      case Function::Erf: return fast::MapCall{fast::Map::Erf};
      default: return std::nullopt;
    }
  if (const auto* binary = get_if<Binary>(&node.op)) {  // with one number
    if (binary->function != BinaryFunction::Multiply && binary->function != BinaryFunction::Add &&
        binary->function != BinaryFunction::Divide)
      return std::nullopt;
    const auto& by = graph_[node.inputs[1]].constant;
    if (!by || by->count() != 1 || graph_[node.inputs[1]].type.rank() > graph_[node.inputs[0]].type.rank())
      return std::nullopt;
    const float with = by->floats()[0];
    if (binary->function == BinaryFunction::Divide) return fast::MapCall{fast::Map::Over, with};
    return binary->function == BinaryFunction::Multiply ? fast::MapCall{fast::Map::Affine, with, 0}
                                                        : fast::MapCall{fast::Map::Affine, 1, with};
  }
  return std::nullopt;
}

std::optional<Builder::Gate> Builder::gate_of(ValueId y) const {
  const auto& readers = readers_[y.slot()];
  if (readers.size() != 2 || uses_[y.slot()] != 2) return std::nullopt;
  const Node &gate = graph_[readers[0]], &product = graph_[readers[1]];
  const auto* binary = get_if<Binary>(&product.op);
  if (!binary || binary->function != BinaryFunction::Multiply) return std::nullopt;
  if (gate.inputs.empty() || gate.inputs[0] != y) return std::nullopt;
  if (auto gelu = gelu_of(y, gate, product)) return gelu;
  if (only_reader(gate.outputs[0]) != &product) return std::nullopt;
  if (!(product.inputs[0] == y && product.inputs[1] == gate.outputs[0]) &&
      !(product.inputs[1] == y && product.inputs[0] == gate.outputs[0]))
    return std::nullopt;
  const auto map = map_of(gate);
  if (!map) return std::nullopt;
  if (map->map == fast::Map::Sigmoid) return Gate{{fast::Map::Silu}, product.outputs[0], {&gate, &product}};
  if (map->map == fast::Map::HardSigmoid && map->a == 1.0F / 6 && map->b == 0.5F)
    return Gate{{fast::Map::HardSwish}, product.outputs[0], {&gate, &product}};
  return std::nullopt;
}

// y * (erf(y / a) + 1) * 0.5, node by node.
std::optional<Builder::Gate> Builder::gelu_of(ValueId y, const Node& first, const Node& product) const {
  const auto is_map = [&](const Node* node, fast::MapCall wanted) {
    const auto map = node ? map_of(*node) : std::nullopt;
    return map && map->map == wanted.map && map->a == wanted.a && map->b == wanted.b;
  };
  const auto over = map_of(first);
  if (!over || over->map != fast::Map::Over) return std::nullopt;
  const Node* const erf = only_reader(first.outputs[0]);
  if (!is_map(erf, {fast::Map::Erf})) return std::nullopt;
  const Node* const more = only_reader(erf->outputs[0]);
  if (!is_map(more, {fast::Map::Affine, 1, 1}) || only_reader(more->outputs[0]) != &product) return std::nullopt;
  const bool is_product = (product.inputs[0] == y && product.inputs[1] == more->outputs[0]) ||
                          (product.inputs[1] == y && product.inputs[0] == more->outputs[0]);
  const Node* const half = only_reader(product.outputs[0]);
  if (!is_product || !is_map(half, {fast::Map::Affine, 0.5F, 0}) || half->inputs[0] != product.outputs[0])
    return std::nullopt;
  return Gate{{fast::Map::GeluErf, over->a, 1}, half->outputs[0], {&first, erf, more, &product, half}};
}

// The constant row, one number for each channel of y, that the node puts beside y.
std::optional<Tensor> Builder::row_beside(const Node& node, ValueId y, Layout layout) const {
  const ValueId other = node.inputs[0] == y ? node.inputs[1] : node.inputs[0];
  const auto& row = graph_[other].constant;
  const Sizes shape = shape_of(y);
  const std::size_t channel = layout == Layout::ChannelsLast ? 1 : shape.size() - 1;
  if (!row || !is_real(other) || row->shape().size() > shape.size() || row->count() != shape[channel])
    return std::nullopt;
  const std::size_t missing = shape.size() - row->shape().size();
  if (channel < missing || row->shape()[channel - missing] != shape[channel]) return std::nullopt;
  return *row;
}

ValueId Builder::take_followers(Convolve& step, ValueId y, Layout layout, bool takes_residual) {
  const Size channels = laid(y, layout).back();
  const auto scale_by = [&](std::vector<float> scale, const std::vector<float>& offset) {
    if (step.bias.empty()) step.bias.assign(static_cast<std::size_t>(channels), 0);
    for (std::size_t o = 0; o < scale.size(); ++o) step.bias[o] = step.bias[o] * scale[o] + offset[o];
    step.scales.push_back(std::move(scale));
  };
  while (true) {
    const Node* next = only_reader(y);
    if (const auto* norm = next ? get_if<BatchNorm>(&next->op) : nullptr; norm && !step.residual) {
      const Size rank = graph_[y].type.rank();
      const bool fits = positive_axis(norm->axis, rank) == (layout == Layout::ChannelsLast ? 1 : rank - 1);
      std::array<std::vector<float>, 4> numbers;  // gamma, beta, mean, variance
      bool known = fits && next->inputs[0] == y;
      for (std::size_t i = 0; i < 4 && known; ++i)
        if (const ValueId v = next->inputs[i + 1]; v)
          known = graph_[v].constant.has_value(), numbers[i] = floats_of(graph_[v].constant);
      if (!known) return y;
      std::vector<float> scale, offset;
      for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
        const double by = (numbers[0].empty() ? 1.0 : static_cast<double>(numbers[0][c])) /
                          std::sqrt(static_cast<double>(numbers[3][c]) + norm->epsilon);
        scale.push_back(static_cast<float>(by));
        offset.push_back(static_cast<float>((numbers[1].empty() ? 0.0 : static_cast<double>(numbers[1][c])) -
                                            static_cast<double>(numbers[2][c]) * by));
      }
      if (!all_finite(scale)) return y;
      scale_by(std::move(scale), offset);
      step.what += " + norm";
      finish(*next);
      y = next->outputs[0];
      continue;
    }
    const auto* sum = next ? get_if<Binary>(&next->op) : nullptr;
    if (sum && sum->function == BinaryFunction::Add && step.bias.empty() && !step.residual) {
      if (const auto row = row_beside(*next, y, layout)) {
        step.bias = row->floats();
        step.what += " + bias";
        finish(*next);
        y = next->outputs[0];
        continue;
      }
    }
    if (sum && sum->function == BinaryFunction::Add && takes_residual && !step.residual &&
        next->inputs[0] != next->inputs[1]) {
      const ValueId other = next->inputs[0] == y ? next->inputs[1] : next->inputs[0];
      const bool is_there = !graph_[other].constant && is_known(other);
      if (is_there && is_real(other) && shape_of(other) == shape_of(y)) {
        step.residual = need(other, layout);
        step.what += " + sum";
        finish(*next);
        y = next->outputs[0];
        continue;
      }
    }
    if (const auto gate = gate_of(y)) {
      step.finish.map = gate->map;
      step.what += " + " + text_of(gate->map);
      for (const Node* one : gate->nodes) finish(*one);
      return gate->y;
    }
    if (const auto map = next ? map_of(*next) : std::nullopt; map && next->inputs[0] == y) {
      if (map->map == fast::Map::Clamp) step.finish.is_held = true, step.finish.low = map->a, step.finish.high = map->b;
      else step.finish.map = *map;
      step.what += " + " + text_of(*map);
      finish(*next);
      return next->outputs[0];
    }
    return y;
  }
}

bool Builder::try_map(const Node& node) {
  auto map = map_of(node);
  ValueId y = node.outputs[0];
  std::optional<Gate> gate;
  if (map && readers_[node.inputs[0].slot()].size() == 2) {
    gate = gate_of(node.inputs[0]);
    if (gate && gate->nodes[0] != &node) gate.reset();
    if (gate) map = gate->map, y = gate->y;
  }
  if (!map) return false;
  const Layout layout = usual_layout(node.inputs[0]);
  const PlaceId x = need(node.inputs[0], layout);
  auto& step = add<MapNumbers>(node, text_of(*map));
  step.map = *map, step.x = x;
  for (std::size_t i = 1; gate && i < gate->nodes.size(); ++i) finish(*gate->nodes[i]);
  step.y = gate ? make(y, layout) : make_over(x, node.inputs[0], y, layout);
  step.reads = {step.x}, step.writes = {step.y};
  return true;
}

bool Builder::try_pair(const Node& node) {
  const auto* binary = get_if<Binary>(&node.op);
  if (!binary || binary->function > BinaryFunction::Minimum) return false;
  if (!is_real(node.inputs[0]) || !is_real(node.inputs[1]) || !is_real(node.outputs[0])) return false;
  ValueId a = node.inputs[0], b = node.inputs[1];
  const Sizes shape = shape_of(node.outputs[0]);
  const bool turns_over = binary->function == BinaryFunction::Add || binary->function == BinaryFunction::Multiply;
  if (shape_of(a) != shape && turns_over) std::swap(a, b);
  if (shape_of(a) != shape || graph_[a].constant || shape.empty() || *checked_count(shape) == 0) return false;
  Layout layout = usual_layout(a);
  Size images = 0;
  if (shape_of(b) != shape) {
    // One row of channels for every image, or for all.
    Sizes row = shape_of(b);
    if (row.size() > shape.size()) return false;
    row.insert(row.begin(), shape.size() - row.size(), 1);
    if (layout == Layout::ChannelsLast) std::rotate(row.begin() + 1, row.begin() + 2, row.end());
    const Sizes whole = laid(node.outputs[0], layout);
    if (row.back() != whole.back() || (row[0] != 1 && row[0] != whole[0])) return false;
    for (std::size_t i = 1; i + 1 < row.size(); ++i)
      if (row[i] != 1) return false;
    if (whole.size() == 1) return false;
    images = whole[0];
  } else if (!graph_[b].constant && usual_layout(b) == Layout::ChannelsLast) {
    layout = Layout::ChannelsLast;
  }
  const PlaceId from = need(a, layout);
  PlaceId with;
  if (images == 0 || shape_of(b).size() == shape.size()) with = need(b, layout);
  else with = need(b, Layout::AsIs);
  if (images != 0 && shape_of(b).size() != shape.size() && layout == Layout::ChannelsLast && shape_of(b).size() > 1)
    with = view(with, {places_[with].count()});  // [C, 1, 1]: the same numbers
  auto& step = add<PairNumbers>(node, "pair");
  step.pair = static_cast<fast::Pair>(binary->function);
  step.images = images, step.a = from, step.b = with;
  step.y = a == b ? make(node.outputs[0], layout) : make_over(from, a, node.outputs[0], layout);
  step.reads = {from, with}, step.writes = {step.y};
  switch (binary->function) {
    case BinaryFunction::Add: step.what = images ? "add row" : "add"; break;
    case BinaryFunction::Multiply: step.what = images ? "scale channels" : "multiply"; break;
    default: step.what = "combine"; break;
  }
  return true;
}

// As a convolution of one cell and one channel per group: x * scale + offset.
bool Builder::try_norm(const Node& node) {
  const auto* norm = get_if<BatchNorm>(&node.op);
  if (!norm || !is_real(node.inputs[0])) return false;
  const Size rank = graph_[node.inputs[0]].type.rank(), axis = positive_axis(norm->axis, rank);
  if (rank < 2 || (axis != 1 && axis != rank - 1)) return false;
  const Layout layout = axis == 1 && rank > 2 ? Layout::ChannelsLast : Layout::AsIs;
  const Sizes shape = laid(node.inputs[0], layout);
  const Size channels = shape.back();
  if (*checked_count(shape) == 0 || channels < 2) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i] && !graph_[node.inputs[i]].constant) return false;
  auto owned = std::make_unique<Convolve>();
  Convolve& step = *owned;
  step.layer = node.layer, step.what = "norm";
  const Size pixels = *checked_count(shape) / channels;
  step.shape = {{{pixels, pixels}}, 1, channels, 1, 1};
  std::vector<float> kernel(static_cast<std::size_t>(channels));
  step.kernel_steps = {1, 0, 0, 0};
  const auto numbers = [&](std::size_t i) {
    return i < node.inputs.size() && node.inputs[i] ? floats_of(graph_[node.inputs[i]].constant) : std::vector<float>();
  };
  const auto gamma = numbers(1), beta = numbers(2), mean = numbers(3), variance = numbers(4);
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const double by = (gamma.empty() ? 1.0 : static_cast<double>(gamma[c])) /
                      std::sqrt(static_cast<double>(variance[c]) + norm->epsilon);
    kernel[c] = static_cast<float>(by);
    step.bias.push_back(
        static_cast<float>((beta.empty() ? 0.0 : static_cast<double>(beta[c])) - static_cast<double>(mean[c]) * by));
  }
  if (!all_finite(kernel)) return false;
  step.kernel = Tensor::of({channels}, std::move(kernel));
  const PlaceId x = need(node.inputs[0], layout);
  const ValueId y = take_followers(step, node.outputs[0], layout, false);
  step.x = x, step.y = make(y, layout);
  step.reads = {x}, step.writes = {step.y};
  steps_.push_back(std::move(owned));
  return true;
}

}  // namespace convoy::plan
