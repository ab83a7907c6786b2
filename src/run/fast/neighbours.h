// Few output channels leave most of a vector empty: then those of several outputs that lie side by side are one row of the product,
// with a window over all cells that any of them reads and zeros in the kernel where one reads none.
#pragma once
#include "run/fast/convolution.h"

#include <optional>
#include <vector>

namespace convoy::fast {

struct Neighbours {
  ConvolutionShape shape;  // whose outputs are the channels of `shape.together` outputs of a line
  std::vector<Size> taps;  // [tap of the window][output]: that of the kernel along the last axis, -1: none
};

// None where it does not pay. `lanes`: numbers of a vector. The steps of the pixels are known.
std::optional<Neighbours> neighbours_of(const ConvolutionShape& shape, Size lanes);

// The kernel of the joined outputs, [tap][channel][output], and its steps.
template <class T, class Stored>
std::vector<T> joined_kernel(const ConvolutionShape& shape, const Neighbours& of, const Stored* kernel,
                             KernelSteps steps) {
  Size outer = 1;
  for (std::size_t a = 0; a + 1 < shape.walks.size(); ++a) outer *= shape.walks[a].taps;
  const Size window = of.shape.walks.back().taps, taps = shape.walks.back().taps, together = of.shape.together;
  std::vector<T> joined(static_cast<std::size_t>(outer * window * shape.inputs * of.shape.outputs));
  T* to = joined.data();
  for (Size t = 0; t < outer * window; ++t)
    for (Size c = 0; c < shape.inputs; ++c)
      for (Size g = 0; g < together; ++g)
        for (Size o = 0; o < shape.outputs; ++o, ++to)
          if (const Size tap = of.taps[static_cast<std::size_t>(t % window * together + g)]; tap >= 0)
            *to = static_cast<T>(kernel[(t / window * taps + tap) * steps.tap + c * steps.channel + o * steps.output]);
  return joined;
}

}  // namespace convoy::fast
