// Pools: maximum (with positions), average, Lp norm, over windows or all of space, and MaxUnpool. MaxPool is written with
// auto_pad=VALID where it has no pads: some runtimes would otherwise fold a zero Pad in front into it, whose own padding is
// minus infinity.
#include "formats/onnx/arguments.h"
#include "formats/onnx/write/sink.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::onnx {
namespace {

struct Pool {
  ValueId x;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
  Axes axes;
};

// What a pool's opset knows, and what its runtime refuses.
struct PoolRules {
  bool skips_cells = true;  // SAME whose total is negative skips cells; otherwise it is refused
};

bool is_same(AutoPad word) { return word == AutoPad::SameUpper || word == AutoPad::SameLower; }

std::vector<Window> pool_windows(FunctionCall& call, std::size_t space) {
  return windows_of(call, call.attrs.sizes("kernel_shape", space));
}

// SAME in the standard's sense where the runtime has it too; elsewhere the runtime's own numbers, for this size alone.
void pad_to_same(FunctionCall& call, Pool& pool, AutoPad word, Leftover leftover, const PoolRules& rules) {
  const bool lower = word == AutoPad::SameLower;
  const std::size_t space = pool.windows.size();
  const bool dilated = std::ranges::any_of(pool.windows, [](Window w) { return w.dilation != 1; });
  std::vector<Added> pads(space);
  bool skips = false, known = true;
  for (std::size_t i = 0; i < space; ++i) {
    const Dim in = call.dim(pool.x, pool.axes.spatial(static_cast<Size>(i)));
    if (in.known()) pads[i] = onnx_pool_pads(pool.windows[i], *in, lower);
    known = known && in.known();
    skips = skips || pads[i].before + pads[i].after < 0;
  }
  if (skips && !rules.skips_cells)
    call.refuse(Fault::Unsupported, "attribute 'auto_pad' asks for negative pads, which the runtime refuses");
  if (!known && (dilated || skips))
    call.refuse(Fault::Unsupported, "attribute 'auto_pad' SAME_UPPER or SAME_LOWER needs known sizes here");
  if (call.failed()) return;
  if (!dilated && !skips) {
    pool.paddings.assign(space, {lower ? Spelling::SameLower : Spelling::SameUpper});
    return;
  }
  Pad cut{Sizes(space + 2, 0), Sizes(space + 2, 0)};
  bool cuts = false;
  for (std::size_t i = 0; i < space; ++i) {
    const Size in = *call.dim(pool.x, pool.axes.spatial(static_cast<Size>(i)));
    const Size before = std::min<Size>(pads[i].before, 0), after = std::min<Size>(pads[i].after, 0);
    Padding padding{Spelling::Explicit, std::max<Size>(pads[i].before, 0), std::max<Size>(pads[i].after, 0), leftover};
    pool.paddings.push_back(padding);
    const auto wanted = place(padding, pool.windows[i], in + before + after);
    const auto fits = [&] {  // the runtime rounds toward zero: there is one window where none fits by a little
      const auto whole = place(pool.paddings.back(), pool.windows[i], in);
      return before == 0 && whole && whole->out == (wanted ? wanted->out : 1);
    };
    // Cells behind the last window need not be cut off, unless a window rounded up would read them.
    if (fits()) continue;
    pool.paddings.back().leftover = Leftover::Drop;
    if (fits()) continue;
    pool.paddings.back() = padding;
    cut.before[i + 2] = before;
    cut.after[i + 2] = after;
    cuts = cuts || before < 0 || after < 0;
  }
  if (cuts) pool.x = call.add(cut, {pool.x});
}

Pool pool_of(FunctionCall& call, const PoolRules& rules) {
  Pool pool{call.tensor("X"), {}, {}, {}};
  const Size space = space_of(call, pool.x);
  pool.axes = channels_first(space);
  pool.windows = pool_windows(call, static_cast<std::size_t>(space));
  const AutoPad word = auto_pad_of(call);
  const Pads pads = pads_of(call, static_cast<std::size_t>(space));
  const Leftover leftover =
      takes(call, "ceil_mode") && call.attrs.truth("ceil_mode", false) ? Leftover::CeilInside : Leftover::Drop;
  if (call.failed()) return pool;
  if (is_same(word)) {
    pad_to_same(call, pool, word, leftover, rules);
    return pool;
  }
  for (std::size_t i = 0; i < pool.windows.size(); ++i) {
    const Size before = word == AutoPad::Valid ? 0 : pads.before[i], after = word == AutoPad::Valid ? 0 : pads.after[i];
    if (before >= pool.windows[i].kernel || after >= pool.windows[i].kernel)
      call.refuse(Fault::Format, "attribute 'pads' holds " + std::to_string(std::max(before, after)) +
                                     ", expected less than the kernel " + std::to_string(pool.windows[i].kernel));
    Padding padding{Spelling::Explicit, before, after, leftover};
    // The runtime rounds toward zero: there is one window where none fits by less than a stride.
    const Dim in = call.dim(pool.x, pool.axes.spatial(static_cast<Size>(i)));
    if (in.known() && !place(padding, pool.windows[i], *in)) padding.leftover = Leftover::Ceil;
    pool.paddings.push_back(padding);
  }
  return pool;
}

std::vector<ValueId> max_pool(FunctionCall& call) {
  const bool positions = call.results > 1;
  const Sizes dilations = takes(call, "dilations") ? call.attrs.list("dilations", Sizes{}) : Sizes{};
  const bool dilated = std::ranges::any_of(dilations, [](Size d) { return d != 1; });
  const ValueId given = call.tensor("X");
  const bool columns = takes(call, "storage_order") && call.attrs.truth("storage_order", false);
  const Pool pool = pool_of(call, {.skips_cells = positions || dilated});
  if (positions && pool.x != given)
    call.refuse(Fault::Unsupported, "positions in an input of which 'auto_pad' skips cells");
  if (call.failed()) return {};
  const Positions kind = !positions ? Positions::None : columns ? Positions::TensorColumns : Positions::Tensor;
  return call.add_all(MaxPool{pool.axes, pool.windows, pool.paddings, kind}, {pool.x});
}

std::vector<ValueId> average_pool(FunctionCall& call) {
  const bool counts = call.attrs.truth("count_include_pad", false);
  const bool rounds_up = takes(call, "ceil_mode") && call.attrs.truth("ceil_mode", false);
  const Pool pool = pool_of(call, {.skips_cells = takes(call, "dilations") || (rounds_up && counts)});
  if (call.failed()) return {};
  return {call.add(AveragePool{pool.axes, pool.windows, pool.paddings, counts, {}}, {pool.x})};
}

Size power_of(FunctionCall& call) {
  const Size p = call.attrs.integer("p", 2);
  if (p < 1) call.refuse(Fault::Format, "attribute 'p' is " + std::to_string(p));
  return p;
}

std::vector<ValueId> lp_pool(FunctionCall& call) {
  const Size p = power_of(call);
  const Pool pool = pool_of(call, {});
  if (call.failed()) return {};
  return {call.add(LpPool{pool.axes, pool.windows, pool.paddings, static_cast<double>(p), PowerRule::Norm}, {pool.x})};
}

Sizes space_axes(FunctionCall& call, ValueId x) {
  Sizes axes = all_axes(space_of(call, x));
  for (Size& axis : axes) axis += 2;
  return axes;
}

std::vector<ValueId> global_pool(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  const Reduction reduction = call.name == "GlobalMaxPool" ? Reduction::Maximum : Reduction::Mean;
  return {call.add(Reduce{reduction, space_axes(call, x), true}, {x})};
}

// (sum |x|^p)^(1/p)
std::vector<ValueId> global_lp_pool(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  const Sizes axes = space_axes(call, x);
  const Size p = power_of(call);
  if (call.failed()) return {};
  const auto power = [&](ValueId value, double exponent, std::string_view word) {
    const ValueId number = call.make_constant(word, Tensor::of(Sizes{}, std::vector{static_cast<float>(exponent)}));
    return call.add(Binary{BinaryFunction::Power}, {value, number});
  };
  const ValueId size = call.add(Unary{p == 2 ? Function::Square : Function::Abs}, {x});
  const ValueId raised = p > 2 ? power(size, static_cast<double>(p), "p") : size;
  const ValueId sum = call.add(Reduce{Reduction::Sum, axes, true}, {raised});
  if (p == 1) return {sum};
  if (p == 2) return {call.add(Unary{Function::Sqrt}, {sum})};
  return {power(sum, 1 / static_cast<double>(p), "root")};
}

// Positions count in the whole output. Without output_shape the output is what a pool with these windows reads.
std::vector<ValueId> max_unpool(FunctionCall& call) {
  const ValueId x = call.tensor("X"), positions = call.tensor("I");
  const auto space = static_cast<std::size_t>(space_of(call, x));
  const auto windows = pool_windows(call, space);
  const Pads pads = pads_of(call, space);
  const auto shape = known_integers(call, "output_shape");
  if (call.failed()) return {};
  if (shape && shape->size() != space + 2)
    call.refuse(Fault::Format,
                "input 'output_shape' is " + text_of(*shape) + ", expected " + std::to_string(space + 2) + " numbers");
  Sizes out;
  for (std::size_t i = 0; i < space && !call.failed(); ++i) {
    const Dim in = call.dim(x, static_cast<Size>(i) + 2);
    constexpr Size most = Size{1} << 30;
    if (shape) {
      out.push_back((*shape)[i + 2]);
    } else if (!in.known() || *in > most) {
      call.refuse(Fault::Unsupported, "without 'output_shape' the input's size must be known");
    } else {
      out.push_back(crop_by(pads.before[i], pads.after[i], windows[i], *in).out);
    }
  }
  if (call.failed()) return {};
  return {call.add(MaxUnpool{channels_first(static_cast<Size>(space)), out, Positions::Tensor}, {x, positions})};
}

// clang-format off
constexpr std::array pooling_table{
    Operator{"MaxPool", {}, "X", "auto_pad:s ceil_mode:i@10 dilations:I@10 kernel_shape:I pads:I storage_order:i@8 strides:I", max_pool, {}, {1, 2}},
    Operator{"AveragePool", {}, "X", "auto_pad:s ceil_mode:i@10 count_include_pad:i dilations:I@19 kernel_shape:I pads:I strides:I", average_pool},
    Operator{"LpPool", {}, "X", "auto_pad:s ceil_mode:i@18 dilations:I@18 kernel_shape:I p:i pads:I strides:I", lp_pool},
    Operator{"GlobalAveragePool", {}, "X", "", global_pool},
    Operator{"GlobalMaxPool", {}, "X", "", global_pool},
    Operator{"GlobalLpPool", {}, "X", "p:i", global_lp_pool},
    Operator{"MaxUnpool", {9}, "X I output_shape?", "kernel_shape:I pads:I strides:I", max_unpool}};
// clang-format on

// ---- written ----------------------------------------------------------------------------------------------------------

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
  return producer && holds_alternative<Pad>(sink.graph()[producer].op);
}

Status write_max_pool(const MaxPool& op, Sink& sink) {
  const DType dtype = sink.graph()[sink.node().inputs[0]].type.dtype;
  if (dtype == DType::I64 || dtype == DType::U64) return sink.refused("the largest of " + std::string(name_of(dtype)));
  Attributes attributes = same_attributes(op);
  if (!is_same(op)) {
    auto argument = attributes_of(op, sink, "a pool");
    if (!argument) return pass(argument);
    attributes = std::move(*argument);
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
    auto argument = attributes_of(op, sink, "a pool");
    if (!argument) return pass(argument);
    attributes = std::move(*argument);
    if (op.counts_padding) attributes.emplace_back("count_include_pad", Size{1});
  } else if (op.counts_padding) {
    attributes.emplace_back("count_include_pad", Size{1});
  }
  if (has(attributes, "dilations") && !sink.takes("AveragePool", "dilations"))
    return sink.too_old("an average over a dilated window", "AveragePool", "dilations");
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
  if ((has(*attributes, "ceil_mode") || has(*attributes, "dilations")) && !sink.takes("LpPool", "dilations"))
    return sink.too_old("an Lp pool with ceil_mode or dilation", "LpPool", "dilations");
  attributes->emplace_back("p", static_cast<Size>(op.p));
  sink.last("LpPool", {sink.name()}, std::move(*attributes));
  return {};
}

// Cells of unequal reaches: those of one axis after the other are taken out, reduced and put side by side.
Status write_reaches(const AdaptivePool& op, Sink& sink) {
  const std::string word = op.kind == Extreme::Maximum ? "ReduceMax" : "ReduceMean";
  std::string x = sink.name();
  for (Size i = 0; i < op.axes.space; ++i) {
    const Size axis = op.axes.spatial(i), out = op.out[static_cast<std::size_t>(i)];
    const Size in = *sink.type().shape[static_cast<std::size_t>(axis)];
    std::vector<std::string> cells;
    for (Size cell = 0; cell < out; ++cell) {
      const Size first = cell * in / out, end = ((cell + 1) * in + out - 1) / out;
      const auto part = sink.step("Slice", {x, sink.numbers({first}), sink.numbers({end}), sink.numbers({axis})});
      cells.push_back(sink.step_with(word, part, "axes", {axis}, {{"keepdims", Size{1}}}));
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
    const Dim in = sink.type().shape[static_cast<std::size_t>(op.axes.spatial(i))];
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
    if (!sink.type().shape[i].known()) return sink.refused("an unpool of an unknown batch");
    shape.push_back(*sink.type().shape[i]);
  }
  shape.insert(shape.end(), op.out.begin(), op.out.end());
  sink.last("MaxUnpool", {sink.name(0), sink.name(1), sink.numbers(shape)},
            {{"kernel_shape", ones}, {"strides", ones}});
  return {};
}

constexpr std::array pooling_writers{writes<write_max_pool>(), writes<write_average_pool>(), writes<write_lp_pool>(),
                                     writes<write_adaptive_pool>(), writes<write_max_unpool>()};
static_assert(decides<Pooling>(pooling_writers));

}  // namespace

std::span<const Operator> pooling_operators() { return pooling_table; }

std::span<const Row> pooling_rows() { return pooling_writers; }

}  // namespace convoy::onnx
