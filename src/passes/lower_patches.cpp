// Says the laying of windows side by side, and adding them back, for targets that have no word for it. Unfold is a
// convolution of each channel with one kernel per tap, of which that tap alone is 1: its channels are the rows,
// c * taps + tap. Fold is the transposed one. For graphs whose tensors are channels first still.
#include "ops/expect.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <utility>

namespace convoy {

namespace {

class PatchSpeller {
 public:
  explicit PatchSpeller(const Graph& graph) : graph_(graph), patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<Unfold, Fold>(graph_, patch_, [&](NodeId id, const auto& op) { return spell(id, op); });
  }

 private:
  Status spell(NodeId id, const Unfold& unfold) {
    const Node& node = graph_[id];
    const TensorType& x = graph_[node.inputs[0]].type;
    if (!x.shape[1].known() || !is_carried(x, unfold.windows, *x.shape[1] * taps_of(unfold.windows))) return {};
    const Size channels = *x.shape[1];
    const Conv conv{channels_first(unfold.windows), KernelOrder::OutInSpace, unfold.windows, unfold.paddings, channels};
    auto y = patch_.one(node, conv, {node.inputs[0], kernel_of(node, unfold.windows, channels, x.dtype)});
    if (y) y = patch_.one(node, Reshape{{0, 0, -1}}, {*y});
    patch_.remark(node, "is a convolution with one tap per channel, because Keras lays patches out in another order");
    return patch_.become(id, y);
  }

  Status spell(NodeId id, const Fold& fold) {
    const Node& node = graph_[id];
    const TensorType& x = graph_[node.inputs[0]].type;
    if (!x.shape[1].known() || !is_carried(x, fold.windows, *x.shape[1])) return {};
    const Size channels = *x.shape[1] / taps_of(fold.windows);
    Sizes split{0, 0};
    std::vector<TransposedPadding> crops;
    for (std::size_t i = 0; i < fold.windows.size(); ++i) {
      const auto at = place(fold.paddings[i], fold.windows[i], fold.out[i]);
      if (!at) return {};
      split.push_back(at->out);
      crops.push_back({CropSpelling::Explicit, at->before, read_past(*at, fold.windows[i], fold.out[i]), {}});
    }
    const ConvTranspose conv{channels_first(fold.windows), KernelOrder::InOutSpace, fold.windows, crops, channels};
    auto y = patch_.one(node, Reshape{split}, {node.inputs[0]});
    if (y) y = patch_.one(node, conv, {*y, kernel_of(node, fold.windows, channels, x.dtype)});
    patch_.remark(node, "is a transposed convolution with one tap per channel, because Keras adds no patches back");
    return patch_.become(id, y);
  }

  static bool is_carried(const TensorType& x, const std::vector<Window>& windows, Size rows) {
    constexpr Size most_numbers = Size{1} << 24;  // of the kernel
    return is_floating(x.dtype) && windows.size() <= 3 && rows <= most_numbers / taps_of(windows);
  }
  static Axes channels_first(const std::vector<Window>& windows) {
    return {Order::ChannelsFirst, static_cast<Size>(windows.size())};
  }
  static Size taps_of(const std::vector<Window>& windows) {
    Size taps = 1;
    for (const Window& w : windows) taps *= w.kernel;
    return taps;
  }

  // [channels * taps, 1, kernel...]: row c * taps + tap is 1 at that tap.
  ValueId kernel_of(const Node& node, const std::vector<Window>& windows, Size channels, DType dtype) {
    const Size taps = taps_of(windows);
    Sizes shape{channels * taps, 1};
    for (const Window& w : windows) shape.push_back(w.kernel);
    std::vector<float> numbers(static_cast<std::size_t>(channels * taps * taps));
    for (Size row = 0; row < channels * taps; ++row) numbers[static_cast<std::size_t>(row * taps + row % taps)] = 1;
    return patch_.constant(node.layer + "/taps", Tensor::of(shape, std::move(numbers)).converted(dtype), false);
  }

  const Graph& graph_;
  Patch patch_;
};

}  // namespace

Result<Patch> lower_patches(const Graph& graph, const Target&) { return PatchSpeller(graph).run(); }

}  // namespace convoy
