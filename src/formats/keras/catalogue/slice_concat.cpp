// Parts taken out of tensors and tensors put side by side. Source: keras/src/ops/numpy.py of Keras 3.15.
#include "base/whole_tensor.h"
#include "formats/keras/catalogue/write.h"
#include "formats/keras/operation.h"
#include "formats/unknown_sizes.h"
#include "graph/filled_like.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

Values concatenated(Use& use, const Values& all) {
  if (all.empty()) use.call.refuse(Fault::Format, "joins no inputs");
  if (use.call.failed()) return {};
  return use.add(Concat{use.call.axis(use.whole("axis"), use.call.rank(all.front()))}, all);
}
Values concatenate(Use& use) { return concatenated(use, use.call.inputs); }
Values concatenate_operands(Use& use) { return concatenated(use, use.operands("xs")); }

Values stack(Use& use) {
  Call& call = use.call;
  const Values all = use.operands("x");
  if (call.failed()) return {};
  const Size rank = call.rank(all.front()) + 1;
  const Size axis = call.axis(use.whole("axis"), rank);
  Values parts;
  for (std::size_t i = 0; i < all.size(); ++i)
    parts.push_back(call.add(Unsqueeze{{axis}}, {all[i]}, "part_" + std::to_string(i)));
  return use.add(Concat{axis}, parts);
}

// x[a, 1:2, ..., None]
Values get_item(Use& use) {
  Call& call = use.call;
  ValueId x = use.operand("x");
  const Json* argument = use.option("key");
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
      if (const auto stop = config.find("stop"); stop != config.end() && holds_free_size(&*stop)) {
        if (bound("start").value_or(0) != 0 || bound("step").value_or(1) != 1)
          call.refuse(Fault::Unsupported, "is cut from elsewhere than its first cell up to a size that is free");
        const Numbers count = sizes_in(call, &*stop, "stop", {});
        if (!call.failed()) x = first_cells(call, x, call.axis(axis, call.rank(x)), count.all.front());
        ++axis, ++place;
        continue;
      }
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

Values split(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  const Json* argument = use.option("indices_or_sections");
  const Size axis = call.axis(use.whole("axis"), call.rank(x));
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

Values flip(Use& use) {
  Call& call = use.call;
  ValueId x = use.operand("x");
  const Json* argument = use.option("axis");
  Sizes axes = argument ? call.axes(list_of(call, argument, "axis"), call.rank(x)) : Sizes{};
  if (!argument)
    for (Size i = 0; i < call.rank(x); ++i) axes.push_back(i);
  for (std::size_t i = 0; i < axes.size() && !call.failed(); ++i)
    x = call.add(Slice{axes[i], {}, {}, -1}, {x}, i + 1 < axes.size() ? "flip_" + std::to_string(axes[i]) : "");
  return {x};
}

// Sizes by which axes are repeated: those that are known, and 1 where one is free; `free` has these alone.
Sizes times_of(Use& use, const Json* said, std::string_view name, Numbers& free) {
  free = sizes_in(use.call, said, name, {});
  Sizes times;
  for (Number& n : free.all) {
    const bool is_known = n.kind == Number::Kind::Whole;
    times.push_back(is_known ? n.whole : 1);
    if (is_known) n.whole = 1;
  }
  return times;
}

bool is_free(const Numbers& sizes) { return !sizes.known(); }

Values tile(Use& use) {
  Call& call = use.call;
  ValueId x = use.operand("x");
  Numbers free;
  const Sizes times = times_of(use, use.sized_option("repeats"), "repeats", free);
  const auto rank = static_cast<std::size_t>(call.rank(x));
  if (times.size() > rank) call.refuse(Fault::Unsupported, "repeats more axes than its input has");
  Sizes wanted;
  for (std::size_t i = 0; i < times.size() && !call.failed(); ++i)
    if (times[i] != 1) wanted.push_back(static_cast<Size>(rank - times.size() + i));
  for (std::size_t i = 0; i < wanted.size() && !call.failed(); ++i) {
    const Size n = times[static_cast<std::size_t>(wanted[i]) - (rank - times.size())];
    x = call.add(Tile{wanted[i], n}, {x}, i + 1 < wanted.size() ? "tile_" + std::to_string(wanted[i]) : "");
  }
  if (is_free(free)) return {stretched(call, x, free)};
  if (wanted.empty()) x = call.add(Identity{}, {x});
  return {x};
}

Values broadcast_to(Use& use) {
  const ValueId x = use.operand("x");
  const Json* said = use.sized_option("shape");
  if (!said) use.call.refuse(Fault::Format, use.called("shape") + " is missing");
  const Numbers shape = sizes_in(use.call, said, "shape", x);
  const ValueId y = stretched(use.call, x, shape);
  return y == x ? use.add(Identity{}, {x}) : Values{y};
}

// Each cell of the axis `repeats` times, one behind the other.
Values repeat(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  const Json* argument = use.sized_option("repeats");
  const Json* along = use.option("axis");
  if (!along) call.refuse(Fault::Unsupported, "repeats without an axis, which flattens first");
  if (call.failed()) return {};
  const Size axis = call.axis(call.attrs.integer_of(along, "axis"), call.rank(x));
  const Dim length = call.dim(x, axis);
  if (holds_free_size(argument)) {
    Numbers shape = sizes_in(call, argument, "repeats", {});
    if (shape.all.size() != 1 || length != Dim(1))
      call.refuse(Fault::Unsupported, "repeats several cells by a size that is free; give it with --shape");
    if (call.failed()) return {};
    shape.all.resize(static_cast<std::size_t>(call.rank(x) - axis), Number::of(std::int64_t{1}));
    return {stretched(call, x, shape)};
  }
  const Size times = list_of(call, argument, "repeats").size() == 1 ? list_of(call, argument, "repeats")[0] : 0;
  if (times < 1 || times > 4096) call.refuse(Fault::Unsupported, "repeats by something other than one number from 1");
  if (!length.known() || *length > (Size{1} << 20)) call.refuse(Fault::Unsupported, "repeats an axis of unknown size");
  if (call.failed()) return {};
  Take op{axis, {}};
  for (Size i = 0; i < *length; ++i) op.indices.insert(op.indices.end(), static_cast<std::size_t>(times), i);
  return use.add(op, {x});
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
Values take(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  const Json* argument = use.option("indices");
  const Json* along = use.option("axis");
  if (argument && argument->is_object() && argument->contains("config") && (*argument)["config"].is_object() &&
      (*argument)["config"].contains("value"))
    argument = &(*argument)["config"]["value"];
  const Json only = 0;  // without an axis of all cells as one row, which those of one axis are
  if (!along && call.rank(x) == 1) along = &only;
  if (argument && argument->is_object() && argument->contains("$tensor") && along)
    return use.add(Gather{call.axis(call.attrs.integer_of(along, "axis"), call.rank(x))}, {x, use.operand("indices")});
  if (argument && argument->is_array() && !argument->empty() && (*argument)[0].is_array() && along) {
    const ValueId listed = call.literal("indices", whole_numbers(call, *argument));
    return use.add(Gather{call.axis(call.attrs.integer_of(along, "axis"), call.rank(x))}, {x, listed});
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
  return use.add(op, {x});
}

// As many as x has cells: one number, repeated along every axis.
template <int number>
Values filled_like(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  const auto said = use.element_type("dtype");
  if (call.failed()) return {};
  const Shape shape = call.type(x).shape;
  const Sizes one(static_cast<std::size_t>(call.rank(x)), 1);
  const DType dtype = said.value_or(call.type(x).dtype);
  const ValueId start =
      call.literal("number", is_floating(dtype) ? Tensor::of(one, std::vector<float>{number}).converted(dtype)
                                                : whole_tensor(dtype, one, {number}));
  const auto left = std::ranges::count_if(shape, [](Dim n) { return n != Dim(1); });
  if (left == 0) return use.add(Identity{}, {start});
  Size done = 0;
  return {convoy::filled_like(shape, start, x, [&](Op op, Values in) {
    return call.add(std::move(op), std::move(in), ++done < left ? "along_" + std::to_string(done) : "");
  })};
}

// The node that gives a value, where it is such an operator; null: it is not.
template <class Op>
const Node* made_by(const Graph& graph, ValueId value) {
  const NodeId maker = graph[value].producer;
  return maker && holds_alternative<Op>(graph[maker].op) ? &graph[maker] : nullptr;
}

// The list whose cells are counted by adding up as many ones; nothing: another number.
ValueId counted_list(const Graph& graph, ValueId number) {
  const Node* sum = made_by<Reduce>(graph, number);
  const Node* ones = sum ? made_by<ExpandLike>(graph, sum->inputs.front()) : nullptr;
  if (!ones || get<Reduce>(sum->op).reduction != Reduction::Sum) return {};
  const auto& one = graph[ones->inputs[0]].constant;
  const bool is_one = one && one->shape() == Sizes{1} && one->doubles().front() == 1;
  return is_one && graph[ones->inputs[1]].type.rank() == 1 ? ones->inputs[1] : ValueId{};
}

// From a place on that is written in numbers, or is as far as another list is long.
Values slice(Use& use) {
  Call& call = use.call;
  ValueId x = use.operand("inputs");
  const Json *begin = use.option("start_indices"), *argument = use.option("shape");
  const Sizes sizes = argument ? list_of(call, argument, "shape") : Sizes{};
  if (!call.failed() && std::ssize(sizes) != call.rank(x))
    call.refuse(Fault::Format, "argument 'shape' has " + std::to_string(sizes.size()) + " numbers for rank " +
                                   std::to_string(call.rank(x)));
  if (call.failed()) return {};
  if (!begin || !begin->is_array()) {
    const ValueId start = use.operand("start_indices");
    if (call.failed()) return {};
    const Graph& graph = call.builder().graph;
    const Node* least = made_by<Binary>(graph, start);
    if (least && get<Binary>(least->op).function == BinaryFunction::Minimum && sizes == Sizes{-1}) {
      const ValueId own = counted_list(graph, least->inputs[0]), other = counted_list(graph, least->inputs[1]);
      if (own == x && other) return use.add(SliceBehind{}, {x, other});
    }
    call.refuse(Fault::Unsupported, "begins at a place that is computed");
    return {};
  }
  const Sizes starts = list_of(call, begin, "start_indices");
  if (starts.size() != sizes.size())
    call.refuse(Fault::Format, "argument 'start_indices' has another length than 'shape'");
  Values made{x};
  for (std::size_t i = 0; i < sizes.size() && !call.failed(); ++i)
    made = {call.add(
        Slice{static_cast<Size>(i), starts[i], sizes[i] == -1 ? std::nullopt : std::optional(starts[i] + sizes[i])},
        {made.front()}, i + 1 < sizes.size() ? "axis_" + std::to_string(i) : "")};
  return made;
}

// The tensor over and over along axes that are of size 1 where the other has more cells, but for one.
ValueId met(Call& call, ValueId x, ValueId other, Size but, std::string_view name) {
  for (Size axis = 0; axis < call.rank(x) && !call.failed(); ++axis) {
    const Dim length = call.dim(other, axis);
    if (axis == but || call.dim(x, axis) != Dim(1) || length == Dim(1)) continue;
    const std::string step = std::string(name) + "_" + std::to_string(axis);
    x = length.known() ? call.add(Tile{axis, *length}, {x}, step) : call.add(ExpandLike{axis, axis}, {x, other}, step);
  }
  return x;
}

Values take_along(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x"), indices = use.operand("indices");
  const Json* along = use.option("axis");
  if (!along) call.refuse(Fault::Unsupported, "takes cells without an axis, which flattens first");
  const Size axis = call.axis(call.attrs.integer_of(along, "axis"), call.rank(x));
  if (call.failed()) return {};
  if (call.rank(indices) != call.rank(x))
    call.refuse(Fault::Format, "takes cells of " + std::to_string(call.rank(x)) + " axes at places of " +
                                   std::to_string(call.rank(indices)));
  const ValueId all = met(call, x, indices, axis, "cells"), places = met(call, indices, x, axis, "places");
  return use.add(GatherElements{axis}, {all, places});
}

constexpr std::array rows_of_slices{
    CatalogueRow{"layers.Concatenate", "axis=-1", concatenate},
    CatalogueRow{"numpy.Concatenate code.concat", "xs axis=0", concatenate_operands},
    CatalogueRow{"numpy.Stack", "x axis=0", stack},
    CatalogueRow{"numpy.GetItem", "x key", get_item},
    CatalogueRow{"numpy.Split", "x indices_or_sections axis=0", split},
    CatalogueRow{"core.Slice", "inputs start_indices shape", slice},
    CatalogueRow{"numpy.Flip", "x axis=", flip},
    CatalogueRow{"numpy.Tile", "x repeats", tile},
    CatalogueRow{"numpy.BroadcastTo", "x shape", broadcast_to},
    CatalogueRow{"numpy.Repeat", "x repeats axis=", repeat},
    CatalogueRow{"numpy.Take", "x indices axis=", take},
    CatalogueRow{"numpy.TakeAlongAxis", "x indices axis=", take_along},
    CatalogueRow{"numpy.OnesLike", "x dtype=", filled_like<1>},
    CatalogueRow{"numpy.ZerosLike", "x dtype=", filled_like<0>},
};

}  // namespace

std::span<const CatalogueRow> slice_concat_operators() { return rows_of_slices; }

namespace writing {
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
  const bool even = std::ranges::all_of(op.sizes, [&](Size n) { return n == op.sizes.front(); });
  Sizes places;
  Size at = 0;
  for (std::size_t i = 0; i + 1 < op.sizes.size(); ++i) places.push_back(at += op.sizes[i]);
  return write_as(sink, "numpy.Split",
                  {{"indices_or_sections", even ? Json(op.sizes.size()) : Json(places)}, {"axis", op.axis}});
}

Status write_tile(const Tile& op, Sink& sink) {
  Sizes times(static_cast<std::size_t>(sink.rank()), 1);
  times[static_cast<std::size_t>(op.axis)] = op.times;
  return write_as(sink, "numpy.Tile", {{"repeats", times}});
}

Status write_take(const Take& op, Sink& sink) {
  LayerConfig config = layer_as(sink, "numpy.Take", {{"axis", op.axis}});
  config.args.emplace_back(Json(op.indices));
  return sink.last(std::move(config));
}

template <class Op>
Status write_lookup(const Op& op, Sink& sink, const char* name) {
  LayerConfig config = layer_as(sink, name, {{"axis", op.axis}});
  config.args.push_back(sink.argument(1));
  return sink.last(std::move(config));
}

Status write_gather(const Gather& op, Sink& sink) { return write_lookup(op, sink, "numpy.Take"); }

// The first numbers along each axis, as many as `sizes` says.
Tensor first_numbers(const Tensor& of, const Sizes& sizes) {
  const auto width = static_cast<std::size_t>(bytes_of(of.dtype()));
  std::vector<std::byte> bytes;
  Sizes at(sizes.size(), 0);
  for (Size n = *checked_count(sizes); n > 0; --n) {
    std::size_t place = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      place = place * static_cast<std::size_t>(of.shape()[i]) + static_cast<std::size_t>(at[i]);
    const auto number = of.bytes().subspan(place * width, width);
    bytes.insert(bytes.end(), number.begin(), number.end());
    for (std::size_t i = at.size(); i-- > 0 && ++at[i] == sizes[i];) at[i] = 0;
  }
  return *Tensor::owning(of.dtype(), sizes, std::move(bytes));
}

// take_along_axis stretches other axes over one another, where this operator looks into the first cells alone: the rest of
// them is cut off beforehand.
Status write_gather_elements(const GatherElements& op, Sink& sink) {
  Json key = Json::array();
  TensorType cut = sink.type();
  bool cuts = false;
  for (Size axis = 0; axis < sink.rank(); ++axis) {
    const Dim from = sink.dim(axis), to = sink.dim(axis, 1);
    const bool shorter = axis != op.axis && from != to;
    // Examples are as many everywhere.
    const bool may_be_shorter =
        axis > 0 && axis != op.axis && !from.known() && !to.known() &&
        !has_same_size(sink.graph(), sink.node().inputs[0], sink.node().inputs[1], static_cast<std::size_t>(axis));
    if ((shorter && !to.known()) || may_be_shorter)
      return sink.refused("a lookup whose indices may be fewer than the numbers along axis " + std::to_string(axis));
    cuts = cuts || shorter;
    key.push_back(slice_of({}, shorter ? std::optional(*to) : std::nullopt, 1));
    if (shorter) cut.shape[static_cast<std::size_t>(axis)] = to;
  }
  if (!cuts) return write_lookup(op, sink, "numpy.TakeAlongAxis");
  LayerConfig config = layer_as(sink, "numpy.TakeAlongAxis", {{"axis", op.axis}});
  if (const Tensor* known = sink.constant(0)) {
    Sizes sizes;
    for (const Dim n : cut.shape) sizes.push_back(*n);
    config.args = {first_numbers(*known, sizes)};
  } else {
    LayerConfig first = sink.operation("numpy", "GetItem");
    first.args.emplace_back(std::move(key));
    config.args = {sink.step(std::move(first), "cells", std::move(cut))};
  }
  config.args.push_back(sink.argument(1));
  return sink.last(std::move(config));
}

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
  // Keras takes one cell of a free axis for an axis that is free.
  bool cuts_free = false;
  for (Size i = 0; i < other.rank(); ++i) cuts_free = cuts_free || (i != op.from && !sink.dim(i, 1).known());
  if (rank != other.rank() || axis != op.from || cuts_free) {
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
  LayerConfig config = layer_as(sink, "layers.Dense", {{"units", count}, {"use_bias", false}});
  config.args = {ones_along(op, 0, 2, DType::F32, sink)};
  if (auto ok = sink.weigh(config, 0, "kernel"); !ok) return ok;
  config.weights.back().tensor = weight.reshaped({1, count});
  if (weight.rank() == 2) return sink.last(std::move(config));
  LayerConfig laid_out =
      layer_as(sink, "layers.Reshape", {{"target_shape", Sizes(weight.shape().begin() + 1, weight.shape().end())}});
  laid_out.args = {sink.step(std::move(config), "weight", TensorType{DType::F32, {sink.dim(op.from, 1), Dim(count)}})};
  return sink.last(std::move(laid_out));
}

// Times as many ones, which leaves every number what it is.
Status write_expand_like(const ExpandLike& op, Sink& sink) {
  const Tensor* known = sink.constant(0);
  const DType dtype = sink.type().dtype;
  if (known && op.axis == 0 && dtype == DType::F32 && known->rank() > 1 && known->count() > 0)
    return write_expanded_weight(op, *known, sink);
  const Argument ones = ones_along(op, op.axis, std::max<Size>(1, sink.rank()), dtype, sink);
  LayerConfig config = sink.operation("numpy", dtype == DType::Bool ? "LogicalAnd" : "Multiply");
  sink.operand(config, 0, 0, "x1");
  config.args.push_back(ones);
  return sink.last(std::move(config));
}

// From the smaller one of both lengths on: ones, added up.
Status write_slice_behind(const SliceBehind&, Sink& sink) {
  const TensorType number{DType::I32, {Dim(1)}};
  const auto length = [&](std::size_t i) {
    const std::string own = i == 0 ? "own" : "other";
    LayerConfig ones = layer_as(sink, "numpy.OnesLike", {{"dtype", "int32"}});
    ones.args = {sink.argument(i)};
    LayerConfig sum = layer_as(sink, "numpy.Sum", {{"axis", Sizes{0}}, {"keepdims", true}});
    sum.args = {sink.step(std::move(ones), own + "_ones", {DType::I32, sink.type(i).shape})};
    return sink.step(std::move(sum), own + "_length", number);
  };
  LayerConfig least = sink.operation("numpy", "Minimum");
  least.args = {length(0), length(1)};
  LayerConfig config = sink.operation("core", "Slice");
  config.arguments["shape"] = Sizes{-1};
  config.args = {sink.argument(0), sink.step(std::move(least), "begin", number)};
  return sink.last(std::move(config));
}

constexpr std::array slice_concat_table{
    writes<write_concat>(),      writes<write_slice>(),  writes<write_split>(),           writes<write_tile>(),
    writes<write_take>(),        writes<write_gather>(), writes<write_gather_elements>(), writes<write_expand_like>(),
    writes<write_slice_behind>()};
static_assert(decides<SliceConcat>(slice_concat_table));

}  // namespace

std::span<const Row> slice_concat_rows() { return slice_concat_table; }

}  // namespace writing
}  // namespace convoy::keras
