// Pools: maxima, averages and powers over windows or over equal shares, and maxima put back. Source: ATen/native/Pool.h,
// nn/functional.py. Written as modules under their layer's name.
#include "containers/json.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/catalogue/windows.h"
#include "formats/torch/families.h"
#include "ops/expect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

// Pads are at most half a kernel.
WindowArguments pool_of(FunctionCall& call, const WindowRules& rules) {
  const WindowArguments pool = windows_of(call, space_of(call.name), rules);
  const auto [kernel, stride, padding, dilation] = numbers_of(pool.windows, pool.paddings);
  for (std::size_t i = 0; i < kernel.size(); ++i)
    if (2 * padding[i] > kernel[i])
      call.refuse(Fault::Unsupported,
                  "argument 'padding' is " + text_of(padding) + ", more than half of the kernel " + text_of(kernel));
  return pool;
}

// PyTorch wants something to pool on every axis but the batch.
void expect_cells(FunctionCall& call, const Batched& input) {
  if (call.failed()) return;
  for (Size i = 1; i < call.rank(input.value); ++i)
    if (const Dim n = call.dim(input.value, i); n.known() && *n == 0)
      call.refuse(Fault::Unsupported,
                  "input has shape " + text_of(call.shape(input.value)) + ", which holds nothing to pool");
}

// The value, and the positions where they are asked for.
std::vector<ValueId> results(FunctionCall& call, const Batched& input, const std::vector<ValueId>& values) {
  std::vector<ValueId> all;
  for (const ValueId value : values) all.push_back(without_batch(call, input, value));
  return all;
}

Positions positions_of(FunctionCall& call) {
  return call.attrs.truth("return_indices", false) ? Positions::Plane : Positions::None;
}

std::vector<ValueId> max_pool_with(FunctionCall& call, Positions positions) {
  const WindowArguments pool = pool_of(call, {.dilates = true, .ceils = true});
  const Batched input = with_batch(call, call.tensor("input"), pool.axes.space);
  expect_cells(call, input);
  return results(call, input, call.add_all(MaxPool{pool.axes, pool.windows, pool.paddings, positions}, {input.value}));
}

std::vector<ValueId> max_pool(FunctionCall& call) { return max_pool_with(call, positions_of(call)); }
std::vector<ValueId> max_pool_with_indices(FunctionCall& call) { return max_pool_with(call, Positions::Plane); }

// PyTorch's average over three axes alone is not for inputs shorter than the kernel, whatever the padding.
void expect_long_enough(FunctionCall& call, const Batched& input, const WindowArguments& pool) {
  for (Size i = 0; pool.axes.space == 3 && i < 3 && !call.failed(); ++i)
    if (const Dim n = call.dim(input.value, i + 2); n.known() && *n < pool.windows[static_cast<std::size_t>(i)].kernel)
      call.refuse(Fault::Unsupported, "input has shape " + text_of(call.shape(input.value)) +
                                          ", which is shorter than the kernel: PyTorch's 3-D average refuses that, "
                                          "whatever the padding");
}

std::vector<ValueId> avg_pool(FunctionCall& call) {
  const WindowArguments pool = pool_of(call, {.ceils = true});
  const Batched input = with_batch(call, real_tensor(call, "input"), pool.axes.space);
  expect_cells(call, input);
  AveragePool average{pool.axes, pool.windows, pool.paddings, truth_or_default(call, "count_include_pad"), {}};
  if (pool.axes.space > 1 && call.attrs.has("divisor_override")) {
    average.divisor = whole_number(call, "divisor_override");
    if (*average.divisor == 0) call.refuse(Fault::Unsupported, "argument 'divisor_override' is 0");
  }
  expect_long_enough(call, input, pool);
  const ValueId y = call.add(average, {input.value});
  return {without_batch(call, input, y)};
}

// (sum of x^p)^(1/p) as PyTorch computes it: an odd p keeps signs. An infinite p is a maximum or a minimum of |x|.
std::vector<ValueId> lp_pool(FunctionCall& call) {
  const double p = call.attrs.number("norm_type");
  const WindowArguments pool = pool_of(call, {.pads = false, .ceils = true, .lists = ListOfOne::ForOne});
  const Batched input = with_batch(call, call.tensor("input"), pool.axes.space);
  expect_cells(call, input);
  if (p == 0 || std::isnan(p)) call.refuse(Fault::Unsupported, "argument 'norm_type' is " + json_text(p));
  ValueId y;
  if (std::isinf(p)) {
    y = call.add(Unary{Function::Abs}, {input.value});
    if (p < 0) y = call.add(Unary{Function::Negate}, {y});
    y = call.add(MaxPool{pool.axes, pool.windows, pool.paddings}, {y});
    if (p < 0) y = call.add(Unary{Function::Negate}, {y});
  } else {
    expect_long_enough(call, input, pool);
    y = call.add(LpPool{pool.axes, pool.windows, pool.paddings, p, PowerRule::Signed}, {input.value});
  }
  return {without_batch(call, input, y)};
}

// None keeps the size of its axis; the 1-D functions take no None.
Sizes output_size_of(FunctionCall& call, ValueId input, Size space) {
  const Json* argument = call.attrs.raw("output_size");
  const auto has_none = [](const Json& list) { return std::ranges::any_of(list, &Json::is_null); };
  if (!argument || !argument->is_array() || !has_none(*argument)) {
    const Sizes size = per_axis(call, "output_size", space);
    if (argument && argument->is_array() && argument->size() != size.size())
      call.refuse(Fault::Format,
                  "argument 'output_size' is " + argument->dump() + ", expected " + std::to_string(space) + " numbers");
    return size;
  }
  if (space == 1 || static_cast<Size>(argument->size()) != space)
    call.refuse(Fault::Format, "argument 'output_size' is " + argument->dump() + ", expected " + std::to_string(space) +
                                   (space == 1 ? " number" : " numbers"));
  Sizes size;
  for (Size i = 0; i < space && !call.failed(); ++i) {
    const Json& one = (*argument)[static_cast<std::size_t>(i)];
    const Dim n = call.dim(input, i + 2);
    if (one.is_null() && !n.known())
      call.refuse(Fault::Unsupported, "argument 'output_size' is None on an axis whose size is not known");
    size.push_back(one.is_null() ? (n.known() ? *n : 1) : call.attrs.integer_of(&one, "output_size"));
  }
  return size;
}

}  // namespace

std::vector<ValueId> adaptive(FunctionCall& call, ValueId x, Extreme kind, const Sizes& out, Positions positions) {
  expect_least(call, "output_size", out, 0);
  AdaptivePool pool{{Order::ChannelsFirst, static_cast<Size>(out.size())}, kind, out, positions};
  for (Size& n : pool.out) n = std::max<Size>(n, 1);
  auto values = call.add_all(pool, {x});
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i] == 0)
      for (ValueId& value : values) value = call.add(Slice{static_cast<Size>(i) + 2, 0, 0}, {value});
  return values;
}

namespace {

std::vector<ValueId> adaptive_pool(FunctionCall& call, Extreme kind, Positions positions) {
  const Size space = space_of(call.name);
  const Batched input = with_batch(call, call.tensor("input"), space);
  const Sizes out = output_size_of(call, input.value, space);
  expect_cells(call, input);
  return results(call, input, adaptive(call, input.value, kind, out, positions));
}

std::vector<ValueId> adaptive_avg_pool(FunctionCall& call) {
  return adaptive_pool(call, Extreme::Average, Positions::None);
}
std::vector<ValueId> adaptive_max_pool(FunctionCall& call) {
  return adaptive_pool(call, Extreme::Maximum, positions_of(call));
}
std::vector<ValueId> adaptive_max_pool_with_indices(FunctionCall& call) {
  return adaptive_pool(call, Extreme::Maximum, Positions::Plane);
}

// The length that a pool with these windows came from if it dropped nothing, or what the caller knows better: within a
// stride of it.
Sizes unpooled(FunctionCall& call, ValueId input, const WindowArguments& pool) {
  const Size space = pool.axes.space;
  std::optional<Sizes> wanted;
  if (call.attrs.has("output_size")) {
    wanted = whole_numbers(call, "output_size");
    if (static_cast<Size>(wanted->size()) == space + 2) wanted->erase(wanted->begin(), wanted->begin() + 2);
    if (static_cast<Size>(wanted->size()) != space)
      call.refuse(Fault::Format, "argument 'output_size' is " + text_of(*wanted) + ", expected " +
                                     std::to_string(space) + " or " + std::to_string(space + 2) + " numbers");
  }
  Sizes out;
  for (std::size_t i = 0; i < pool.windows.size() && !call.failed(); ++i) {
    const Dim n = call.dim(input, static_cast<Size>(i) + 2);
    if (!n.known()) call.refuse(Fault::Unsupported, "max_unpool needs an input of known size");
    const Size crop = pool.paddings[i].before, stride = pool.windows[i].stride;
    out.push_back(crop_by(crop, crop, pool.windows[i], n.known() ? *n : 1).out);
    if (!wanted) continue;
    const Size asked = (*wanted)[i];
    if (asked <= out[i] - stride || asked >= out[i] + stride)
      call.refuse(Fault::Unsupported, "argument 'output_size' is " + text_of(*wanted) + ", but axis " +
                                          std::to_string(i) + " can be " + std::to_string(out[i] - stride + 1) +
                                          " to " + std::to_string(out[i] + stride - 1) + " cells long");
    out[i] = asked;
  }
  return out;
}

std::vector<ValueId> unpool_to(FunctionCall& call, const Axes& axes, const Batched& input, const Sizes& out) {
  const Batched indices = with_batch(call, call.tensor("indices"), axes.space);
  const ValueId y = call.add(MaxUnpool{axes, out, Positions::Plane}, {input.value, indices.value});
  return {without_batch(call, input, y)};
}

std::vector<ValueId> max_unpool(FunctionCall& call) {
  const WindowArguments pool = windows_of(call, space_of(call.name), {.pads_below_zero = true});
  const Batched input = with_batch(call, call.tensor("input"), pool.axes.space);
  return unpool_to(call, pool.axes, input, unpooled(call, input.value, pool));
}

// ATen's is told the size; its windows say nothing besides.
std::vector<ValueId> max_unpool_to_size(FunctionCall& call) {
  const Axes axes{Order::ChannelsFirst, space_of(call.name)};
  call.attrs.ignore({"stride", "padding"});
  return unpool_to(call, axes, with_batch(call, call.tensor("input"), axes.space),
                   per_axis(call, "output_size", axes.space));
}

Result<WindowLayer> written_pool(const Call& c, std::string kind, Windowed windowed, const auto& pool) {
  if (auto ok = expect_channels_first(c, pool.axes, "a pool"); !ok) return pass(ok);
  const auto form = form_of({Framework::Torch, windowed}, pool.paddings, pool.windows);
  if (!form) return c.broken("padding of a pool that PyTorch has no word for");
  WindowLayer layer{.kind = std::move(kind),
                    .in_front = {},
                    .numbers = numbers_of(pool.windows, pool.paddings),
                    .ceils = *form == Form::RoundedUp};
  return layer;
}
bool pads(const WindowLayer& layer) {
  return std::ranges::any_of(layer.numbers.padding, [](Size p) { return p != 0; });
}

// A maximum with its positions is a function of two results; PyTorch knows the numbering within one plane.
Status finish_with_positions(Call& c, const std::string& function, Positions positions, Size space,
                             std::vector<std::string> arguments) {
  if (positions != Positions::Plane) return c.refused("positions counted beyond one plane");
  arguments.insert(arguments.begin(), c.begin(0).text);
  arguments.emplace_back("return_indices=True");
  c.results(fmt::format("F.{}{}d({})", function, space, joined(arguments)));
  return {};
}

void finish_pool(Call& c, const std::string& constructor) { c.result_of_module(c.module(constructor, {}), c.begin(0)); }

Status write_max_pool(const MaxPool& pool, Call& c) {
  auto layer = written_pool(c, "MaxPool", Windowed::MaxPools, pool);
  if (!layer) return pass(layer);
  if (pool.positions != Positions::None)
    return finish_with_positions(c, "max_pool", pool.positions, pool.axes.space, arguments_of(*layer));
  finish_pool(c, constructor_of(*layer));
  return {};
}

// nn.LPPool has no padding; of magnitudes both rules are one, as long as no window hangs over.
Status write_lp_pool(const LpPool& pool, Call& c) {
  auto layer = written_pool(c, "LPPool", Windowed::Averages, pool);
  if (!layer) return pass(layer);
  if (pads(*layer)) return c.broken("an Lp pool with padding");
  if (std::ranges::any_of(pool.windows, [](Window w) { return w.dilation != 1; }))
    return c.refused("an Lp pool with dilation");
  const bool norm = pool.rule == PowerRule::Norm;
  if (norm && layer->ceils) return c.broken("an Lp pool that rounds up");
  layer->in_front = {number(pool.p)};
  const std::string self = c.module(constructor_of(*layer), {});
  const bool even = std::fmod(pool.p, 2) == 0;
  if (norm && !even) {
    const Expression x = c.begin(0);
    c.result_of_module(self, {postfix(x) + ".abs()", Binds::Atom, x.calls + 1, true, {}});
  } else {
    c.result_of_module(self, c.begin(0));
  }
  return {};
}

Status write_average_pool(const AveragePool& pool, Call& c) {
  if (std::ranges::any_of(pool.windows, [](Window w) { return w.dilation != 1; }))
    return c.refused("an average pool with dilation");
  auto layer = written_pool(c, "AvgPool", Windowed::Averages, pool);
  if (!layer) return pass(layer);
  layer->counts_padding = pool.counts_padding || !pads(*layer);
  layer->divisor = pool.divisor;
  if (pool.divisor && pool.axes.space == 1) return c.refused("a 1-D average pool with a divisor of its own");
  finish_pool(c, constructor_of(*layer));
  return {};
}

Status write_adaptive_pool(const AdaptivePool& pool, Call& c) {
  if (auto ok = expect_channels_first(c, pool.axes, "a pool"); !ok) return ok;
  if (pool.positions != Positions::None)
    return finish_with_positions(c, "adaptive_max_pool", pool.positions, pool.axes.space, {tuple_or_one(pool.out)});
  finish_pool(c, fmt::format("nn.Adaptive{}Pool{}d({})", pool.kind == Extreme::Average ? "Avg" : "Max", pool.axes.space,
                             tuple_or_one(pool.out)));
  return {};
}

// Windows without padding that make just this size: F.max_unpool asks for windows and looks at nothing but the size.
Status write_max_unpool(const MaxUnpool& pool, Call& c) {
  if (auto ok = expect_channels_first(c, pool.axes, "an unpool"); !ok) return ok;
  if (pool.positions != Positions::Plane) return c.refused("positions counted beyond one plane");
  Sizes kernel, stride;
  for (Size i = 0; i < pool.axes.space; ++i) {
    const auto in = c.type(0).shape[static_cast<std::size_t>(pool.axes.spatial(i))].size();
    const auto window = in ? window_to_length(*in, pool.out[static_cast<std::size_t>(i)]) : std::nullopt;
    if (!window) return c.refused("an unpool of unknown size or to fewer cells");
    stride.push_back(window->stride);
    kernel.push_back(window->kernel);
  }
  const std::string x = c.name(0), positions = c.name(1);
  c.result({fmt::format("F.max_unpool{}d({}, {}, {}, stride={})", pool.axes.space, x, positions, tuple_or_one(kernel),
                        tuple_or_one(stride)),
            Binds::Atom,
            1,
            false,
            {}});
  return {};
}

constexpr std::array pooling_table{writes<write_max_pool>(), writes<write_average_pool>(), writes<write_lp_pool>(),
                                   writes<write_adaptive_pool>(), writes<write_max_unpool>()};
static_assert(decides<Pooling>(pooling_table), "every pool needs one row: writes<> or lacks<>");

constexpr std::array rows_of_pools{
    CatalogueRow{"max_pool[123]d nn.MaxPool[123]d",
                 "input:T kernel_size:I stride:I= padding:I=0 dilation:I=1 nn/return_indices:b=False ceil_mode:b=False "
                 "F/return_indices:b=False",
                 max_pool},
    CatalogueRow{"as.max_pool[123]d aten.max_pool[123]d_with_indices",
                 "input:T kernel_size:I stride:I= padding:I=0 dilation:I=1 ceil_mode:b=False -> TT",
                 max_pool_with_indices},
    CatalogueRow{"avg_pool[123]d nn.AvgPool[123]d",
                 "input:T kernel_size:I stride:I= padding:I=0 ceil_mode:b=False count_include_pad:b=True "
                 "[23]/divisor_override:i?=None",
                 avg_pool},
    CatalogueRow{"F.lp_pool[123]d nn.LPPool[123]d", "input:T norm_type:n kernel_size:I stride:I= ceil_mode:b=False",
                 lp_pool},
    CatalogueRow{"adaptive_avg_pool[123]d aten._adaptive_avg_pool[23]d nn.AdaptiveAvgPool[123]d",
                 "input:T output_size:I", adaptive_avg_pool},
    CatalogueRow{"F.adaptive_max_pool[123]d nn.AdaptiveMaxPool[123]d", "input:T output_size:I return_indices:b=False",
                 adaptive_max_pool},
    CatalogueRow{"aten.adaptive_max_pool[123]d", "input:T output_size:I -> TT", adaptive_max_pool_with_indices},
    CatalogueRow{"F.max_unpool[123]d nn.MaxUnpool[123]d",
                 "input:T indices:T kernel_size:I stride:I= padding:I=0 call/output_size:I=", max_unpool},
    CatalogueRow{"aten.max_unpool[23]d", "input:T indices:T output_size:I [3]/stride:I [3]/padding:I",
                 max_unpool_to_size},
};

}  // namespace

std::span<const CatalogueRow> pooling_operators() { return rows_of_pools; }

std::span<const Row> pooling_rows() { return pooling_table; }

}  // namespace convoy::torch
