#include "ops/reduction.h"

#include "ops/expect.h"

#include <algorithm>
#include <string>

namespace convoy {

Result<Facts> infer(const Reduce& reduce, const Inputs& in) {
  if (auto s = expect_axes("axes", reduce.axes, in[0].rank()); !s) return pass(s);
  Shape shape;
  for (Size i = 0; i < in[0].rank(); ++i) {
    const Dim size = at(in[0].shape, i);
    if (!std::ranges::binary_search(reduce.axes, i)) {
      shape.push_back(size);
      continue;
    }
    const bool needs_one = reduce.reduction == Reduction::Maximum || reduce.reduction == Reduction::Minimum ||
                           reduce.reduction == Reduction::Mean;
    if (needs_one && size == Dim(0))
      return fail(Fault::Unsupported, "input has shape " + text_of(in[0].shape) + ": axis " + std::to_string(i) +
                                          " holds nothing to reduce");
    if (reduce.keeps_axes) shape.push_back(1);
  }
  const DType dtype = reduce.reduction == Reduction::Mean ? arithmetic(in[0].dtype) : in[0].dtype;
  return one_fact(dtype, std::move(shape));
}

}  // namespace convoy
