// How types, shapes and attributes are encoded in the messages of an HDF5 file. Internal to the writer.
#pragma once
#include "base/bytes.h"
#include "containers/hdf5.h"
#include "convoy/tensor.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::hdf5 {

// Little-endian bytes, one after the other.
class Encoder {
 public:
  Encoder& number(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  Encoder& u8(std::uint64_t value) { return number(value, 1); }
  Encoder& u16(std::uint64_t value) { return number(value, 2); }
  Encoder& u32(std::uint64_t value) { return number(value, 4); }
  Encoder& u64(std::uint64_t value) { return number(value, 8); }
  Encoder& raw(Bytes bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Encoder& text(std::string_view text) { return raw(bytes_of(text)); }
  Encoder& add(const Encoder& other) { return raw(other.bytes_); }
  Encoder& zeros(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  // Zeros up to a multiple of `width` of this encoder's own bytes.
  Encoder& align(std::size_t width) { return zeros((width - bytes_.size() % width) % width); }

  std::size_t size() const { return bytes_.size(); }
  void patch(std::size_t at, std::uint64_t value, int width = 8) {
    for (int i = 0; i < width; ++i) bytes_[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> (8 * i));
  }
  void overwrite(std::size_t at, const Encoder& other) {
    std::copy(other.bytes_.begin(), other.bytes_.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// The bodies of messages: a dataspace, a datatype, an attribute.
Encoder space_of(const Sizes& shape);
Encoder type_of(DType dtype);
// Of a string, the last 16 bytes are its length, the address of the heap it lies in and its number there; the latter two
// are zero and for the caller to fill in. Fails: Unsupported: a string with a zero byte, which would end there.
Result<Encoder> attribute_of(std::string_view name, const AttributeValue& value);

}  // namespace convoy::hdf5
