// Means, sums and extremes over axes.
#include "formats/torch/families.h"

#include <fmt/format.h>
#include <algorithm>
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

// PyTorch answers with the first of equal numbers; the last of them is the first from behind.
Status write_arg_extreme(const ArgExtreme& op, Call& c) {
  const std::string keeps = op.keeps_axis ? ", keepdim=True" : "", function = op.largest ? "argmax" : "argmin";
  if (!op.last) {
    apply_method(c, fmt::format(".{}(dim={}{})", function, op.axis, keeps));
    return {};
  }
  const std::string x = c.name(0);
  c.result({fmt::format("{0}.shape[{1}] - 1 - {0}.flip({1}).{2}(dim={1}{3})", x, op.axis, function, keeps), Binds::Sum,
            3, false, "of equal numbers the last"});
  return {};
}

bool tells_places(const Call& c) {
  const ValueId places = c.node().outputs.back();
  const auto reads = [places](const Node& node) { return std::ranges::find(node.inputs, places) != node.inputs.end(); };
  return std::ranges::any_of(c.graph().nodes, reads) ||
         std::ranges::find(c.graph().outputs, places) != c.graph().outputs.end();
}

// torch.topk names any of equal numbers, torch.sort can be told to keep their order.
Status write_top_k(const TopK& op, Call& c) {
  const Expression x = c.begin(0);
  if (op.stable && tells_places(c)) {
    const std::string sorted =
        fmt::format("torch.sort({}, dim={}{}, stable=True)", x.text, op.axis, op.largest ? ", descending=True" : "");
    const bool all = c.fact().shape[static_cast<std::size_t>(op.axis)] == Dim(op.count);
    c.results(all ? sorted : fmt::format("(part.narrow({}, 0, {}) for part in {})", op.axis, op.count, sorted));
    return {};
  }
  c.results(
      fmt::format("torch.topk({}, {}, dim={}{})", x.text, op.count, op.axis, op.largest ? "" : ", largest=False"));
  return {};
}

Status write_accumulate(const Accumulate& op, Call& c) {
  const std::string function = op.reduction == Reduction::Sum ? "cumsum" : "cumprod";
  const std::string turn = op.backwards ? fmt::format(".flip({})", op.axis) : std::string();
  if (!op.exclusive) {
    apply_method(c, fmt::format("{}.{}(dim={}){}", turn, function, op.axis, turn));
    return {};
  }
  // What lies before: the running numbers moved on by one, behind what nothing adds up to.
  const std::string x = c.name(0), begin = op.reduction == Reduction::Sum ? "zeros_like" : "ones_like";
  c.result({fmt::format("torch.cat([torch.{0}({1}{2}.narrow({3}, 0, 1)), {1}{2}.{4}(dim={3}).narrow({3}, 0, "
                        "{1}.shape[{3}] - 1)], dim={3}){2}",
                        begin, x, turn, op.axis, function),
            Binds::Atom, 4, false, "each number counts from the next one on"});
  return {};
}

constexpr std::array reduction_table{writes<write_reduce>(), writes<write_arg_extreme>(), writes<write_top_k>(),
                                     writes<write_accumulate>()};
static_assert(decides<ReductionFamily>(reduction_table), "every reduction needs one row: writes<> or lacks<>");

}  // namespace

std::span<const Row> reduction_rows() { return reduction_table; }

}  // namespace convoy::torch
