#include "prove/terms.h"

#include <algorithm>
#include <set>

namespace convoy {

namespace {

Size kernel_cells(const std::vector<Window>& windows) {
  Size cells = 1;
  for (const Window& window : windows) cells *= window.kernel;
  return cells;
}

Size along(const Sizes& shape, Size axis) { return shape[static_cast<std::size_t>(axis)]; }

}  // namespace

Lengths lengths_of(const std::vector<const Tensor*>& inputs) {
  Lengths lengths;
  for (const Tensor* tensor : inputs) lengths.push_back(tensor ? &tensor->shape() : nullptr);
  return lengths;
}

Size terms_of(const Conv& op, const Lengths& inputs) {
  return input_channels_per_group(op.kernel_order, *inputs[1], op.groups) * kernel_cells(op.windows);
}
Size terms_of(const ConvTranspose& op, const Lengths& inputs) {
  return along(*inputs[0], op.axes.channel()) / op.groups * kernel_cells(op.windows);
}
Size terms_of(const Linear&, const Lengths& inputs) { return inputs[0]->back(); }
Size terms_of(const MatMul&, const Lengths& inputs) { return inputs[0]->back(); }

Size terms_of(const Einsum& op, const Lengths& inputs) {
  const auto arrow = op.equation.find("->"), comma = op.equation.find(',');
  const std::string result = arrow == std::string::npos ? std::string() : op.equation.substr(arrow + 2);
  Size terms = 1;
  std::set<char> seen(result.begin(), result.end());
  for (std::size_t i = 0; i < op.equation.size() && i < arrow; ++i) {
    if (i == comma || !seen.insert(op.equation[i]).second) continue;
    const std::size_t axis = i < comma ? i : i - comma - 1;
    terms *= (*inputs[i < comma ? 0 : 1])[axis];
  }
  return terms;
}

Size terms_of(const AveragePool& op, const Lengths&) { return kernel_cells(op.windows); }
Size terms_of(const LpPool& op, const Lengths&) { return kernel_cells(op.windows); }
Size terms_of(const Fold& op, const Lengths&) { return kernel_cells(op.windows); }

Size terms_of(const AdaptivePool& op, const Lengths& inputs) {
  Size terms = 1;
  for (std::size_t i = 0; i < op.out.size(); ++i) {
    const Size in = along(*inputs[0], op.axes.spatial(static_cast<Size>(i)));
    terms *= ceil_div(in, std::max<Size>(op.out[i], 1)) + 1;
  }
  return terms;
}

Size terms_of(const Reduce& op, const Lengths& inputs) {
  Size terms = 1;
  for (const Size axis : op.axes) terms *= along(*inputs[0], axis);
  return terms;
}

Size terms_of(const Accumulate& op, const Lengths& inputs) { return along(*inputs[0], op.axis); }

}  // namespace convoy
