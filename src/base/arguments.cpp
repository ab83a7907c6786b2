// Arrays handed to a function: borrowed where they are dense, gathered where they are not.
#include "convoy/arguments.h"

namespace convoy {
namespace {

template <class T>
Result<Tensor> borrowed(DType dtype, std::span<const T> values, Sizes shape) {
  return Tensor::view(dtype, std::move(shape), std::as_bytes(values), nullptr);
}

Result<Tensor> gathered(const float* data, const Sizes& shape, const Sizes& strides) {
  if (strides.size() != shape.size())
    return fail(Fault::Usage, "an array of " + std::to_string(shape.size()) + " axes has " +
                                  std::to_string(strides.size()) + " strides");
  const auto count = checked_count(shape);
  if (!count) return fail(Fault::Usage, "the shape of an array is negative or too large");
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(*count));
  Sizes at(shape.size(), 0);
  Size place = 0;
  for (Size i = 0; i < *count; ++i) {
    values.push_back(data[place]);
    for (std::size_t a = shape.size(); a-- > 0;) {
      place += strides[a];
      if (++at[a] < shape[a]) break;
      place -= at[a] * strides[a];
      at[a] = 0;
    }
  }
  return Tensor::of(shape, std::move(values));
}

}  // namespace

View::View(std::span<const float> values, Sizes shape) : tensor_(borrowed(DType::F32, values, std::move(shape))) {}
View::View(std::span<const double> values, Sizes shape) : tensor_(borrowed(DType::F64, values, std::move(shape))) {}
View::View(std::span<const std::int64_t> values, Sizes shape)
    : tensor_(borrowed(DType::I64, values, std::move(shape))) {}
View::View(const float* data, Sizes shape, const Sizes& strides) : tensor_(gathered(data, shape, strides)) {}

}  // namespace convoy
