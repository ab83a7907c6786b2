// TensorProto to Tensor. Short lists carry half floats and small integers as 32-bit numbers.
#include "formats/onnx/tensor.h"

#include "base/sha1.h"
#include "formats/onnx/narrow_types.h"
#include "formats/onnx/types.h"
#include "ops/expect.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace convoy::onnx {
namespace {

Result<Size> count_of(const StoredTensor& stored) {
  if (stored.dims.size() > 32) return fail(Fault::Limit, "has " + std::to_string(stored.dims.size()) + " axes");
  const auto count = checked_count(stored.dims);
  if (!count) return fail(Fault::Format, "has shape " + text_of(stored.dims) + ", which is negative or too large");
  return *count;
}

template <class T, class From>
std::vector<std::byte> bytes_as(const std::vector<From>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const T number = static_cast<T>(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &number, sizeof(T));
  }
  return bytes;
}

// The list that a type's numbers stand in, in the type's own width.
std::vector<std::byte> listed(const StoredTensor& stored, DType dtype) {
  switch (dtype) {
    case DType::F32: return bytes_as<float>(stored.floats);
    case DType::F64: return bytes_as<double>(stored.doubles);
    case DType::I64:
    case DType::U64: return bytes_as<std::int64_t>(stored.integers);
    case DType::I32:
    case DType::U32: return bytes_as<std::int32_t>(stored.integers);
    case DType::F16:
    case DType::BF16:
    case DType::I16:
    case DType::U16: return bytes_as<std::uint16_t>(stored.integers);
    default: return bytes_as<std::uint8_t>(stored.integers);
  }
}

Result<Size> number_in(const StoredTensor& stored, const char* key, Size otherwise) {
  const auto found = stored.outside.find(key);
  if (found == stored.outside.end()) return otherwise;
  const std::string& text = found->second;
  Size number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    return fail(Fault::Format, "external data has " + std::string(key) + " '" + text + "', expected a whole number");
  return number;
}

std::unexpected<Error> of_other_size(const StoredTensor& stored, std::size_t bytes) {
  return fail(Fault::Format, "has shape " + text_of(stored.dims) + " and " + std::to_string(bytes) + " bytes");
}

}  // namespace

Result<TensorSource::Span> TensorSource::outside(const StoredTensor& stored) {
  const auto location = stored.outside.find("location");
  if (location == stored.outside.end()) return fail(Fault::Format, "external data names no location");
  auto& file = files_[location->second];
  if (!file) {
    const auto moved = elsewhere_.find(location->second);
    auto opened = within("external data", moved == elsewhere_.end() ? open_beneath(folder_.string(), location->second)
                                                                    : open_file(moved->second.string()));
    if (!opened) return pass(opened);
    file = std::move(*opened);
    if (const auto sum = stored.outside.find("checksum"); sum != stored.outside.end())
      if (sha1_hex(file->bytes()) != sum->second)
        return fail(Fault::Format, "external data '" + location->second + "' has another checksum than the model says");
  }
  const auto size = static_cast<Size>(file->bytes().size());
  const auto offset = number_in(stored, "offset", 0);
  if (!offset) return std::unexpected(offset.error());
  const auto length = number_in(stored, "length", std::max<Size>(size - *offset, 0));
  if (!length) return std::unexpected(length.error());
  if (*offset > size || *length > size - *offset)
    return fail(Fault::Truncated, "external data '" + location->second + "' ends at byte " + std::to_string(size) +
                                      ", the tensor needs " + std::to_string(*length) + " bytes at byte " +
                                      std::to_string(*offset));
  return Span{file->bytes().subspan(static_cast<std::size_t>(*offset), static_cast<std::size_t>(*length)), file};
}

// In a list, each number is one byte of what is packed.
Result<Tensor> TensorSource::narrow_tensor(const StoredTensor& stored, Size count) {
  const std::vector<std::byte> list =
      stored.external || stored.raw ? std::vector<std::byte>{} : listed(stored, DType::U8);
  Bytes bytes = stored.raw ? stored.raw_bytes : Bytes(list);
  if (stored.external) {
    auto found = outside(stored);
    if (!found) return pass(found);
    bytes = found->bytes;
  }
  if (static_cast<Size>(bytes.size()) != bytes_of_narrow(stored.type, count))
    return of_other_size(stored, bytes.size());
  return widened(stored.type, stored.dims, bytes);
}

Result<Tensor> TensorSource::tensor(const StoredTensor& stored) {
  const auto narrow = wide_type_of(stored.type), dtype = narrow ? narrow : dtype_of(stored.type);
  if (stored.texts || stored.type == 8) return fail(Fault::Unsupported, "holds text");
  if (!dtype)
    return fail(Fault::Unsupported, "has element type " + name_of_type(stored.type) + ", which is not carried");
  const auto count = count_of(stored);
  if (!count) return std::unexpected(count.error());
  if (narrow) return narrow_tensor(stored, *count);
  if (stored.external) {
    auto found = outside(stored);
    if (!found) return pass(found);
    return Tensor::view(*dtype, stored.dims, found->bytes, found->keeper);
  }
  if (stored.raw) {
    const auto wanted = checked_multiply(*count, bytes_of(*dtype));
    if (wanted != static_cast<Size>(stored.raw_bytes.size())) return of_other_size(stored, stored.raw_bytes.size());
    return Tensor::view(*dtype, stored.dims, stored.raw_bytes, keeper_);
  }
  auto bytes = listed(stored, *dtype);
  const Size have = static_cast<Size>(bytes.size()) / bytes_of(*dtype);
  if (have != *count)
    return fail(Fault::Format, "has shape " + text_of(stored.dims) + " and " + std::to_string(have) + " numbers");
  return Tensor::owning(*dtype, stored.dims, std::move(bytes));
}

}  // namespace convoy::onnx
