// TensorFlow's calls: convolutions, depthwise and transposed ones, pools and pads.
#include "golden/calls.h"

#include <algorithm>

namespace convoy::golden {
namespace {

// Axes and the pads of each spatial axis, from 'SAME', 'VALID' or a list of pairs for every axis.
struct Geometry {
  Axes axes;
  Sizes stride, dilation;
  std::vector<Padding> paddings;
};

Axes axes_of(const Case& c, Size rank) {
  const bool first = c.attrs.value("data_format", std::string("N..C")).starts_with("NC");
  return {first ? Order::ChannelsFirst : Order::ChannelsLast, rank - 2};
}

Result<Geometry> geometry_of(const Case& c, Size rank) {
  Geometry g{axes_of(c, rank), {}, {}, {}};
  const auto space = static_cast<std::size_t>(rank - 2);
  auto stride = numbers(c.attrs, "strides", space, 1);
  auto dilation = numbers(c.attrs, "dilations", space, 1);
  if (!stride) return pass(stride);
  if (!dilation) return pass(dilation);
  g.stride = *stride;
  g.dilation = *dilation;
  const Json& padding = c.attrs.at("padding");
  if (padding.is_array() && static_cast<Size>(padding.size()) != rank)
    return fail(Fault::Format, "padding of another rank");
  // Lists are understood by the plain 2-D operators alone.
  const bool pools_first = c.op == "max_pool" && g.axes.order == Order::ChannelsFirst;
  if (padding.is_array() && (rank != 4 || c.op == "avg_pool" || pools_first))
    return fail(Fault::Format, "this operator takes no list of paddings");
  for (std::size_t i = 0; i < space; ++i) {
    if (padding == "SAME") {
      g.paddings.push_back({Spelling::SameUpper});
    } else if (padding == "VALID") {
      g.paddings.push_back({Spelling::Valid});
    } else {
      const Json& pair = padding[static_cast<std::size_t>(g.axes.spatial(static_cast<Size>(i)))];
      g.paddings.push_back({Spelling::Explicit, pair[0].get<Size>(), pair[1].get<Size>()});
    }
  }
  return g;
}

Status convolve(Calls& calls, const Case& c, const std::string& weight, bool depthwise) {
  const Sizes& shape = c.input(weight)->tensor.shape();
  auto g = geometry_of(c, static_cast<Size>(calls.shape().size()));
  if (!g) return pass(g);
  Conv conv{g->axes, depthwise ? KernelOrder::SpaceInMultiplier : KernelOrder::SpaceInOut, {}, g->paddings, 1};
  for (std::size_t i = 0; i < g->stride.size(); ++i) conv.windows.push_back({shape[i], g->stride[i], g->dilation[i]});
  const Size channels = *calls.shape()[static_cast<std::size_t>(g->axes.channel())];
  conv.groups = channels;
  if (!depthwise) {
    const Size read = shape[shape.size() - 2];
    if (read < 1 || channels % read != 0) return fail(Fault::Format, "the kernel reads another number of channels");
    conv.groups = channels / read;
    if (conv.groups > 1 && g->axes.space == 3) return fail(Fault::Unsupported, "TensorFlow has no groups in 3-D");
  }
  const ValueId kernel = calls.weight(weight);
  return calls.add(conv, kernel);
}

Result<Answer> convolution(const Case& c) {
  Calls calls(c);
  if (!c.input("w")) return fail(Fault::Format, "no weights");
  if (auto added = convolve(calls, c, "w", c.op != "conv"); !added) return pass(added);
  if (c.op == "separable_conv") {
    const ValueId point = calls.weight("p");
    const Conv conv{axes_of(c, 4), KernelOrder::SpaceInOut, {Window{}, Window{}}, {Padding{}, Padding{}}, 1};
    if (auto added = calls.add(conv, point); !added) return pass(added);
  }
  return std::move(calls).run();
}

// The input gradient of a convolution from `out` to `in`, as TensorFlow checks it: the forward size must be `in`.
Result<TransposedPadding> crop_of(Padding p, Window w, Size in, Size out) {
  if (p.spelling == Spelling::SameUpper) {
    if (ceil_div(out, w.stride) != in)
      return fail(Fault::Format, "no forward convolution maps this output to the input");
    const Crop crop = crop_to_same(out, w, in);
    return TransposedPadding{CropSpelling::Explicit, crop.before, crop.after, {}};
  }
  const auto forward = place(p, w, out);
  if (!forward || forward->out != in)
    return fail(Fault::Format, "no forward convolution maps this output to the input");
  const Size before = p.spelling == Spelling::Explicit ? p.before : 0;
  return TransposedPadding{CropSpelling::Explicit, before, full_length(w, in) - before - out, {}};
}

Result<Answer> transposed(const Case& c) {
  Calls calls(c);
  const Array* w = c.input("w");
  if (!w) return fail(Fault::Format, "no weights");
  const auto rank = static_cast<Size>(calls.shape().size());
  auto g = geometry_of(c, rank);
  auto shape = numbers(c.attrs, "output_shape", calls.shape().size(), 0);
  if (!g) return pass(g);
  if (!shape) return pass(shape);
  ConvTranspose conv{g->axes, KernelOrder::SpaceOutIn, {}, {}, 1};
  for (std::size_t i = 0; i < g->stride.size(); ++i) {
    const auto axis = static_cast<std::size_t>(g->axes.spatial(static_cast<Size>(i)));
    const Window window{w->tensor.shape()[i], g->stride[i], g->dilation[i]};
    auto crop = crop_of(g->paddings[i], window, *calls.shape()[axis], (*shape)[axis]);
    if (!crop) return pass(crop);
    conv.windows.push_back(window);
    conv.paddings.push_back(*crop);
  }
  const ValueId kernel = calls.weight("w");
  if (auto added = calls.add(conv, kernel); !added) return pass(added);
  if (c.attrs.contains("crop")) {  // cells cut off behind the call; a negative count is a pad
    Pad cut{Sizes(calls.shape().size(), 0), Sizes(calls.shape().size(), 0), PadMode::Constant, 0};
    auto crop = numbers(c.attrs, "crop", 2, 0);
    if (!crop) return pass(crop);
    cut.before[1] = -(*crop)[0];
    cut.after[1] = -(*crop)[1];
    if (auto added = calls.add(cut); !added) return pass(added);
  }
  return std::move(calls).run();
}

Result<Answer> pooled(const Case& c) {
  Calls calls(c);
  auto g = geometry_of(c, static_cast<Size>(calls.shape().size()));
  if (!g) return pass(g);
  auto kernel = numbers(c.attrs, "ksize", g->stride.size(), 1);
  if (!kernel) return pass(kernel);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < kernel->size(); ++i) {
    windows.push_back({(*kernel)[i], g->stride[i], g->dilation[i]});
    if (g->paddings[i].spelling == Spelling::SameUpper &&
        std::ranges::any_of(g->dilation, [](Size d) { return d > 1; }))
      return fail(Fault::Unsupported, "TensorFlow has no dilated pool with SAME");
    if (g->paddings[i].before >= (*kernel)[i] || g->paddings[i].after >= (*kernel)[i])
      return fail(Fault::Format, "the padding is as large as the window");
  }
  Op op = MaxPool{g->axes, windows, g->paddings};
  if (c.op == "avg_pool") op = AveragePool{g->axes, windows, g->paddings, false, {}};
  if (auto added = calls.add(op); !added) return pass(added);
  return std::move(calls).run();
}

Result<Answer> padded(const Case& c) {
  Calls calls(c);
  const std::string mode = c.attrs.value("mode", std::string("CONSTANT"));
  Pad pad{{}, {}, PadMode::Constant, 0};
  if (mode == "REFLECT") pad.mode = PadMode::Reflect;
  if (mode == "SYMMETRIC") pad.mode = PadMode::Symmetric;
  for (const Json& pair : c.attrs.at("paddings")) {
    pad.before.push_back(pair[0].get<Size>());
    pad.after.push_back(pair[1].get<Size>());
    if (pad.before.back() < 0 || pad.after.back() < 0) return fail(Fault::Format, "a padding is negative");
  }
  if (c.attrs.contains("constant_values")) pad.value = c.attrs["constant_values"].get<double>();
  if (auto added = calls.add(pad); !added) return pass(added);
  return std::move(calls).run();
}

}  // namespace

Result<Answer> answer_tensorflow(const Case& c) {
  if (!c.input("x")) return fail(Fault::Format, "input 'x' is missing");
  if (c.op == "conv" || c.op == "depthwise_conv" || c.op == "separable_conv") return convolution(c);
  if (c.op == "conv_transpose") return transposed(c);
  if (c.op == "max_pool" || c.op == "avg_pool") return pooled(c);
  if (c.op == "pad") return padded(c);
  return not_mapped("TensorFlow's " + c.op);
}

}  // namespace convoy::golden
