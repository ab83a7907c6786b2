// The same numbers under other axes. Source: keras/src/layers/reshaping, ops/numpy.py and ops/nn.py of Keras 3.15.
#include "formats/keras/catalogue/write.h"
#include "formats/keras/operation.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <optional>

namespace convoy::keras {
namespace {

// Channels-first data is flattened in the order of channels-last data. Files from before that rule have no key.
Values flatten(Use& use) {
  Call& call = use.call;
  ValueId x = call.x();
  const bool first = call.order() == Order::ChannelsFirst;
  if (first && call.rank(x) > 2) x = call.add(Transpose{to_channels_last(call.rank(x) - 2)}, {x}, "channels_last");
  return use.add(Flatten{}, {x});
}

// A program that names the batch of x, ops.shape(x)[0], says None: it stays as it is where no other size of x is free.
bool names_batch(Use& use, ValueId x, const Json* said) {
  const Json* list = said ? Attrs::tuple_of(said) : nullptr;
  if (use.call.failed() || !list || !list->is_array() || list->empty() || !list->front().is_null()) return false;
  const Shape& shape = use.call.type(x).shape;
  const auto is_free = [](Dim size) { return !size.known(); };
  return std::ranges::count_if(shape, is_free) == 1 && is_free(shape.front());
}

// Of the layer, behind the batch; of the function, all sizes.
Values reshape(Use& use) {
  const bool layer = use.kind == Use::Kind::Layer;
  const std::string_view key = layer ? "target_shape" : "newshape";
  const ValueId x = layer ? use.call.x() : use.operand("x");
  const Json* said = layer ? nullptr : use.sized_option(key);
  if (holds_free_size(said)) return {reshaped(use.call, x, sizes_in(use.call, said, key, {}))};
  const bool keeps_batch = layer || names_batch(use, x, said);
  Sizes to = keeps_batch ? Sizes{0} : Sizes{}, sizes;
  if (keeps_batch && !layer)
    for (std::size_t i = 1; i < Attrs::tuple_of(said)->size(); ++i)
      sizes.push_back(use.call.attrs.integer_of(&(*Attrs::tuple_of(said))[i], key));
  else sizes = use.list(key);
  for (const Size n : sizes) {
    if (n != -1 && n < 1) use.call.refuse(Fault::Format, use.called(key) + " holds " + std::to_string(n));
    to.push_back(n);
  }
  return use.add(Reshape{to}, {x});
}

Values permute(Use& use) {
  Call& call = use.call;
  const ValueId x = call.x();
  Sizes permutation{0};
  for (const Size n : use.list("dims")) permutation.push_back(n);
  Sizes seen(permutation.size(), 0);
  for (const Size n : permutation)
    if (n < 0 || n >= static_cast<Size>(permutation.size()) || seen[static_cast<std::size_t>(n)]++)
      call.refuse(Fault::Format,
                  "attribute 'dims' is no order of the axes 1 to " + std::to_string(permutation.size() - 1));
  if (!call.expect_rank(x, static_cast<Size>(permutation.size()))) return {};
  return use.add(Transpose{permutation}, {x});
}

Values repeat_vector(Use& use) {
  const ValueId x = use.call.x();
  const Size n = use.whole("n");
  if (!use.call.expect_rank(x, 2)) return {};
  return use.add(Tile{1, n}, {use.call.add(Unsqueeze{{1}}, {x}, "row")});
}

Values transpose(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  Sizes permutation = use.list("axes");
  if (permutation.empty())
    for (Size i = call.rank(x); i-- > 0;) permutation.push_back(i);
  for (Size& axis : permutation) axis = call.axis(axis, call.rank(x));
  if (Sizes sorted = permutation; call.axes(sorted, call.rank(x)).size() != static_cast<std::size_t>(call.rank(x)))
    call.refuse(Fault::Format, "argument 'axes' does not name every axis");
  return use.add(Transpose{permutation}, {x});
}

Values squeeze(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  Sizes axes = use.option("axis") ? call.axes(use.list("axis"), call.rank(x)) : Sizes{};
  if (!use.option("axis"))
    for (Size i = 0; i < call.rank(x); ++i)
      if (call.dim(x, i) == Dim(1)) axes.push_back(i);
  return use.add(Squeeze{axes}, {x});
}

Values expand_dims(Use& use) {
  const ValueId x = use.operand("x");
  const Sizes axes = use.list("axis");
  return use.add(Unsqueeze{use.call.axes(axes, use.call.rank(x) + static_cast<Size>(axes.size()))}, {x});
}

Values swap_axes(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  const Size rank = call.rank(x);
  const Size a = call.axis(use.whole("axis1"), rank);
  const Size b = call.axis(use.whole("axis2"), rank);
  if (call.failed()) return {};
  Transpose op;
  for (Size i = 0; i < rank; ++i) op.permutation.push_back(i == a ? b : i == b ? a : i);
  return use.add(op, {x});
}

// The axes named go to their destinations, the others keep their order.
Values move_axis(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  const Size rank = call.rank(x);
  Sizes from = use.list("source");
  Sizes to = use.list("destination");
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
  return use.add(Transpose{permutation}, {x});
}

// Blocks of space beside each other in depth, and back.
template <class Op>
Values space_and_depth(Use& use) {
  Call& call = use.call;
  const ValueId x = use.operand("x");
  const Order order = use.order();
  const Size block = use.whole("block_size");
  // Keras's backends disagree on the order of a channels-first depth.
  if (order == Order::ChannelsFirst)
    call.refuse(Fault::Unsupported, "moves depth channels first, which Keras's backends do in different orders");
  if (!call.expect_rank(x, 4)) return {};
  return use.add(Op{order, block, true}, {x});
}

constexpr std::array rows_of_reshapes{
    CatalogueRow{"layers.Flatten", "data_format=", flatten},
    CatalogueRow{"layers.Reshape", "target_shape", reshape},
    CatalogueRow{"numpy.Reshape", "x newshape", reshape},
    CatalogueRow{"layers.Permute", "dims", permute},
    CatalogueRow{"layers.RepeatVector", "n", repeat_vector},
    CatalogueRow{"numpy.Transpose code.permute_dimensions", "x axes=", transpose},
    CatalogueRow{"numpy.Squeeze", "x axis=", squeeze},
    CatalogueRow{"numpy.ExpandDims", "x axis", expand_dims},
    CatalogueRow{"numpy.Swapaxes", "x axis1 axis2", swap_axes},
    CatalogueRow{"numpy.Moveaxis", "x source destination", move_axis},
    CatalogueRow{"nn.DepthToSpace", "x block_size data_format=channels_last", space_and_depth<DepthToSpace>},
    CatalogueRow{"nn.SpaceToDepth", "x block_size data_format=channels_last", space_and_depth<SpaceToDepth>},
};

}  // namespace

std::span<const CatalogueRow> reshape_operators() { return rows_of_reshapes; }

namespace writing {
namespace {

// The numbers of one example, if all are known.
std::optional<Size> one_example(const Shape& shape) {
  Size count = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (!shape[i].known()) return std::nullopt;
    count *= *shape[i];
  }
  return count;
}

// Sizes with -1 for the one that is not known. Nothing: more than one is not.
std::optional<Sizes> with_one_free(std::span<const Dim> shape) {
  Sizes all;
  for (const Dim n : shape) all.push_back(n.known() ? *n : -1);
  if (std::ranges::count(all, Size{-1}) > 1) return std::nullopt;
  return all;
}

// The result has the batch of the input: by both counts, or because the node says so.
bool keeps_batch(const Sink& sink, bool said_so) {
  const Shape& from = sink.type().shape;
  const Shape& to = sink.result_type().shape;
  if (from.empty() || to.empty()) return false;
  if (said_so || (from[0].known() && from[0] == to[0])) return true;
  const auto a = one_example(from), b = one_example(to);
  return a && a == b && *a > 0;
}

Status say_shape(Sink& sink, bool keeps) {
  const Shape& to = sink.result_type().shape;
  if (keeps && to.size() > 1) {
    if (const auto sizes = with_one_free(std::span(to).subspan(1)))
      return write_as(sink, "layers.Reshape", {{"target_shape", *sizes}});
  }
  const auto sizes = with_one_free(to);
  if (!sizes) return sink.refused("a reshape to more than one size that is not known beforehand");
  return write_as(sink, "numpy.Reshape", {{"newshape", *sizes}});
}

Status write_reshape(const Reshape& op, Sink& sink) {
  return say_shape(sink, keeps_batch(sink, !op.to.empty() && op.to[0] == 0));
}

Status write_flatten(const Flatten&, Sink& sink) { return sink.last(sink.layer("Flatten")); }

Status write_transpose(const Transpose& op, Sink& sink) {
  if (op.permutation.size() > 1 && op.permutation[0] == 0)
    return write_as(sink, "layers.Permute", {{"dims", Sizes(op.permutation.begin() + 1, op.permutation.end())}});
  return write_as(sink, "numpy.Transpose", {{"axes", op.permutation}});
}

// Axes of size 1 come and go as a Reshape does it, if no more than one size is free.
template <class Op>
Status write_ones(const Op& op, Sink& sink, const char* operation) {
  const bool keeps = !op.axes.empty() && op.axes.front() > 0;
  const Shape& to = sink.result_type().shape;
  if (keeps && to.size() > 1 && with_one_free(std::span(to).subspan(1))) return say_shape(sink, true);
  return write_as(sink, operation, {{"axis", one_or_list(op.axes)}});
}

Status write_unsqueeze(const Unsqueeze& op, Sink& sink) { return write_ones(op, sink, "numpy.ExpandDims"); }

// x[0]: Keras squeezes no axis whose size it does not know, such as that of one example picked of any number.
Status write_squeeze(const Squeeze& op, Sink& sink) {
  const Shape& from = sink.type().shape;
  const auto is_free = [&](Size axis) { return !at(from, axis).known(); };
  if (std::ranges::none_of(op.axes, is_free)) return write_ones(op, sink, "numpy.Squeeze");
  LayerConfig config = sink.operation("numpy", "GetItem");
  Json key = Json::array();
  for (Size i = 0; i <= op.axes.back(); ++i) {
    if (std::ranges::find(op.axes, i) != op.axes.end()) key.push_back(0);
    else
      key.push_back(
          {{"class_name", "__slice__"}, {"config", {{"start", nullptr}, {"stop", nullptr}, {"step", nullptr}}}});
  }
  config.args.emplace_back(std::move(key));
  return sink.last(std::move(config));
}

template <class Op>
Status write_block(const Op& op, Sink& sink, const char* name) {
  if (op.order != Order::ChannelsLast || sink.rank() != 4) return sink.broken("depth in channels-first order");
  if (op.block == 1) return sink.last(sink.layer("Identity"));  // TensorFlow wants 2 at least
  if (!op.depth_first) return sink.broken("depth in PyTorch's order");
  return write_as(sink, name, {{"block_size", op.block}});
}

Status write_depth_to_space(const DepthToSpace& op, Sink& sink) { return write_block(op, sink, "nn.DepthToSpace"); }
Status write_space_to_depth(const SpaceToDepth& op, Sink& sink) { return write_block(op, sink, "nn.SpaceToDepth"); }

constexpr std::array reshape_table{
    writes<write_reshape>(),
    writes<write_flatten>(),
    writes<write_transpose>(),
    writes<write_unsqueeze>(),
    writes<write_squeeze>(),
    writes<write_depth_to_space>(),
    writes<write_space_to_depth>(),
    lacks<SpaceToBatch, Sink>("Keras has nothing that moves space into the batch (a pass spells what has known sizes; "
                              "give them with --size)"),
    lacks<BatchToSpace, Sink>("Keras has nothing that moves the batch into space (a pass spells what has known sizes; "
                              "give them with --size)")};
static_assert(decides<ReshapeFamily>(reshape_table));

}  // namespace

std::span<const Row> reshape_rows() { return reshape_table; }

}  // namespace writing
}  // namespace convoy::keras
