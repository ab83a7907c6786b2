#include "base/atomic_output.h"

#include "base/budget.h"
#include "base/hash_behind.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <future>
#include <random>
#include <set>
#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view marker = ".convoy-";

std::unexpected<Error> io(const fs::path& path, const std::string& what) {
  return fail(Fault::Io, "'" + path.string() + "' " + what);
}
std::string reason(int number) { return std::generic_category().message(number); }

// Paths that a signal handler unlinks. Fixed room, filled and emptied by atomic pointers.
std::array<std::atomic<const char*>, 16> temporaries{};

void remember(const char* path) {
  for (auto& slot : temporaries) {
    const char* none = nullptr;
    if (slot.compare_exchange_strong(none, path)) return;
  }
}
void forget(const char* path) {
  for (auto& slot : temporaries) {
    const char* same = path;
    if (slot.compare_exchange_strong(same, nullptr)) return;
  }
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// A link is replaced at its resolved place, and only if that lies in the same folder.
Result<fs::path> resolved_target(const fs::path& path, bool overwrites) {
  std::error_code fault;
  const auto kind = fs::symlink_status(path, fault).type();
  if (kind == fs::file_type::not_found) return path;
  if (kind == fs::file_type::directory) return io(path, "is a folder; name a file to write");
  fs::path target = path;
  if (kind == fs::file_type::symlink) {
    // What the link says, from its own folder: weakly_canonical leaves a link as it is whose target does not exist.
    target = fs::weakly_canonical(folder_of(path) / fs::read_symlink(path, fault), fault);
    if (fault || target.parent_path() != fs::weakly_canonical(folder_of(path), fault))
      return io(path, "is a link that leaves its folder; name its target instead");
    const auto at_end = fs::status(target, fault).type();
    if (at_end != fs::file_type::regular && at_end != fs::file_type::not_found)
      return io(path, "is a link to no regular file");
  } else if (kind != fs::file_type::regular) {
    return io(path, "is not a regular file");
  }
  if (!overwrites) return io(path, "exists; --force replaces it");
  return target;
}

// Temporaries are named .NAME.convoy-PID-RANDOM; one whose process is gone and that is an hour old is litter.
void clear_litter(const fs::path& folder) {
  std::error_code fault;
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (auto it = fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, fault);
       !fault && it != fs::directory_iterator(); it.increment(fault)) {
    const std::string name = it->path().filename().string();
    const auto at = name.rfind(marker);
    if (name.empty() || name[0] != '.' || at == std::string::npos) continue;
    long pid = 0;
    const char* from = name.data() + at + marker.size();
    const auto [end, wrong] = std::from_chars(from, name.data() + name.size(), pid);
    if (wrong != std::errc{} || end == name.data() + name.size() || *end != '-' || pid < 1) continue;
    std::error_code ignored;
    const bool gone = ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
    if (gone && it->is_regular_file(ignored) && it->last_write_time(ignored) < old && !ignored)
      fs::remove(it->path(), ignored);
  }
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code fault;
  return fs::equivalent(a, b, fault) && !fault;
}

}  // namespace

struct OutputSet::File {
  fs::path named, target, temporary;
  std::string temporary_text;  // what a signal handler reads
  int handle = -1;
  Size written = 0, started = 0;
  std::string sha256;
  HashBehind hash;
  std::future<int> synced;  // from close to commit: the fault's number, 0 for none

  ~File() {
    hash.abandon();
    if (synced.valid()) synced.wait();
    if (handle >= 0) ::close(handle);
    if (!temporary_text.empty()) {
      ::unlink(temporary_text.c_str());
      forget(temporary_text.c_str());
    }
  }

  Status create() {
    std::random_device random;
    for (int attempt = 0; attempt < 16; ++attempt) {
      const std::string name = "." + target.filename().string() + std::string(marker) + std::to_string(::getpid()) +
                               "-" + std::to_string(random());
      temporary = folder_of(target) / name;
      std::string text = temporary.string();  // before the file is there: memory may end here
      handle = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
      if (handle >= 0) {
        temporary_text = std::move(text);
        remember(temporary_text.c_str());
        return {};
      }
      if (errno != EEXIST) break;
    }
    return io(named, "cannot be written: " + reason(errno));
  }

  Status write(Bytes bytes) {
    const auto* data = bytes.data();
    std::size_t left = bytes.size();
    while (left > 0) {
      const auto n = ::write(handle, data, std::min<std::size_t>(left, std::size_t{1} << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return io(named, "cannot be written: " + reason(n == 0 ? ENOSPC : errno));
      data += n, left -= static_cast<std::size_t>(n);
    }
    written += static_cast<Size>(bytes.size());
    hash.follow(handle, written);
    start_writing_back();
    return {};
  }

  // Lets the disk begin while the rest is computed, so that the sync at the end finds little left to wait for.
  void start_writing_back() {
#ifdef SYNC_FILE_RANGE_WRITE
    constexpr Size piece = 4 << 20;
    if (written - started < piece) return;
    ::sync_file_range(handle, started, written - started, SYNC_FILE_RANGE_WRITE);  // only a hint: failure means nothing
    started = written;
#endif
  }
};

OutputSet::OutputSet() = default;
OutputSet::OutputSet(OutputSet&&) noexcept = default;
OutputSet& OutputSet::operator=(OutputSet&&) noexcept = default;
OutputSet::~OutputSet() = default;

Result<OutputSet> OutputSet::begin(const std::vector<fs::path>& targets, bool overwrites,
                                   const std::vector<fs::path>& sources) {
  OutputSet set;
  for (const auto& path : targets) {
    if (path.empty() || !path.has_filename()) return io(path, "is no name for a file");
    std::error_code fault;
    if (!fs::is_directory(folder_of(path), fault)) return io(folder_of(path), "is not a folder; make it first");
    for (const auto& source : sources)
      if (same_file(path, source)) return io(path, "is the source itself; choose another name");
    auto target = resolved_target(path, overwrites);
    if (!target) return pass(target);
    auto file = std::make_unique<File>();
    file->named = path;
    file->target = std::move(*target);
    set.files_.push_back(std::move(file));
  }
  for (auto& file : set.files_) {
    clear_litter(folder_of(file->target));
    if (auto made = file->create(); !made) return pass(made);
  }
  return set;
}

Append OutputSet::sink(std::size_t i) {
  return [this, i](Bytes bytes) { return append(i, bytes); };
}

Status OutputSet::append(std::size_t i, Bytes bytes) { return files_[i]->write(bytes); }

Result<std::string> OutputSet::close(std::size_t i) {
  File& file = *files_[i];
  if (file.handle < 0) return file.sha256;
  if (const int fault = file.hash.finish(file.handle, file.written); fault != 0)
    return io(file.named, "cannot be read back: " + reason(fault));
  file.sha256 = file.hash.hex();
  // The disk is waited for in commit: meanwhile the caller goes on. A failed sync is final, the kernel may have dropped
  // the pages.
  file.synced = std::async(std::launch::async, [handle = std::exchange(file.handle, -1)] {
    const int sync_fault = ::fsync(handle) == 0 ? 0 : errno;
    const int close_fault = ::close(handle) == 0 || errno == EINTR ? 0 : errno;
    return sync_fault ? sync_fault : close_fault;
  });
  return file.sha256;
}

const fs::path& OutputSet::temporary(std::size_t i) const { return files_[i]->temporary; }
Size OutputSet::bytes_written(std::size_t i) const { return files_[i]->written; }

Status OutputSet::commit() {
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (auto closed = close(i); !closed) return pass(closed);
  for (auto& file : files_)
    if (const int fault = file->synced.valid() ? file->synced.get() : 0; fault != 0)
      return io(file->named, "cannot be written: " + reason(fault));
  budget::end();  // all of them or none: nothing is refused from here on
  std::set<fs::path> folders;
  for (auto& file : files_) {
    if (::rename(file->temporary.c_str(), file->target.c_str()) != 0)
      return io(file->named, "cannot be put in place: " + reason(errno));
    forget(file->temporary_text.c_str());
    file->temporary_text.clear();
    folders.insert(folder_of(file->target));
  }
  for (const auto& path : folders) {
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) continue;  // a folder that may be written but not read: the files are in place
    const int fault = ::fsync(folder) == 0 || errno == EINVAL ? 0 : errno;
    ::close(folder);
    if (fault != 0) return io(path, "holds the new files, but could not be synced: " + reason(fault));
  }
  return {};
}

void remove_temporaries_of_this_process() {
  for (auto& slot : temporaries)
    if (const char* path = slot.exchange(nullptr)) ::unlink(path);
}

}  // namespace convoy
