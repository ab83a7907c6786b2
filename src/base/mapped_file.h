// A file as bytes: mapped where that is safe (a local regular file), read where it is not.
#pragma once
#include "base/bytes.h"
#include "convoy/result.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convoy {

class MappedFile {
 public:
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  Bytes bytes() const { return bytes_; }
  bool mapped() const { return map_ != nullptr; }
  const std::string& path() const { return path_; }

  // Whether the file still has the size and time of change it had when it was opened. Fails: Io.
  Status unchanged() const;

 private:
  friend Result<std::shared_ptr<const MappedFile>> map_file(int descriptor, const std::string& path);
  friend std::shared_ptr<const MappedFile> file_of(std::vector<std::byte> bytes);
  friend class FilesInMemory;
  MappedFile() = default;

  std::string path_;
  Bytes bytes_;
  void* map_ = nullptr;
  std::vector<std::byte> owned_;
  Size device_ = 0, node_ = 0, size_ = 0, seconds_ = 0, nanoseconds_ = 0;
};

// Fails: Io naming the path: missing, not readable, a directory, a device, a pipe.
Result<std::shared_ptr<const MappedFile>> open_file(const std::string& path);

// A file that another file names: `name` is relative to `folder` and stays below it; "..", absolute names and links
// anywhere in it are refused (UnsafePath). Otherwise fails as open_file does.
Result<std::shared_ptr<const MappedFile>> open_beneath(const std::string& folder, const std::string& name);

// Bytes in memory that are to be read like a file.
std::shared_ptr<const MappedFile> file_of(std::vector<std::byte> bytes);

// While one lives, open_file and open_beneath of its thread find these files in a folder that there is not, and no others there.
// The bytes are the caller's, and stay where they are as long as what was opened.
class FilesInMemory {
 public:
  using Files = std::map<std::string, Bytes, std::less<>>;  // by their names below the folder
  explicit FilesInMemory(Files files);
  ~FilesInMemory();
  FilesInMemory(const FilesInMemory&) = delete;
  FilesInMemory& operator=(const FilesInMemory&) = delete;

  static std::string path_of(const std::string& name);
  // Nothing: the path does not lead into the folder.
  static std::optional<Result<std::shared_ptr<const MappedFile>>> opened(const std::string& path);

 private:
  Files files_;
  const FilesInMemory* before_;
};

// Lets the pages under these bytes of a mapped file go until they are read again; the bytes stay valid. Of other bytes: nothing.
void give_back_pages(Bytes bytes);

// The bytes together with the file that keeps them.
inline Blob blob_of(const std::shared_ptr<const MappedFile>& file) { return {file->bytes(), file}; }

}  // namespace convoy
