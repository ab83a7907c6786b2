// What goes with a layer's padding: how its kernel's axes move, and which runtimes break their own rule on it.
#include "explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::explain {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("[{}]", fmt::join(words, ", ")); }

}  // namespace

std::string kernel_words(Framework framework, const Layer& layer) {
  const std::size_t space = layer.space();
  const bool last =
      framework == Framework::Keras || framework == Framework::TensorFlow || framework == Framework::Tflite;
  std::vector<std::string> k;
  for (const Window& w : layer.windows) k.push_back(std::to_string(w.kernel));
  const auto with = [&](std::vector<std::string> front, const std::vector<std::string>& back) {
    front.insert(front.end(), back.begin(), back.end());
    return front;
  };
  const std::string c = layer.channels.text(), f = filters_text(layer), m = std::to_string(layer.multiplier);
  std::string read = c;
  if (layer.groups > 1 && !layer.depthwise)
    read = layer.channels.number ? std::to_string(*layer.channels.number / layer.groups)
                                 : fmt::format("{} / {}", c, layer.groups);
  std::vector<std::string> first_order, last_order;
  std::vector<Size> permutation;
  for (std::size_t i = 0; i < space; ++i) permutation.push_back(static_cast<Size>(i) + (last ? 0 : 2));
  const std::string layouts[] = {"NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"};
  const std::string first_layout = layouts[space - 1], last_layout = layouts[space + 2];
  const std::string moves =
      "   x: " + (last ? last_layout + " -> " + first_layout : first_layout + " -> " + last_layout);
  if (layer.depthwise) {
    first_order = with({f, "1"}, k);
    last_order = with(k, {c, m});
    const std::string spatial = fmt::format("{}", fmt::join(permutation, ", "));
    if (last)
      return fmt::format("{} -> {}: permute({}, {}, {}).reshape({})", joined(last_order), joined(first_order), space,
                         space + 1, spatial, fmt::join(first_order, ", ")) +
             moves;
    return fmt::format("{} -> {}: reshape({}, {}, {}).permute({}, 0, 1)", joined(first_order), joined(last_order), c, m,
                       fmt::join(k, ", "), spatial) +
           moves;
  }
  const bool transposed = layer.does == Does::Transpose;
  std::string made = f;
  if (transposed) {
    if (layer.groups > 1)
      made = layer.filters.number ? std::to_string(*layer.filters.number / layer.groups)
                                  : fmt::format("{} / {}", f, layer.groups);
    first_order = with({c, made}, k);
    last_order = with(k, {made, c});
  } else {
    first_order = with({f, read}, k);
    last_order = with(k, {read, f});
  }
  const std::string spatial = fmt::format("{}", fmt::join(permutation, ", "));
  const std::string text =
      last ? fmt::format("{} -> {}: permute({}, {}, {})", joined(last_order), joined(first_order), space + 1, space,
                         spatial)
           : fmt::format("{} -> {}: permute({}, 1, 0)", joined(first_order), joined(last_order), spatial);
  return text + (transposed ? ", not flipped" : "") + moves;
}

std::vector<std::string> deviations(Framework framework, const Layer& layer, const std::vector<AxisFacts>& axes) {
  std::vector<std::string> all;
  const bool tensorflow = framework == Framework::TensorFlow || framework == Framework::Keras;
  const auto same = [&](std::size_t i) {
    return !layer.paddings.empty() && layer.paddings[i].spelling == Spelling::SameUpper;
  };
  // SAME whose windows leave two cells or more unread: the total would be negative.
  const auto skips = [&](std::size_t i, Size least) {
    if (!same(i) || !layer.in[i].known()) return false;
    const auto at = place(layer.paddings[i], layer.windows[i], *layer.in[i]);
    return at && read_past(*at, layer.windows[i], *layer.in[i]) <= -least;
  };
  if (tensorflow && layer.space() == 3)
    for (std::size_t i = 0; i < 3; ++i)
      if (skips(i, 2)) {
        all.emplace_back(
            "TensorFlow's plain CPU kernels break their own rule here: 3-D SAME with a stride longer than the "
            "kernel begins inside the input. The answer above is what SAME means.");
        break;
      }
  if (framework == Framework::TensorFlow && layer.depthwise && !all_are(strides(layer), 1) &&
      !all_are(dilations(layer), 1))
    all.emplace_back(
        "tf.nn.depthwise_conv2d with stride and dilation computes something else, of another size. The answer "
        "above is the dilated convolution with that stride.");
  if (framework == Framework::Keras && layer.axes.order == Order::ChannelsFirst && layer.biased && !layer.pools() &&
      layer.filters.number && !axes.empty() && axes.back().out == layer.filters.number)
    all.emplace_back(
        "Keras 3.15 on TensorFlow adds this bias along the columns, because there are as many filters as "
        "columns. The bias belongs to the filters.");
  const bool has_reach = any_above_one(layer.windows, &Window::kernel);
  if (framework == Framework::Tflite || tensorflow)
    for (std::size_t i = 0; i < layer.space(); ++i)
      if (layer.does == Does::Convolve && layer.space() < 3 && skips(i, 1) && has_reach) {
        all.emplace_back(
            "TFLite's XNNPACK delegate gives wrong values for SAME with a stride longer than the kernel; where "
            "SAME pads nothing, write VALID.");
        break;
      }
  return all;
}

}  // namespace convoy::explain
