#include "run/plan/builder.h"

#include "convoy/cancellation.h"

#include "ops/expect.h"
#include "run/fast/finite.h"
#include "run/plain/convolution.h"
#include "run/quantized/node.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <type_traits>

namespace convoy::plan {

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

std::vector<float> floats_of(const std::optional<Tensor>& tensor) {
  return tensor ? tensor->floats() : std::vector<float>();
}

bool all_finite(std::span<const float> values) {
  return fast::all_finite(values.data(), static_cast<Size>(values.size()));
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

// Whether axes are moved past none but those of length 1: the numbers stay where they are.
bool keeps_order(const Sizes& shape, const Sizes& permutation) {
  Size last = -1;
  for (const Size axis : permutation) {
    if (shape[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace

bool all_finite(const Tensor& tensor) {
  if (tensor.dtype() != DType::F32) return all_finite(tensor.floats());
  return fast::all_finite(reinterpret_cast<const fast::LooseFloat*>(tensor.bytes().data()), tensor.count());
}

bool Builder::is_real(ValueId v) const { return is_floating(graph_[v].type.dtype); }

Sizes Builder::laid(ValueId v, Layout layout) const {
  Sizes shape = shape_of(v);
  if (layout == Layout::ChannelsLast && shape.size() > 2)
    std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return shape;
}

const Node* Builder::only_reader(ValueId v) const {
  const auto& readers = readers_[v.slot()];
  if (uses_[v.slot()] != 1 || readers.size() != 1) return nullptr;
  return &graph_[readers[0]];
}

Builder::Layout Builder::usual_layout(ValueId v) const {
  return has_place(v, Layout::ChannelsLast) && !has_place(v, Layout::AsIs) ? Layout::ChannelsLast : Layout::AsIs;
}

PlaceId Builder::view(PlaceId of, Sizes shape) {
  places_[of].is_fixed = true;
  Place place;
  place.where = places_[of].where, place.shape = std::move(shape), place.parent = of;
  return places_.add(std::move(place));
}

PlaceId Builder::make(ValueId v, Layout layout) {
  Place place;
  place.shape = laid(v, layout);
  const PlaceId id = places_.add(std::move(place));
  set(v, layout, id);
  return id;
}

PlaceId Builder::make_over(PlaceId x, ValueId x_value, ValueId y, Layout layout) {
  const Place& place = places_[x];
  const bool is_free = is_last_use(x_value) && place.where == Place::Where::Arena && !place.parent && !place.is_fixed &&
                       !graph_[x_value].constant && place.shape == laid(y, layout);
  if (!is_free) return make(y, layout);
  set(y, layout, x);
  return x;
}

template <class S>
S& Builder::add(const Node& node, std::string what) {
  auto step = std::make_unique<S>();
  step->layer = node.layer, step->what = std::move(what);
  S& made = *step;
  steps_.push_back(std::move(step));
  return made;
}

// The value's numbers in this layout: turned by a step of its own where they lie otherwise.
PlaceId Builder::need(ValueId v, Layout layout) {
  if (shape_of(v).size() < 3) layout = Layout::AsIs;
  if (has_place(v, layout)) return places_of_[v.slot()][at(layout)];
  if (graph_[v].constant) {
    Place place;
    place.where = Place::Where::Constant, place.shape = laid(v, layout);
    Tensor tensor = Tensor::of(graph_[v].constant->shape(), graph_[v].constant->floats());
    if (layout == Layout::ChannelsLast)
      tensor = tensor.permuted(to_channels_last(static_cast<Size>(place.shape.size()) - 2));
    place.constant = tensor.realigned();
    const PlaceId id = places_.add(std::move(place));
    set(v, layout, id);
    return id;
  }
  const Layout other = layout == Layout::AsIs ? Layout::ChannelsLast : Layout::AsIs;
  PlaceId from = places_of_[v.slot()][at(other)];
  const Sizes last = laid(v, Layout::ChannelsLast);
  const Size channels = last.back(), images = last[0];
  const Size pixels = images > 0 && channels > 0 ? places_[from].count() / images / channels : 0;
  if ((channels == 1 || pixels == 1) && places_.is_dense(from)) {
    const PlaceId id = view(from, laid(v, layout));
    set(v, layout, id);
    return id;
  }
  if (layout == Layout::ChannelsLast) from = dense(from, graph_[v].name);  // what is read without gaps
  auto step = std::make_unique<Move>();
  step->layer = graph_[v].name, step->what = layout == Layout::AsIs ? "turn channels first" : "turn channels last";
  step->way = layout == Layout::AsIs ? Move::Way::ToFirst : Move::Way::ToLast;
  step->images = images;
  step->x = from, step->y = make(v, layout);
  step->reads = {step->x}, step->writes = {step->y};
  const PlaceId y = step->y;
  steps_.push_back(std::move(step));
  if (layout == Layout::AsIs) places_[y].is_fixed = true;
  return y;
}

// These numbers without gaps, now and later.
PlaceId Builder::dense(PlaceId place, const std::string& layer) {
  if (places_.is_dense(place)) {
    places_[place].is_fixed = true;
    return place;
  }
  auto copy = std::make_unique<Move>();
  copy->layer = layer, copy->what = "copy", copy->x = place;
  Place whole;
  whole.shape = places_[place].shape, whole.is_fixed = true;
  copy->y = places_.add(std::move(whole));
  copy->reads = {copy->x}, copy->writes = {copy->y};
  const PlaceId made = copy->y;
  steps_.push_back(std::move(copy));
  return made;
}

std::optional<fast::MapCall> Builder::map_of(const Node& node) const {
  if (node.inputs.empty() || !node.inputs[0] || !is_real(node.inputs[0]) || !is_real(node.outputs[0]))
    return std::nullopt;
  const auto number = [](double v) { return static_cast<float>(v); };
  if (const auto* relu = std::get_if<Relu>(&node.op)) {
    if (relu->threshold != 0 || relu->strict) return std::nullopt;
    if (relu->negative_slope != 0)
      return relu->max_value ? std::nullopt
                             : std::optional(fast::MapCall{fast::Map::Leaky, number(relu->negative_slope)});
    return fast::MapCall{fast::Map::Clamp, 0, relu->max_value ? number(*relu->max_value) : infinite};
  }
  if (const auto* clip = std::get_if<Clip>(&node.op)) {
    const float end = graph_.rules.open_bounds_are_finite ? std::numeric_limits<float>::max() : infinite;
    return fast::MapCall{fast::Map::Clamp, clip->least ? number(*clip->least) : -end,
                         clip->most ? number(*clip->most) : end};
  }
  if (const auto* hard = std::get_if<HardSigmoid>(&node.op))
    return fast::MapCall{fast::Map::HardSigmoid, number(hard->alpha), number(hard->beta)};
  if (const auto* elu = std::get_if<Elu>(&node.op)) return fast::MapCall{fast::Map::Elu, number(elu->alpha)};
  if (const auto* affine = std::get_if<Affine>(&node.op))
    return fast::MapCall{fast::Map::Affine, number(affine->scale), number(affine->offset)};
  if (const auto* unary = std::get_if<Unary>(&node.op)) switch (unary->function) {
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
  if (const auto* binary = std::get_if<Binary>(&node.op)) {  // with one number
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
  const auto* binary = std::get_if<Binary>(&product.op);
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

// A node that another step computes too.
void Builder::finish(const Node& node) {
  for (const ValueId v : node.inputs)
    if (v) --uses_[v.slot()];
  taken_[static_cast<std::size_t>(&node - graph_.nodes.data())] = true;
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
    if (const auto* norm = next ? std::get_if<BatchNorm>(&next->op) : nullptr; norm && !step.residual) {
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
    const auto* sum = next ? std::get_if<Binary>(&next->op) : nullptr;
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
      const bool is_there =
          !graph_[other].constant && (has_place(other, Layout::AsIs) || has_place(other, Layout::ChannelsLast));
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

template <class O>
bool Builder::convolution(const Node& node, const O& op) {
  const auto& weights = graph_[node.inputs[1]].constant;
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2];
  if (!weights || !is_real(node.inputs[0]) || (has_bias && !graph_[node.inputs[2]].constant)) return false;
  const Sizes x_shape = shape_of(node.inputs[0]), y_shape = shape_of(node.outputs[0]);
  auto walks = plain::walks_of(op, x_shape);
  if (!walks || *checked_count(x_shape) == 0 || *checked_count(y_shape) == 0) return false;
  plain::Problem<float> p{.walk = plain::Walk(*walks)};
  const auto channel = static_cast<std::size_t>(op.axes.channel());
  p.batch = x_shape[0], p.groups = op.groups, p.inputs = x_shape[channel] / op.groups,
  p.outputs = y_shape[channel] / op.groups;
  if (p.inputs == 1 && p.groups > 1 && p.outputs > 1 && p.outputs < 8) return false;
  // Twice as many channels: the value may become a part of a larger one.
  if (!fast::is_within_reach({*walks, p.batch, p.groups, 2 * p.inputs, 2 * p.outputs})) return false;
  const Node* const pad = waiting_pad(node);
  for (std::size_t i = 0; pad && i < walks->size(); ++i) {
    const auto axis = static_cast<std::size_t>(op.axes.spatial(static_cast<Size>(i)));
    (*walks)[i].in = shape_of(pad->inputs[0])[axis];
    (*walks)[i].before += std::get<Pad>(pad->op).before[axis];
  }
  plain::set_kernel_strides(p, op.kernel_order);
  if (!all_finite(*weights)) return false;
  const Layout layout = op.axes.order == Order::ChannelsFirst ? Layout::ChannelsLast : Layout::AsIs;
  const PlaceId x = need(pad ? pad->inputs[0] : node.inputs[0], layout);
  auto owned = std::make_unique<Convolve>();
  Convolve& step = *owned;
  step.layer = node.layer, step.what = pad ? "pad + " + std::string(O::name) : std::string(O::name);
  if (pad) finish(*pad);
  if (p.groups > 1) step.what += p.inputs == 1 && p.outputs == 1 ? " depthwise" : " in groups";
  step.shape = {*std::move(walks), p.batch, p.groups, p.inputs, p.outputs};
  step.kernel = *weights, step.kernel_steps = {p.k_group, p.k_tap, p.k_channel, p.k_output};
  if (has_bias) step.bias = graph_[node.inputs[2]].constant->floats();
  step.operations = p.operations();
  // Of the taps of a transposed one each cell goes through all once, whatever the number of outputs.
  if (std::is_same_v<O, ConvTranspose>)
    step.operations *= static_cast<double>(p.walk.cells()) / static_cast<double>(p.walk.positions());
  step.by_winograd = winograd_ && fast::Winograd::suits(step.shape);
  if (step.by_winograd) step.what += " by winograd";
  const bool is_depthwise = p.groups > 1 && p.inputs == 1 && p.outputs == 1;
  const ValueId y = take_followers(step, node.outputs[0], layout, !is_depthwise);
  step.x = x, step.y = make(y, layout);
  step.reads = {x};
  if (step.residual) step.reads.push_back(step.residual);
  step.writes = {step.y};
  steps_.push_back(std::move(owned));
  return true;
}

bool Builder::try_convolution(const Node& node) {
  if (const auto* conv = std::get_if<Conv>(&node.op)) return convolution(node, *conv);
  if (const auto* conv = std::get_if<ConvTranspose>(&node.op)) return convolution(node, *conv);
  return false;
}

bool Builder::try_product(const Node& node) {
  const auto* linear = std::get_if<Linear>(&node.op);
  const auto* product = std::get_if<MatMul>(&node.op);
  if ((!linear && !product) || !is_real(node.inputs[0])) return false;
  const auto& weights = graph_[node.inputs[1]].constant;
  const bool has_bias = linear && node.inputs.size() > 2 && node.inputs[2];
  if (!weights || weights->rank() != 2 || (has_bias && !graph_[node.inputs[2]].constant)) return false;
  const Sizes x_shape = shape_of(node.inputs[0]);
  const bool out_first = linear && linear->order == LinearOrder::OutIn;
  const Size inputs = weights->shape()[out_first ? 1 : 0], outputs = weights->shape()[out_first ? 0 : 1];
  const Size count = *checked_count(x_shape);
  if (x_shape.size() < 2 || count == 0 || outputs == 0 || x_shape.back() != inputs) return false;
  if (!all_finite(*weights)) return false;
  const PlaceId x = need(node.inputs[0], Layout::AsIs);
  auto owned = std::make_unique<Convolve>();
  Convolve& step = *owned;
  step.layer = node.layer, step.what = linear ? "linear" : "matmul";
  step.shape = {{}, count / inputs, 1, inputs, outputs};
  step.kernel = *weights;
  step.kernel_steps = out_first ? fast::KernelSteps{0, 0, 1, inputs} : fast::KernelSteps{0, 0, outputs, 1};
  if (has_bias) step.bias = graph_[node.inputs[2]].constant->floats();
  step.operations = 2.0 * static_cast<double>(count) * static_cast<double>(outputs);
  const ValueId y = take_followers(step, node.outputs[0], Layout::AsIs, true);
  step.x = x, step.y = make(y, Layout::AsIs);
  step.reads = {x};
  if (step.residual) step.reads.push_back(step.residual);
  step.writes = {step.y};
  steps_.push_back(std::move(owned));
  return true;
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
  const auto* binary = std::get_if<Binary>(&node.op);
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
  const auto* norm = std::get_if<BatchNorm>(&node.op);
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

bool Builder::try_pool(const Node& node) {
  const auto* most = std::get_if<MaxPool>(&node.op);
  const auto* average = std::get_if<AveragePool>(&node.op);
  const auto* adaptive = std::get_if<AdaptivePool>(&node.op);
  if ((!most && !average && !adaptive) || !is_real(node.inputs[0])) return false;
  if ((most && most->positions != Positions::None) || (adaptive && adaptive->positions != Positions::None))
    return false;
  const Axes& axes = most ? most->axes : average ? average->axes : adaptive->axes;
  const Sizes shape = shape_of(node.inputs[0]);
  std::vector<plain::AxisReach> reaches;
  Sizes space;
  if (adaptive) reaches = plain::adaptive_reaches(*adaptive, shape);
  for (Size i = 0; i < axes.space; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    space.push_back(shape[static_cast<std::size_t>(axes.spatial(i))]);
    if (adaptive) continue;
    const Counting counting = average && average->counts_padding ? Counting::WithPadding : Counting::Inside;
    auto reach = plain::reach_of(most ? most->paddings[axis] : average->paddings[axis],
                                 most ? most->windows[axis] : average->windows[axis], space.back(), counting);
    if (!reach) return false;
    reaches.push_back(*std::move(reach));
  }
  if (*checked_count(shape) == 0 || *checked_count(shape_of(node.outputs[0])) == 0) return false;
  double cells = 1;
  for (const auto& axis : reaches)
    cells *= static_cast<double>(std::ranges::max_element(axis, {}, &plain::Reach::count)->count) *
             static_cast<double>(axis.size());
  if (cells > 1e7) return false;  // each is looked up
  const Layout layout = axes.order == Order::ChannelsFirst ? Layout::ChannelsLast : Layout::AsIs;
  const PlaceId x = need(node.inputs[0], layout);
  auto& step =
      add<PoolWindows>(node, most || (adaptive && adaptive->kind == Extreme::Maximum) ? "max pool" : "average pool");
  step.reaches = std::move(reaches), step.space = std::move(space);
  step.is_average = average || (adaptive && adaptive->kind == Extreme::Average);
  step.passes_over_nan = most && graph_.rules.max_pools_pass_over_nan;
  if (average) step.divisor = average->divisor;
  step.x = x, step.y = make(node.outputs[0], layout);
  step.reads = {x}, step.writes = {step.y};
  return true;
}

bool Builder::try_mean(const Node& node) {
  const auto* reduce = std::get_if<Reduce>(&node.op);
  if (!reduce || (reduce->reduction != Reduction::Mean && reduce->reduction != Reduction::Sum)) return false;
  if (!is_real(node.inputs[0])) return false;
  const Sizes shape = shape_of(node.inputs[0]);
  const auto rank = static_cast<Size>(shape.size());
  if (rank < 3 || *checked_count(shape) == 0 || static_cast<Size>(reduce->axes.size()) != rank - 2) return false;
  const bool first = reduce->axes.front() == 2, last = reduce->axes.front() == 1 && reduce->axes.back() == rank - 2;
  if (!first && !last) return false;
  const Layout layout = first ? Layout::ChannelsLast : Layout::AsIs;
  const PlaceId x = need(node.inputs[0], layout);
  auto& step = add<MeanOfPixels>(node, reduce->reduction == Reduction::Mean ? "mean" : "sum");
  step.images = shape[0], step.is_sum = reduce->reduction == Reduction::Sum;
  step.x = x, step.y = make(node.outputs[0], reduce->keeps_axes ? layout : Layout::AsIs);
  step.reads = {x}, step.writes = {step.y};
  return true;
}

bool Builder::try_softmax(const Node& node) {
  const auto* softmax = std::get_if<Softmax>(&node.op);
  if (!softmax || softmax->logarithm || softmax->axes.size() != 1 || !is_real(node.inputs[0])) return false;
  const Sizes shape = shape_of(node.inputs[0]);
  const auto rank = static_cast<Size>(shape.size());
  const Size axis = positive_axis(softmax->axes[0], rank);
  if (*checked_count(shape) == 0 || (axis != rank - 1 && !(axis == 1 && rank > 2))) return false;
  const Layout layout = axis == rank - 1 ? Layout::AsIs : Layout::ChannelsLast;
  const PlaceId x = need(node.inputs[0], layout);
  auto& step = add<SoftmaxRows>(node, "softmax");
  step.x = x, step.y = make(node.outputs[0], layout);
  step.reads = {x}, step.writes = {step.y};
  return true;
}

// Parts that nobody holds in place become parts of the whole; others are copied.
bool Builder::try_concat(const Node& node) {
  const auto* concat = std::get_if<Concat>(&node.op);
  if (!concat || !is_real(node.outputs[0])) return false;
  const auto rank = graph_[node.outputs[0]].type.rank();
  bool any_last = false;
  for (const ValueId v : node.inputs)
    any_last = any_last || (!graph_[v].constant && usual_layout(v) == Layout::ChannelsLast);
  Layout layout = Layout::AsIs;
  if (concat->axis == 1 && rank > 2 && any_last) layout = Layout::ChannelsLast;
  for (const ValueId v : node.inputs)
    if (!is_real(v) || *checked_count(shape_of(v)) == 0) return false;
  if (layout == Layout::AsIs && concat->axis != rank - 1) return concat_rows(node, concat->axis);
  std::vector<PlaceId> parts;
  for (const ValueId v : node.inputs) parts.push_back(need(v, layout));
  const PlaceId whole = make(node.outputs[0], layout);
  Size first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Place& part = places_[parts[i]];
    const Size channels = part.channels();
    if (part.where == Place::Where::Arena && !part.parent && !part.is_fixed) {
      part.parent = whole, part.is_part = true, part.first_channel = first;
    } else {
      Place copy;
      copy.shape = part.shape, copy.parent = whole, copy.is_part = true, copy.first_channel = first;
      const PlaceId to = places_.add(std::move(copy));
      auto& step = add<Move>(node, "copy a part");
      step.x = parts[i], step.y = to;
      step.reads = {step.x}, step.writes = {to};
    }
    first += channels;
  }
  return true;
}

// Along an axis before the last: all that lies behind it is one row of channels.
bool Builder::concat_rows(const Node& node, Size axis) {
  const ValueId y = node.outputs[0];
  const auto rows_of = [&](ValueId v) -> Sizes {
    const Sizes shape = shape_of(v);
    Size rows = 1;
    for (Size i = 0; i < axis; ++i) rows *= shape[static_cast<std::size_t>(i)];
    return {rows, *checked_count(shape) / rows};
  };
  Place all;
  all.shape = rows_of(y), all.is_fixed = true;
  const PlaceId whole = places_.add(std::move(all));
  Size first = 0;
  for (const ValueId v : node.inputs) {
    const PlaceId x = view(dense(need(v, Layout::AsIs), node.layer), rows_of(v));
    Place part;
    part.shape = places_[x].shape, part.parent = whole, part.is_part = true, part.first_channel = first;
    first += part.channels();
    auto& step = add<Move>(node, "copy a part");
    step.x = x, step.y = places_.add(std::move(part));
    step.reads = {step.x}, step.writes = {step.y};
  }
  set(y, Layout::AsIs, view(whole, shape_of(y)));
  return true;
}

// The same numbers under another shape.
bool Builder::try_view(const Node& node) {
  if (node.inputs.empty() || !node.inputs[0] || !is_real(node.inputs[0])) return false;
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if (node.outputs.size() != 1 || *checked_count(shape_of(x)) == 0) return false;
  if (const auto* transpose = std::get_if<Transpose>(&node.op)) {
    if (usual_layout(x) == Layout::AsIs && keeps_order(shape_of(x), transpose->permutation)) {
      set(y, Layout::AsIs, view(dense(need(x, Layout::AsIs), node.layer), shape_of(y)));
      return true;
    }
    const auto space = static_cast<Size>(transpose->permutation.size()) - 2;
    if (space < 1) return false;
    const bool to_last = transpose->permutation == to_channels_last(space);
    if (!to_last && transpose->permutation != to_channels_first(space)) return false;
    const PlaceId from = need(x, to_last ? Layout::ChannelsLast : Layout::AsIs);
    if (!places_.is_dense(from)) return false;
    const Layout layout = to_last ? Layout::AsIs : Layout::ChannelsLast;
    set(y, layout, view(from, laid(y, layout)));
    return true;
  }
  if (traits_of(node.op).contents != Contents::Kept || std::holds_alternative<Cast>(node.op)) return false;
  const bool is_same = shape_of(x) == shape_of(y);
  const Layout layout = is_same ? usual_layout(x) : Layout::AsIs;
  const PlaceId from = need(x, layout);
  if (!places_.is_dense(from)) return false;
  set(y, layout, view(from, laid(y, layout)));
  return true;
}

Status Builder::plain_node(const Node& node) {
  auto owned = std::make_unique<PlainNode>(graph_, node);
  PlainNode& step = *owned;
  step.layer = node.layer, step.what = std::string(name_of(node.op)) + " (plain)";
  for (const ValueId v : node.inputs) {
    PlainNode::Input input;
    if (v) {
      input.is_present = true, input.shape = shape_of(v);
      if (graph_[v].constant) {
        input.constant = *graph_[v].constant;
      } else if (is_held_[v.slot()]) {
        input.held = v;
      } else {
        const PlaceId place = dense(need(v, Layout::AsIs), node.layer);
        input.place = place;
        step.reads.push_back(place);
      }
    }
    step.inputs.push_back(std::move(input));
  }
  steps_.push_back(std::move(owned));
  for (const ValueId v : node.outputs) {
    is_held_[v.slot()] = true;
    if (!is_real(v)) continue;
    Place place;
    place.where = Place::Where::Held, place.shape = shape_of(v), place.value = v, place.is_fixed = true;
    set(v, Layout::AsIs, places_.add(std::move(place)));
  }
  return {};
}

bool Builder::try_slice(const Node& node) {
  const auto* slice = std::get_if<Slice>(&node.op);
  if (!slice || slice->step != 1 || !is_real(node.inputs[0]) || graph_[node.inputs[0]].constant) return false;
  const ValueId x = node.inputs[0], y = node.outputs[0];
  const Sizes shape = shape_of(x);
  const auto rank = static_cast<Size>(shape.size()), axis = positive_axis(slice->axis, rank);
  const bool is_second = axis == 1 && rank > 2 && usual_layout(x) == Layout::ChannelsLast;
  const Size first = resolve(*slice, shape[static_cast<std::size_t>(axis)]).first;
  if (*checked_count(shape_of(y)) == 0) return false;
  if (axis != rank - 1 && !is_second) return cut(node, "slice", y, static_cast<std::size_t>(axis), first), true;
  const Layout layout = is_second ? Layout::ChannelsLast : Layout::AsIs;
  const PlaceId whole = need(x, layout);
  places_[whole].is_fixed = true;
  Place part;
  part.where = places_[whole].where, part.shape = laid(y, layout), part.parent = whole, part.is_part = true;
  part.first_channel = first, part.is_fixed = true;
  set(y, layout, places_.add(std::move(part)));
  return true;
}

bool Builder::may_wait(const Node& node) const {
  const auto* pad = std::get_if<Pad>(&node.op);
  if (!pad || pad->mode != PadMode::Constant || pad->value != 0 || pad->repeats || !is_real(node.inputs[0]))
    return false;
  const Node* next = only_reader(node.outputs[0]);
  const auto* conv = next ? std::get_if<Conv>(&next->op) : nullptr;
  if (!conv || next->inputs[0] != node.outputs[0]) return false;
  for (std::size_t i = 0; i < pad->before.size(); ++i) {
    const auto axis = static_cast<Size>(i);
    const bool is_space = axis != 0 && axis != conv->axes.channel();
    if (pad->before[i] < 0 || pad->after[i] < 0 || (!is_space && (pad->before[i] != 0 || pad->after[i] != 0)))
      return false;
  }
  return *checked_count(shape_of(node.inputs[0])) > 0;
}

const Node* Builder::waiting_pad(const Node& node) const {
  return std::holds_alternative<Conv>(node.op) ? pad_of_[node.inputs[0].slot()] : nullptr;
}

Status Builder::build_node(const Node& node) {
  if (may_wait(node)) {
    pad_of_[node.outputs[0].slot()] = &node;
    return {};
  }
  if (const Node* const pad = waiting_pad(node)) {
    if (try_convolution(node)) {
      --uses_[node.inputs[0].slot()];
      return {};
    }
    if (auto s = plain_node(*pad); !s) return s;
    finish(*pad);
    pad_of_[node.inputs[0].slot()] = nullptr;
  }
  const bool done = try_convolution(node) || try_product(node) || try_map(node) || try_pair(node) || try_norm(node) ||
                    try_pool(node) || try_mean(node) || try_softmax(node) || try_resize(node) || try_layer_norm(node) ||
                    try_pair_products(node) || try_recurrent(node) || try_concat(node) || try_slice(node) ||
                    try_view(node) || try_permute(node) || try_split(node);
  if (!done)
    if (auto s = plain_node(node); !s) return s;
  for (const ValueId v : node.inputs)
    if (v) --uses_[v.slot()];
  return {};
}

Result<bool> Builder::build(Plan& plan) {
  for (const Value& v : graph_.values)
    if (v.quantization || (!v.constant && !sizes_of(v.type.shape))) return false;
  for (const Node& node : graph_.nodes)
    if (quantized::is_quantized(graph_, node)) return false;
  const std::size_t values = graph_.values.size();
  places_of_.resize(values), uses_.resize(values), is_held_.resize(values), pad_of_.resize(values);
  taken_.resize(graph_.nodes.size());
  readers_ = readers_of(graph_);
  for (const Node& node : graph_.nodes)
    for (const ValueId v : node.inputs)
      if (v) ++uses_[v.slot()];
  for (const ValueId v : graph_.outputs) ++uses_[v.slot()];
  for (const ValueId v : graph_.inputs) {
    is_held_[v.slot()] = true;
    if (!is_real(v)) continue;
    Place place;
    place.where = Place::Where::Held, place.shape = shape_of(v), place.value = v, place.is_fixed = true;
    set(v, Layout::AsIs, places_.add(std::move(place)));
  }
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (taken_[i]) continue;
    if (auto s = build_node(graph_.nodes[i]); !s) return std::unexpected(s.error());
  }
  if (!finish_plan(plan)) return false;
  if (Listening::is_cancelled()) return fail(Fault::Cancelled, "the preparation was cancelled");
  return true;
}

bool Builder::finish_plan(Plan& plan) {
  plan.values_ = graph_.values.size(), plan.nodes_ = graph_.nodes.size();
  plan.inputs_ = graph_.inputs, plan.outputs_ = graph_.outputs;
  for (const ValueId v : graph_.outputs) {
    plan.output_shapes_.push_back(graph_[v].constant ? graph_[v].constant->shape() : shape_of(v));
    plan.constant_results_.push_back(graph_[v].constant);
    PlaceId place;
    if (!graph_[v].constant && !is_held_[v.slot()]) {
      place = need(v, Layout::AsIs);
      if (places_[places_.root(place)].where != Place::Where::Arena) {
        Place whole;
        whole.shape = places_[place].shape, whole.is_fixed = true;
        auto copy = std::make_unique<Move>();
        copy->layer = graph_[v].name, copy->what = "copy", copy->x = place;
        copy->y = place = places_.add(std::move(whole));
        copy->reads = {copy->x}, copy->writes = {copy->y};
        steps_.push_back(std::move(copy));
      } else {
        place = dense(place, graph_[v].name);
      }
    }
    plan.results_.push_back(place);
  }
  fuse_strips(plan.results_);
  std::vector<Places::Use> uses(places_.size());
  const auto use = [&](PlaceId id, int when) {
    Places::Use& one = uses[places_.root(id).slot()];
    if (one.first < 0) one.first = when;
    one.first = std::min(one.first, when), one.last = std::max(one.last, when);
  };
  std::vector<int> last_held(graph_.values.size(), -1);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const auto touch = [&](PlaceId id) {
      use(id, static_cast<int>(i));
      if (const Place& root = places_[places_.root(id)]; root.value) last_held[root.value.slot()] = static_cast<int>(i);
    };
    for (const PlaceId id : steps_[i]->reads) touch(id);
    for (const PlaceId id : steps_[i]->writes) touch(id);
    if (const auto* node = dynamic_cast<const PlainNode*>(steps_[i].get()))
      for (const PlainNode::Input& input : node->inputs)
        if (input.held) last_held[input.held.slot()] = static_cast<int>(i);
  }
  for (const PlaceId id : plan.results_)
    if (id) use(id, static_cast<int>(steps_.size()));
  for (const ValueId v : graph_.outputs) last_held[v.slot()] = -1;
  plan.let_go_.resize(steps_.size());
  for (std::size_t v = 0; v < last_held.size(); ++v)
    if (last_held[v] >= 0)
      plan.let_go_[static_cast<std::size_t>(last_held[v])].push_back({static_cast<std::int32_t>(v)});
  plan.arena_ = places_.lay_out(uses);
  if (plan.arena_ >= std::numeric_limits<std::int32_t>::max()) return false;  // tables of convolutions end there
  for (const auto& step : steps_)  // packs kernels and lists cells, which takes as long as a run of small batches
    if (!Listening::is_cancelled()) step->prepare(places_);
  plan.places_ = std::move(places_);
  plan.steps_ = std::move(steps_);
  return true;
}

Result<std::unique_ptr<const Plan>> Plan::make(const Graph& graph, const std::vector<Tensor>& inputs, bool winograd) {
  auto sized = with_input_shapes(graph, shapes_of(inputs));
  if (!sized) return std::unexpected(sized.error());
  auto plan = std::make_unique<Plan>();
  const auto made = Builder(*sized, winograd).build(*plan);
  if (!made) return std::unexpected(made.error());
  if (!*made) return std::unique_ptr<const Plan>();
  return std::unique_ptr<const Plan>(std::move(plan));
}

}  // namespace convoy::plan
