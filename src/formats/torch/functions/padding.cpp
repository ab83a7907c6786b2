// torch.nn.functional.pad and the pad layers: pairs of cells, the last axis first. Source: ATen/native/PadNd.cpp,
// ReflectionPad.cpp, ReplicationPadding.cpp.
#include "formats/torch/functions/arguments.h"
#include "formats/torch/functions/functions.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace convoy::torch {
namespace {

struct Mode {
  std::string_view word;
  PadMode mode;
};
constexpr std::array modes{Mode{"constant", PadMode::Constant}, Mode{"reflect", PadMode::Reflect},
                           Mode{"replicate", PadMode::Edge}, Mode{"circular", PadMode::Wrap}};

// Modes that read the input pad all spatial axes or none.
bool fits(Size rank, Size axes, PadMode mode) {
  if (mode == PadMode::Constant) return axes <= rank;
  return axes >= 1 && axes <= 3 && (rank == axes + 2 || rank == axes + 1);
}

}  // namespace

std::optional<PadMode> mode_of(std::string_view word) {
  const auto found = std::ranges::find(modes, word, &Mode::word);
  if (found == modes.end()) return std::nullopt;
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
  const double value = call.attrs.number("value", 0);
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
  const Json* said = call.attrs.raw("padding");
  const bool listed = said && said->is_array();
  const Sizes pairs = listed ? whole_numbers(call, "padding") : per_axis(call, "padding", 2 * space_of(call.name));
  return {padded(call, x, pairs, mode, value)};
}

template <PadMode Mode>
std::vector<ValueId> layer(FunctionCall& call) {
  return pad_layer(call, Mode, 0);
}

std::vector<ValueId> constant_layer(FunctionCall& call) {
  return pad_layer(call, PadMode::Constant, call.attrs.number("value"));
}

constexpr std::array padding_table{FunctionRow{"pad", "input pad mode value", pad},
                                   FunctionRow{"ZeroPad1d", "padding", layer<PadMode::Constant>},
                                   FunctionRow{"ZeroPad2d", "padding", layer<PadMode::Constant>},
                                   FunctionRow{"ZeroPad3d", "padding", layer<PadMode::Constant>},
                                   FunctionRow{"ConstantPad1d", "padding value", constant_layer},
                                   FunctionRow{"ConstantPad2d", "padding value", constant_layer},
                                   FunctionRow{"ConstantPad3d", "padding value", constant_layer},
                                   FunctionRow{"ReflectionPad1d", "padding", layer<PadMode::Reflect>},
                                   FunctionRow{"ReflectionPad2d", "padding", layer<PadMode::Reflect>},
                                   FunctionRow{"ReflectionPad3d", "padding", layer<PadMode::Reflect>},
                                   FunctionRow{"ReplicationPad1d", "padding", layer<PadMode::Edge>},
                                   FunctionRow{"ReplicationPad2d", "padding", layer<PadMode::Edge>},
                                   FunctionRow{"ReplicationPad3d", "padding", layer<PadMode::Edge>},
                                   FunctionRow{"CircularPad1d", "padding", layer<PadMode::Wrap>},
                                   FunctionRow{"CircularPad2d", "padding", layer<PadMode::Wrap>},
                                   FunctionRow{"CircularPad3d", "padding", layer<PadMode::Wrap>}};

}  // namespace

std::span<const FunctionRow> padding_functions() { return padding_table; }

}  // namespace convoy::torch
