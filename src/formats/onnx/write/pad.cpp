// Pad, in every mode that ONNX has.
#include "formats/onnx/write/sink.h"

#include <algorithm>
#include <array>
#include <limits>

namespace convoy::onnx {
namespace {

const char* word_of(PadMode mode) {
  switch (mode) {
    case PadMode::Constant: return "constant";
    case PadMode::Reflect: return "reflect";
    case PadMode::Edge: return "edge";
    case PadMode::Wrap: return "wrap";
    case PadMode::Symmetric: return nullptr;
  }
  std::unreachable();
}

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
    const Dim size = sink.fact().shape[i];
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
  const char* mode = word_of(op.mode);
  if (!mode) return write_symmetric(op, sink);
  const bool cuts = std::ranges::any_of(op.before, [](Size n) { return n < 0; }) ||
                    std::ranges::any_of(op.after, [](Size n) { return n < 0; });
  if (op.mode == PadMode::Wrap && sink.opset() < 19)
    return cuts ? sink.too_old("a pad from the other side that also cuts", 19) : write_wrapped(op, sink);
  std::vector<std::string> inputs{sink.name(), sink.numbers(begins_then_ends(op.before, op.after))};
  if (op.mode == PadMode::Constant && op.value != 0) inputs.push_back(sink.number(op.value));
  sink.last("Pad", std::move(inputs), {{"mode", std::string(mode)}});
  return {};
}

constexpr std::array pad_table{
    writes<write_pad>(), lacks<PadToWindow, Sink>("pads that depend on a size known only when the model runs; give "
                                                  "the size with --size")};
static_assert(decides<Padded>(pad_table));

}  // namespace

std::span<const Row> pad_rows() { return pad_table; }

}  // namespace convoy::onnx
