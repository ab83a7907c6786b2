// keras.ops nodes that move, cut, join and resize.
#include "formats/keras/operation.h"
#include "formats/keras/resize.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

Values pad(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const auto rank = static_cast<std::size_t>(call.rank(x));
  const Json* width = option(call, "pad_width", 1);
  const Json* argument = option(call, "mode", 2);
  const std::string mode = argument && argument->is_string() ? argument->get<std::string>() : "constant";
  Pad op{Sizes(rank, 0), Sizes(rank, 0), PadMode::Constant, number(call, "constant_values", 3, 0)};
  constexpr std::array modes{std::pair{"constant", PadMode::Constant}, std::pair{"reflect", PadMode::Reflect},
                             std::pair{"symmetric", PadMode::Symmetric}, std::pair{"edge", PadMode::Edge},
                             std::pair{"wrap", PadMode::Wrap}};
  const auto known = std::ranges::find(modes, mode, [](const auto& m) { return std::string_view(m.first); });
  if (known == modes.end())
    call.refuse(Fault::Unsupported, "pads by '" + mode + "', which this version does not carry");
  else op.mode = known->second;
  if (!width) call.refuse(Fault::Format, "argument 'pad_width' is missing");
  if (call.failed()) return {};
  const Json& list = *Attrs::tuple_of(width);
  const bool one_for_all = !list.is_array() || (!list.empty() && !list[0].is_array());
  for (std::size_t i = 0; i < rank && !call.failed(); ++i) {
    if (!one_for_all && list.size() != rank && list.size() != 1) {
      call.refuse(Fault::Format, "argument 'pad_width' has " + std::to_string(list.size()) + " pairs, expected " +
                                     std::to_string(rank));
      break;
    }
    const Json& pair = one_for_all ? list : list[list.size() == 1 ? 0 : i];
    const Sizes both = pair.is_array() && pair.size() == 1 ? Sizes(2, call.attrs.integer_of(&pair[0], "pad_width"))
                                                           : call.attrs.sizes_of(&pair, "pad_width", 2);
    op.before[i] = both[0], op.after[i] = both[1];
    if (both[0] < 0 || both[1] < 0) call.refuse(Fault::Format, "argument 'pad_width' is negative");
  }
  return {call.add(op, {x})};
}

// x[a, 1:2, ..., None]
Values get_item(Call& call) {
  ValueId x = operand(call, "x", 0);
  const Json* argument = option(call, "key", 1);
  if (!argument) call.refuse(Fault::Format, "argument 'key' is missing");
  if (call.failed()) return {};
  const Json& key = *Attrs::tuple_of(argument);
  const Json alone = Json::array({key});
  const Json& parts = key.is_array() ? key : alone;
  const auto class_of = [](const Json& part) {
    const auto it = part.find("class_name");
    return it != part.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  Size named = 0;
  for (const Json& part : parts) named += !part.is_null() && class_of(part) != "__ellipsis__";
  Size axis = 0, place = 0;
  Sizes dropped, added;
  for (const Json& part : parts) {
    if (call.failed()) return {};
    if (part.is_null()) {
      added.push_back(place++);
    } else if (class_of(part) == "__ellipsis__") {
      const Size rest = std::max<Size>(call.rank(x) - named, 0);
      axis += rest, place += rest;
    } else if (class_of(part) == "__slice__" && part.contains("config") && part["config"].is_object()) {
      const Json& config = part["config"];
      const auto bound = [&](const char* name) -> std::optional<Size> {
        const auto it = config.find(name);
        return it == config.end() || it->is_null() ? std::nullopt : std::optional(call.attrs.integer_of(&*it, name));
      };
      const Slice slice{call.axis(axis, call.rank(x)), bound("start"), bound("stop"), bound("step").value_or(1)};
      if (slice.start || slice.stop || slice.step != 1) x = call.add(slice, {x}, "slice_" + std::to_string(axis));
      ++axis, ++place;
    } else if (part.is_number_integer()) {
      const Size at = part.get<Size>();
      const Slice slice{call.axis(axis, call.rank(x)), at, at == -1 ? std::nullopt : std::optional(at + 1), 1};
      x = call.add(slice, {x}, "slice_" + std::to_string(axis));
      dropped.push_back(axis++);
    } else {
      call.refuse(Fault::Unsupported, "is indexed by something other than numbers and slices");
    }
  }
  if (!dropped.empty()) x = call.add(Squeeze{dropped}, {x}, added.empty() ? "" : "picked");
  if (!added.empty()) x = call.add(Unsqueeze{added}, {x});
  if (dropped.empty() && added.empty()) x = call.add(Identity{}, {x});
  return {x};
}

Values split(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* argument = option(call, "indices_or_sections", 1);
  const Size axis = call.axis(call.attrs.integer_of(option(call, "axis", 2), "axis", 0), call.rank(x));
  const Dim whole = call.dim(x, axis);
  if (!argument || !whole.known()) call.refuse(Fault::Unsupported, "splits an axis of unknown size");
  if (call.failed()) return {};
  Split op{axis, {}};
  if (argument->is_array()) {
    Size from = 0;
    for (const Size at : list_of(call, argument, "indices_or_sections")) op.sizes.push_back(at - from), from = at;
    op.sizes.push_back(*whole - from);
  } else {
    const Size parts = call.attrs.integer_of(argument, "indices_or_sections");
    if (parts < 1 || parts > 65536 || *whole % parts != 0) {
      call.refuse(Fault::Format,
                  "splits " + std::to_string(*whole) + " cells into " + std::to_string(parts) + " equal parts");
      return {};
    }
    op.sizes.assign(static_cast<std::size_t>(parts), *whole / parts);
  }
  for (const Size n : op.sizes)
    if (n < 0) call.refuse(Fault::Format, "splits at places that are not in order");
  return call.add_all(op, {x});
}

Values resize(Call& call) {
  ValueId x = operand(call, "images", 0);
  const Axes axes{order_of(call), 2};
  const Sizes size = list_of(call, option(call, "size", 1), "size");
  const Json* argument = option(call, "interpolation", 2);
  const std::string word = argument && argument->is_string() ? argument->get<std::string>() : "bilinear";
  const Json* antialias = option(call, "antialias", 3);
  expect_plain_resize(call);
  if (size.size() != 2) call.refuse(Fault::Format, "argument 'size' is no pair");
  if (!call.expect_rank(x, 4)) return {};
  Resize op = resize_by(call, axes, word, antialias && *antialias == true);
  op.sizes = size;
  return {call.add(op, {x})};
}

Values reshape_of_operand(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Sizes to = list_of(call, option(call, "newshape", 1), "newshape");
  for (const Size n : to)
    if (n < -1 || n == 0) call.refuse(Fault::Format, "argument 'newshape' holds " + std::to_string(n));
  return {call.add(Reshape{to}, {x})};
}

Values transpose(Call& call) {
  const ValueId x = operand(call, "x", 0);
  Sizes permutation = list_of(call, option(call, "axes", 1), "axes");
  if (permutation.empty())
    for (Size i = call.rank(x); i-- > 0;) permutation.push_back(i);
  for (Size& axis : permutation) axis = call.axis(axis, call.rank(x));
  if (Sizes sorted = permutation; call.axes(sorted, call.rank(x)).size() != static_cast<std::size_t>(call.rank(x)))
    call.refuse(Fault::Format, "argument 'axes' does not name every axis");
  return {call.add(Transpose{permutation}, {x})};
}

Values concatenate_operands(Call& call) {
  const Json* axis = option(call, "axis", 1);
  const Values all = operands(call, "xs", 0);
  if (call.failed()) return {};
  return {call.add(Concat{call.axis(call.attrs.integer_of(axis, "axis", 0), call.rank(all.front()))}, all)};
}

Values stack(Call& call) {
  const Values all = operands(call, "x", 0);
  if (call.failed()) return {};
  const Size rank = call.rank(all.front()) + 1;
  const Size axis = call.axis(call.attrs.integer_of(option(call, "axis", 1), "axis", 0), rank);
  Values parts;
  for (std::size_t i = 0; i < all.size(); ++i)
    parts.push_back(call.add(Unsqueeze{{axis}}, {all[i]}, "part_" + std::to_string(i)));
  return {call.add(Concat{axis}, parts)};
}

Values squeeze(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* argument = option(call, "axis", 1);
  Sizes axes = argument ? call.axes(list_of(call, argument, "axis"), call.rank(x)) : Sizes{};
  if (!argument)
    for (Size i = 0; i < call.rank(x); ++i)
      if (call.dim(x, i) == Dim(1)) axes.push_back(i);
  return {call.add(Squeeze{axes}, {x})};
}

Values expand_dims(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Sizes axes = list_of(call, option(call, "axis", 1), "axis");
  return {call.add(Unsqueeze{call.axes(axes, call.rank(x) + static_cast<Size>(axes.size()))}, {x})};
}

Values swap_axes(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Size rank = call.rank(x);
  const Size a = call.axis(call.attrs.integer_of(option(call, "axis1", 1), "axis1"), rank);
  const Size b = call.axis(call.attrs.integer_of(option(call, "axis2", 2), "axis2"), rank);
  if (call.failed()) return {};
  Transpose op;
  for (Size i = 0; i < rank; ++i) op.permutation.push_back(i == a ? b : i == b ? a : i);
  return {call.add(op, {x})};
}

// The axes named go to their destinations, the others keep their order.
Values move_axis(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Size rank = call.rank(x);
  Sizes from = list_of(call, option(call, "source", 1), "source");
  Sizes to = list_of(call, option(call, "destination", 2), "destination");
  if (from.size() != to.size()) call.refuse(Fault::Format, "arguments 'source' and 'destination' differ in length");
  for (Sizes* list : {&from, &to}) {
    for (Size& axis : *list) axis = call.axis(axis, rank);
    if (call.axes(*list, rank).size() != list->size()) call.refuse(Fault::Format, "moves an axis twice");
  }
  if (call.failed()) return {};
  Sizes permutation(static_cast<std::size_t>(rank), -1), others;
  for (Size i = 0; i < rank; ++i)
    if (std::ranges::find(from, i) == from.end()) others.push_back(i);
  for (std::size_t i = 0; i < from.size(); ++i) permutation[static_cast<std::size_t>(to[i])] = from[i];
  auto next = others.begin();
  for (Size& axis : permutation)
    if (axis < 0) axis = *next++;
  return {call.add(Transpose{permutation}, {x})};
}

Values flip(Call& call) {
  ValueId x = operand(call, "x", 0);
  const Json* argument = option(call, "axis", 1);
  Sizes axes = argument ? call.axes(list_of(call, argument, "axis"), call.rank(x)) : Sizes{};
  if (!argument)
    for (Size i = 0; i < call.rank(x); ++i) axes.push_back(i);
  for (std::size_t i = 0; i < axes.size() && !call.failed(); ++i)
    x = call.add(Slice{axes[i], {}, {}, -1}, {x}, i + 1 < axes.size() ? "flip_" + std::to_string(axes[i]) : "");
  return {x};
}

Values tile(Call& call) {
  ValueId x = operand(call, "x", 0);
  const Sizes times = list_of(call, option(call, "repeats", 1), "repeats");
  const auto rank = static_cast<std::size_t>(call.rank(x));
  if (times.size() > rank) call.refuse(Fault::Unsupported, "repeats more axes than its input has");
  Sizes wanted;
  for (std::size_t i = 0; i < times.size() && !call.failed(); ++i)
    if (times[i] != 1) wanted.push_back(static_cast<Size>(rank - times.size() + i));
  for (std::size_t i = 0; i < wanted.size() && !call.failed(); ++i) {
    const Size n = times[static_cast<std::size_t>(wanted[i]) - (rank - times.size())];
    x = call.add(Tile{wanted[i], n}, {x}, i + 1 < wanted.size() ? "tile_" + std::to_string(wanted[i]) : "");
  }
  if (wanted.empty()) x = call.add(Identity{}, {x});
  return {x};
}

// Each cell of the axis `repeats` times, one behind the other.
Values repeat(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* argument = option(call, "repeats", 1);
  const Json* along = option(call, "axis", 2);
  if (!along) call.refuse(Fault::Unsupported, "repeats without an axis, which flattens first");
  if (call.failed()) return {};
  const Size axis = call.axis(call.attrs.integer_of(along, "axis"), call.rank(x));
  const Size times = list_of(call, argument, "repeats").size() == 1 ? list_of(call, argument, "repeats")[0] : 0;
  const Dim length = call.dim(x, axis);
  if (times < 1 || times > 4096) call.refuse(Fault::Unsupported, "repeats by something other than one number from 1");
  if (!length.known() || *length > (Size{1} << 20)) call.refuse(Fault::Unsupported, "repeats an axis of unknown size");
  if (call.failed()) return {};
  Take op{axis, {}};
  for (Size i = 0; i < *length; ++i) op.indices.insert(op.indices.end(), static_cast<std::size_t>(times), i);
  return {call.add(op, {x})};
}

void list_numbers(Call& call, const Json& list, Sizes& shape, std::vector<std::int64_t>& all, std::size_t depth) {
  if (list.is_number_integer()) return all.push_back(list.get<std::int64_t>());
  if (!list.is_array() || depth > 8) return call.refuse(Fault::Unsupported, "holds indices that are no whole numbers");
  if (shape.size() <= depth) shape.push_back(static_cast<Size>(list.size()));
  if (shape[depth] != static_cast<Size>(list.size())) return call.refuse(Fault::Format, "holds a ragged array");
  for (const Json& one : list) list_numbers(call, one, shape, all, depth + 1);
}

// An array of whole numbers in lists of lists.
Tensor whole_numbers(Call& call, const Json& list) {
  Sizes shape;
  std::vector<std::int64_t> all;
  list_numbers(call, list, shape, all, 0);
  if (!call.failed() && checked_count(shape) != static_cast<Size>(all.size()))
    call.refuse(Fault::Format, "holds an array of unlike rows");
  if (call.failed()) return Tensor::of(Sizes{0}, std::vector<std::int64_t>{});
  return Tensor::of(shape, std::move(all));
}

// The cells at whole numbers known beforehand; negative ones count from the end.
Values take(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* argument = option(call, "indices", 1);
  const Json* along = option(call, "axis", 2);
  if (argument && argument->is_object() && argument->contains("config") && (*argument)["config"].is_object() &&
      (*argument)["config"].contains("value"))
    argument = &(*argument)["config"]["value"];
  if (argument && argument->is_object() && argument->contains("$tensor") && along)
    return {call.add(Gather{call.axis(call.attrs.integer_of(along, "axis"), call.rank(x))},
                     {x, operand(call, "indices", 1)})};
  if (argument && argument->is_array() && !argument->empty() && (*argument)[0].is_array() && along) {
    const ValueId listed = call.literal("indices", whole_numbers(call, *argument));
    return {call.add(Gather{call.axis(call.attrs.integer_of(along, "axis"), call.rank(x))}, {x, listed})};
  }
  if (!argument || !argument->is_array() || !along)
    call.refuse(Fault::Unsupported, "takes cells by something other than a list of whole numbers along one axis");
  if (call.failed()) return {};
  Take op{call.axis(call.attrs.integer_of(along, "axis"), call.rank(x)), list_of(call, argument, "indices")};
  const Dim length = call.dim(x, op.axis);
  for (Size& index : op.indices) {
    if (index >= 0) continue;
    if (length.known()) index += *length;
    else call.refuse(Fault::Unsupported, "counts cells from the end of an axis of unknown size");
  }
  return {call.add(op, {x})};
}

// As many as x has cells: one number, repeated along every axis.
template <int number>
Values filled_like(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Json* argument = option(call, "dtype", 1);
  const Size rank = call.rank(x);
  const std::string word = argument && argument->is_string() ? argument->get<std::string>()
                           : call.failed()                   ? ""
                                                             : std::string(convoy::name_of(call.type(x).dtype));
  const Tensor one = Tensor::of(Sizes(static_cast<std::size_t>(rank), 1), std::vector<std::int64_t>{number});
  std::optional<DType> wanted;
  for (const DType dtype : {DType::F32, DType::I32, DType::I64})
    if (word == convoy::name_of(dtype)) wanted = dtype;
  if (!wanted) call.refuse(Fault::Unsupported, "fills with numbers of type '" + word + "'");
  if (call.failed()) return {};
  Shape missing = call.type(x).shape;
  const auto left = std::ranges::count_if(missing, [](Dim n) { return n != Dim(1); });
  ValueId y = call.literal("number", one.converted(*wanted));
  if (left == 0) return {call.add(Identity{}, {y})};
  Size done = 0;
  for (Size axis = 0; axis < rank; ++axis) {
    const Dim n = call.dim(x, axis);
    if (n == Dim(1)) continue;
    const std::string step = ++done < left ? "along_" + std::to_string(axis) : "";
    y = n.known() ? call.add(Tile{axis, *n}, {y}, step) : call.add(ExpandLike{axis, axis}, {y, x}, step);
  }
  return {y};
}

Values take_along(Call& call) {
  const ValueId x = operand(call, "x", 0), indices = operand(call, "indices", 1);
  const Json* along = option(call, "axis", 2);
  if (!along) call.refuse(Fault::Unsupported, "takes cells without an axis, which flattens first");
  return {call.add(GatherElements{call.axis(call.attrs.integer_of(along, "axis"), call.rank(x))}, {x, indices})};
}

template <class Op>
Values space_and_depth(Call& call) {
  const ValueId x = operand(call, "x", 0);
  const Order order = order_of(call);
  const Size block = call.attrs.integer_of(option(call, "block_size", 1), "block_size");
  // Keras's backends disagree on the order of a channels-first depth.
  if (order == Order::ChannelsFirst)
    call.refuse(Fault::Unsupported, "moves depth channels first, which Keras's backends do in different orders");
  if (!call.expect_rank(x, 4)) return {};
  return {call.add(Op{order, block, true}, {x})};
}

Values einsum(Call& call) {
  const Json* argument = option(call, "subscripts", nowhere);
  if (!argument || !argument->is_string() || !call.call || call.call->args.size() != 2) {
    call.refuse(Fault::Unsupported, "is an einsum of something other than two tensors");
    return {};
  }
  std::string equation = argument->get<std::string>();
  std::erase(equation, ' ');
  if (equation.find("...") != std::string::npos) call.refuse(Fault::Unsupported, "leaves axes of its equation out");
  return {call.add(Einsum{equation}, {operand(call, "x1", 0), operand(call, "x2", 1)})};
}

constexpr std::array operation_shape_table{
    LayerRow{"Pad", pad},
    LayerRow{"GetItem", get_item},
    LayerRow{"Split", split},
    LayerRow{"Resize", resize},
    LayerRow{"Reshape", reshape_of_operand},
    LayerRow{"Transpose", transpose},
    LayerRow{"Concatenate", concatenate_operands},
    LayerRow{"Stack", stack},
    LayerRow{"Squeeze", squeeze},
    LayerRow{"ExpandDims", expand_dims},
    LayerRow{"Swapaxes", swap_axes},
    LayerRow{"Moveaxis", move_axis},
    LayerRow{"Flip", flip},
    LayerRow{"Tile", tile},
    LayerRow{"Repeat", repeat},
    LayerRow{"Take", take},
    LayerRow{"TakeAlongAxis", take_along},
    LayerRow{"OnesLike", filled_like<1>},
    LayerRow{"ZerosLike", filled_like<0>},
    LayerRow{"DepthToSpace", space_and_depth<DepthToSpace>},
    LayerRow{"SpaceToDepth", space_and_depth<SpaceToDepth>},
    LayerRow{"Einsum", einsum},
};

}  // namespace

std::span<const LayerRow> operation_shape_rows() { return operation_shape_table; }

}  // namespace convoy::keras
