#include "ops/pad.h"

#include "ops/expect.h"

#include <algorithm>
#include <string>

namespace convoy {

namespace {

// The most cells that a mode can add on one side of n cells.
std::optional<Size> most_added(const Pad& pad, Size n) {
  if (pad.repeats) return std::nullopt;
  if (pad.mode == PadMode::Reflect) return n - 1;
  if (pad.mode == PadMode::Symmetric || pad.mode == PadMode::Wrap) return n;
  return std::nullopt;
}

std::string_view word_of(PadMode mode) {
  switch (mode) {
    case PadMode::Constant: return "constant";
    case PadMode::Reflect: return "reflect";
    case PadMode::Symmetric: return "symmetric";
    case PadMode::Edge: return "edge";
    case PadMode::Wrap: return "wrap";
  }
  std::unreachable();
}

Result<Dim> padded(const Pad& pad, Dim size, Size before, Size after, std::size_t axis) {
  const std::string text =
      "pad of " + std::to_string(before) + " and " + std::to_string(after) + " cells on axis " + std::to_string(axis);
  constexpr Size most = Size{1} << 40;
  if (before < -most || before > most || after < -most || after > most) return fail(Fault::Limit, text);
  if (!size.known()) return before == 0 && after == 0 ? size : Dim::unknown();
  if (before == 0 && after == 0) return size;
  if (*size > most) return fail(Fault::Limit, text + ", which has " + std::to_string(*size) + " cells");
  const Size left = *size + std::min<Size>(before, 0) + std::min<Size>(after, 0), out = *size + before + after;
  const Size seen = pad.cutting == Cutting::First ? left : *size;
  if (out < (pad.may_be_empty ? 0 : 1) || seen < 0 || (seen == 0 && out > 0 && pad.mode != PadMode::Constant))
    return fail(Fault::Unsupported, text + " leaves no cell of " + std::to_string(*size));
  if (out == 0) return Dim(0);
  if (const auto limit = most_added(pad, seen); limit && (before > *limit || after > *limit))
    return fail(Fault::Unsupported, std::string(word_of(pad.mode)) + " " + text + ", which has " +
                                        std::to_string(seen) + ": at most " + std::to_string(*limit) + " can be added");
  return Dim(out);
}

}  // namespace

Result<TensorTypes> infer(const Pad& pad, const Inputs& in) {
  const Shape& from = in[0].shape;
  if (pad.before.size() != from.size() || pad.after.size() != from.size())
    return fail(Fault::Format, "pad has " + std::to_string(pad.before.size()) + " and " +
                                   std::to_string(pad.after.size()) + " entries, but the input has shape " +
                                   text_of(from));
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto dim = padded(pad, from[i], pad.before[i], pad.after[i], i);
    if (!dim) return std::unexpected(dim.error());
    shape.push_back(*dim);
  }
  return one_type(in[0].dtype, std::move(shape));
}

Result<TensorTypes> infer(const PadToWindow& pad, const Inputs& in) {
  if (auto s = expect_axes("axes", pad.axes, in[0].rank()); !s) return pass(s);
  const auto space = static_cast<Size>(pad.axes.size());
  if (auto s = expect_per_axis("windows", pad.windows.size(), space); !s) return pass(s);
  if (auto s = expect_per_axis("padding", pad.paddings.size(), space); !s) return pass(s);
  Shape shape = in[0].shape;
  for (std::size_t i = 0; i < pad.axes.size(); ++i) {
    Dim& size = at(shape, pad.axes[i]);
    const Window& window = pad.windows[i];
    if (!window.sane()) return fail(Fault::Format, "window of " + std::to_string(window.kernel) + " cells");
    if (!size.known()) continue;
    const auto added = pads_to_window(pad.paddings[i], window, *size);
    if (!added)
      return fail(Fault::Unsupported, "no window of " + std::to_string(window.kernel) + " cells fits: input size " +
                                          std::to_string(*size) + " on axis " + std::to_string(pad.axes[i]));
    size = *size + added->before + added->after;
  }
  return one_type(in[0].dtype, std::move(shape));
}

}  // namespace convoy
