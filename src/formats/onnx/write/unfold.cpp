// Windows laid out as columns: a grouped convolution whose kernels hold a single one each; and the way back, Col2Im.
#include "formats/onnx/write/sink.h"

#include <array>

namespace convoy::onnx {
namespace {

struct Numbers {
  Sizes kernel, strides, dilations, before, after;
  Size taps = 1;
};

template <class Op>
std::optional<Numbers> numbers_of(const Op& op) {
  Numbers n;
  for (std::size_t i = 0; i < op.windows.size(); ++i) {
    const Padding& p = op.paddings[i];
    if ((p.spelling != convoy::Spelling::Explicit && p.spelling != convoy::Spelling::Valid) ||
        p.leftover != Leftover::Drop)
      return std::nullopt;
    const bool argument = p.spelling == convoy::Spelling::Explicit;
    n.kernel.push_back(op.windows[i].kernel);
    n.strides.push_back(op.windows[i].stride);
    n.dilations.push_back(op.windows[i].dilation);
    n.before.push_back(argument ? p.before : 0);
    n.after.push_back(argument ? p.after : 0);
    n.taps *= op.windows[i].kernel;
  }
  return n;
}

// Channel c * taps + tap of the convolution is the cell of channel c that this tap reads.
Status write_unfold(const Unfold& op, Sink& sink) {
  const auto numbers = numbers_of(op);
  if (!numbers) return sink.broken("a padding by a word");
  const Dim channels = sink.type().shape[1];
  if (!channels.known()) return sink.refused("laying out windows of an unknown number of channels");
  const Size rows = *channels * numbers->taps;
  std::vector<float> ones(static_cast<std::size_t>(rows * numbers->taps), 0.0F);
  for (Size row = 0; row < rows; ++row) ones[static_cast<std::size_t>(row * numbers->taps + row % numbers->taps)] = 1;
  Sizes shape{rows, 1};
  shape.insert(shape.end(), numbers->kernel.begin(), numbers->kernel.end());
  const auto kernel = sink.stored("ones", Tensor::of(shape, std::move(ones)).converted(sink.type().dtype));
  const auto cells = sink.step("Conv", {sink.name(), kernel},
                               {{"dilations", numbers->dilations},
                                {"group", *channels},
                                {"kernel_shape", numbers->kernel},
                                {"pads", begins_then_ends(numbers->before, numbers->after)},
                                {"strides", numbers->strides}});
  sink.last("Reshape", {cells, sink.numbers({0, rows, -1})});
  return {};
}

Status write_fold(const Fold& op, Sink& sink) {
  if (!sink.knows("Col2Im")) return sink.too_old("adding columns back into space", "Col2Im");
  const auto numbers = numbers_of(op);
  if (!numbers) return sink.broken("a padding by a word");
  sink.last("Col2Im", {sink.name(), sink.numbers(op.out), sink.numbers(numbers->kernel)},
            {{"dilations", numbers->dilations},
             {"pads", begins_then_ends(numbers->before, numbers->after)},
             {"strides", numbers->strides}});
  return {};
}

constexpr std::array unfold_table{writes<write_unfold>(), writes<write_fold>()};
static_assert(decides<Unfolding>(unfold_table));

}  // namespace

std::span<const Row> unfold_rows() { return unfold_table; }

}  // namespace convoy::onnx
