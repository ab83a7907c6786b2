#include "ops/tensor_type.h"

#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy {

TensorType type_of(const Tensor& t) { return {t.dtype(), Shape(t.shape().begin(), t.shape().end())}; }

std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(type_of(tensor).shape);
  return shapes;
}

std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i].known() ? std::to_string(*shape[i]) : std::string(i == 0 ? "N" : "?");
  }
  return text + "]";
}

std::string text_of(const TensorType& type) { return std::string(name_of(type.dtype)) + " " + text_of(type.shape); }

std::optional<Sizes> sizes_of(const Shape& shape) {
  Sizes sizes;
  sizes.reserve(shape.size());
  for (const Dim dim : shape) {
    if (!dim.known()) return std::nullopt;
    sizes.push_back(*dim);
  }
  return sizes;
}

std::string text_of(const Sizes& sizes) {
  std::string text = "[";
  for (const Size n : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + "]";
}

Status expect_rank(std::string_view thing, const TensorType& type, Size rank) {
  if (type.rank() == rank) return {};
  return fail(Fault::Format, std::string(thing) + " has rank " + std::to_string(type.rank()) + " (shape " +
                                 text_of(type.shape) + "), expected " + std::to_string(rank));
}

Status expect_shape(std::string_view thing, const TensorType& type, const Shape& wanted) {
  if (agree(type.shape, wanted)) return {};
  return fail(Fault::Format,
              std::string(thing) + " has shape " + text_of(type.shape) + ", expected " + text_of(wanted));
}

Status expect_axis(Size axis, Size rank) {
  if (axis >= 0 && axis < rank) return {};
  return fail(Fault::Format,
              "axis " + std::to_string(axis) + " does not exist in a tensor of rank " + std::to_string(rank));
}

Status expect_axes(std::string_view thing, const Sizes& axes, Size rank) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (auto status = expect_axis(axes[i], rank); !status) return status;
    if (i > 0 && axes[i] <= axes[i - 1])
      return fail(Fault::Format, std::string(thing) + " " + text_of(axes) + " are not in rising order");
  }
  return {};
}

Status expect_per_axis(std::string_view thing, std::size_t count, Size space) {
  if (static_cast<Size>(count) == space) return {};
  return fail(Fault::Format, std::string(thing) + " has " + std::to_string(count) + " entries, expected " +
                                 std::to_string(space) + " (one per spatial axis)");
}

std::optional<Dim> agreed(Dim a, Dim b) {
  if (!a.known()) return b;
  if (!b.known() || a == b) return a;
  return std::nullopt;
}

bool agree(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b, [](Dim x, Dim y) { return agreed(x, y).has_value(); });
}

Result<Dim> product_of(std::span<const Dim> dims) {
  Sizes known;
  for (const Dim dim : dims)
    if (dim.known()) known.push_back(*dim);
  const auto count = checked_count(known);
  if (!count) return fail(Fault::Limit, "the product of " + text_of(known) + " does not fit in 64 bits");
  return known.size() == dims.size() ? Dim(*count) : Dim::unknown();
}

bool is_floating(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F32 || dtype == DType::F64;
}

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::F16: return 65504;
    case DType::BF16: return 0x1.FEp127;
    case DType::F32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

DType arithmetic(DType dtype) { return is_floating(dtype) ? dtype : DType::F32; }

bool is_unsigned(DType dtype) {
  return dtype == DType::U8 || dtype == DType::U16 || dtype == DType::U32 || dtype == DType::U64;
}

double least_of(DType dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  if (dtype == DType::Bool || is_unsigned(dtype)) return 0;
  return -std::ldexp(1.0, static_cast<int>(8 * bytes_of(dtype)) - 1);
}

DType meeting(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (!is_floating(a) && !is_floating(b)) {
    const bool is_b_wide = bytes_of(b) > bytes_of(a) || (bytes_of(b) == bytes_of(a) && is_unsigned(b));
    const DType wide = is_b_wide ? b : a, other = is_b_wide ? a : b;
    // A type without a sign holds no negative number, however wide it is: the next one with a sign holds both.
    if (is_unsigned(wide) && !is_unsigned(other))
      return wide == DType::U8 ? DType::I16 : wide == DType::U16 ? DType::I32 : DType::I64;
    return wide;
  }
  if (!is_floating(a)) return b;
  if (!is_floating(b)) return a;
  if (bytes_of(a) == bytes_of(b)) return DType::F32;  // the two 16-bit types hold each other's numbers in neither
  return bytes_of(a) > bytes_of(b) ? a : b;
}

}  // namespace convoy
