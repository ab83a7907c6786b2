// What graphs say in several nodes and mean as one: a convolution on cells that were moved into the batch is a dilated one, and
// a tensor laid beside itself and reshaped is its cells repeated.
#include "formats/tf/graph/reader.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy::tf {
namespace {

bool ones(const NodeAttribute* list) {
  return !list || std::ranges::all_of(list->integers, [](std::int64_t n) { return n == 1; });
}

bool is_plain_convolution(const GraphNode& node) {
  return (node.op == "Conv2D" || node.op == "DepthwiseConv2dNative") && node.text("padding") == "VALID" &&
         ones(node.attribute("strides")) && ones(node.attribute("dilations")) &&
         !node.text("data_format").starts_with("NC");
}

std::optional<Sizes> said_numbers(const Numbers* numbers) {
  if (!numbers || !numbers->known()) return std::nullopt;
  Sizes all;
  for (const Number& n : numbers->all) all.push_back(n.whole);
  return all;
}

}  // namespace

std::shared_ptr<const Spread> GraphReader::spread_by(const GraphNode& node, const Slots& inputs) {
  if (node.op == "SpaceToBatchND" && inputs.size() == 3) {
    const auto block = said_numbers(numbers(*inputs[1]));
    const Numbers* paddings = numbers(*inputs[2]);
    const bool fits = inputs[0]->value && block && paddings && paddings->all.size() == 2 * block->size() &&
                      static_cast<Size>(block->size()) < graph_[inputs[0]->value].type.rank();
    if (!fits) return nullptr;
    Spread spread{inputs[0], *block, {}, *paddings, graph_[inputs[0]->value].type.rank(), {}, {}, {}};
    for (std::size_t i = 0; i < block->size(); ++i) spread.axes.push_back(static_cast<Size>(i) + 1);
    return std::make_shared<Spread>(std::move(spread));
  }
  if (inputs.empty() || !inputs[0]->spread) return nullptr;
  Spread next = *inputs[0]->spread;
  if (node.op == "ExpandDims" && inputs.size() == 2) {
    const auto said = said_numbers(numbers(*inputs[1]));
    if (!said || said->size() != 1) return nullptr;
    const Size axis = positive_axis(said->front(), ++next.rank);
    for (Size& one : next.axes) one += one >= axis;
  } else if (node.op == "Squeeze") {
    const NodeAttribute* said = node.attribute("squeeze_dims");
    if (!said || said->integers.size() != 1) return nullptr;
    const Size axis = positive_axis(said->integers.front(), next.rank--);
    if (std::ranges::find(next.axes, axis) != next.axes.end()) return nullptr;
    for (Size& one : next.axes) one -= one > axis;
  } else if (is_plain_convolution(node) && next.convolved.empty() && next.rank == 4) {
    next.convolved = next.axes;
    if (std::ranges::any_of(next.axes, [](Size axis) { return axis < 1 || axis > 2; })) return nullptr;
  } else {
    return nullptr;
  }
  next.nodes.push_back(&node);
  next.inputs.push_back(inputs);
  return std::make_shared<Spread>(std::move(next));
}

// Cells that are moved into the batch and back have a convolution's taps as far apart as the blocks are long. What is padded
// in front and cut off behind is the padding; both may grow with sizes that are not known, as long as they grow alike.
Result<std::optional<GraphReader::Slots>> GraphReader::gathered(const GraphNode& node, const Slots& inputs) {
  if (node.op != "BatchToSpaceND" || inputs.size() != 3 || !inputs[0]->spread) return std::nullopt;
  const Spread spread = *inputs[0]->spread;
  const auto block = said_numbers(numbers(*inputs[1]));
  const Numbers* crops = numbers(*inputs[2]);
  if (spread.convolved.empty() || block != spread.block || !crops || crops->all.size() != spread.paddings.all.size())
    return std::nullopt;
  for (std::size_t i = 0; i < spread.axes.size(); ++i)
    if (spread.axes[i] != static_cast<Size>(i) + 1) return std::nullopt;
  Numbers one = spread.paddings, other = *crops;
  one.shape = other.shape = {static_cast<Size>(one.all.size())};
  const auto pads = by_pairs(BinaryFunction::Subtract, one, other);
  const auto known = pads ? said_numbers(&*pads) : std::nullopt;
  if (!known || std::ranges::any_of(*known, [](Size n) { return n < 0; })) return std::nullopt;
  Json pairs = Json::array({Json::array({0, 0}), Json::array({0, 0}), Json::array({0, 0}), Json::array({0, 0})});
  Json dilations = Json::array({1, 1, 1, 1});
  for (std::size_t i = 0; i < spread.convolved.size(); ++i) {
    const auto axis = static_cast<std::size_t>(spread.convolved[i]);
    pairs[axis] = Json::array({(*known)[2 * i], (*known)[2 * i + 1]});
    dilations[axis] = spread.block[i];
  }
  const bool pads_some = std::ranges::any_of(*known, [](Size n) { return n > 0; });
  Json said{{"dilations", dilations}};
  if (pads_some) said["padding"] = pairs;
  Slots x{spread.x};
  for (std::size_t i = 0; i < spread.nodes.size(); ++i) {
    Slots all = spread.inputs[i];
    all[0] = x.front();
    const bool convolves = spread.nodes[i]->op.find("Conv") != std::string::npos;
    auto made = by_row(*spread.nodes[i], all, spread.nodes[i]->name, convolves ? &said : nullptr);
    if (!made) return pass(made);
    x = std::move(*made);
  }
  return x;
}

// Reshape(Tile(ExpandDims(x, axis + 1))) where the axis becomes as many times as long: every cell that many times.
Result<std::optional<GraphReader::Slots>> GraphReader::repeated_cells(const GraphNode& node, const Slots& inputs,
                                                                      const std::string& layer) {
  if (node.op != "Reshape" || inputs.size() != 2 || !inputs[0]->value) return std::nullopt;
  const Numbers* wanted = numbers(*inputs[1]);
  const auto made_by = [&](ValueId value) -> const Node* {
    const NodeId producer = graph_[value].producer;
    return producer ? &graph_[producer] : nullptr;
  };
  const Node* tiled = made_by(inputs[0]->value);
  const Tile* tile = tiled ? get_if<Tile>(&tiled->op) : nullptr;
  const Node* widened = tile ? made_by(tiled->inputs[0]) : nullptr;
  const Unsqueeze* put_in = widened ? get_if<Unsqueeze>(&widened->op) : nullptr;
  if (!wanted || !put_in || put_in->axes != Sizes{tile->axis} || tile->axis < 1) return std::nullopt;
  const ValueId x = widened->inputs[0];
  const Size axis = tile->axis - 1, times = tile->times;
  Numbers own = numbers_of(graph_[x].type.shape, sizes_.of(x));
  if (own.all.size() != wanted->all.size() || !is_floating(graph_[x].type.dtype)) return std::nullopt;
  Number& repeated = own.all[static_cast<std::size_t>(axis)];
  const auto longer = by_pairs(BinaryFunction::Multiply, Numbers{DType::I64, {}, {repeated}},
                               Numbers{DType::I64, {}, {Number::of(std::int64_t{times})}});
  if (!longer) return std::nullopt;
  repeated = longer->all.front();
  for (std::size_t i = 0; i < own.all.size(); ++i)
    if (own.all[i].kind == Number::Kind::Unknown || !(own.all[i] == wanted->all[i])) return std::nullopt;
  Resize resize;
  resize.axes = {axis};
  resize.factors = {static_cast<double>(times)};
  resize.interpolation = Interpolation::Nearest;
  resize.coordinates = Coordinates::Asymmetric;
  auto added = graph_.add(resize, {x}, layer, node.op);
  if (!added) return pass(added);
  sizes_.follow(graph_);
  auto known = std::make_shared<Known>();
  known->value = added->front();
  return Slots{known};
}

}  // namespace convoy::tf
