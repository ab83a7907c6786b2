// Pad: attributes until opset 10, inputs since; axes since 18, wrap since 19. Negative pads cut cells off first, whatever
// the mode.
#include "formats/onnx/arguments.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

struct Mode {
  std::string_view word;
  PadMode mode;
  Size since;
};
constexpr std::array modes{Mode{"constant", PadMode::Constant, 1}, Mode{"reflect", PadMode::Reflect, 1},
                           Mode{"edge", PadMode::Edge, 1}, Mode{"wrap", PadMode::Wrap, 19}};

PadMode mode_of(FunctionCall& call) {
  const std::string word = call.attrs.word("mode", "constant");
  for (const Mode& m : modes)
    if (m.word == word && call.opset >= m.since) return m.mode;
  call.refuse(Fault::Unsupported, "attribute 'mode' is '" + word + "', which is not known");
  return PadMode::Constant;
}

// Pads of every axis of x.
Pads cells_of(FunctionCall& call, Size rank) {
  const auto numbers = moved_integers(call, "pads", 11);
  const auto listed = call.opset >= 18 ? known_integers(call, "axes") : std::nullopt;
  Pads pads{numbers.has_value(), Sizes(static_cast<std::size_t>(rank), 0), Sizes(static_cast<std::size_t>(rank), 0)};
  if (call.failed()) return pads;
  if (!numbers) {
    call.refuse(Fault::Format, "'pads' is missing");
    return pads;
  }
  Sizes axes = listed ? *listed : all_axes(rank);
  for (Size& axis : axes) axis = axis_of(call, "axes", axis, rank);
  if (numbers->size() != 2 * axes.size()) {
    call.refuse(Fault::Format, "'pads' has " + std::to_string(numbers->size()) + " numbers, expected " +
                                   std::to_string(2 * axes.size()) + " (" + std::to_string(axes.size()) +
                                   " axes, begins then ends)");
    return pads;
  }
  axes_of(call, "axes", axes, rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    pads.before[static_cast<std::size_t>(axes[i])] = (*numbers)[i];
    pads.after[static_cast<std::size_t>(axes[i])] = (*numbers)[i + axes.size()];
  }
  return pads;
}

std::vector<ValueId> pad(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  const PadMode mode = mode_of(call);
  const Pads pads = cells_of(call, call.rank(x));
  double value = 0;
  if (call.opset < 11) value = call.attrs.number("value", 0);
  else value = known_number(call, "constant_value").value_or(0);
  for (std::size_t i = 0; mode != PadMode::Constant && i < pads.before.size(); ++i) {
    const Dim size = call.dim(x, static_cast<Size>(i));
    const auto grown = checked_add(std::min<Size>(pads.before[i], 0), std::min<Size>(pads.after[i], 0));
    const bool cuts = !grown || *grown < 0;
    if (cuts && size.known() && (!grown || *grown <= -*size))
      call.refuse(Fault::Format, "'pads' cuts off all " + std::to_string(*size) + " cells of axis " +
                                     std::to_string(i) + ", which leaves this mode nothing to repeat");
  }
  if (call.failed()) return {};
  return {call.add(Pad{pads.before, pads.after, mode, value, Cutting::First, mode == PadMode::Wrap, true}, {x})};
}

constexpr std::array padding_table{FunctionRow{"Pad", "data pads constant_value axes", pad}};

}  // namespace

std::span<const FunctionRow> padding_functions() { return padding_table; }

}  // namespace convoy::onnx
