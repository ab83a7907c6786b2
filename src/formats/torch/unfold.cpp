// F.unfold and F.fold, which know two spatial axes and one pad per axis.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <algorithm>

namespace convoy::torch {
namespace {

Result<std::string> windows_of(const Call& c, const std::vector<Window>& windows,
                               const std::vector<Padding>& paddings) {
  if (windows.size() != 2) return c.refused(fmt::format("windows laid out over {} axes", windows.size()));
  Sizes kernel, stride, dilation, pad;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Padding& p = paddings[i];
    const bool plain = p.spelling == Spelling::Valid || (p.spelling == Spelling::Explicit && p.before == p.after);
    if (!plain || p.leftover != Leftover::Drop) return c.refused("windows laid out with unlike pads");
    kernel.push_back(windows[i].kernel);
    stride.push_back(windows[i].stride);
    dilation.push_back(windows[i].dilation);
    pad.push_back(p.spelling == Spelling::Explicit ? p.before : 0);
  }
  std::string text = tuple_or_one(kernel);
  if (dilation != Sizes{1, 1}) text += ", dilation=" + tuple_or_one(dilation);
  if (pad != Sizes{0, 0}) text += ", padding=" + tuple_or_one(pad);
  if (stride != Sizes{1, 1}) text += ", stride=" + tuple_or_one(stride);
  return text;
}

Status write_unfold(const Unfold& op, Call& c) {
  auto windows = windows_of(c, op.windows, op.paddings);
  if (!windows) return pass(windows);
  apply_function(c, "F.unfold", *windows);
  return {};
}

Status write_fold(const Fold& op, Call& c) {
  auto windows = windows_of(c, op.windows, op.paddings);
  if (!windows) return pass(windows);
  apply_function(c, "F.fold", tuple(op.out) + ", " + *windows);
  return {};
}

constexpr std::array unfold_table{writes<write_unfold>(), writes<write_fold>()};
static_assert(decides<Unfolding>(unfold_table), "every laying out of windows needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> unfold_rows() { return unfold_table; }

}  // namespace convoy::torch
