// Pools as functions and as layers: maxima, averages and powers over windows or over equal shares, and maxima put back.
// Source: ATen/native/Pool.h, nn/functional.py.
#include "formats/torch/functions/arguments.h"
#include "formats/torch/functions/functions.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

struct Pool {
  Axes axes;
  std::vector<Window> windows;
  std::vector<Padding> paddings;
};

// kernel_size, stride, padding, dilation and ceil_mode; `pads` and `dilates` say whether the function has them.
Pool pool_of(FunctionCall& call, bool pads, Dilates dilates, ListOfOne one = ListOfOne::ForAll) {
  const Size space = space_of(call.name);
  const Sizes kernel = per_axis(call, "kernel_size", space, {}, one);
  Pool pool{{Order::ChannelsFirst, space}, windows_of(call, kernel, StrideLeftOut::Kernel, dilates), {}};
  const Sizes padding = pads ? per_axis(call, "padding", space, 0) : Sizes(kernel.size(), 0);
  expect_least(call, "padding", padding, 0);
  const Leftover leftover = call.attrs.truth("ceil_mode", false) ? Leftover::CeilInside : Leftover::Drop;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (2 * padding[i] > kernel[i])
      call.refuse(Fault::Unsupported,
                  "argument 'padding' is " + text_of(padding) + ", more than half of the kernel " + text_of(kernel));
    pool.paddings.push_back({Spelling::Explicit, padding[i], padding[i], leftover});
  }
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

std::vector<ValueId> max_pool(FunctionCall& call) {
  const Pool pool = pool_of(call, true, Dilates::Yes);
  const Batched input = with_batch(call, call.tensor("input"), pool.axes.space);
  expect_cells(call, input);
  return results(call, input,
                 call.add_all(MaxPool{pool.axes, pool.windows, pool.paddings, positions_of(call)}, {input.value}));
}

// PyTorch's average over three axes alone is not for inputs shorter than the kernel, whatever the padding.
void expect_long_enough(FunctionCall& call, const Batched& input, const Pool& pool) {
  for (Size i = 0; pool.axes.space == 3 && i < 3 && !call.failed(); ++i)
    if (const Dim n = call.dim(input.value, i + 2); n.known() && *n < pool.windows[static_cast<std::size_t>(i)].kernel)
      call.refuse(Fault::Unsupported, "input has shape " + text_of(call.shape(input.value)) +
                                          ", which is shorter than the kernel: PyTorch's 3-D average refuses that, "
                                          "whatever the padding");
}

std::vector<ValueId> avg_pool(FunctionCall& call) {
  const Pool pool = pool_of(call, true, Dilates::No);
  const Batched input = with_batch(call, call.tensor("input"), pool.axes.space);
  expect_cells(call, input);
  AveragePool average{pool.axes, pool.windows, pool.paddings, call.attrs.truth("count_include_pad", true), {}};
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
  const Pool pool = pool_of(call, false, Dilates::No, ListOfOne::ForOne);
  const Batched input = with_batch(call, call.tensor("input"), pool.axes.space);
  expect_cells(call, input);
  if (p == 0 || std::isnan(p)) call.refuse(Fault::Unsupported, "argument 'norm_type' is " + Json(p).dump());
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
  const Json* said = call.attrs.raw("output_size");
  const auto has_none = [](const Json& list) { return std::ranges::any_of(list, &Json::is_null); };
  if (!said || !said->is_array() || !has_none(*said)) {
    const Sizes size = per_axis(call, "output_size", space);
    if (said && said->is_array() && said->size() != size.size())
      call.refuse(Fault::Format,
                  "argument 'output_size' is " + said->dump() + ", expected " + std::to_string(space) + " numbers");
    return size;
  }
  if (space == 1 || static_cast<Size>(said->size()) != space)
    call.refuse(Fault::Format, "argument 'output_size' is " + said->dump() + ", expected " + std::to_string(space) +
                                   (space == 1 ? " number" : " numbers"));
  Sizes size;
  for (Size i = 0; i < space && !call.failed(); ++i) {
    const Json& one = (*said)[static_cast<std::size_t>(i)];
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

std::vector<ValueId> adaptive_pool(FunctionCall& call, Extreme kind) {
  const Size space = space_of(call.name);
  const Batched input = with_batch(call, call.tensor("input"), space);
  const Sizes out = output_size_of(call, input.value, space);
  const Positions positions = kind == Extreme::Maximum ? positions_of(call) : Positions::None;
  expect_cells(call, input);
  return results(call, input, adaptive(call, input.value, kind, out, positions));
}

std::vector<ValueId> adaptive_avg_pool(FunctionCall& call) { return adaptive_pool(call, Extreme::Average); }
std::vector<ValueId> adaptive_max_pool(FunctionCall& call) { return adaptive_pool(call, Extreme::Maximum); }

// The length that a pool with these windows came from if it dropped nothing, or what the caller knows better: within a
// stride of it.
Sizes unpooled(FunctionCall& call, ValueId input, const Pool& pool) {
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

std::vector<ValueId> max_unpool(FunctionCall& call) {
  const Size space = space_of(call.name);
  const Sizes kernel = per_axis(call, "kernel_size", space), padding = per_axis(call, "padding", space, 0);
  Pool pool{{Order::ChannelsFirst, space}, windows_of(call, kernel, StrideLeftOut::Kernel, Dilates::No), {}};
  for (const Size p : padding) pool.paddings.push_back({Spelling::Explicit, p, p});
  const Batched input = with_batch(call, call.tensor("input"), space);
  const Batched indices = with_batch(call, call.tensor("indices"), space);
  const Sizes out = unpooled(call, input.value, pool);
  const ValueId y = call.add(MaxUnpool{pool.axes, out, Positions::Plane}, {input.value, indices.value});
  return {without_batch(call, input, y)};
}

constexpr std::string_view max_words = "input kernel_size stride padding dilation ceil_mode return_indices";
constexpr std::string_view avg_words = "input kernel_size stride padding ceil_mode count_include_pad divisor_override";
constexpr std::string_view lp_words = "input norm_type kernel_size stride ceil_mode";
constexpr std::string_view unpool_words = "input indices kernel_size stride padding output_size";
constexpr std::string_view max_layer_words = "kernel_size stride padding dilation return_indices ceil_mode";
constexpr std::string_view avg_layer_words = "kernel_size stride padding ceil_mode count_include_pad divisor_override";
constexpr std::string_view lp_layer_words = "norm_type kernel_size stride ceil_mode";
constexpr std::string_view unpool_layer_words = "kernel_size stride padding";
constexpr std::array pooling_table{
    FunctionRow{"max_pool1d", max_words, max_pool},
    FunctionRow{"max_pool2d", max_words, max_pool},
    FunctionRow{"max_pool3d", max_words, max_pool},
    FunctionRow{"avg_pool1d", "input kernel_size stride padding ceil_mode count_include_pad", avg_pool},
    FunctionRow{"avg_pool2d", avg_words, avg_pool},
    FunctionRow{"avg_pool3d", avg_words, avg_pool},
    FunctionRow{"lp_pool1d", lp_words, lp_pool},
    FunctionRow{"lp_pool2d", lp_words, lp_pool},
    FunctionRow{"lp_pool3d", lp_words, lp_pool},
    FunctionRow{"adaptive_avg_pool1d", "input output_size", adaptive_avg_pool},
    FunctionRow{"adaptive_avg_pool2d", "input output_size", adaptive_avg_pool},
    FunctionRow{"adaptive_avg_pool3d", "input output_size", adaptive_avg_pool},
    FunctionRow{"adaptive_max_pool1d", "input output_size return_indices", adaptive_max_pool},
    FunctionRow{"adaptive_max_pool2d", "input output_size return_indices", adaptive_max_pool},
    FunctionRow{"adaptive_max_pool3d", "input output_size return_indices", adaptive_max_pool},
    FunctionRow{"max_unpool1d", unpool_words, max_unpool},
    FunctionRow{"max_unpool2d", unpool_words, max_unpool},
    FunctionRow{"max_unpool3d", unpool_words, max_unpool},
    FunctionRow{"MaxPool1d", max_layer_words, max_pool},
    FunctionRow{"MaxPool2d", max_layer_words, max_pool},
    FunctionRow{"MaxPool3d", max_layer_words, max_pool},
    FunctionRow{"AvgPool1d", "kernel_size stride padding ceil_mode count_include_pad", avg_pool},
    FunctionRow{"AvgPool2d", avg_layer_words, avg_pool},
    FunctionRow{"AvgPool3d", avg_layer_words, avg_pool},
    FunctionRow{"LPPool1d", lp_layer_words, lp_pool},
    FunctionRow{"LPPool2d", lp_layer_words, lp_pool},
    FunctionRow{"LPPool3d", lp_layer_words, lp_pool},
    FunctionRow{"AdaptiveAvgPool1d", "output_size", adaptive_avg_pool},
    FunctionRow{"AdaptiveAvgPool2d", "output_size", adaptive_avg_pool},
    FunctionRow{"AdaptiveAvgPool3d", "output_size", adaptive_avg_pool},
    FunctionRow{"AdaptiveMaxPool1d", "output_size return_indices", adaptive_max_pool},
    FunctionRow{"AdaptiveMaxPool2d", "output_size return_indices", adaptive_max_pool},
    FunctionRow{"AdaptiveMaxPool3d", "output_size return_indices", adaptive_max_pool},
    FunctionRow{"MaxUnpool1d", unpool_layer_words, max_unpool},
    FunctionRow{"MaxUnpool2d", unpool_layer_words, max_unpool},
    FunctionRow{"MaxUnpool3d", unpool_layer_words, max_unpool}};

}  // namespace

std::span<const FunctionRow> pooling_functions() { return pooling_table; }

}  // namespace convoy::torch
