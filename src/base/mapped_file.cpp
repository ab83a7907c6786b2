#include "base/mapped_file.h"

#include "base/budget.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

namespace convoy {

namespace {

std::unexpected<Error> refuse(const std::string& path, std::string what) {
  return std::unexpected(Error{Fault::Io, std::move(what), path});
}

// The files that are mapped now, by where they begin.
struct Mapped {
  std::mutex guard;
  std::map<const std::byte*, std::size_t> sizes;
};
Mapped& mapped_now() {
  static auto* all = new Mapped;  // files may be let go after everything else
  return *all;
}

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

// A page of a file on another machine can vanish while it is mapped, which kills the process.
bool may_vanish(int descriptor) {
  struct statfs about{};
  if (::fstatfs(descriptor, &about) != 0) return true;
  switch (static_cast<unsigned long>(about.f_type) & 0xFFFFFFFFUL) {
    case 0x6969:      // nfs
    case 0x517B:      // smb
    case 0xFF534D42:  // cifs
    case 0xFE534D42:  // smb2
    case 0x65735546:  // fuse
    case 0x01021997:  // 9p
      return true;
    default: return false;
  }
}

Status read_all(int descriptor, std::vector<std::byte>& bytes, const std::string& path) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(path, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) {
      return std::unexpected(
          Error{Fault::Truncated, "shrank while it was read, to " + std::to_string(done) + " bytes", path});
    }
    done += static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace

// What an open descriptor leads to; the caller closes it.
Result<std::shared_ptr<const MappedFile>> map_file(int descriptor, const std::string& path) {
  struct stat about{};
  if (::fstat(descriptor, &about) != 0) {
    return refuse(path, std::string("cannot be examined: ") + std::strerror(errno));
  }
  if (S_ISDIR(about.st_mode)) return refuse(path, "is a directory, expected a file");
  if (!S_ISREG(about.st_mode)) return refuse(path, "is a device or a pipe, expected a regular file");

  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  file->device_ = static_cast<Size>(about.st_dev);
  file->node_ = static_cast<Size>(about.st_ino);
  file->size_ = about.st_size;
  file->seconds_ = about.st_mtim.tv_sec;
  file->nanoseconds_ = about.st_mtim.tv_nsec;
  if (about.st_size == 0) return file;
  budget::grant_file(file->device_, file->node_, file->size_);
  const auto size = static_cast<std::size_t>(about.st_size);
  if (!may_vanish(descriptor)) {
    void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (map != MAP_FAILED) {
      file->map_ = map;
      file->bytes_ = {static_cast<const std::byte*>(map), size};
      const std::lock_guard lock(mapped_now().guard);
      mapped_now().sizes.emplace(file->bytes_.data(), size);
      return file;
    }
  }
  file->owned_.resize(size);
  if (auto read = read_all(descriptor, file->owned_, path); !read) return pass(read);
  file->bytes_ = file->owned_;
  return file;
}

MappedFile::~MappedFile() {
  if (map_ == nullptr) return;
  const std::lock_guard lock(mapped_now().guard);
  mapped_now().sizes.erase(bytes_.data());
  ::munmap(map_, bytes_.size());
}

void give_back_pages(Bytes bytes) {
  constexpr std::size_t worth_a_call = 1 << 20;
  if (bytes.size() < worth_a_call) return;
  const std::lock_guard lock(mapped_now().guard);
  auto file = mapped_now().sizes.upper_bound(bytes.data());
  if (file == mapped_now().sizes.begin()) return;
  --file;
  if (bytes.data() + bytes.size() > file->first + file->second) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(bytes.data()) / page * page;  // the mapping begins with a page
  const auto last = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size());
  ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

Status MappedFile::unchanged() const {
  if (path_.empty()) return {};
  struct stat about{};
  if (::stat(path_.c_str(), &about) != 0) return refuse(path_, std::string("vanished: ") + std::strerror(errno));
  if (static_cast<Size>(about.st_dev) != device_ || static_cast<Size>(about.st_ino) != node_ ||
      about.st_size != size_ || about.st_mtim.tv_sec != seconds_ || about.st_mtim.tv_nsec != nanoseconds_) {
    return refuse(path_, "changed while it was read");
  }
  return {};
}

namespace {

// O_NONBLOCK: opening a pipe must not wait for its writer.
constexpr int reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

std::unexpected<Error> not_opened(const std::string& path) {
  if (errno == ENOENT) return refuse(path, "does not exist");
  return refuse(path, std::string("cannot be opened: ") + std::strerror(errno));
}

std::unexpected<Error> unsafe(const std::string& name, std::string what) {
  return std::unexpected(Error{Fault::UnsafePath, std::move(what), name});
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> open_file(const std::string& path) {
  if (path.find('\0') != std::string::npos) return refuse(path.substr(0, path.find('\0')), "name holds a zero byte");
  if (auto held = FilesInMemory::opened(path)) return *std::move(held);
  const Descriptor descriptor{::open(path.c_str(), reading)};
  if (descriptor.number < 0) return not_opened(path);
  return map_file(descriptor.number, path);
}

Result<std::shared_ptr<const MappedFile>> open_beneath(const std::string& folder, const std::string& name) {
  if (name.empty() || name.find_first_of(std::string("\\\0", 2)) != std::string::npos || name.front() == '/')
    return unsafe(name, "is no name of a file below the model's folder");
  if (auto held = FilesInMemory::opened(folder + "/" + name)) return *std::move(held);
  Descriptor at{::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY)};
  if (at.number < 0) return not_opened(folder);
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool last = end == name.size();
    begin = end + 1;
    if (part == "..") return unsafe(name, "leads out of the model's folder");
    if (part.empty() && last) return unsafe(name, "is a directory, expected a file");
    if (part.empty() || part == ".") continue;
    Descriptor next{::openat(at.number, part.c_str(), reading | O_NOFOLLOW | (last ? 0 : O_DIRECTORY))};
    if (next.number < 0 && (errno == ELOOP || (errno == ENOTDIR && !last))) return unsafe(name, "is or crosses a link");
    if (next.number < 0) return not_opened(name);
    std::swap(at.number, next.number);
    if (last) return map_file(at.number, folder.empty() ? name : folder + "/" + name);
  }
  return unsafe(name, "is no name of a file below the model's folder");
}

namespace {

constexpr std::string_view folder_in_memory = "/dev/null/";  // nothing can lie below a device
thread_local const FilesInMemory* files_in_memory = nullptr;

}  // namespace

FilesInMemory::FilesInMemory(Files files) : files_(std::move(files)), before_(std::exchange(files_in_memory, this)) {}
FilesInMemory::~FilesInMemory() { files_in_memory = before_; }

std::string FilesInMemory::path_of(const std::string& name) { return std::string(folder_in_memory) + name; }

std::optional<Result<std::shared_ptr<const MappedFile>>> FilesInMemory::opened(const std::string& path) {
  if (!files_in_memory || !path.starts_with(folder_in_memory)) return std::nullopt;
  const std::string name = path.substr(folder_in_memory.size());
  const auto at = files_in_memory->files_.find(name);
  if (at == files_in_memory->files_.end()) return refuse(name, "is none of the files that were given");
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = name;
  file->bytes_ = at->second;
  budget::grant_file(0, reinterpret_cast<Size>(file->bytes_.data()), static_cast<Size>(file->bytes_.size()));
  return file;
}

std::shared_ptr<const MappedFile> file_of(std::vector<std::byte> bytes) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->owned_ = std::move(bytes);
  file->bytes_ = file->owned_;
  return file;
}

}  // namespace convoy
