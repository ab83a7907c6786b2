// TensorProto to Tensor. Lists carry half floats as their bits.
#include "formats/tf/graph/tensor.h"

#include "base/budget.h"
#include "ops/expect.h"

#include <cstring>

namespace convoy::tf {
namespace {

constexpr Size reference = 100;  // DT_FLOAT_REF is 101

template <class T, class From>
std::vector<std::byte> repeated(const std::vector<From>& numbers, Size count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * sizeof(T));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count) && !numbers.empty(); ++i) {
    const T number = static_cast<T>(numbers[std::min(i, numbers.size() - 1)]);
    std::memcpy(bytes.data() + i * sizeof(T), &number, sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> listed(const StoredTensor& stored, DType dtype, Size count) {
  switch (dtype) {
    case DType::F32: return repeated<float>(stored.floats, count);
    case DType::F64: return repeated<double>(stored.doubles, count);
    default: break;
  }
  switch (bytes_of(dtype)) {
    case 8: return repeated<std::int64_t>(stored.integers, count);
    case 4: return repeated<std::int32_t>(stored.integers, count);
    case 2: return repeated<std::uint16_t>(stored.integers, count);
    default: return repeated<std::uint8_t>(stored.integers, count);
  }
}

std::size_t listed_count(const StoredTensor& stored, DType dtype) {
  if (dtype == DType::F32) return stored.floats.size();
  if (dtype == DType::F64) return stored.doubles.size();
  return stored.integers.size();
}

}  // namespace

Shape shape_of(const Sizes& sizes) {
  Shape shape;
  for (const Size size : sizes) shape.push_back(size < 0 ? Dim() : Dim(size));
  return shape;
}

std::optional<DType> dtype_of(Size code) {
  switch (code > reference ? code - reference : code) {
    case 1: return DType::F32;
    case 2: return DType::F64;
    case 3: return DType::I32;
    case 4: return DType::U8;
    case 5: return DType::I16;
    case 6: return DType::I8;
    case 9: return DType::I64;
    case 10: return DType::Bool;
    case 14: return DType::BF16;
    case 17: return DType::U16;
    case 19: return DType::F16;
    case 22: return DType::U32;
    case 23: return DType::U64;
    default: return std::nullopt;
  }
}

std::string type_name(Size code) {
  const auto dtype = dtype_of(code);
  if (dtype) return std::string(name_of(*dtype));
  if (code == 7) return "text";
  return "type " + std::to_string(code);
}

Result<Tensor> tensor_of(const StoredTensor& stored, const std::shared_ptr<const void>& keeper) {
  const auto dtype = dtype_of(stored.type);
  if (!dtype) return fail(Fault::Unsupported, "holds " + type_name(stored.type) + ", which is not carried");
  if (!stored.shape) return fail(Fault::Format, "holds a tensor of unknown rank");
  if (stored.shape->size() > 32) return fail(Fault::Limit, "has " + std::to_string(stored.shape->size()) + " axes");
  const auto count = checked_count(*stored.shape);
  if (!count) return fail(Fault::Format, "has shape " + text_of(*stored.shape) + ", which is negative or too large");
  if (!stored.content.empty()) {
    auto tensor = Tensor::view(*dtype, *stored.shape, stored.content, keeper);
    if (!tensor)
      return fail(Fault::Format, "has " + std::to_string(stored.content.size()) + " bytes for " +
                                     std::to_string(*count) + " numbers of " + std::string(name_of(*dtype)));
    return tensor;
  }
  const std::size_t listed_numbers = listed_count(stored, *dtype);
  if (static_cast<Size>(listed_numbers) > *count)
    return fail(Fault::Format,
                "has " + std::to_string(listed_numbers) + " numbers, its shape holds " + std::to_string(*count));
  if (auto s = budget::afford(checked_multiply(*count, bytes_of(*dtype)), "a repeated number"); !s) return pass(s);
  return Tensor::owning(*dtype, *stored.shape, listed(stored, *dtype, *count));
}

}  // namespace convoy::tf
