// Says the crops of a transposed convolution as padding and output padding: PyTorch's where 0 <= before and
// 0 <= before - after < max(stride, dilation), ONNX's where 0 <= before and -after < stride. Otherwise says what it can
// and puts a crop or a pad behind; Keras's `same` and `valid` where they say the same cells. Cells that the pad adds hold the bias, which then moves behind it.
#include "ops/transposed_vocabulary.h"
#include "passes/constants.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>

namespace convoy {

namespace {

std::string said(const TransposedPadding& p) {
  return "(" + std::to_string(p.before) + ", " + std::to_string(p.after) + ")";
}

class CropSpeller {
 public:
  CropSpeller(const Graph& graph, const Target& target)
      : graph_(graph),
        target_(target),
        patch_(graph),
        constants_(graph, patch_) {}

  Result<Patch> run() {
    return node_by_node<ConvTranspose>(graph_, patch_, [&](NodeId id, const auto& op) { return spell(id, op); });
  }

 private:
  Status spell(NodeId id, ConvTranspose conv) {
    const Node& node = graph_[id];
    const auto rank = static_cast<std::size_t>(conv.axes.rank());
    Pad rest{.before = Sizes(rank), .after = Sizes(rank)};
    bool behind = false, extends = false;
    std::string crops;
    const auto as_said = conv.paddings;
    auto all = parts_of(node, conv);
    if (!all) return pass(all);
    for (std::size_t i = 0; i < conv.windows.size(); ++i) {
      const CropParts& parts = (*all)[i];
      const auto axis = static_cast<std::size_t>(conv.axes.spatial(static_cast<Size>(i)));
      rest.before[axis] = -parts.before;
      rest.after[axis] = -parts.after;
      behind = behind || parts.before != 0 || parts.after != 0;
      extends = extends || parts.before < 0 || parts.after < 0;
      crops += (i ? ", " : "") + said(*explicit_crops(conv.paddings[i], conv.windows[i]));
      conv.paddings[i] = parts.direct;
    }
    if (!behind && conv.paddings == as_said) return {};
    if (behind)
      patch_.remark(node, "crops " + crops +
                              (extends ? " are a pad behind, with the bias added after it"
                               : target_.framework == Framework::Keras
                                   ? " are cut off behind: neither `same` nor `valid` says them"
                                   : " are partly cut off behind: padding and output_padding do not "
                                     "say them"));
    return write(id, conv, rest, behind, extends);
  }

  Result<std::vector<CropParts>> parts_of(const Node& node, const ConvTranspose& conv) const {
    std::vector<CropParts> all;
    for (std::size_t i = 0; i < conv.windows.size(); ++i) {
      const auto wanted = explicit_crops(conv.paddings[i], conv.windows[i]);
      if (!wanted)
        return within(place_of(node),
                      Result<std::vector<CropParts>>(fail(
                          Fault::Unsupported, "the crops of this transposed convolution leave no cell at any size")));
      all.push_back(parts_in(target_.framework, *wanted, conv.windows[i]));
    }
    if (target_.framework != Framework::Keras) return all;
    auto said = parts_in_keras(conv.paddings, conv.windows, conv.groups);
    if (said) return std::move(*said);
    return within(place_of(node), Result<std::vector<CropParts>>(fail(
                                      Fault::Unsupported,
                                      "is a transposed convolution with groups, or with stride and dilation, which "
                                      "Keras has no layer for")));
  }

  Status write(NodeId id, const ConvTranspose& conv, const Pad& rest, bool behind, bool extends) {
    const Node& node = graph_[id];
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(3);
    const ValueId bias = inputs[2];
    if (extends) inputs[2] = {};
    auto made = patch_.one(node, conv, std::move(inputs));
    if (made && behind) made = patch_.one(node, rest, {*made});
    if (made && extends && bias) {
      auto shaped = bias_map(node, bias, conv.axes);
      if (!shaped) return pass(shaped);
      made = patch_.one(node, Binary{BinaryFunction::Add}, {*made, *shaped});
    }
    return patch_.become(id, made);
  }

  // [O] -> [O, 1, 1...] where channels come first.
  Result<ValueId> bias_map(const Node& node, ValueId bias, Axes axes) {
    if (axes.order == Order::ChannelsLast) return bias;
    if (graph_[bias].constant) {
      Sizes shape(static_cast<std::size_t>(axes.space) + 1, 1);
      shape[0] = graph_[bias].constant->count();
      return constants_.reordered(bias, {}, {0}, shape);
    }
    Sizes places;
    for (Size i = 1; i <= axes.space; ++i) places.push_back(i);
    return patch_.one(node, Unsqueeze{places}, {bias});
  }

  const Graph& graph_;
  const Target& target_;
  Patch patch_;
  Constants constants_;
};

}  // namespace

Result<Patch> lower_crops(const Graph& graph, const Target& target) { return CropSpeller(graph, target).run(); }

}  // namespace convoy
