// Pools as modules under their layer's name; the stride is left out where it is the kernel, as PyTorch takes it then.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

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

// A maximum with its positions is a function of two results; PyTorch knows the numbering within one plane.
Status finish_with_positions(Call& c, const std::string& function, Positions positions, Size space,
                             std::vector<std::string> arguments) {
  if (positions != Positions::Plane) return c.refused("positions counted beyond one plane");
  arguments.insert(arguments.begin(), c.begin(0).text);
  arguments.emplace_back("return_indices=True");
  c.results(fmt::format("F.{}{}d({})", function, space, joined(arguments)));
  return {};
}

void finish_pool(Call& c, const std::string& kind, Size space, const std::vector<std::string>& arguments) {
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
  if (pool.positions != Positions::None)
    return finish_with_positions(c, "max_pool", pool.positions, pool.axes.space, s->arguments);
  finish_pool(c, "MaxPool", pool.axes.space, s->arguments);
  return {};
}

// nn.LPPool has no padding; of magnitudes both rules are one, as long as no window hangs over.
Status write_lp_pool(const LpPool& pool, Call& c) {
  auto s = spoken(c, Windowed::Averages, pool.axes, pool.windows, pool.paddings);
  if (!s) return pass(s);
  if (s->pads) return c.broken("an Lp pool with padding");
  if (std::ranges::any_of(pool.windows, [](Window w) { return w.dilation != 1; }))
    return c.refused("an Lp pool with dilation");
  const bool norm = pool.rule == PowerRule::Norm;
  if (norm && s->ceils) return c.broken("an Lp pool that rounds up");
  if (s->ceils) s->arguments.emplace_back("ceil_mode=True");
  s->arguments.insert(s->arguments.begin(), number(pool.p));
  const std::string self = c.module(fmt::format("nn.LPPool{}d({})", pool.axes.space, joined(s->arguments)), {});
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
  auto s = spoken(c, Windowed::Averages, pool.axes, pool.windows, pool.paddings);
  if (!s) return pass(s);
  if (s->ceils) s->arguments.emplace_back("ceil_mode=True");
  if (s->pads && !pool.counts_padding) s->arguments.emplace_back("count_include_pad=False");
  if (pool.divisor) {
    if (pool.axes.space == 1) return c.refused("a 1-D average pool with a divisor of its own");
    s->arguments.push_back(fmt::format("divisor_override={}", *pool.divisor));
  }
  finish_pool(c, "AvgPool", pool.axes.space, s->arguments);
  return {};
}

Status write_adaptive_pool(const AdaptivePool& pool, Call& c) {
  if (pool.axes.order != Order::ChannelsFirst) return c.broken("a pool with channels last");
  if (pool.axes.space < 1 || pool.axes.space > 3) return c.refused(fmt::format("a pool over {} axes", pool.axes.space));
  if (pool.positions != Positions::None)
    return finish_with_positions(c, "adaptive_max_pool", pool.positions, pool.axes.space, {tuple_or_one(pool.out)});
  finish_pool(c, pool.kind == Extreme::Average ? "AdaptiveAvgPool" : "AdaptiveMaxPool", pool.axes.space,
              {tuple_or_one(pool.out)});
  return {};
}

// Windows without padding that make just this size: F.max_unpool asks for windows and looks at nothing but the size.
Status write_max_unpool(const MaxUnpool& pool, Call& c) {
  if (pool.axes.order != Order::ChannelsFirst) return c.broken("an unpool with channels last");
  if (pool.axes.space < 1 || pool.axes.space > 3)
    return c.refused(fmt::format("an unpool over {} axes", pool.axes.space));
  if (pool.positions != Positions::Plane) return c.refused("positions counted beyond one plane");
  Sizes kernel, stride;
  for (Size i = 0; i < pool.axes.space; ++i) {
    const auto in = c.fact(0).shape[static_cast<std::size_t>(pool.axes.spatial(i))].size();
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

}  // namespace

std::span<const Row> pooling_rows() { return pooling_table; }

}  // namespace convoy::torch
