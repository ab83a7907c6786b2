// Transposed convolutions: the input gradient of a forward convolution to a size that the caller names, and that the
// forward convolution must map back to the input.
#include "formats/tf/arguments.h"
#include "formats/tf/functions.h"

#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::tf {
namespace {

constexpr Size own_size = -1;

// The crop of one axis. Where the input's size is not known it is what the forward convolution gives.
TransposedPadding crop_of(FunctionCall& call, Padding padding, Window window, Dim in, Size out, Size i) {
  if (!window.sane()) {
    call.refuse(Fault::Format, "a window of " + std::to_string(window.kernel) + " cells");
    return {};
  }
  const auto forward = place(padding, window, out);
  const auto crop = forward ? crop_to_gradient(padding, window, in.known() ? *in : forward->out, out) : std::nullopt;
  if (crop) return {CropSpelling::Explicit, crop->before, crop->after, {}};
  call.refuse(Fault::Format, "output_shape says " + std::to_string(out) + " on spatial axis " + std::to_string(i) +
                                 ", from which the forward convolution makes " +
                                 (forward ? std::to_string(forward->out) : std::string("no")) + " cells, not the " +
                                 (in.known() ? std::to_string(*in) : std::string("?")) + " of the input");
  return {};
}

// The same of an output that is so many times as long as its input, whatever the input's size. Refuses crops that are not the
// same at every size.
TransposedPadding crop_by_factor(FunctionCall& call, Padding padding, Window window, double factor, Size added,
                                 Size i) {
  std::optional<Crop> crop;
  constexpr Size trials = 12;
  for (Size in = 1; window.sane() && in <= trials; ++in) {
    const double out = factor * static_cast<double>(in) + static_cast<double>(added);
    if (out != std::floor(out) || out < 1 || out > 1e9) continue;
    const auto here = crop_to_gradient(padding, window, in, static_cast<Size>(out));
    const bool same = !crop || (here && here->before == crop->before && here->after == crop->after);
    if (!here || !same) {
      crop.reset();
      break;
    }
    crop = here;
  }
  if (crop) return {CropSpelling::Explicit, crop->before, crop->after, {}};
  call.refuse(Fault::Unsupported, "spatial axis " + std::to_string(i) + " becomes " + std::to_string(factor) +
                                      " times as long and " + std::to_string(added) +
                                      " cells longer, which no crop gives at every size");
  return {};
}

// Batch and channels of the size asked for; the groups follow from the channels.
Size groups_of(FunctionCall& call, const Axes& axes, ValueId x, ValueId filters, const Sizes& out) {
  const Dim batch = call.dim(x, 0), per_group = call.dim(filters, axes.space);
  if (call.failed() || out.size() != static_cast<std::size_t>(axes.rank())) return 1;
  if (batch.known() && out[0] != *batch && out[0] != own_size)
    call.refuse(Fault::Format,
                "output_shape says " + std::to_string(out[0]) + " batches, the input has " + std::to_string(*batch));
  const Size channels = at(out, axes.channel());
  if (!per_group.known() || *per_group < 1 || channels < 1 || channels % *per_group != 0) {
    call.refuse(Fault::Format, "output_shape says " + std::to_string(channels) + " channels, the kernel has shape " +
                                   text_of(call.shape(filters)));
    return 1;
  }
  if (axes.space == 3 && channels != *per_group)
    call.refuse(Fault::Unsupported, "output_shape says " + std::to_string(channels) + " channels, the kernel gives " +
                                        std::to_string(*per_group) + "; TensorFlow has no groups in 3-D");
  return channels / *per_group;
}

struct Asked {
  ValueId x, filters;
  Axes axes;
  Sizes stride, dilation, out;
  std::vector<Padding> paddings;
  // Of axes whose size in `out` is not known: how many times as long as that of x, and how many cells more.
  std::vector<double> factors{};
  Sizes added{};
};

// A graph's reader says -1 and a factor where sizes follow from those of an input that are not known.
std::vector<double> factors_of(FunctionCall& call) {
  const Json* factors = call.name.starts_with("Conv") ? call.attrs.raw("size_factors") : nullptr;
  return factors ? factors->get<std::vector<double>>() : std::vector<double>();
}
Sizes sizes_added(FunctionCall& call) {
  const Json* added = call.name.starts_with("Conv") ? call.attrs.raw("sizes_added") : nullptr;
  return added ? added->get<Sizes>() : Sizes();
}

std::vector<ValueId> transposed(FunctionCall& call, const Asked& asked) {
  const Axes& axes = asked.axes;
  if (!call.failed() && call.rank(asked.x) != axes.rank())
    call.refuse(Fault::Format, "the input has shape " + text_of(call.shape(asked.x)) + ", expected rank " +
                                   std::to_string(axes.rank()));
  const bool spatial = axes.space == 2 && asked.out.size() == 2;  // batch and channels left out
  if (!call.failed() && !spatial && asked.out.size() != static_cast<std::size_t>(axes.rank()))
    call.refuse(Fault::Format,
                "output_shape is " + text_of(asked.out) + ", expected " + std::to_string(axes.rank()) + " sizes");
  const auto windows = windows_of(kernel_of(call, asked.filters, axes.space), asked.stride, asked.dilation);
  const Size groups = groups_of(call, axes, asked.x, asked.filters, asked.out);
  ConvTranspose conv{axes, KernelOrder::SpaceOutIn, windows, {}, groups};
  for (Size i = 0; i < axes.space && !call.failed(); ++i) {
    const auto axis = static_cast<std::size_t>(i);
    const Size out = at(asked.out, spatial ? i : axes.spatial(i));
    if (out == own_size && !spatial && asked.factors.size() == asked.out.size() &&
        asked.added.size() == asked.out.size()) {
      const double factor = asked.factors[static_cast<std::size_t>(axes.spatial(i))];
      const Size added = at(asked.added, axes.spatial(i));
      conv.paddings.push_back(crop_by_factor(call, asked.paddings[axis], windows[axis], factor, added, i));
      continue;
    }
    conv.paddings.push_back(
        crop_of(call, asked.paddings[axis], windows[axis], call.dim(asked.x, axes.spatial(i)), out, i));
  }
  return {call.add(std::move(conv), {asked.x, asked.filters})};
}

std::vector<ValueId> conv_transpose_of(FunctionCall& call, Size space, const Sizes& out) {
  const ValueId x = call.tensor("input"), filters = call.tensor("filters");
  ignore_name(call);
  const Axes axes = axes_of(call, space);
  require(call, "strides");
  std::vector<Padding> paddings(static_cast<std::size_t>(space), Padding{Spelling::SameUpper});
  if (call.attrs.has("padding")) paddings = paddings_of(call, axes, space == 2);
  return transposed(call, {x, filters, axes, per_axis(call, "strides", axes), per_axis(call, "dilations", axes), out,
                           std::move(paddings), factors_of(call), sizes_added(call)});
}

template <Size space>
std::vector<ValueId> conv_transpose(FunctionCall& call) {
  return conv_transpose_of(call, space, numbers(call, "output_shape"));
}

// Takes its rank from output_shape.
std::vector<ValueId> any_conv_transpose(FunctionCall& call) {
  const Sizes out = numbers(call, "output_shape");
  const Size space = static_cast<Size>(out.size()) - 2;
  if (!call.failed() && (space < 1 || space > 3))
    call.refuse(Fault::Format, "output_shape is " + text_of(out) + ", expected 3, 4 or 5 sizes");
  if (call.failed()) return {};
  return conv_transpose_of(call, space, out);
}

std::vector<ValueId> atrous_conv2d_transpose(FunctionCall& call) {
  const ValueId x = call.tensor("value"), filters = call.tensor("filters");
  ignore_name(call);
  const Axes axes{Order::ChannelsLast, 2};
  const Size rate = call.attrs.integer("rate");
  if (rate < 1) call.refuse(Fault::Format, "argument 'rate' is " + std::to_string(rate) + ", expected 1 or more");
  return transposed(
      call, {x, filters, axes, {1, 1}, {rate, rate}, numbers(call, "output_shape"), paddings_of(call, axes, false)});
}

// The operator that conv2d_transpose calls: all axes everywhere, and explicit paddings as a flat list.
std::vector<ValueId> backprop_input(FunctionCall& call) {
  const ValueId x = call.tensor("out_backprop"), filters = call.tensor("filter");
  call.attrs.ignore({"name", "use_cudnn_on_gpu"});
  const Axes axes = axes_of(call, 2);
  const Sizes flat = call.attrs.list("explicit_paddings", Sizes{});
  std::vector<Padding> paddings(2);
  if (call.attrs.word("padding", "") != "EXPLICIT") {
    paddings = paddings_of(call, axes, false);
    if (!flat.empty()) call.refuse(Fault::Format, "explicit_paddings needs padding='EXPLICIT'");
  } else if (flat.size() != 8 || std::ranges::any_of(flat, [](Size n) { return n < 0; })) {
    call.refuse(Fault::Format, "explicit_paddings is " + text_of(flat) + ", expected two numbers for each of 4 axes");
  } else {
    if (flat[0] + flat[1] + at(flat, 2 * axes.channel()) + at(flat, 2 * axes.channel() + 1) != 0)
      call.refuse(Fault::Format, "explicit_paddings pads batch or channels");
    for (Size i = 0; i < 2; ++i)
      paddings[static_cast<std::size_t>(i)] = {Spelling::Explicit, at(flat, 2 * axes.spatial(i)),
                                               at(flat, 2 * axes.spatial(i) + 1)};
  }
  return transposed(call, {x, filters, axes, per_axis(call, "strides", axes), per_axis(call, "dilations", axes),
                           numbers(call, "input_sizes"), std::move(paddings), factors_of(call), sizes_added(call)});
}

constexpr std::string_view conv_transpose_parameters =
    "input filters output_shape strides padding data_format dilations name";
constexpr std::array conv_transpose_table{
    FunctionRow{"nn.conv1d_transpose", conv_transpose_parameters, conv_transpose<1>},
    FunctionRow{"nn.conv2d_transpose", conv_transpose_parameters, conv_transpose<2>},
    FunctionRow{"nn.conv3d_transpose", conv_transpose_parameters, conv_transpose<3>},
    FunctionRow{"nn.conv_transpose", conv_transpose_parameters, any_conv_transpose},
    FunctionRow{"nn.atrous_conv2d_transpose", "value filters output_shape rate padding name", atrous_conv2d_transpose},
    FunctionRow{"raw_ops.Conv2DBackpropInput",
                "input_sizes filter out_backprop strides padding use_cudnn_on_gpu explicit_paddings data_format "
                "dilations name",
                backprop_input},
};

}  // namespace

std::span<const FunctionRow> conv_transpose_functions() { return conv_transpose_table; }

}  // namespace convoy::tf
