// Means, sums and extremes over axes.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <ranges>

namespace convoy::torch {
namespace {

Status write_reduce(const Reduce& op, Call& c) {
  if (op.axes.empty()) {
    c.result(c.begin(0));
    return {};
  }
  const Expression x = c.begin(0);
  const std::string axes = op.axes.size() == 1 ? std::to_string(op.axes[0]) : tuple(op.axes);
  const char* keeps = op.keeps_axes ? ", keepdim=True" : "";
  std::string text = postfix(x);
  switch (op.reduction) {
    case Reduction::Mean: text += fmt::format(".mean(dim={}{})", axes, keeps); break;
    case Reduction::Sum: text += fmt::format(".sum(dim={}{})", axes, keeps); break;
    case Reduction::Maximum: text += fmt::format(".amax(dim={}{})", axes, keeps); break;
    case Reduction::Minimum: text += fmt::format(".amin(dim={}{})", axes, keeps); break;
    case Reduction::Product:  // one axis at a time, the last first, so that the others keep their places
      for (const Size axis : op.axes | std::views::reverse) text += fmt::format(".prod(dim={}{})", axis, keeps);
      break;
  }
  c.result({text, Binds::Atom, x.calls + 1, true, {}});
  return {};
}

constexpr std::array rows{writes<write_reduce>()};
static_assert(decides<ReductionFamily>(rows), "every reduction needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> reduction_rows() { return rows; }

}  // namespace convoy::torch
