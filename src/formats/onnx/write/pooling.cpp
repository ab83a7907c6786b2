// Pools. MaxPool carries auto_pad=VALID where it has no pads: some runtimes would otherwise fold a zero Pad in front into
// it, whose own padding is minus infinity.
#include "formats/onnx/write/sink.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::onnx {
namespace {

template <class Pool>
Result<Attributes> attributes_of(const Pool& op, Sink& sink, const char* what) {
  if (op.axes.order != Order::ChannelsFirst && op.axes.space > 0)
    return sink.broken(std::string(what) + " with channels last");
  Sizes kernel, strides, dilations, before, after;
  bool ceil = false, padded = false;
  for (std::size_t i = 0; i < op.windows.size(); ++i) {
    const Padding& p = op.paddings[i];
    if (p.spelling != Spelling::Explicit && p.spelling != Spelling::Valid) return sink.broken("a padding by a word");
    kernel.push_back(op.windows[i].kernel);
    strides.push_back(op.windows[i].stride);
    dilations.push_back(op.windows[i].dilation);
    before.push_back(p.spelling == Spelling::Explicit ? p.before : 0);
    after.push_back(p.spelling == Spelling::Explicit ? p.after : 0);
    padded = padded || before.back() != 0 || after.back() != 0;
    if (i > 0 && ceil != (p.leftover != Leftover::Drop)) return sink.broken("axes with two rules for the last window");
    ceil = p.leftover != Leftover::Drop;
  }
  Attributes attributes;
  if (!padded && !ceil) attributes.emplace_back("auto_pad", std::string("VALID"));
  if (ceil) attributes.emplace_back("ceil_mode", Size{1});
  if (std::ranges::any_of(dilations, [](Size d) { return d != 1; })) attributes.emplace_back("dilations", dilations);
  attributes.emplace_back("kernel_shape", kernel);
  if (padded) attributes.emplace_back("pads", begins_then_ends(before, after));
  attributes.emplace_back("strides", strides);
  return attributes;
}

bool has(const Attributes& attributes, std::string_view name) {
  return std::ranges::find(attributes, name, &DocumentAttribute::name) != attributes.end();
}

// Where SAME is left, the size is unknown and every runtime agrees on the word.
template <class Pool>
bool is_same(const Pool& op) {
  return std::ranges::all_of(op.paddings, [](const Padding& p) { return p.spelling == Spelling::SameUpper; });
}
template <class Pool>
Attributes same_attributes(const Pool& op) {
  Sizes kernel, strides;
  for (const Window& w : op.windows) kernel.push_back(w.kernel), strides.push_back(w.stride);
  return {{"auto_pad", std::string("SAME_UPPER")}, {"kernel_shape", kernel}, {"strides", strides}};
}

// Then pads or a partial window are no reason to leave the folding be: a second result, which nobody reads, is.
bool stands_behind_pad(const Sink& sink) {
  const NodeId producer = sink.graph()[sink.node().inputs[0]].producer;
  return producer && std::holds_alternative<Pad>(sink.graph()[producer].op);
}

Status write_max_pool(const MaxPool& op, Sink& sink) {
  Attributes attributes = same_attributes(op);
  if (!is_same(op)) {
    auto said = attributes_of(op, sink, "a pool");
    if (!said) return pass(said);
    attributes = std::move(*said);
  }
  switch (op.positions) {
    case Positions::None:
      if (stands_behind_pad(sink) && !has(attributes, "auto_pad"))
        sink.named("MaxPool", {sink.name()}, {sink.result(), sink.result() + "_places"}, std::move(attributes));
      else sink.last("MaxPool", {sink.name()}, std::move(attributes));
      return {};
    case Positions::TensorColumns: attributes.emplace_back("storage_order", Size{1}); [[fallthrough]];
    case Positions::Tensor: sink.last_of_many("MaxPool", {sink.name()}, std::move(attributes)); return {};
    default: return sink.refused("a maximum with positions counted another way");
  }
}

Status write_average_pool(const AveragePool& op, Sink& sink) {
  if (op.divisor) return sink.broken("an average with a divisor of its own");
  Attributes attributes = same_attributes(op);
  if (!is_same(op)) {
    auto said = attributes_of(op, sink, "a pool");
    if (!said) return pass(said);
    attributes = std::move(*said);
    if (op.counts_padding) attributes.emplace_back("count_include_pad", Size{1});
  } else if (op.counts_padding) {
    attributes.emplace_back("count_include_pad", Size{1});
  }
  if (has(attributes, "dilations") && sink.opset() < 19) return sink.too_old("an average over a dilated window", 19);
  sink.last("AveragePool", {sink.name()}, std::move(attributes));
  return {};
}

Status write_lp_pool(const LpPool& op, Sink& sink) {
  const auto is_word = [](const Padding& p) {
    return p.spelling != Spelling::Explicit && p.spelling != Spelling::Valid;
  };
  if (std::ranges::any_of(op.paddings, is_word))
    return fail(Fault::Unsupported, "pads of an Lp pool that depend on a size that is free; give it with --size");
  auto attributes = attributes_of(op, sink, "a pool");
  if (!attributes) return pass(attributes);
  const bool even = std::fmod(op.p, 2) == 0;
  if (op.p != std::floor(op.p) || op.p < 1) return sink.refused("an Lp pool with p = " + std::to_string(op.p));
  if (op.rule == PowerRule::Signed && (!even || has(*attributes, "ceil_mode")))
    return sink.refused("an Lp pool that keeps signs, or scales a partial window up,");
  if ((has(*attributes, "ceil_mode") || has(*attributes, "dilations")) && sink.opset() < 18)
    return sink.too_old("an Lp pool with ceil_mode or dilation", 18);
  attributes->emplace_back("p", static_cast<Size>(op.p));
  sink.last("LpPool", {sink.name()}, std::move(*attributes));
  return {};
}

// Cells of unequal reaches: those of one axis after the other are taken out, reduced and put side by side.
Status write_reaches(const AdaptivePool& op, Sink& sink) {
  const std::string word = op.kind == Extreme::Maximum ? "ReduceMax" : "ReduceMean";
  const DocumentAttribute keeps{"keepdims", Size{1}};
  std::string x = sink.name();
  for (Size i = 0; i < op.axes.space; ++i) {
    const Size axis = op.axes.spatial(i), out = op.out[static_cast<std::size_t>(i)];
    const Size in = *sink.fact().shape[static_cast<std::size_t>(axis)];
    std::vector<std::string> cells;
    for (Size cell = 0; cell < out; ++cell) {
      const Size first = cell * in / out, end = ((cell + 1) * in + out - 1) / out;
      const auto part = sink.step("Slice", {x, sink.numbers({first}), sink.numbers({end}), sink.numbers({axis})});
      cells.push_back(sink.opset() < 18 ? sink.step(word, {part}, {{"axes", Sizes{axis}}, keeps})
                                        : sink.step(word, {part, sink.numbers({axis})}, {keeps}));
    }
    const Attributes along{{"axis", axis}};
    if (i + 1 == op.axes.space) return sink.last("Concat", std::move(cells), along), Status();
    x = sink.step("Concat", std::move(cells), along);
  }
  return sink.broken("a pool over no axis");
}

// One cell per axis is global pooling; windows of equal length are a pool; others are taken one by one.
Status write_adaptive_pool(const AdaptivePool& op, Sink& sink) {
  if (op.axes.order != Order::ChannelsFirst) return sink.broken("a pool with channels last");
  if (op.positions != Positions::None) return sink.refused("an adaptive maximum with positions");
  const bool maximum = op.kind == Extreme::Maximum;
  if (std::ranges::all_of(op.out, [](Size n) { return n == 1; }))
    return sink.last(maximum ? "GlobalMaxPool" : "GlobalAveragePool", {sink.name()}), Status();
  Sizes kernel;
  bool unequal = false;
  for (Size i = 0; i < op.axes.space; ++i) {
    const Dim in = sink.fact().shape[static_cast<std::size_t>(op.axes.spatial(i))];
    const Size out = op.out[static_cast<std::size_t>(i)];
    if (!in.known()) return sink.refused("an adaptive pool over a size that is unknown; give one with --size: it");
    unequal = unequal || *in % out != 0;
    kernel.push_back(*in / out);
  }
  if (unequal) return write_reaches(op, sink);
  Attributes attributes{{"auto_pad", std::string("VALID")}, {"kernel_shape", kernel}, {"strides", kernel}};
  sink.last(maximum ? "MaxPool" : "AveragePool", {sink.name()}, std::move(attributes));
  return {};
}

// With a window of one cell, the wanted size alone says where the numbers go.
Status write_max_unpool(const MaxUnpool& op, Sink& sink) {
  if (op.positions != Positions::Tensor) return sink.refused("an unpool of positions counted another way");
  Sizes ones(op.out.size(), 1), shape;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!sink.fact().shape[i].known()) return sink.refused("an unpool of an unknown batch");
    shape.push_back(*sink.fact().shape[i]);
  }
  shape.insert(shape.end(), op.out.begin(), op.out.end());
  sink.last("MaxUnpool", {sink.name(0), sink.name(1), sink.numbers(shape)},
            {{"kernel_shape", ones}, {"strides", ones}});
  return {};
}

constexpr std::array pooling_table{writes<write_max_pool>(), writes<write_average_pool>(), writes<write_lp_pool>(),
                                   writes<write_adaptive_pool>(), writes<write_max_unpool>()};
static_assert(decides<Pooling>(pooling_table));

}  // namespace

std::span<const Row> pooling_rows() { return pooling_table; }

}  // namespace convoy::onnx
