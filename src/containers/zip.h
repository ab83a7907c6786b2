// Zip archives. Reading: the central directory is the only truth, every local header must agree with it, no
// byte belongs to two members or to none. Nothing is ever extracted to disk. Writing: deterministic, stored.
#pragma once
#include "base/bytes.h"
#include "convoy/result.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace convoy {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  Size stored = 0;  // bytes in the archive
  Size size = 0;    // bytes of the content
  std::uint32_t crc = 0;
  Size at = 0;  // where the stored bytes begin
};

class ZipArchive {
 public:
  // Whether bytes look like a zip archive (begin with a local header or an end record).
  static bool begins(Bytes bytes);

  // Fails: Format, Truncated; UnsafePath: an absolute name, '..', a backslash, a drive, a symbolic link;
  // Unsupported: encryption, several disks, a method other than stored and deflate.
  static Result<ZipArchive> open(Blob archive);

  const std::vector<ZipEntry>& entries() const { return entries_; }  // without directories
  const ZipEntry* find(std::string_view name) const;

  // The content, checked against its CRC: a view into the archive where it is stored.
  Result<Blob> read(std::string_view name) const;

 private:
  Blob archive_;
  std::vector<ZipEntry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

// Writes members one after the other, stored, each content at a multiple of 64 bytes, dated 1980-01-01.
// `append` takes the bytes in order (a file, a buffer); its failure is handed on. Nothing written is gone back to.
class ZipWriter {
 public:
  using Append = std::function<Status(Bytes)>;
  explicit ZipWriter(Append append) : append_(std::move(append)) {}

  Status add(std::string_view name, Bytes content);
  Status add_parts(std::string_view name, std::span<const Bytes> parts);  // one after the other
  // Content that is made as it is written: `produce` appends exactly `size` bytes. Its checksum follows it, in a data
  // descriptor.
  Status add_stream(std::string_view name, Size size, const std::function<Status(const Append&)>& produce);
  Status finish();

 private:
  Status begin(std::string_view name, Size size, std::optional<std::uint32_t> crc);
  Status emit(Bytes bytes);

  struct Written {
    ZipEntry entry;  // `at` is the local header's place
    bool described = false;
  };
  Append append_;
  Size at_ = 0;
  std::vector<Written> entries_;
};

}  // namespace convoy
