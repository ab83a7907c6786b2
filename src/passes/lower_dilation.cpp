// Says dilated windows by layers that Keras has on every processor: stride with dilation as a dilated convolution of which
// every stride-th cell is kept; a dilated kernel over three axes with zeros between its taps; a dilated maximum as the
// maximum of shifted cells. What a Keras layer says as it stands is left alone. A dilated average is a depthwise convolution
// with equal taps, wherever the target has no such average.
#include "graph/filled_like.h"
#include "ops/expect.h"
#include "ops/transposed_vocabulary.h"
#include "passes/constants.h"
#include "passes/kernels.h"
#include "passes/node_by_node.h"
#include "passes/pads.h"
#include "passes/rewrites.h"

#include <algorithm>
#include <limits>

namespace convoy {

namespace {

class DilationSpeller {
 public:
  DilationSpeller(const Graph& graph, const Target& target) : graph_(graph), patch_(graph), target_(target) {}

  Result<Patch> run() {
    const auto each = [&](NodeId id, const auto& op) { return spell(id, op); };
    if (target_.framework != Framework::Keras) return node_by_node<AveragePool>(graph_, patch_, each);
    return node_by_node<Conv, MaxPool, AveragePool>(graph_, patch_, each);
  }

 private:
  Status spell(NodeId id, Conv conv) {
    const Node& node = graph_[id];
    if (!any_above_one(conv.windows, &Window::dilation)) return {};
    const bool strided = any_above_one(conv.windows, &Window::stride);
    const bool foreign = conv.kernel_order == KernelOrder::OutInSpace && graph_[node.inputs[1]].constant;
    if (conv.axes.space == 3 && conv.groups == 1 && foreign) return spread(id, conv);
    if (!strided || has_depthwise_layer(conv, graph_[node.inputs[1]].type.shape)) return {};
    return subsampled(id, conv);
  }

  // Where the size decides about the padding, the pad in front does.
  Status subsampled(NodeId id, Conv conv) {
    const Node& node = graph_[id];
    const auto sizes = spatial_sizes(graph_[node.inputs[0]].type.shape, conv.axes);
    std::vector<ValueId> inputs = node.inputs;
    std::vector<Padding> fixed;
    for (std::size_t i = 0; i < conv.windows.size(); ++i)
      if (const auto cells = pads_in_front(conv.paddings[i], conv.windows[i], sizes[i]))
        fixed.push_back({Spelling::Explicit, cells->before, cells->after});
    if (fixed.size() < conv.windows.size()) {
      auto x = padded(patch_, node, inputs[0], conv.axes, conv.windows, conv.paddings, 0);
      if (!x) return pass(x);
      inputs[0] = *x;
      fixed.assign(conv.windows.size(), Padding{Spelling::Valid});
    }
    const auto windows = conv.windows;
    conv.paddings = fixed;
    for (Window& w : conv.windows) w.stride = 1;
    auto y = every_stride(node, conv.axes, windows, patch_.one(node, conv, std::move(inputs)));
    patch_.remark(node, "runs without stride, and every stride-th cell is kept: Keras refuses stride with dilation");
    return patch_.become(id, y);
  }

  Result<ValueId> every_stride(const Node& node, const Axes& axes, const std::vector<Window>& windows,
                               Result<ValueId> y) {
    for (std::size_t i = 0; y && i < windows.size(); ++i)
      if (windows[i].stride > 1)
        y = patch_.one(node, Slice{axes.spatial(static_cast<Size>(i)), {}, {}, windows[i].stride}, {*y});
    return y;
  }

  Status spread(NodeId id, Conv conv) {
    const Node& node = graph_[id];
    const Value& kernel = graph_[node.inputs[1]];
    Tensor tensor = *kernel.constant;
    const auto sizes = spatial_sizes(graph_[node.inputs[0]].type.shape, conv.axes);
    for (std::size_t i = 0; i < conv.windows.size(); ++i) {
      Window& w = conv.windows[i];
      if (w.dilation == 1) continue;
      auto spread =
          within(place_of(node), spread_along(tensor, kernel_spatial(conv.kernel_order, static_cast<Size>(i)), w));
      if (!spread) return pass(spread);
      tensor = std::move(*spread);
      w = {w.reach(), w.stride, 1};  // words of padding go by the reach
    }
    std::vector<ValueId> inputs = node.inputs;
    inputs[1] = patch_.constant(kernel.name, std::move(tensor), kernel.trainable);
    patch_.remark(node,
                  "its kernel has zeros between its taps now, because TensorFlow's kernels for plain processors "
                  "refuse dilation over three axes");
    return patch_.become(id, patch_.one(node, conv, std::move(inputs)));
  }

  Status spell(NodeId id, const MaxPool& pool) {
    const Node& node = graph_[id];
    if (!any_above_one(pool.windows, &Window::dilation)) return {};
    if (pool.positions != Positions::None)
      return within(place_of(node), Status(fail(Fault::Unsupported,
                                                "tells where its maxima lie, which no layer of "
                                                "Keras does")));
    auto x = padded(patch_, node, node.inputs[0], pool.axes, pool.windows, pool.paddings,
                    least_of(graph_[node.inputs[0]].type.dtype));
    MaxPool rest = pool;
    rest.paddings.assign(pool.windows.size(), Padding{Spelling::Valid});
    for (std::size_t i = 0; x && i < pool.windows.size(); ++i) {
      if (pool.windows[i].dilation == 1) continue;
      x = shifted(node, *x, pool.axes.spatial(static_cast<Size>(i)), pool.windows[i]);
      rest.windows[i] = {};
    }
    if (x && std::ranges::any_of(rest.windows, [](const Window& w) { return w != Window{}; }))
      x = patch_.one(node, rest, {*x});
    patch_.remark(node, "is the maximum of shifted cells, because Keras's pools know no dilation");
    return patch_.become(id, x);
  }

  // Along one axis: tap j of every window is a slice, and the maximum goes over the taps.
  Result<ValueId> shifted(const Node& node, ValueId x, Size axis, Window w) {
    Result<ValueId> most = x;
    for (Size j = 0; j < w.kernel; ++j) {
      const Added beside = cells_beside_tap(w, j);
      const auto stop = beside.after > 0 ? std::optional(-beside.after) : std::nullopt;
      auto tap = patch_.one(node, Slice{axis, beside.before, stop, w.stride}, {x});
      if (!tap) return tap;
      most = j == 0 ? *tap : patch_.one(node, Binary{BinaryFunction::Maximum}, {*most, *tap});
      if (!most) return most;
    }
    return most;
  }

  // Zeros in front, each tap worth as much as the others, then what the cells that count are short of a whole window.
  Status spell(NodeId id, const AveragePool& pool) {
    const Node& node = graph_[id];
    const Counting counting = pool.counts_padding ? Counting::WithPadding : Counting::Inside;
    const bool has_word = target_.framework == Framework::OnnxRuntime && target_.opset >= 19;
    if (!any_above_one(pool.windows, &Window::dilation) || has_word) return {};
    const Shape& shape = graph_[node.inputs[0]].type.shape;
    const Dim channels = shape[static_cast<std::size_t>(pool.axes.channel())];
    if (!channels.known())
      return within(place_of(node),
                    Status(fail(Fault::Unsupported, "is a dilated average over an unknown number of channels")));
    double cells = 1;
    for (const Window& w : pool.windows) cells *= static_cast<double>(w.kernel);
    const double share = 1 / (pool.divisor ? static_cast<double>(*pool.divisor) : cells);
    const bool bare = std::ranges::all_of(pool.paddings, adds_nothing);
    auto x = bare ? Result<ValueId>(node.inputs[0])
                  : padded(patch_, node, node.inputs[0], pool.axes, pool.windows, pool.paddings, 0);
    if (x) x = equal_taps(node, pool, *x, *channels, share);
    if (x && !pool.divisor) x = counted(node, pool, counting, *x);
    patch_.remark(node, "is a depthwise convolution with equal taps, because the target's averages know no dilation");
    return patch_.become(id, x);
  }

  static bool adds_nothing(const Padding& p) {
    const bool none = p.spelling == Spelling::Valid || (p.spelling == Spelling::Explicit && !p.before && !p.after);
    return none && p.leftover == Leftover::Drop;
  }

  Result<ValueId> equal_taps(const Node& node, const AveragePool& pool, ValueId x, Size channels, double share) {
    Sizes kernel{channels, 1};
    for (const Window& w : pool.windows) kernel.push_back(w.kernel);
    const auto count = checked_count(kernel);
    if (!count || *count > most_taps)
      return within(place_of(node), Result<ValueId>(fail(Fault::Limit, "taps of shape " + text_of(kernel))));
    const std::vector<double> taps(static_cast<std::size_t>(*count), share);
    const Tensor tensor = Tensor::of(kernel, taps).converted(graph_[node.inputs[0]].type.dtype);
    const ValueId weight = patch_.constant(node.layer + "/taps", tensor, false);
    Conv conv{pool.axes, KernelOrder::OutInSpace, pool.windows,
              std::vector<Padding>(pool.windows.size(), Padding{Spelling::Valid}), channels};
    if (target_.framework != Framework::Keras || has_depthwise_layer(conv, patch_.type(weight).shape))
      return patch_.one(node, conv, {x, weight});
    for (Window& w : conv.windows) w.stride = 1;
    return every_stride(node, pool.axes, pool.windows, patch_.one(node, conv, {x, weight}));
  }

  // Divided by the share of each window's taps that count.
  Result<ValueId> counted(const Node& node, const AveragePool& pool, Counting counting, ValueId sum) {
    const auto fixed = [&](const Padding& p) {
      return adds_nothing(p) ||
             (p.spelling == Spelling::Explicit && p.leftover == Leftover::Drop && counting == Counting::WithPadding);
    };
    if (std::ranges::all_of(pool.paddings, fixed)) return sum;
    const auto sizes = spatial_sizes(graph_[node.inputs[0]].type.shape, pool.axes);
    if (auto factors = count_correction(pool, sizes, counting)) {
      const ValueId map = patch_.constant(node.layer + "/factors", std::move(*factors), false);
      return patch_.one(node, Binary{BinaryFunction::Multiply}, {sum, map});
    }
    if (counting == Counting::WithPadding)
      return within(
          place_of(node),
          Result<ValueId>(fail(Fault::Unsupported, "is a dilated average that counts padding " + words(pool.paddings) +
                                                       ", and the size is free; give the input a size")));
    auto ones = ones_like(node, pool.axes.channel());
    if (ones) ones = padded(patch_, node, *ones, pool.axes, pool.windows, pool.paddings, 0);
    double cells = 1;
    for (const Window& w : pool.windows) cells *= static_cast<double>(w.kernel);
    if (ones) ones = equal_taps(node, pool, *ones, 1, 1 / cells);
    if (ones && may_miss_all(pool)) ones = patch_.one(node, Clip{.least = 0.5 / cells}, {*ones});
    return ones ? patch_.one(node, Binary{BinaryFunction::Divide}, {sum, *ones}) : ones;
  }

  // All taps of a window may lie beside the cells, which is an average of 0: what is less than one tap counts as something.
  static bool may_miss_all(const AveragePool& pool) {
    for (std::size_t i = 0; i < pool.windows.size(); ++i)
      if (pool.windows[i].dilation > 1 && !adds_nothing(pool.paddings[i])) return true;
    return false;
  }

  // Ones in the shape of the node's input, with one channel.
  Result<ValueId> ones_like(const Node& node, Size channel) {
    const ValueId like = node.inputs[0];
    Shape shape = patch_.type(like).shape;
    shape[static_cast<std::size_t>(channel)] = 1;
    const Sizes one(shape.size(), 1);
    Result<ValueId> made = patch_.constant(node.layer + "/one", Tensor::of(one, std::vector<float>{1}), false);
    filled_like(shape, *made, like, [&](Op op, std::vector<ValueId> inputs) {
      if (made) made = patch_.one(node, std::move(op), std::move(inputs));
      return made.value_or(ValueId{});
    });
    return made;
  }

  static constexpr Size most_taps = Size{1} << 24;

  const Graph& graph_;
  Patch patch_;
  const Target& target_;
};

}  // namespace

Result<Patch> lower_dilation(const Graph& graph, const Target& target) { return DilationSpeller(graph, target).run(); }

}  // namespace convoy
