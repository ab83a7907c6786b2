// What an average pool divides by. The divisors of all axes are multiplied; `divisor_override` replaces the product.
#pragma once
#include "ops/padding.h"

namespace convoy {

// Does padding count? Counted: TensorFlow, Keras, TFLite and ONNX by default say Inside, PyTorch and Core ML
// by default WithPadding. The overhang of a ceil window lies behind the declared padding and never counts.
enum class Counting : std::uint8_t { Inside, WithPadding };

// The taps of window o that count, with dilation too. Without dilation, for a window that starts at a:
// min(a + kernel, in + after) - a with padding, min(a + kernel, in) - max(a, 0) without. 0: the window sees no cell.
// Source: PyTorch AvgPoolKernel.cpp; ONNX AveragePool 19 for dilation.
constexpr Size divisor(Placement at, Window w, Size in, Size o, Counting counting) {
  if (counting == Counting::Inside) return taps_inside(at, w, in, o).count;
  return taps_within(at, w, o, -at.before, in + at.after).count;
}

// What takes the sum of a window over padding zeros, divided by the whole kernel, to its average. Nothing: it sees no cell.
constexpr std::optional<double> whole_to_counted(Placement at, Window w, Size in, Size o, Counting counting) {
  const Size counted = divisor(at, w, in, o, counting);
  if (counted == 0) return std::nullopt;
  return static_cast<double>(w.kernel) / static_cast<double>(counted);
}

// Do two averages that read the same cells divide by the same numbers? Only the last window can hang over the padding.
constexpr bool divide_alike(Placement a, Placement b, Window w, Size in, Counting counting) {
  return counting == Counting::Inside ||
         divisor(a, w, in, a.out - 1, counting) == divisor(b, w, in, b.out - 1, counting);
}

// The same average at this size.
constexpr bool averages_alike_at(Padding a, Padding b, Window w, Size in, Counting counting) {
  const auto pa = place(a, w, in), pb = place(b, w, in);
  if (!pa || !pb) return pa.has_value() == pb.has_value();
  return pa->reads_like(*pb) && divide_alike(*pa, *pb, w, in, counting);
}

}  // namespace convoy
