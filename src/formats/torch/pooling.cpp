// Pools as modules under their layer's name; the stride is left out where it is the kernel, as PyTorch takes it then.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <algorithm>

namespace convoy::torch {
namespace {

struct Spoken {
  std::vector<std::string> arguments;
  bool pads = false, ceils = false;
};

Result<Spoken> spoken(const Call& c, Windowed windowed, const Axes& axes, const std::vector<Window>& windows,
                      const std::vector<Padding>& paddings) {
  if (axes.order != Order::ChannelsFirst) return c.broken("a pool with channels last");
  if (axes.space < 1 || axes.space > 3) return c.refused(fmt::format("a pool over {} axes", axes.space));
  const auto form = form_of({Framework::Torch, windowed}, paddings, windows);
  if (!form) return c.broken("padding of a pool that PyTorch has no word for");
  Sizes kernel, stride, pad;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    kernel.push_back(windows[i].kernel);
    stride.push_back(windows[i].stride);
    pad.push_back(paddings[i].spelling == Spelling::Explicit ? paddings[i].before : 0);
  }
  Spoken s{{tuple_or_one(kernel)}, std::ranges::any_of(pad, [](Size p) { return p != 0; }), *form == Form::RoundedUp};
  if (stride != kernel) s.arguments.push_back("stride=" + tuple_or_one(stride));
  if (s.pads) s.arguments.push_back("padding=" + tuple_or_one(pad));
  return s;
}

void finish(Call& c, const std::string& kind, Size space, const std::vector<std::string>& arguments) {
  const std::string self = c.module(fmt::format("nn.{}{}d({})", kind, space, joined(arguments)), {});
  c.result_of_module(self, c.begin(0));
}

Status write_max_pool(const MaxPool& pool, Call& c) {
  auto s = spoken(c, Windowed::MaxPools, pool.axes, pool.windows, pool.paddings);
  if (!s) return pass(s);
  Sizes dilation;
  for (const Window& w : pool.windows) dilation.push_back(w.dilation);
  if (std::ranges::any_of(dilation, [](Size d) { return d != 1; }))
    s->arguments.push_back("dilation=" + tuple_or_one(dilation));
  if (s->ceils) s->arguments.emplace_back("ceil_mode=True");
  finish(c, "MaxPool", pool.axes.space, s->arguments);
  return {};
}

Status write_average_pool(const AveragePool& pool, Call& c) {
  if (std::ranges::any_of(pool.windows, [](Window w) { return w.dilation != 1; }))
    return c.refused("an average pool with dilation");
  auto s = spoken(c, Windowed::Averages, pool.axes, pool.windows, pool.paddings);
  if (!s) return pass(s);
  if (s->ceils) s->arguments.emplace_back("ceil_mode=True");
  if (s->pads && !pool.counts_padding) s->arguments.emplace_back("count_include_pad=False");
  if (pool.divisor) {
    if (pool.axes.space == 1) return c.refused("a 1-D average pool with a divisor of its own");
    s->arguments.push_back(fmt::format("divisor_override={}", *pool.divisor));
  }
  finish(c, "AvgPool", pool.axes.space, s->arguments);
  return {};
}

Status write_adaptive_pool(const AdaptivePool& pool, Call& c) {
  if (pool.axes.order != Order::ChannelsFirst) return c.broken("a pool with channels last");
  if (pool.axes.space < 1 || pool.axes.space > 3) return c.refused(fmt::format("a pool over {} axes", pool.axes.space));
  finish(c, pool.kind == Extreme::Average ? "AdaptiveAvgPool" : "AdaptiveMaxPool", pool.axes.space,
         {tuple_or_one(pool.out)});
  return {};
}

constexpr std::array rows{writes<write_max_pool>(), writes<write_average_pool>(), writes<write_adaptive_pool>()};
static_assert(decides<Pooling>(rows), "every pool needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> pooling_rows() { return rows; }

}  // namespace convoy::torch
