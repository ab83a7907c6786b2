#include "containers/snappy.h"

#include "base/budget.h"

namespace convoy {
namespace {

// Seven bits a byte, the low ones first; at most `most` bytes.
std::uint64_t varint(ByteReader& reader, int most) {
  std::uint64_t value = 0;
  for (int i = 0; i < most && reader.ok(); ++i) {
    const std::uint8_t byte = reader.u8();
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return value;
  }
  return value;
}

}  // namespace

Result<std::vector<std::byte>> unsnap(Bytes bytes) {
  ByteReader reader(bytes);
  const auto length = static_cast<Size>(varint(reader, 5));
  // No element gives more than 64 bytes for the two that it takes at least.
  if (!reader.ok() || length > 64 * static_cast<Size>(bytes.size()))
    return fail(Fault::Format, "a compressed block declares " + std::to_string(length) + " bytes");
  if (auto s = budget::afford(length, "a compressed block"); !s) return pass(s);
  std::vector<std::byte> out;
  out.reserve(static_cast<std::size_t>(length));
  while (reader.ok() && reader.left() > 0) {
    const std::uint8_t tag = reader.u8();
    Size count = 0, distance = 0;
    switch (tag & 3) {
      case 0: {
        count = tag >> 2;
        if (count >= 60) count = static_cast<Size>(reader.number(count - 59));
        const Bytes literal = reader.take(count + 1);
        if (static_cast<Size>(out.size() + literal.size()) > length)
          return fail(Fault::Format, "a compressed block is longer than it says");
        out.insert(out.end(), literal.begin(), literal.end());
        continue;
      }
      case 1:
        count = (tag >> 2 & 7) + 4;
        distance = (tag >> 5) << 8 | reader.u8();
        break;
      case 2:
        count = (tag >> 2) + 1;
        distance = reader.u16();
        break;
      default:
        count = (tag >> 2) + 1;
        distance = reader.u32();
        break;
    }
    if (!reader.ok()) break;
    if (distance < 1 || distance > static_cast<Size>(out.size()))
      return fail(Fault::Format, "a compressed block copies from " + std::to_string(distance) + " bytes back at byte " +
                                     std::to_string(out.size()));
    if (static_cast<Size>(out.size()) + count > length)
      return fail(Fault::Format, "a compressed block is longer than it says");
    for (Size i = 0; i < count; ++i) out.push_back(out[out.size() - static_cast<std::size_t>(distance)]);
  }
  if (!reader.ok()) return reader.failure("a compressed block");
  if (static_cast<Size>(out.size()) != length) return fail(Fault::Format, "a compressed block is shorter than it says");
  return out;
}

}  // namespace convoy
