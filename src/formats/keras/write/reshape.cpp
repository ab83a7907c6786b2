// The same numbers under other axes: layers where the batch stays what it is, keras.ops otherwise.
#include "formats/keras/write/sink.h"

#include <algorithm>
#include <array>
#include <optional>

namespace convoy::keras::writing {
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
    if (const auto sizes = with_one_free(std::span(to).subspan(1))) {
      LayerConfig config = sink.layer("Reshape");
      config.arguments["target_shape"] = *sizes;
      return sink.last(std::move(config));
    }
  }
  const auto sizes = with_one_free(to);
  if (!sizes) return sink.refused("a reshape to more than one size that is not known beforehand");
  LayerConfig config = sink.operation("numpy", "Reshape");
  config.arguments["newshape"] = *sizes;
  return sink.last(std::move(config));
}

Status write_reshape(const Reshape& op, Sink& sink) {
  return say_shape(sink, keeps_batch(sink, !op.to.empty() && op.to[0] == 0));
}

Status write_flatten(const Flatten&, Sink& sink) { return sink.last(sink.layer("Flatten")); }

Status write_transpose(const Transpose& op, Sink& sink) {
  if (op.permutation.size() > 1 && op.permutation[0] == 0) {
    LayerConfig config = sink.layer("Permute");
    config.arguments["dims"] = Sizes(op.permutation.begin() + 1, op.permutation.end());
    return sink.last(std::move(config));
  }
  LayerConfig config = sink.operation("numpy", "Transpose");
  config.arguments["axes"] = op.permutation;
  return sink.last(std::move(config));
}

// Axes of size 1 come and go as a Reshape does it, if no more than one size is free.
template <class Op>
Status write_ones(const Op& op, Sink& sink, const char* operation) {
  const bool keeps = !op.axes.empty() && op.axes.front() > 0;
  const Shape& to = sink.result_type().shape;
  if (keeps && to.size() > 1 && with_one_free(std::span(to).subspan(1))) return say_shape(sink, true);
  LayerConfig config = sink.operation("numpy", operation);
  if (op.axes.size() == 1) config.arguments["axis"] = op.axes[0];
  else config.arguments["axis"] = op.axes;
  return sink.last(std::move(config));
}

Status write_unsqueeze(const Unsqueeze& op, Sink& sink) { return write_ones(op, sink, "ExpandDims"); }
Status write_squeeze(const Squeeze& op, Sink& sink) { return write_ones(op, sink, "Squeeze"); }

template <class Op>
Status write_block(const Op& op, Sink& sink, const char* class_name) {
  if (op.order != Order::ChannelsLast || sink.rank() != 4) return sink.broken("depth in channels-first order");
  if (op.block == 1) return sink.last(sink.layer("Identity"));  // TensorFlow wants 2 at least
  if (!op.depth_first) return sink.broken("depth in PyTorch's order");
  LayerConfig config = sink.operation("nn", class_name);
  config.arguments["block_size"] = op.block;
  return sink.last(std::move(config));
}

Status write_depth_to_space(const DepthToSpace& op, Sink& sink) { return write_block(op, sink, "DepthToSpace"); }
Status write_space_to_depth(const SpaceToDepth& op, Sink& sink) { return write_block(op, sink, "SpaceToDepth"); }

constexpr std::array reshape_table{writes<write_reshape>(),
                                   writes<write_flatten>(),
                                   writes<write_transpose>(),
                                   writes<write_unsqueeze>(),
                                   writes<write_squeeze>(),
                                   writes<write_depth_to_space>(),
                                   writes<write_space_to_depth>(),
                                   lacks<SpaceToBatch, Sink>("Keras has nothing that moves space into the batch"),
                                   lacks<BatchToSpace, Sink>("Keras has nothing that moves the batch into space")};
static_assert(decides<ReshapeFamily>(reshape_table));

}  // namespace

std::span<const Row> reshape_rows() { return reshape_table; }

}  // namespace convoy::keras::writing
