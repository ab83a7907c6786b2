// Pad: attributes until opset 10, inputs since; axes since 18, wrap since 19. Negative pads cut cells off first, whatever
// the mode.
#include "formats/onnx/arguments.h"
#include "formats/onnx/write/sink.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <limits>

namespace convoy::onnx {
namespace {

struct Mode {
  std::string_view word;
  PadMode mode;
  Size since;
};
constexpr std::array pad_modes{Mode{"constant", PadMode::Constant, 1}, Mode{"reflect", PadMode::Reflect, 1},
                               Mode{"edge", PadMode::Edge, 1}, Mode{"wrap", PadMode::Wrap, 19}};

PadMode mode_of(FunctionCall& call) {
  const std::string word = call.attrs.word("mode", "constant");
  if (const auto mode = pad_mode_named(word, call.opset)) return *mode;
  call.refuse(Fault::Unsupported, "attribute 'mode' is '" + word + "', which is not known");
  return PadMode::Constant;
}

// Pads of every axis of x.
Pads cells_of(FunctionCall& call, Size rank) {
  const auto numbers = moved_integers(call, "pads");
  const auto listed = takes(call, "axes") ? known_integers(call, "axes") : std::nullopt;
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
  if (takes(call, "value")) value = call.attrs.number("value", 0);
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

// clang-format off
constexpr std::array padding_table{
    Operator{"Pad", {}, "data pads@11 constant_value?@11 axes?@18", "mode:s pads:I@-10 value:f@-10", pad}};
// clang-format on

// ---- written ----------------------------------------------------------------------------------------------------------

// x, with the first `before` and the last `after` cells of one axis turned around and put in front and behind.
std::string mirrored(Sink& sink, const std::string& x, Size axis, Size before, Size after, bool last) {
  constexpr Size beyond = std::numeric_limits<Size>::max();
  const auto turned = [&](Size start, Size stop) {
    return sink.step("Slice",
                     {x, sink.numbers({start}), sink.numbers({stop}), sink.numbers({axis}), sink.numbers({-1})});
  };
  std::vector<std::string> parts;
  if (before > 0) parts.push_back(turned(before - 1, -beyond));
  parts.push_back(x);
  if (after > 0) parts.push_back(turned(-1, -after - 1));
  const Attributes along{{"axis", axis}};
  if (!last) return sink.step("Concat", std::move(parts), along);
  sink.last("Concat", std::move(parts), along);
  return sink.result();
}

// ONNX has no word for a mirror that repeats the border cell.
Status write_symmetric(const Pad& op, Sink& sink) {
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < op.before.size(); ++i)
    if (op.before[i] > 0 || op.after[i] > 0) axes.push_back(i);
  if (axes.empty()) return sink.last("Identity", {sink.name()}), Status();
  std::string x = sink.name();
  for (const std::size_t i : axes)
    x = mirrored(sink, x, static_cast<Size>(i), op.before[i], op.after[i], i == axes.back());
  return {};
}

// Before operator set 19 the other side's cells are taken out and put in front and behind.
Status write_wrapped(const Pad& op, Sink& sink) {
  constexpr Size beyond = std::numeric_limits<Size>::max();
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < op.before.size(); ++i)
    if (op.before[i] > 0 || op.after[i] > 0) axes.push_back(i);
  if (axes.empty()) return sink.last("Identity", {sink.name()}), Status();
  std::string x = sink.name();
  for (const std::size_t i : axes) {
    const auto axis = static_cast<Size>(i);
    const Dim size = sink.type().shape[i];
    if (size.known() && std::max(op.before[i], op.after[i]) > *size)
      return sink.too_old("a pad that goes around an axis more than once", 19);
    const auto part = [&](Size start, Size stop) {
      return sink.step("Slice", {x, sink.numbers({start}), sink.numbers({stop}), sink.numbers({axis})});
    };
    std::vector<std::string> parts;
    if (op.before[i] > 0) parts.push_back(part(-op.before[i], beyond));
    parts.push_back(x);
    if (op.after[i] > 0) parts.push_back(part(0, op.after[i]));
    const Attributes along{{"axis", axis}};
    if (i == axes.back()) return sink.last("Concat", std::move(parts), along), Status();
    x = sink.step("Concat", std::move(parts), along);
  }
  return {};
}

Status write_pad(const Pad& op, Sink& sink) {
  const auto argument = std::ranges::find(pad_modes, op.mode, &Mode::mode);
  if (argument == pad_modes.end()) return write_symmetric(op, sink);
  const bool cuts = std::ranges::any_of(op.before, [](Size n) { return n < 0; }) ||
                    std::ranges::any_of(op.after, [](Size n) { return n < 0; });
  if (sink.opset() < argument->since)
    return cuts ? sink.too_old("a pad from the other side that also cuts", argument->since) : write_wrapped(op, sink);
  std::vector<std::string> inputs{sink.name(), sink.numbers(begins_then_ends(op.before, op.after))};
  if (op.mode == PadMode::Constant && op.value != 0) inputs.push_back(sink.number(op.value));
  sink.last("Pad", std::move(inputs), {{"mode", std::string(argument->word)}});
  return {};
}

constexpr std::array pad_writers{
    writes<write_pad>(), lacks<PadToWindow, Sink>("pads that depend on a size known only when the model runs; give "
                                                  "the size with --size")};
static_assert(decides<Padded>(pad_writers));

}  // namespace

std::optional<PadMode> pad_mode_named(std::string_view word, Size opset) {
  for (const Mode& m : pad_modes)
    if (m.word == word && opset >= m.since) return m.mode;
  return std::nullopt;
}

std::span<const Operator> padding_operators() { return padding_table; }

std::span<const Row> pad_rows() { return pad_writers; }

}  // namespace convoy::onnx
