// Says transposed convolutions with groups or dilation by layers that Keras has: without stride as a convolution with the
// kernel flipped, with stride and dilation by a kernel with zeros between its taps, groups one by one and side by side.
// What a Keras layer says as it stands is left alone.
#include "ops/transposed_vocabulary.h"
#include "passes/constants.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>

namespace convoy {

namespace {

class TransposedSpeller {
 public:
  TransposedSpeller(const Graph& graph, const Target& target) : graph_(graph), lite_(target.lite), patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<ConvTranspose>(graph_, patch_, [&](NodeId id, const auto& op) { return spell(id, op); });
  }

 private:
  Status spell(NodeId id, ConvTranspose conv) {
    const Node& node = graph_[id];
    const bool dilated = any_above_one(conv.windows, &Window::dilation);
    const bool strided = any_above_one(conv.windows, &Window::stride);
    // The default interpreter's CONV_3D_TRANSPOSE answers otherwise there.
    const bool is_short = lite_ && conv.axes.space == 3 &&
                          std::ranges::any_of(conv.windows, [](const Window& w) { return w.stride > w.reach(); });
    if (conv.groups == 1 && !is_short &&
        (!dilated || (!lite_ && !strided && conv.kernel_order == KernelOrder::SpaceOutIn)))
      return {};
    const bool with_bias = node.inputs.size() > 2 && node.inputs[2];
    if (!graph_[node.inputs[1]].constant || (with_bias && !graph_[node.inputs[2]].constant))
      return within(place_of(node), Status(fail(Fault::Unsupported,
                                                "is a transposed convolution with groups or dilation whose weights are "
                                                "computed, which Keras has no layer for")));
    Tensor kernel = in_out_space(*graph_[node.inputs[1]].constant, conv);
    if (!strided) return as_convolution(id, conv, std::move(kernel));
    if (dilated || is_short) {
      for (std::size_t i = 0; i < conv.windows.size(); ++i) {
        Window& w = conv.windows[i];
        if (const auto fixed = explicit_crops(conv.paddings[i], w)) conv.paddings[i] = *fixed;
        auto spread = within(place_of(node), spread_along(kernel, static_cast<Size>(i) + 2, w));
        if (!spread) return pass(spread);
        kernel = std::move(*spread);
        w = {w.reach(), w.stride, 1};
        if (is_short) kernel = widened(kernel, static_cast<Size>(i) + 2, w, conv.paddings[i]);
      }
      patch_.remark(
          node, is_short
                    ? "its kernel has zeros around it now, because the default interpreter of TFLite is wrong where "
                      "a stride is longer than the kernel"
                    : "its kernel has zeros between its taps now, because Keras has no transposed convolution with "
                      "stride and dilation");
    }
    return conv.groups == 1 ? patch_.become(id, group(id, conv, node.inputs[0], kernel, 0))
                            : by_group(id, conv, kernel);
  }

  static Tensor widened(const Tensor& kernel, Size axis, Window& window, TransposedPadding& crops) {
    const WidenedKernel made = widened_to_stride(crops, window);
    Sizes taps(static_cast<std::size_t>(made.front), -1);
    for (Size i = 0; i < window.kernel; ++i) taps.push_back(i);
    taps.insert(taps.end(), static_cast<std::size_t>(made.behind), -1);
    window = made.window, crops = made.crops;
    return cells_along(kernel, axis, taps);
  }

  static Tensor in_out_space(const Tensor& kernel, ConvTranspose& conv) {
    if (conv.kernel_order == KernelOrder::InOutSpace) return kernel;
    conv.kernel_order = KernelOrder::InOutSpace;
    Sizes axes{conv.axes.space + 1, conv.axes.space};
    for (Size i = 0; i < conv.axes.space; ++i) axes.push_back(i);
    return kernel.permuted(axes);
  }

  // [I, O/groups, k...] -> [O, I/groups, k...], flipped.
  static Tensor flipped(Tensor kernel, const ConvTranspose& conv) {
    const Sizes shape = kernel.shape();
    Sizes split{conv.groups, shape[0] / conv.groups, shape[1]}, swap{0, 2, 1};
    Sizes whole{conv.groups * shape[1], shape[0] / conv.groups};
    for (std::size_t i = 2; i < shape.size(); ++i) {
      split.push_back(shape[i]);
      whole.push_back(shape[i]);
      swap.push_back(static_cast<Size>(i) + 1);
    }
    kernel = kernel.reshaped(split).permuted(swap).reshaped(whole);
    for (std::size_t i = 2; i < shape.size(); ++i) {
      Sizes backwards;
      for (Size tap = shape[i]; tap-- > 0;) backwards.push_back(tap);
      kernel = cells_along(kernel, static_cast<Size>(i), backwards);
    }
    return kernel;
  }

  Status as_convolution(NodeId id, const ConvTranspose& conv, Tensor kernel) {
    const Node& node = graph_[id];
    Conv plain{conv.axes, KernelOrder::OutInSpace, conv.windows, {}, conv.groups};
    Pad front{.before = Sizes(static_cast<std::size_t>(conv.axes.rank())),
              .after = Sizes(static_cast<std::size_t>(conv.axes.rank()))};
    bool cuts = false;
    for (std::size_t i = 0; i < conv.windows.size(); ++i) {
      const auto fixed = explicit_crops(conv.paddings[i], conv.windows[i]);
      if (!fixed) return within(place_of(node), Status(fail(Fault::Unsupported, "leaves no cell at any size")));
      const Added around = pads_when_flipped(*fixed, conv.windows[i]);
      const auto axis = static_cast<std::size_t>(conv.axes.spatial(static_cast<Size>(i)));
      front.before[axis] = around.before;
      front.after[axis] = around.after;
      cuts = cuts || around.before < 0 || around.after < 0;
      plain.paddings.push_back({Spelling::Explicit, around.before, around.after});
    }
    ValueId x = node.inputs[0];
    if (cuts) {
      plain.paddings.assign(conv.windows.size(), Padding{Spelling::Valid});
      auto made = patch_.one(node, front, {x});
      if (!made) return pass(made);
      x = *made;
    }
    const ValueId weights = kernel_of(node, flipped(std::move(kernel), conv), "");
    patch_.remark(node,
                  "has no stride, so it is a convolution with the kernel flipped: Keras's transposed layers know "
                  "no groups, and not every processor runs them with dilation");
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = x;
    inputs[1] = weights;
    return patch_.become(id, patch_.one(node, plain, std::move(inputs)));
  }

  Status by_group(NodeId id, const ConvTranspose& conv, const Tensor& kernel) {
    const Node& node = graph_[id];
    const Size channel = conv.axes.channel();
    Split split{channel, Sizes(static_cast<std::size_t>(conv.groups), kernel.shape()[0] / conv.groups)};
    auto parts = patch_.node(node, split, {node.inputs[0]}, static_cast<std::size_t>(conv.groups));
    if (!parts) return pass(parts);
    std::vector<ValueId> made;
    for (Size g = 0; g < conv.groups; ++g) {
      auto part = group(id, conv, (*parts)[static_cast<std::size_t>(g)], kernel, g);
      if (!part) return pass(part);
      made.push_back(*part);
    }
    patch_.remark(node, "its " + std::to_string(conv.groups) +
                            " groups are layers of their own side by side, because Keras's transposed layers know no "
                            "groups");
    return patch_.become(id, patch_.one(node, Concat{channel}, std::move(made)));
  }

  // Group `g` alone.
  Result<ValueId> group(NodeId id, ConvTranspose conv, ValueId x, const Tensor& kernel, Size g) {
    const Node& node = graph_[id];
    const auto range = [&](Size count) {
      Sizes all;
      for (Size i = 0; i < count; ++i) all.push_back(g * count + i);
      return all;
    };
    const std::string suffix = conv.groups == 1 ? "" : "." + std::to_string(g);
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = x;
    inputs[1] = kernel_of(node, cells_along(kernel, 0, range(kernel.shape()[0] / conv.groups)), suffix);
    if (inputs.size() > 2 && inputs[2] && conv.groups > 1) {
      const Value& bias = graph_[inputs[2]];
      inputs[2] =
          patch_.constant(bias.name + suffix, cells_along(*bias.constant, 0, range(kernel.shape()[1])), bias.trainable);
    }
    conv.groups = 1;
    return patch_.one(node, conv, std::move(inputs));
  }

  ValueId kernel_of(const Node& node, Tensor tensor, const std::string& suffix) {
    const Value& kernel = graph_[node.inputs[1]];
    return patch_.constant(kernel.name + suffix, std::move(tensor), kernel.trainable);
  }

  const Graph& graph_;
  bool lite_ = false;  // TFLite knows no dilation here
  Patch patch_;
};

}  // namespace

Result<Patch> lower_transposed(const Graph& graph, const Target& target) {
  return TransposedSpeller(graph, target).run();
}

}  // namespace convoy
