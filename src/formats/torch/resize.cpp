// F.interpolate, in the modes whose numbers agree with the graph's; all others were lowered by a pass.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace convoy::torch {
namespace {

struct Mode {
  std::string name, more;
};

std::optional<Mode> mode_of(const Resize& r) {
  const std::size_t space = r.axes.size();
  const bool half = r.coordinates == Coordinates::HalfPixel, aligned = r.coordinates == Coordinates::AlignCorners;
  const std::string corners = aligned ? ", align_corners=True" : "";
  switch (r.interpolation) {
    case Interpolation::Nearest:
      if (r.coordinates == Coordinates::Asymmetric && r.rounding == Rounding::Floor) return Mode{"nearest", ""};
      if (half && r.rounding == Rounding::RoundHalfUp) return Mode{"nearest-exact", ""};
      return std::nullopt;
    case Interpolation::Linear:
      if ((!half && !aligned) || (r.antialias && (space != 2 || aligned))) return std::nullopt;
      return Mode{space == 1   ? "linear"
                  : space == 2 ? "bilinear"
                               : "trilinear",
                  corners + (r.antialias ? ", antialias=True" : "")};
    case Interpolation::Cubic:
      if (space != 2 || r.cubic_table || (!half && !aligned)) return std::nullopt;
      if (r.antialias && half && r.cubic_a == -0.5 && r.drops_outside) return Mode{"bicubic", ", antialias=True"};
      if (r.antialias || r.cubic_a != -0.75 || r.drops_outside) return std::nullopt;
      return Mode{"bicubic", corners};
    default: return std::nullopt;
  }
}

Status write_resize(const Resize& op, Call& c) {
  const Size space = c.fact(0).rank() - 2;
  if (space < 1 || space > 3) return c.refused(fmt::format("a resize of rank {}", c.fact(0).rank()));
  if (op.axes != spatial_axes({Order::ChannelsFirst, space})) return c.broken("a resize of other axes than space");
  if (!op.sizes.empty() && !op.factors.empty()) return c.broken("a resize by factors to other sizes");
  const auto mode = mode_of(op);
  if (!mode) return c.refused("this interpolation");
  std::string to;
  if (!op.sizes.empty()) {
    to = "size=" + tuple(op.sizes);
  } else {
    std::vector<std::string> factors;
    for (const double f : op.factors)
      factors.push_back(f == std::floor(f) ? std::to_string(static_cast<Size>(f)) : number(f));
    const bool equal = std::ranges::all_of(factors, [&](const std::string& f) { return f == factors[0]; });
    to = "scale_factor=" + (equal ? factors[0] : "(" + joined(factors) + ")");
  }
  const Expression x = c.begin(0);
  c.result({fmt::format("F.interpolate({}, {}, mode=\"{}\"{})", x.text, to, mode->name, mode->more),
            Binds::Atom,
            x.calls + 1,
            false,
            {}});
  return {};
}

Status write_grid_sample(const GridSample& op, Call& c) {
  if (c.fact(0).rank() < 4) return c.refused("reading a sequence at computed places");
  const char* mode = op.interpolation == Interpolation::Nearest ? "nearest"
                     : op.interpolation == Interpolation::Cubic ? "bicubic"
                                                                : "bilinear";
  const char* border = op.border == PadMode::Constant ? "zeros" : op.border == PadMode::Edge ? "border" : "reflection";
  const Expression x = c.begin(0), grid = c.follow(1);
  c.result({fmt::format("F.grid_sample({}, {}, mode=\"{}\", padding_mode=\"{}\", align_corners={})", x.text, grid.text,
                        mode, border, op.align_corners ? "True" : "False"),
            Binds::Atom,
            x.calls + grid.calls + 1,
            false,
            {}});
  return {};
}

constexpr std::array resize_table{writes<write_resize>(), writes<write_grid_sample>()};
static_assert(decides<ResizeFamily>(resize_table), "every resize needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> resize_rows() { return resize_table; }

}  // namespace convoy::torch
