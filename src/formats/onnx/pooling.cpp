// Pools: maximum (with positions), average, Lp norm, over windows or all of space, and MaxUnpool.
#include "formats/onnx/arguments.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

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
  bool dilates = false, rounds_up = false;
  bool skips_cells = true;  // SAME whose total is negative skips cells; otherwise it is refused
};

bool is_same(AutoPad word) { return word == AutoPad::SameUpper || word == AutoPad::SameLower; }

std::vector<Window> pool_windows(FunctionCall& call, std::size_t space, bool dilates) {
  return windows_of(call, call.attrs.sizes("kernel_shape", space), dilates);
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
  pool.windows = pool_windows(call, static_cast<std::size_t>(space), rules.dilates);
  const AutoPad word = auto_pad_of(call);
  const Pads pads = pads_of(call, static_cast<std::size_t>(space));
  const Leftover leftover =
      rules.rounds_up && call.attrs.truth("ceil_mode", false) ? Leftover::CeilInside : Leftover::Drop;
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
  const Sizes dilations = call.opset >= 10 ? call.attrs.list("dilations", Sizes{}) : Sizes{};
  const bool dilated = std::ranges::any_of(dilations, [](Size d) { return d != 1; });
  const ValueId given = call.tensor("X");
  const bool columns = call.opset >= 8 && call.attrs.truth("storage_order", false);
  const Pool pool =
      pool_of(call, {.dilates = call.opset >= 10, .rounds_up = call.opset >= 10, .skips_cells = positions || dilated});
  if (positions && pool.x != given)
    call.refuse(Fault::Unsupported, "positions in an input of which 'auto_pad' skips cells");
  if (call.failed()) return {};
  const Positions kind = !positions ? Positions::None : columns ? Positions::TensorColumns : Positions::Tensor;
  return call.add_all(MaxPool{pool.axes, pool.windows, pool.paddings, kind}, {pool.x});
}

std::vector<ValueId> average_pool(FunctionCall& call) {
  const bool counts = call.attrs.truth("count_include_pad", false);
  const bool rounds_up = call.opset >= 10 && call.attrs.truth("ceil_mode", false);
  const Pool pool = pool_of(call, {.dilates = call.opset >= 19,
                                   .rounds_up = call.opset >= 10,
                                   .skips_cells = call.opset >= 19 || (rounds_up && counts)});
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
  const Pool pool = pool_of(call, {.dilates = call.opset >= 18, .rounds_up = call.opset >= 18});
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
  const auto windows = pool_windows(call, space, false);
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

constexpr std::array pooling_table{FunctionRow{"MaxPool", "X", max_pool},
                                   FunctionRow{"AveragePool", "X", average_pool},
                                   FunctionRow{"LpPool", "X", lp_pool},
                                   FunctionRow{"GlobalAveragePool", "X", global_pool},
                                   FunctionRow{"GlobalMaxPool", "X", global_pool},
                                   FunctionRow{"GlobalLpPool", "X", global_lp_pool},
                                   FunctionRow{"MaxUnpool", "X I output_shape", max_unpool}};

}  // namespace

std::span<const FunctionRow> pooling_functions() { return pooling_table; }

}  // namespace convoy::onnx
