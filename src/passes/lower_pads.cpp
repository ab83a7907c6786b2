// Says pads in Keras's words: cells cut off apart from cells added, and of the modes constant, reflect and symmetric. Edge
// repeats a slice, wrap puts slices of the other end beside; what goes round more than once takes cells by number, which
// needs a known size.
#include "base/budget.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <algorithm>

namespace convoy {

namespace {

class PadSpeller {
 public:
  explicit PadSpeller(const Graph& graph) : graph_(graph), patch_(graph) {}

  Result<Patch> run() {
    return node_by_node<Pad>(graph_, patch_, [&](NodeId id, const auto& op) { return spell(id, op); });
  }

 private:
  Status spell(NodeId id, const Pad& pad) {
    const Node& node = graph_[id];
    const auto negative = [](Size n) { return n < 0; };
    const auto positive = [](Size n) { return n > 0; };
    const bool cuts = std::ranges::any_of(pad.before, negative) || std::ranges::any_of(pad.after, negative);
    const bool adds = std::ranges::any_of(pad.before, positive) || std::ranges::any_of(pad.after, positive);
    const bool constant = pad.mode == PadMode::Constant;
    const bool mirrored = pad.mode == PadMode::Reflect || pad.mode == PadMode::Symmetric;
    const bool plain = constant || (mirrored && !pad.repeats);
    if ((!cuts || (!adds && constant)) && plain) return {};

    Pad cut{.before = pad.before, .after = pad.after};
    Pad more = pad;
    for (Sizes* sizes : {&cut.before, &cut.after})
      for (Size& n : *sizes) n = std::min<Size>(n, 0);
    for (Sizes* sizes : {&more.before, &more.after})
      for (Size& n : *sizes) n = std::max<Size>(n, 0);
    cut.may_be_empty = more.may_be_empty = pad.may_be_empty;
    // Cut off and added to along one axis, all of its cells may go: constant ones are added before, so that some are left.
    bool mixed = false;
    for (std::size_t i = 0; i < pad.before.size(); ++i)
      mixed = mixed || (std::min(pad.before[i], pad.after[i]) < 0 && std::max(pad.before[i], pad.after[i]) > 0);
    const bool last = constant ? mixed : pad.cutting == Cutting::Last;
    Result<ValueId> x = node.inputs[0];
    if (cuts && !last) x = patch_.one(node, cut, {*x});
    if (x && adds) x = added(node, *x, more);
    if (x && cuts && last) x = patch_.one(node, cut, {*x});
    if (!x) return pass(x);
    patch_.remove(id);
    patch_.replace(node.outputs[0], *x);
    return {};
  }

  Result<ValueId> added(const Node& node, ValueId x, Pad pad) {
    if (pad.mode == PadMode::Constant) return patch_.one(node, pad, {x});
    const bool mirrored = pad.mode == PadMode::Reflect || pad.mode == PadMode::Symmetric;
    if (mirrored && !goes_round(x, pad)) {
      pad.repeats = false;
      pad.cutting = Cutting::First;
      return patch_.one(node, pad, {x});
    }
    const char* how = pad.mode == PadMode::Edge ? "the border is repeated by slices put beside"
                      : mirrored                ? "mirrored more than once by taking cells, for this input size"
                                                : "wrapped around by slices of the other end put beside";
    patch_.remark(node, std::string(how) + ", because Keras has no such pad");
    Result<ValueId> made = x;
    for (std::size_t axis = 0; made && axis < pad.before.size(); ++axis)
      if (pad.before[axis] > 0 || pad.after[axis] > 0) made = along(node, *made, pad, static_cast<Size>(axis));
    return made;
  }

  // Whether some axis needs more cells than one round of it gives. Of a free size that is not asked: Keras refuses then.
  bool goes_round(ValueId x, const Pad& pad) const {
    for (std::size_t axis = 0; axis < pad.before.size(); ++axis) {
      const Dim size = patch_.type(x).shape[axis];
      const Size most = std::max(pad.before[axis], pad.after[axis]);
      if (pad.repeats && size.known() && most > *size - (pad.mode == PadMode::Reflect)) return true;
    }
    return false;
  }

  Result<ValueId> along(const Node& node, ValueId x, const Pad& pad, Size axis) {
    const auto at = static_cast<std::size_t>(axis);
    const Size before = pad.before[at], after = pad.after[at];
    const Dim size = patch_.type(x).shape[at];
    const bool edge = pad.mode == PadMode::Edge;
    const bool around = pad.repeats && (!size.known() || std::max(before, after) > *size);
    if (!edge && (around || pad.mode != PadMode::Wrap)) {
      if (!size.known())
        return within(place_of(node), Result<ValueId>(fail(Fault::Unsupported,
                                                           "wraps around as often as it takes, and the size is free; "
                                                           "give the input a size")));
      const auto added = checked_add(before, after);
      const auto count = added ? checked_add(*added, *size) : std::nullopt;
      const auto bytes = count ? checked_multiply(*count, 2 * static_cast<Size>(sizeof(Size))) : std::nullopt;
      if (auto held = within(place_of(node), budget::afford(bytes, "taking cells by number")); !held) return pass(held);
      return patch_.one(node, Take{axis, cells(pad.mode, before, after, *size)}, {x});
    }
    std::vector<ValueId> parts;
    const auto put = [&](Result<ValueId> part) -> Status {
      if (!part) return pass(part);
      parts.push_back(*part);
      return {};
    };
    const auto border = [&](Slice slice, Size times) -> Result<ValueId> {
      auto cell = patch_.one(node, slice, {x});
      return cell && edge && times > 1 ? patch_.one(node, Tile{axis, times}, {*cell}) : cell;
    };
    if (before > 0)
      if (auto s = put(border(edge ? Slice{axis, 0, 1} : Slice{axis, -before}, before)); !s) return pass(s);
    parts.push_back(x);
    if (after > 0)
      if (auto s = put(border(edge ? Slice{axis, -1} : Slice{axis, 0, after}, after)); !s) return pass(s);
    return patch_.one(node, Concat{axis}, std::move(parts));
  }

  static Sizes cells(PadMode mode, Size before, Size after, Size size) {
    Sizes all;
    const Size period = mode == PadMode::Wrap        ? size
                        : mode == PadMode::Symmetric ? 2 * size
                                                     : std::max<Size>(2 * size - 2, 1);
    for (Size i = -before; i < size + after; ++i) {
      const Size at = (i % period + period) % period;
      all.push_back(at < size ? at : mode == PadMode::Symmetric ? period - 1 - at : period - at);
    }
    return all;
  }

  const Graph& graph_;
  Patch patch_;
};

}  // namespace

Result<Patch> lower_pads(const Graph& graph, const Target&) { return PadSpeller(graph).run(); }

}  // namespace convoy
