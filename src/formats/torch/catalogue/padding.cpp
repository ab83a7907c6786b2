// Pads: pairs of cells, the last axis first. Written as F.pad, crops as slices, SAME of an unknown size by a small function.
// Source: ATen/native/PadNd.cpp, ReflectionPad.cpp, ReplicationPadding.cpp.
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "formats/torch/catalogue/same_pad.h"
#include "formats/torch/families.h"
#include "ops/expect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::torch {
namespace {

struct NamedMode {
  std::string_view word;
  PadMode mode;
};
constexpr std::array pad_modes{NamedMode{"constant", PadMode::Constant}, NamedMode{"reflect", PadMode::Reflect},
                               NamedMode{"replicate", PadMode::Edge}, NamedMode{"circular", PadMode::Wrap}};

// Modes that read the input pad all spatial axes or none.
bool fits(Size rank, Size axes, PadMode mode) {
  if (mode == PadMode::Constant) return axes <= rank;
  return axes >= 1 && axes <= 3 && (rank == axes + 2 || rank == axes + 1);
}

}  // namespace

std::string same_total(std::string_view size, std::string_view stride, std::string_view reach) {
  return fmt::format("max((-(-{0} // {1}) - 1) * {1} + {2} - {0}, 0)", size, stride, reach);
}

std::string same_halves(std::string_view total, bool lower) {
  return fmt::format(fmt::runtime(lower ? "{0} - {0} // 2, {0} // 2" : "{0} // 2, {0} - {0} // 2"), total);
}

std::string same_pad_function(bool lower) {
  constexpr std::string_view text =
      R"(def {name}(
    x: Tensor, reach: tuple[int, ...], stride: tuple[int, ...], value: float = 0.0
) -> Tensor:
    """x with the cells that {word} adds around its last axes: their number follows from the size."""
    pads: list[int] = []
    for size, r, s in zip(x.shape[::-1], reach[::-1], stride[::-1]):
        total = {total}
        pads += [{halves}]  # the odd cell goes to the {side}
    return F.pad(x, pads, value=value)
)";
  return fmt::format(text, fmt::arg("name", lower ? "same_lower_pad" : "same_pad"),
                     fmt::arg("word", lower ? "SAME_LOWER" : "SAME"), fmt::arg("total", same_total("size", "s", "r")),
                     fmt::arg("halves", same_halves("total", lower)), fmt::arg("side", lower ? "front" : "end"));
}

std::optional<PadMode> mode_of(std::string_view word) {
  const auto found = std::ranges::find(pad_modes, word, &NamedMode::word);
  if (found == pad_modes.end()) return std::nullopt;
  return found->mode;
}

ValueId padded(FunctionCall& call, ValueId x, const Sizes& pairs, PadMode mode, double value) {
  if (call.failed()) return x;
  const Size rank = call.rank(x), axes = static_cast<Size>(pairs.size()) / 2;
  const std::string text = "pad " + text_of(pairs) + " of an input of shape " + text_of(call.shape(x));
  if (pairs.size() % 2 != 0) call.refuse(Fault::Format, text + ": the numbers are no pairs");
  else if (!fits(rank, axes, mode))
    call.refuse(Fault::Unsupported, text + (mode == PadMode::Constant ? ": more pairs than axes"
                                                                      : ": this mode pads all spatial axes or none"));
  if (call.failed()) return x;
  // Reflected and replicated cells are counted in the whole input, also where some of it is cut off.
  const bool whole = mode == PadMode::Reflect || mode == PadMode::Edge;
  Pad pad{Sizes(static_cast<std::size_t>(rank), 0),
          Sizes(static_cast<std::size_t>(rank), 0),
          mode,
          value,
          whole ? Cutting::Last : Cutting::First,
          false,
          true};
  Size empties = 0;
  for (Size i = 0; i < axes; ++i) {
    const Size axis = rank - 1 - i, before = at(pairs, 2 * i), after = at(pairs, 2 * i + 1);
    const Dim n = call.dim(x, axis);
    if (mode == PadMode::Reflect && n.known() && std::max(before, after) >= *n)
      call.refuse(Fault::Unsupported, text + ": at most " + std::to_string(*n - 1) + " of " + std::to_string(*n) +
                                          " cells can be reflected");
    empties += whole && n.known() && before + after == -*n;
    pad.before[static_cast<std::size_t>(axis)] = before;
    pad.after[static_cast<std::size_t>(axis)] = after;
  }
  if (empties == axes && axes > 0) call.refuse(Fault::Unsupported, text + " leaves nothing on any axis");
  return call.add(pad, {x});
}

namespace {

std::vector<ValueId> pad(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Sizes pairs = whole_numbers(call, "pad");
  const std::string word = call.attrs.word("mode", "constant");
  const bool valued = call.attrs.has("value");
  const double value = number_or_truth(call, "value", 0);
  const auto mode = mode_of(word);
  if (!mode)
    call.refuse(Fault::Format,
                "argument 'mode' is '" + word + "', expected 'constant', 'reflect', 'replicate' or 'circular'");
  else if (*mode != PadMode::Constant && valued && value != 0)
    call.refuse(Fault::Unsupported, "argument 'value' has no meaning with mode '" + word + "'");
  return {padded(call, x, pairs, mode.value_or(PadMode::Constant), value)};
}

// A layer's padding: one number for every side, or the pairs of F.pad.
std::vector<ValueId> pad_layer(FunctionCall& call, PadMode mode, double value) {
  const ValueId x = call.tensor("input");
  const Json* argument = call.attrs.raw("padding");
  const bool listed = argument && argument->is_array();
  const Sizes pairs = listed ? whole_numbers(call, "padding") : per_axis(call, "padding", 2 * space_of(call.name));
  return {padded(call, x, pairs, mode, value)};
}

template <PadMode Mode>
std::vector<ValueId> pad_of_mode(FunctionCall& call) {
  return pad_layer(call, Mode, 0);
}

std::vector<ValueId> constant_pad(FunctionCall& call) {
  return pad_layer(call, PadMode::Constant, call.attrs.number("value"));
}

// The window of the same layer that reads what this node pads: the reason for it.
const std::vector<Window>* window_behind(const Call& c) {
  for (const Node& node : c.graph().nodes) {
    if (node.inputs.empty() || node.inputs[0] != c.node().outputs[0] || node.layer != c.node().layer) continue;
    if (const auto* conv = get_if<Conv>(&node.op)) return &conv->windows;
    if (const auto* pool = get_if<MaxPool>(&node.op)) return &pool->windows;
    if (const auto* pool = get_if<AveragePool>(&node.op)) return &pool->windows;
  }
  return nullptr;
}

// "kernel 4x1: rows 1 before, 2 after"; axes without a pad go unsaid.
std::string reason(const Pad& op, const Call& c) {
  const auto* windows = window_behind(c);
  if (!windows || windows->size() > op.before.size()) return {};
  static constexpr std::array axes2{"rows ", "columns "};
  std::vector<std::string> parts;
  Sizes kernel;
  const std::size_t space = windows->size(), first = op.before.size() - space;
  for (std::size_t i = 0; i < space; ++i) {
    kernel.push_back((*windows)[i].kernel);
    const Size before = op.before[first + i], after = op.after[first + i];
    if (before == 0 && after == 0) continue;
    parts.push_back(fmt::format("{}{} before, {} after", space == 2 ? axes2[i] : "", before, after));
  }
  return fmt::format("kernel {}: {}", fmt::join(kernel, "x"), joined(parts, "; "));
}

Status write_crop(const Pad& op, Call& c) {
  std::string text;
  std::size_t last = 0;
  for (std::size_t i = 0; i < op.before.size(); ++i)
    if (op.before[i] != 0 || op.after[i] != 0) last = i;
  for (std::size_t i = 0; i <= last; ++i) {
    const std::string from = op.before[i] == 0 ? "" : std::to_string(-op.before[i]);
    const std::string to = op.after[i] == 0 ? "" : std::to_string(op.after[i]);
    text += (i == 0 ? "" : ", ") + from + ":" + to;
  }
  apply_method(c, "[" + text + "]");
  return {};
}

constexpr std::string_view symmetric_pad =
    R"(def symmetric_pad(x: Tensor, pads: list[tuple[int, int, int]]) -> Tensor:
    """x mirrored, its border cells repeated; each pad is (axis, before, after)."""
    for axis, before, after in pads:
        first = x.narrow(axis, 0, before).flip(axis)
        last = x.narrow(axis, x.shape[axis] - after, after).flip(axis)
        x = torch.cat([first, x, last], dim=axis)
    return x
)";

Status write_symmetric(const Pad& op, Call& c) {
  std::vector<std::string> pads;
  for (std::size_t i = 0; i < op.before.size(); ++i)
    if (op.before[i] != 0 || op.after[i] != 0)
      pads.push_back(fmt::format("({}, {}, {})", i, op.before[i], op.after[i]));
  c.helper(symmetric_pad);
  const Expression x = c.begin(0);
  c.result({fmt::format("symmetric_pad({}, [{}])", x.text, joined(pads)), Binds::Atom, x.calls + 1, false, {}});
  return {};
}

Status write_pad(const Pad& op, Call& c) {
  const std::size_t rank = op.before.size();
  std::size_t first = rank, any_positive = 0;
  for (std::size_t i = rank; i-- > 0;) {
    if (op.before[i] != 0 || op.after[i] != 0) first = i;
    any_positive += op.before[i] > 0 || op.after[i] > 0;
  }
  if (first == rank) {
    c.result(c.follow(0));
    return {};
  }
  if (op.mode == PadMode::Constant && any_positive == 0) return write_crop(op, c);
  const auto below_zero = [](Size n) { return n < 0; };
  const bool cuts = std::ranges::any_of(op.before, below_zero) || std::ranges::any_of(op.after, below_zero);
  if (op.mode == PadMode::Symmetric)
    return op.repeats || cuts ? c.refused("a symmetric pad that cuts or repeats") : write_symmetric(op, c);
  const std::string mode(op.mode == PadMode::Constant ? ""
                                                      : std::ranges::find(pad_modes, op.mode, &NamedMode::mode)->word);
  const bool cuts_last = op.mode == PadMode::Reflect || op.mode == PadMode::Edge;
  if (!mode.empty() && cuts && (op.cutting == Cutting::Last) != cuts_last)
    return c.refused("a " + mode + " pad that cuts cells off " + (cuts_last ? "first" : "last"));
  if (op.repeats && !mode.empty() && op.mode != PadMode::Edge)
    for (std::size_t i = 0; i < rank; ++i) {
      const auto n = c.type(0).shape[i].size();
      const Size most = std::max(op.before[i], op.after[i]), limit = op.mode == PadMode::Reflect ? 1 : 0;
      if (most > 0 && (!n || most > *n - limit)) return c.refused("a " + mode + " pad that goes round more than once");
    }
  // These modes want the pads of one, two or three axes, in front of which one or two have none.
  std::string begin, end;
  if (!mode.empty()) {
    constexpr std::size_t most_pairs = 3;
    const std::size_t pairs = std::max(rank - first, rank < 3 ? std::size_t{1} : rank - 2);
    if (pairs > most_pairs) return c.refused(fmt::format("a {} pad of {} axes", mode, pairs));
    if (pairs == rank) begin = "[None]", end = "[0]";
    first = rank - pairs;
  }
  Sizes pads;
  for (std::size_t i = rank; i-- > first;) {
    pads.push_back(op.before[i]);
    pads.push_back(op.after[i]);
  }
  std::string more = mode.empty() ? "" : ", mode=\"" + mode + "\"";
  if (mode.empty() && op.value != 0) more = ", value=" + number(op.value);
  const Expression x = c.begin(0);
  c.result({fmt::format("F.pad({}{}, {}{}){}", begin.empty() ? x.text : postfix(x), begin, tuple(pads), more, end),
            Binds::Atom, x.calls + 1, false, reason(op, c)});
  return {};
}

Status write_pad_to_window(const PadToWindow& op, Call& c) {
  const Size rank = c.type(0).rank();
  Sizes reach, stride;
  std::optional<Spelling> word;
  for (Size axis = op.axes.empty() ? rank : op.axes[0]; axis < rank; ++axis) {
    const auto at = std::ranges::find(op.axes, axis);
    reach.push_back(1);
    stride.push_back(1);
    if (at == op.axes.end()) continue;
    const auto i = static_cast<std::size_t>(at - op.axes.begin());
    if (op.paddings[i].spelling == Spelling::Valid) continue;
    const Spelling argument = op.paddings[i].spelling;
    if (argument != Spelling::SameUpper && argument != Spelling::SameLower)
      return c.broken("a pad to fit a window that is not SAME");
    if (word.value_or(argument) != argument)
      return c.refused(
          "a pad that follows from the size (--size gives one), with its odd cell before on one axis and "
          "behind on another,");
    word = argument;
    reach.back() = op.windows[i].reach();
    stride.back() = op.windows[i].stride;
  }
  const bool lower = word == Spelling::SameLower;
  c.helper(same_pad_function(lower));
  const Expression x = c.begin(0);
  const std::string value = op.value == 0 ? "" : ", value=" + number(op.value);
  c.result({fmt::format("{}({}, {}, {}{})", lower ? "same_lower_pad" : "same_pad", x.text, tuple(reach), tuple(stride),
                        value),
            Binds::Atom,
            x.calls + 1,
            true,
            {}});
  return {};
}

constexpr std::array pad_table{writes<write_pad>(), writes<write_pad_to_window>()};
static_assert(decides<Padded>(pad_table), "every pad needs one row: writes<> or lacks<>");

constexpr std::array rows_of_pads{
    CatalogueRow{"pad", "input:T pad:I mode:s='constant' value:f?=None", pad},
    CatalogueRow{"as.pad aten.constant_pad_nd", "input:T pad:I value:n=0", pad},
    CatalogueRow{"nn.ZeroPad[123]d", "padding:I", pad_of_mode<PadMode::Constant>},
    CatalogueRow{"nn.ConstantPad[123]d", "padding:I value:n", constant_pad},
    CatalogueRow{"aten.reflection_pad[123]d nn.ReflectionPad[123]d", "input:T padding:I",
                 pad_of_mode<PadMode::Reflect>},
    CatalogueRow{"aten.replication_pad[123]d nn.ReplicationPad[123]d", "input:T padding:I", pad_of_mode<PadMode::Edge>},
    CatalogueRow{"nn.CircularPad[123]d", "padding:I", pad_of_mode<PadMode::Wrap>},
};

}  // namespace

std::span<const CatalogueRow> padding_operators() { return rows_of_pads; }

std::span<const Row> pad_rows() { return pad_table; }

}  // namespace convoy::torch
