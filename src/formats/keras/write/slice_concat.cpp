// Parts taken out of tensors and tensors put side by side.
#include "formats/keras/write/sink.h"

#include <algorithm>
#include <array>

namespace convoy::keras::writing {
namespace {

Status write_concat(const Concat& op, Sink& sink) {
  std::vector<Item> items;
  bool constants = false;
  for (std::size_t i = 0; i < sink.node().inputs.size(); ++i) {
    if (const Tensor* known = sink.constant(i)) items.emplace_back(*known), constants = true;
    else items.emplace_back(std::get<Reference>(sink.argument(i)));
  }
  const bool layer = !constants && op.axis > 0 && items.size() > 1;
  LayerConfig config;
  config.class_name = "Concatenate";
  if (!layer) config.module = "keras.src.ops.numpy";
  if (op.axis != (layer ? sink.rank() - 1 : 0)) config.arguments["axis"] = op.axis;
  config.args = {std::move(items)};
  return sink.last(std::move(config));
}

Json slice_of(std::optional<Size> start, std::optional<Size> stop, Size step) {
  Json one = {{"class_name", "__slice__"}, {"config", {{"start", nullptr}, {"stop", nullptr}, {"step", nullptr}}}};
  if (start) one["config"]["start"] = *start;
  if (stop) one["config"]["stop"] = *stop;
  if (step != 1) one["config"]["step"] = step;
  return one;
}

// x[:, a:b:c], with as many whole axes in front as there are.
Status write_slice(const Slice& op, Sink& sink) {
  LayerConfig config = sink.operation("numpy", "GetItem");
  Json key = Json::array();
  for (Size i = 0; i < op.axis; ++i) key.push_back(slice_of({}, {}, 1));
  key.push_back(slice_of(op.start, op.stop, op.step));
  config.args.emplace_back(std::move(key));
  return sink.last(std::move(config));
}

Status write_split(const Split& op, Sink& sink) {
  LayerConfig config = sink.operation("numpy", "Split");
  if (std::ranges::all_of(op.sizes, [&](Size n) { return n == op.sizes.front(); })) {
    config.arguments["indices_or_sections"] = static_cast<Size>(op.sizes.size());
  } else {
    Sizes places;
    Size at = 0;
    for (std::size_t i = 0; i + 1 < op.sizes.size(); ++i) places.push_back(at += op.sizes[i]);
    config.arguments["indices_or_sections"] = places;
  }
  if (op.axis != 0) config.arguments["axis"] = op.axis;
  return sink.last(std::move(config));
}

Status write_tile(const Tile& op, Sink& sink) {
  LayerConfig config = sink.operation("numpy", "Tile");
  Sizes times(static_cast<std::size_t>(sink.rank()), 1);
  times[static_cast<std::size_t>(op.axis)] = op.times;
  config.arguments["repeats"] = times;
  return sink.last(std::move(config));
}

Status write_take(const Take& op, Sink& sink) {
  LayerConfig config = sink.operation("numpy", "Take");
  config.arguments["axis"] = op.axis;
  config.args.emplace_back(Json(op.indices));
  return sink.last(std::move(config));
}

template <class Op>
Status write_lookup(const Op& op, Sink& sink, const char* class_name) {
  LayerConfig config = sink.operation("numpy", class_name);
  config.arguments["axis"] = op.axis;
  config.args.push_back(sink.argument(1));
  return sink.last(std::move(config));
}

Status write_gather(const Gather& op, Sink& sink) { return write_lookup(op, sink, "Take"); }
Status write_gather_elements(const GatherElements& op, Sink& sink) { return write_lookup(op, sink, "TakeAlongAxis"); }

// The other tensor's cells 0 along all axes but one, laid along `axis` of `rank`, as ones of this type.
Argument ones_along(const ExpandLike& op, Size axis, Size rank, DType dtype, Sink& sink) {
  const TensorType& other = sink.type(1);
  Argument ones = sink.argument(1);
  TensorType type{other.dtype, Shape(static_cast<std::size_t>(other.rank()), Dim(1))};
  type.shape[static_cast<std::size_t>(op.from)] = sink.dim(op.from, 1);
  const auto stepped = [&](std::string class_name, std::string_view suffix, auto&& fill) {
    LayerConfig config;
    config.class_name = std::move(class_name);
    config.module = "keras.src.ops.numpy";
    config.args = {std::move(ones)};
    fill(config);
    ones = sink.step(std::move(config), suffix, type);
  };
  if (other.rank() > 1)
    stepped("GetItem", "cells", [&](LayerConfig& config) {
      Json key = Json::array();
      for (Size i = 0; i < other.rank(); ++i)
        key.push_back(slice_of({}, i == op.from ? std::nullopt : std::optional<Size>(1), 1));
      config.args.emplace_back(std::move(key));
    });
  if (rank != other.rank() || axis != op.from) {
    Sizes to(static_cast<std::size_t>(rank), 1);
    to[static_cast<std::size_t>(axis)] = -1;
    type.shape = Shape(static_cast<std::size_t>(rank), Dim(1));
    type.shape[static_cast<std::size_t>(axis)] = sink.dim(op.from, 1);
    stepped("Reshape", "length", [&](LayerConfig& config) { config.arguments["newshape"] = to; });
  }
  type.dtype = dtype;
  stepped("OnesLike", "ones",
          [&](LayerConfig& config) { config.arguments["dtype"] = std::string(convoy::name_of(dtype)); });
  return ones;
}

// A weight for every example: a layer without bias, whose input is 1.
Status write_expanded_weight(const ExpandLike& op, const Tensor& weight, Sink& sink) {
  const Size count = weight.count();
  LayerConfig config = sink.layer("Dense");
  config.arguments["units"] = count;
  config.arguments["use_bias"] = false;
  config.args = {ones_along(op, 0, 2, DType::F32, sink)};
  if (auto ok = sink.weigh(config, 0, "kernel"); !ok) return ok;
  config.weights.back().tensor = weight.reshaped({1, count});
  if (weight.rank() == 2) return sink.last(std::move(config));
  LayerConfig laid_out = sink.layer("Reshape");
  laid_out.arguments["target_shape"] = Sizes(weight.shape().begin() + 1, weight.shape().end());
  laid_out.args = {sink.step(std::move(config), "weight", TensorType{DType::F32, {sink.dim(op.from, 1), Dim(count)}})};
  return sink.last(std::move(laid_out));
}

// Times as many ones, which leaves every number what it is.
Status write_expand_like(const ExpandLike& op, Sink& sink) {
  const Tensor* known = sink.constant(0);
  const DType dtype = sink.type().dtype;
  if (dtype == DType::Bool) return sink.refused("truths repeated as often as another tensor is long");
  if (known && op.axis == 0 && dtype == DType::F32 && known->rank() > 1 && known->count() > 0)
    return write_expanded_weight(op, *known, sink);
  const Argument ones = ones_along(op, op.axis, std::max<Size>(1, sink.rank()), dtype, sink);
  LayerConfig config = sink.operation("numpy", "Multiply");
  sink.operand(config, 0, 0, "x1");
  config.args.push_back(ones);
  return sink.last(std::move(config));
}

constexpr std::array slice_concat_table{
    writes<write_concat>(), writes<write_slice>(),  writes<write_split>(),           writes<write_tile>(),
    writes<write_take>(),   writes<write_gather>(), writes<write_gather_elements>(), writes<write_expand_like>()};
static_assert(decides<SliceConcat>(slice_concat_table));

}  // namespace

std::span<const Row> slice_concat_rows() { return slice_concat_table; }

}  // namespace convoy::keras::writing
