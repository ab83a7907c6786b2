#include "run/work.h"

#include <algorithm>
#include <cmath>

namespace convoy {
namespace {

constexpr double steps_per_number = 1, steps_per_product = 0.3;

double numbers_in(const std::vector<Dim>& shape) {
  double count = 1;
  for (const Dim n : shape) count *= static_cast<double>(n.size().value_or(1));
  return count;
}

double numbers_in(const Tensor* tensor) { return tensor ? static_cast<double>(tensor->count()) : 0; }

double size_at(const Tensor* tensor, Size axis) {
  if (!tensor || tensor->rank() == 0) return 1;
  const Size at = axis < 0 ? axis + tensor->rank() : axis;
  if (at < 0 || at >= tensor->rank()) return 1;
  return std::max(1.0, static_cast<double>(tensor->shape()[static_cast<std::size_t>(at)]));
}

template <class Windows>
double cells_of(const Windows& windows) {
  double cells = 1;
  for (const Window& w : windows) cells *= static_cast<double>(std::max<Size>(w.kernel, 1));
  return cells;
}

// Products, or comparisons, that the sums of this operator are made of.
template <class O>
double products_of(const O& op, const std::vector<const Tensor*>& inputs, double out) {
  const Tensor* const x = inputs.empty() ? nullptr : inputs[0];
  const Tensor* const w = inputs.size() > 1 ? inputs[1] : nullptr;
  if constexpr (std::is_same_v<O, Conv>) {
    return out * cells_of(op.windows) * size_at(x, op.axes.channel()) /
           static_cast<double>(std::max<Size>(op.groups, 1));
  } else if constexpr (std::is_same_v<O, ConvTranspose>) {
    return numbers_in(x) * numbers_in(w) / size_at(x, op.axes.channel());
  } else if constexpr (std::is_same_v<O, Linear> || std::is_same_v<O, MatMul>) {
    return out * size_at(x, -1);
  } else if constexpr (std::is_same_v<O, Einsum>) {
    double all = out;
    for (const Tensor* one : inputs) all *= std::max(1.0, numbers_in(one));
    return std::max(out, std::sqrt(all));
  } else if constexpr (requires { op.windows; }) {
    return out * cells_of(op.windows);
  } else if constexpr (std::is_same_v<O, LocalResponseNorm>) {
    return out * std::min(size_at(x, op.axis), static_cast<double>(op.before) + static_cast<double>(op.after) + 1);
  } else if constexpr (one_of<Recurrent>::template kind<O> < std::tuple_size_v<Recurrent>) {
    double weights = 0;
    for (std::size_t i = 1; i < inputs.size(); ++i) weights += numbers_in(inputs[i]);
    return numbers_in(x) / size_at(x, -1) * weights;
  } else {
    return 0;
  }
}

}  // namespace

double work_of(const Op& op, const std::vector<const Tensor*>& inputs, const TensorTypes& outputs) {
  double out = 0, in = 0;
  for (const TensorType& type : outputs) out += numbers_in(type.shape);
  for (const Tensor* input : inputs) in += numbers_in(input);
  const double products = op.visit([&](const auto& o) { return products_of(o, inputs, out); });
  return steps_per_number * (in + out) + steps_per_product * products;
}

}  // namespace convoy
