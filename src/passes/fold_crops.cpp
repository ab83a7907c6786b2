// Zeros and cuts behind a transposed convolution become its own crops. A pad of zeros is an extension where nothing was cut
// off on its side and no bias would stand in its cells; a slice in steps of one along an axis of space is a crop.
#include "ops/transposed_vocabulary.h"
#include "passes/rewrites.h"

#include <algorithm>

namespace convoy {

namespace {

class CropFolder {
 public:
  explicit CropFolder(const Graph& graph) : graph_(graph), patch_(graph), readers_(readers_of(graph)) {}

  Result<Patch> run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (const auto* conv = get_if<ConvTranspose>(&graph_.nodes[i].op))
        if (auto done = fold({static_cast<std::int32_t>(i)}, *conv); !done) return pass(done);
    return std::move(patch_);
  }

 private:
  Status fold(NodeId id, ConvTranspose conv) {
    const Node& node = graph_[id];
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2];
    for (std::size_t i = 0; i < conv.paddings.size(); ++i) {
      const auto fixed = explicit_crops(conv.paddings[i], conv.windows[i]);
      if (!fixed) return {};
      conv.paddings[i] = *fixed;
    }
    std::vector<NodeId> taken;
    ValueId last = node.outputs[0];
    for (;;) {
      const auto& readers = readers_[last.slot()];
      if (readers.size() != 1 || std::ranges::find(graph_.outputs, last) != graph_.outputs.end()) break;
      const NodeId next = readers[0];
      const auto* pad = get_if<Pad>(&graph_[next].op);
      const auto* slice = get_if<Slice>(&graph_[next].op);
      const bool folds = pad ? extends(conv, *pad, has_bias) : slice && cuts(conv, *slice, graph_[last].type.shape);
      if (!folds) break;
      taken.push_back(next);
      last = graph_[next].outputs[0];
    }
    if (taken.empty()) return {};
    auto made = patch_.node(node, conv, node.inputs);
    if (!made) return pass(made);
    std::string names;
    for (const NodeId one : taken) {
      names += (names.empty() ? "'" : ", '") + graph_[one].layer + "'";
      patch_.remove(one);
    }
    std::string crops;
    for (const TransposedPadding& p : conv.paddings)
      crops += (crops.empty() ? "(" : ", (") + std::to_string(p.before) + ", " + std::to_string(p.after) + ")";
    patch_.remark(node, "with " + names + " behind it is one transposed convolution that crops " + crops);
    patch_.remove(id);
    patch_.replace(last, made->front());
    return {};
  }

  // The axis of space that is axis `axis` of the tensor. Nothing: batch or channels.
  static std::optional<std::size_t> spatial(const ConvTranspose& conv, Size axis) {
    for (Size i = 0; i < conv.axes.space; ++i)
      if (conv.axes.spatial(i) == axis) return static_cast<std::size_t>(i);
    return std::nullopt;
  }

  static bool extends(ConvTranspose& conv, const Pad& pad, bool has_bias) {
    if (pad.mode != PadMode::Constant || pad.value != 0) return false;
    auto crops = conv.paddings;
    for (std::size_t axis = 0; axis < pad.before.size(); ++axis) {
      const Size before = pad.before[axis], after = pad.after[axis];
      if (before == 0 && after == 0) continue;
      const auto at = spatial(conv, static_cast<Size>(axis));
      if (!at) return false;
      TransposedPadding& crop = crops[*at];
      const auto may = [&](Size added, Size cut) { return added <= 0 || (cut <= 0 && !has_bias); };
      if (!may(before, crop.before) || !may(after, crop.after)) return false;
      crop.before -= before;
      crop.after -= after;
    }
    conv.paddings = std::move(crops);
    return true;
  }

  static bool cuts(ConvTranspose& conv, const Slice& slice, const Shape& shape) {
    const Size axis = slice.axis < 0 ? slice.axis + static_cast<Size>(shape.size()) : slice.axis;
    const auto at = spatial(conv, axis);
    if (!at || slice.step != 1) return false;
    Size first = slice.start.value_or(0), rest = slice.stop ? -*slice.stop : 0;
    if (const Dim n = shape[static_cast<std::size_t>(axis)]; n.known()) {
      const SliceRange range = resolve(slice, *n);
      first = range.first;
      rest = *n - range.first - range.count;
      if (range.count < 1) return false;
    } else if (first < 0 || rest < 0 || (slice.stop && *slice.stop >= 0)) {
      return false;
    }
    conv.paddings[*at].before += first;
    conv.paddings[*at].after += rest;
    return true;
  }

  const Graph& graph_;
  Patch patch_;
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

Result<Patch> fold_crops(const Graph& graph, const Target&) { return CropFolder(graph).run(); }

}  // namespace convoy
