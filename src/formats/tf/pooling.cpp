// Maximum and average pools. Padding is never part of an average; lists of padding are for maxima of NHWC alone.
#include "formats/tf/arguments.h"
#include "formats/tf/functions.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::tf {
namespace {

struct PoolGeometry {
  Axes axes;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
};

// A list of paddings must stay inside the window.
void check_lists(FunctionCall& call, const PoolGeometry& g) {
  for (std::size_t i = 0; i < g.windows.size(); ++i) {
    const Padding& padding = g.paddings[i];
    if (padding.spelling != Spelling::Explicit) continue;
    if (g.axes.order == Order::ChannelsFirst) call.refuse(Fault::Unsupported, "a list of paddings needs channels last");
    if (std::max(padding.before, padding.after) >= g.windows[i].kernel)
      call.refuse(Fault::Format, "padding " + std::to_string(std::max(padding.before, padding.after)) +
                                     " on spatial axis " + std::to_string(i) + " is not below the window of " +
                                     std::to_string(g.windows[i].kernel) + " cells");
  }
}

PoolGeometry geometry(FunctionCall& call, Size space, bool lists) {
  ignore_name(call);
  const Axes axes = axes_of(call, space);
  require(call, "ksize");
  require(call, "strides");
  const Sizes kernel = per_axis(call, "ksize", axes);
  PoolGeometry g{axes, windows_of(kernel, per_axis(call, "strides", axes), Sizes(kernel.size(), 1)),
                 paddings_of(call, axes, lists)};
  check_lists(call, g);
  return g;
}

std::vector<ValueId> max_pool_of(FunctionCall& call, Size space) {
  const ValueId x = call.tensor("input");
  const PoolGeometry g = geometry(call, space, space < 3);
  return {call.add(MaxPool{g.axes, g.windows, g.paddings}, {x})};
}

std::vector<ValueId> avg_pool_of(FunctionCall& call, Size space) {
  const ValueId x = call.tensor("input");
  const PoolGeometry g = geometry(call, space, false);
  return {call.add(AveragePool{g.axes, g.windows, g.paddings, false, {}}, {x})};
}

template <Size space>
std::vector<ValueId> max_pool(FunctionCall& call) {
  return max_pool_of(call, space);
}
template <Size space>
std::vector<ValueId> avg_pool(FunctionCall& call) {
  return avg_pool_of(call, space);
}

// tf.nn.max_pool and avg_pool take their rank from the input.
Size space_of_input(FunctionCall& call) {
  const Size space = call.rank(call.tensor("input")) - 2;
  if (space >= 1 && space <= 3) return space;
  call.refuse(Fault::Format, "the input has rank " + std::to_string(space + 2) + ", expected 3, 4 or 5");
  return 1;
}
std::vector<ValueId> any_max_pool(FunctionCall& call) { return max_pool_of(call, space_of_input(call)); }
std::vector<ValueId> any_avg_pool(FunctionCall& call) { return avg_pool_of(call, space_of_input(call)); }

// tf.nn.pool takes dilations, by VALID and without strides, and no stride above the window.
void check_pool(FunctionCall& call, const PoolGeometry& g) {
  for (const Window w : g.windows)
    if (w.stride > w.kernel)
      call.refuse(Fault::Unsupported, "stride " + std::to_string(w.stride) + " is above the window of " +
                                          std::to_string(w.kernel) + " cells, which tf.nn.pool does not take");
  const bool dilates = std::ranges::any_of(g.windows, [](Window w) { return w.dilation > 1; });
  if (dilates && std::ranges::any_of(g.windows, [](Window w) { return w.stride > 1; }))
    call.refuse(Fault::Unsupported, "tf.nn.pool takes no stride together with a dilation");
  if (dilates && g.paddings.front().spelling != Spelling::Valid)
    call.refuse(Fault::Unsupported, "tf.nn.pool takes a dilation with padding 'VALID' only");
}

std::vector<ValueId> pool(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  ignore_name(call);
  const Sizes kernel = call.attrs.list("window_shape");
  const auto space = static_cast<Size>(kernel.size());
  if (space < 1 || space > 3) call.refuse(Fault::Format, "argument 'window_shape' needs 1 to 3 numbers");
  if (call.failed()) return {};
  const Axes axes = axes_of(call, space);
  PoolGeometry g{axes, windows_of(kernel, spatial_only(call, "strides", space), spatial_only(call, "dilations", space)),
                 std::vector<Padding>(kernel.size())};
  if (call.attrs.has("padding")) g.paddings = paddings_of(call, axes, false);
  check_pool(call, g);
  const std::string kind = call.attrs.word("pooling_type");
  if (kind != "MAX" && kind != "AVG")
    call.refuse(Fault::Format, "argument 'pooling_type' is '" + kind + "', expected 'MAX' or 'AVG'");
  if (kind == "MAX") return {call.add(MaxPool{axes, g.windows, g.paddings}, {x})};
  return {call.add(AveragePool{axes, g.windows, g.paddings, false, {}}, {x})};
}

// Positions count (row * width + column) * channels + channel, over the whole batch where it is asked for.
std::vector<ValueId> max_pool_with_argmax(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const PoolGeometry g = geometry(call, 2, false);
  if (g.axes.order != Order::ChannelsLast)
    call.refuse(Fault::Unsupported, "argument 'data_format' is 'NCHW'; positions need channels last");
  const bool in_batch = call.attrs.truth("include_batch_in_index", false);
  const std::string type = call.attrs.word("output_dtype", "int64");
  if (type != "int64" && type != "tf.int64" && type != "int32" && type != "tf.int32")
    call.refuse(Fault::Format, "argument 'output_dtype' is '" + type + "', expected 'int64' or 'int32'");
  const auto all = call.add_all(
      MaxPool{g.axes, g.windows, g.paddings, in_batch ? Positions::ExampleInBatch : Positions::Example}, {x});
  if (call.failed()) return {};
  return {all[0], type.ends_with("int32") ? call.add(Cast{DType::I32}, {all[1]}) : all[1]};
}

constexpr std::string_view pool_parameters = "input ksize strides padding data_format name";
constexpr std::array pooling_table{
    FunctionRow{"nn.max_pool1d", pool_parameters, max_pool<1>},
    FunctionRow{"nn.max_pool2d", pool_parameters, max_pool<2>},
    FunctionRow{"nn.max_pool3d", pool_parameters, max_pool<3>},
    FunctionRow{"nn.avg_pool1d", pool_parameters, avg_pool<1>},
    FunctionRow{"nn.avg_pool2d", pool_parameters, avg_pool<2>},
    FunctionRow{"nn.avg_pool3d", pool_parameters, avg_pool<3>},
    FunctionRow{"nn.max_pool", pool_parameters, any_max_pool},
    FunctionRow{"nn.avg_pool", pool_parameters, any_avg_pool},
    FunctionRow{"nn.pool", "input window_shape pooling_type strides padding data_format dilations name", pool},
    FunctionRow{"nn.max_pool_with_argmax",
                "input ksize strides padding data_format output_dtype include_batch_in_index name",
                max_pool_with_argmax},
};

}  // namespace

std::span<const FunctionRow> pooling_functions() { return pooling_table; }

}  // namespace convoy::tf
