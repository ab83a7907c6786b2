// What all parts of the HDF5 reader share: the bytes with their address widths, and the budgets that bound
// the work and the memory a hostile file can ask for. Internal to the reader.
#pragma once
#include "base/bytes.h"
#include "convoy/result.h"
#include "convoy/tensor.h"

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::hdf5 {

// An address that is undefined, or that no file reaches.
constexpr Size nowhere = std::numeric_limits<Size>::max();

struct Object;

// One object of a global heap collection.
struct HeapObject {
  Size place = 0, size = 0;
};

struct File {
  Blob blob;
  Bytes bytes;  // from the superblock on: addresses count from there
  Size base = 0;
  Size offset_width = 8, length_width = 8;
  Size root = nowhere;
  Size work_left = 0;    // steps: a message, a link, a chunk, 32 bytes through a filter or checksum
  Size memory_left = 0;  // bytes that may be made beside those of the file
  std::map<Size, std::shared_ptr<const Object>> objects;
  std::map<Size, std::map<std::uint32_t, HeapObject>> heaps;

  Size address(ByteReader& r) const { return clamp(r.number(offset_width), offset_width); }
  Size length(ByteReader& r) const { return clamp(r.number(length_width), length_width); }

  Status work(Size steps);
  Status memory(Size count);

  // A reader from an address to the end of the file, or over `size` bytes there.
  Result<ByteReader> at(Size address, std::string_view what);
  Result<Bytes> slice(Size address, Size size, std::string_view what);
  Result<ByteReader> reader(Size address, Size size, std::string_view what);
  // The same for a block that begins with a four-letter signature and a version, which are consumed.
  Result<ByteReader> block(Size address, std::string_view signature, unsigned version);
  // Whether the last four of these bytes are the checksum of the others.
  Status checksum(Size address, Size size, std::string_view what);

 private:
  static Size clamp(std::uint64_t value, Size width) {
    const bool undefined = width < 8 && value == (std::uint64_t{1} << (8 * width)) - 1;
    return undefined || value > static_cast<std::uint64_t>(nowhere) ? nowhere : static_cast<Size>(value);
  }
};

// Fails with "at byte N: what".
inline constexpr unsigned rank_limit = 32;   // of datasets and array types
inline constexpr unsigned depth_limit = 16;  // of trees and groups

std::unexpected<Error> wrong(Size place, std::string what, Fault fault = Fault::Format);

bool begins(Bytes bytes);
Result<std::shared_ptr<File>> open_superblock(Blob blob);

// The number of bytes that the library gives to a number up to `most`.
constexpr Size width_for(std::uint64_t most) {
  Size width = 1;
  while (most >>= 8) ++width;
  return width;
}

}  // namespace convoy::hdf5
