// Bytes with whoever keeps them alive, and a little-endian reader over them that cannot leave its bounds.
#pragma once
#include "convoy/result.h"
#include "convoy/size.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace convoy {

using Bytes = std::span<const std::byte>;

struct Blob {
  Bytes bytes;
  std::shared_ptr<const void> keeper;
};

inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
inline Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Reads forward. The first read that does not fit fails the reader for good: it and all later ones return
// zeros and nothing moves, so a run of fields is read first and `ok()` asked once.
// Positions are those of `bytes`, plus `origin` in error texts (where the bytes lie in the file).
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes, Size origin = 0) : bytes_(bytes), origin_(origin) {}

  bool ok() const { return !failed_; }
  Size at() const { return at_; }               // within the bytes
  Size place() const { return origin_ + at_; }  // in the file
  Size left() const { return failed_ ? 0 : static_cast<Size>(bytes_.size()) - at_; }

  // An unsigned number of 0 to 8 bytes.
  std::uint64_t number(Size width) {
    std::uint64_t value = 0;
    const Bytes part = take(width);
    for (std::size_t i = 0; i < part.size(); ++i) value |= std::to_integer<std::uint64_t>(part[i]) << (8 * i);
    return value;
  }
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }

  // The next `count` bytes; empty when they are not all there or the count is negative.
  Bytes take(Size count) {
    if (count < 0 || count > left()) {
      if (!failed_) wanted_ = count;
      failed_ = true;
      return {};
    }
    const Bytes part = bytes_.subspan(static_cast<std::size_t>(at_), static_cast<std::size_t>(count));
    at_ += count;
    return part;
  }
  void skip(Size count) { take(count); }
  void seek(Size at) {
    if (at < 0 || at > static_cast<Size>(bytes_.size())) failed_ = true;
    else if (!failed_) at_ = at;
  }

  // What to hand on when a read did not fit: "ends at byte 12, 'superblock' needs 8 more at byte 10".
  std::unexpected<Error> failure(std::string_view reading) const {
    return fail(Fault::Truncated, "ends at byte " + std::to_string(origin_ + static_cast<Size>(bytes_.size())) + ", " +
                                      std::string(reading) + " needs " +
                                      (wanted_ < 0 ? std::string("more") : std::to_string(wanted_) + " bytes") +
                                      " at byte " + std::to_string(place()));
  }

 private:
  Bytes bytes_;
  Size origin_ = 0;
  Size at_ = 0;
  Size wanted_ = 0;
  bool failed_ = false;
};

}  // namespace convoy
