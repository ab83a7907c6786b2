#include "base/atomic_output.h"

#include "base/budget.h"
#include "base/hash_behind.h"
#include "base/put_in_place.h"
#include "base/temporaries.h"
#include "convoy/cancellation.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <future>
#include <set>
#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// A link is replaced at its resolved place, and only if that lies in the same folder.
Result<fs::path> resolved_target(const fs::path& path, bool overwrites) {
  std::error_code fault;
  const auto kind = fs::symlink_status(path, fault).type();
  if (kind == fs::file_type::not_found) return path;
  if (kind == fs::file_type::directory) return io_fault(path, "is a folder; name a file to write");
  fs::path target = path;
  if (kind == fs::file_type::symlink) {
    // What the link says, from its own folder: weakly_canonical leaves a link as it is whose target does not exist.
    target = fs::weakly_canonical(folder_of(path) / fs::read_symlink(path, fault), fault);
    if (fault || target.parent_path() != fs::weakly_canonical(folder_of(path), fault))
      return io_fault(path, "is a link that leaves its folder; name its target instead");
    const auto at_end = fs::status(target, fault).type();
    if (at_end != fs::file_type::regular && at_end != fs::file_type::not_found)
      return io_fault(path, "is a link to no regular file");
  } else if (kind != fs::file_type::regular) {
    return io_fault(path, "is not a regular file");
  }
  if (!overwrites) return io_fault(path, "exists; --force replaces it");
  return target;
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

  // Its temporary stands in place, or is gone.
  void forget() {
    if (temporary_text.empty()) return;
    forget_temporary(temporary_text.c_str());
    temporary_text.clear();
  }

  ~File() {
    hash.abandon();
    if (synced.valid()) synced.wait();
    if (handle >= 0) ::close(handle);
    if (!temporary_text.empty()) {
      ::unlink(temporary_text.c_str());
      forget_temporary(temporary_text.c_str());
    }
  }

  Status create() {
    for (int attempt = 0; attempt < 16; ++attempt) {
      temporary = temporary_beside(target);
      std::string text = temporary.string();  // before the file is there: memory may end here
      handle = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
      if (handle >= 0) {
        temporary_text = std::move(text);
        remember_temporary(temporary_text.c_str());
        return {};
      }
      if (errno != EEXIST) break;
    }
    return io_fault(named, "cannot be written: " + reason_of(errno));
  }

  Status write(Bytes bytes) {
    const auto* data = bytes.data();
    std::size_t left = bytes.size();
    while (left > 0) {
      const auto n = ::write(handle, data, std::min<std::size_t>(left, std::size_t{1} << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return io_fault(named, "cannot be written: " + reason_of(n == 0 ? ENOSPC : errno));
      data += n, left -= static_cast<std::size_t>(n);
    }
    written += static_cast<Size>(bytes.size());
    hash.follow(handle, written);
    start_writing_back();
    return {};
  }

  Result<std::string> close() {
    if (handle < 0) return sha256;
    if (const int fault = hash.finish(handle, written); fault != 0)
      return io_fault(named, "cannot be read back: " + reason_of(fault));
    sha256 = hash.hex();
    // The disk is waited for in commit: meanwhile the caller goes on. A failed sync is final, the kernel may have dropped
    // the pages.
    synced = std::async(std::launch::async, [open = std::exchange(handle, -1)] {
      const int sync_fault = ::fsync(open) == 0 ? 0 : errno;
      const int close_fault = ::close(open) == 0 || errno == EINTR ? 0 : errno;
      return sync_fault ? sync_fault : close_fault;
    });
    return sha256;
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
  set.overwrites_ = overwrites;
  std::set<fs::path> folders;
  for (const auto& path : targets)
    if (folders.insert(folder_of(path)).second) clear_litter(folder_of(path));
  for (const auto& path : targets) {
    if (path.empty() || !path.has_filename()) return io_fault(path, "is no name for a file");
    std::error_code fault;
    if (!fs::is_directory(folder_of(path), fault)) return io_fault(folder_of(path), "is not a folder; make it first");
    for (const auto& source : sources)
      if (same_file(path, source)) return io_fault(path, "is the source itself; choose another name");
    auto target = resolved_target(path, overwrites);
    if (!target) return pass(target);
    auto file = std::make_unique<File>();
    file->named = path;
    file->target = std::move(*target);
    set.files_.push_back(std::move(file));
  }
  for (auto& file : set.files_)
    if (auto made = file->create(); !made) return pass(made);
  return set;
}

Append OutputSet::sink(std::size_t i) {
  return [this, i](Bytes bytes) { return append(i, bytes); };
}

Status OutputSet::append(std::size_t i, Bytes bytes) { return files_[i]->write(bytes); }

Result<std::string> OutputSet::close(std::size_t i) { return files_[i]->close(); }

const fs::path& OutputSet::temporary(std::size_t i) const { return files_[i]->temporary; }
Size OutputSet::bytes_written(std::size_t i) const { return files_[i]->written; }

bool OutputSet::replaces() const {
  std::error_code fault;
  return overwrites_ && fs::exists(files_.back()->target, fault);
}

Result<std::string> OutputSet::name_meanwhile(std::size_t i) {
  auto sha256 = close(i);
  if (!sha256) return sha256;
  return name_by_content(files_[i]->target, files_.back()->target, *sha256).filename().string();
}

Status OutputSet::append_meanwhile(Bytes bytes) {
  if (!meanwhile_) {
    meanwhile_ = std::make_unique<File>();
    meanwhile_->named = files_.back()->named;
    meanwhile_->target = files_.back()->target;
    if (auto made = meanwhile_->create(); !made) return made;
  }
  return meanwhile_->write(bytes);
}

void OutputSet::drop(fs::path file) { dropped_.push_back(std::move(file)); }

void OutputSet::join(OutputSet other) {
  auto more = std::move(other.joined_);
  joined_.push_back(std::move(other));
  for (auto& one : more) joined_.push_back(std::move(one));
}

// All that is written is on the disk.
Status OutputSet::finish() {
  std::vector<File*> all;
  for (auto& file : files_) all.push_back(file.get());
  if (meanwhile_) all.push_back(meanwhile_.get());
  for (File* file : all)
    if (auto closed = file->close(); !closed) return pass(closed);
  for (File* file : all)
    if (const int fault = file->synced.valid() ? file->synced.get() : 0; fault != 0)
      return io_fault(file->named, "cannot be written: " + reason_of(fault));
  return {};
}

Status OutputSet::put_in_place(Steps& steps, bool remembers) {
  const File& last = *files_.back();
  std::error_code fault;
  const bool replaces_several = files_.size() > 1 && fs::exists(last.target, fault);
  const bool stays_sound = replaces_several && remembers && meanwhile_ != nullptr;
  if (replaces_several && !stays_sound)  // nothing refers to what is then replaced
    for (auto file = files_.rbegin(); file != files_.rend(); ++file)
      if (auto done = steps.set_aside((*file)->target); !done) return done;
  if (stays_sound) {
    for (std::size_t i = 0; i + 1 < files_.size(); ++i) {
      const fs::path name = name_by_content(files_[i]->target, last.target, files_[i]->sha256);
      if (auto done = steps.name_also(files_[i]->temporary, name); !done) return done;
    }
    if (auto done = steps.move_copy(meanwhile_->temporary, last.target); !done) return done;
  }
  for (std::size_t i = 0; i + 1 < files_.size(); ++i)
    if (auto done = steps.move(files_[i]->temporary, files_[i]->target); !done) return done;
  for (const auto& file : dropped_)
    if (auto done = steps.set_aside(file); !done) return done;
  return steps.move(last.temporary, last.target, stays_sound ? meanwhile_->temporary : fs::path());
}

// Whether what these sets replace could be remembered.
Result<bool> OutputSet::remember(const std::vector<OutputSet*>& sets, Steps& steps) {
  const bool is_one_step = sets.size() == 1 && sets[0]->files_.size() == 1 && sets[0]->dropped_.empty();
  bool remembers = true;
  std::set<fs::path> places;
  for (const OutputSet* set : sets)
    for (const auto& file : set->files_) {
      std::error_code fault;
      if (!places.insert(file->target.lexically_normal()).second)
        return io_fault(file->named, "would be written twice; give each output a name of its own");
      if (fs::is_directory(file->target, fault)) return io_fault(file->named, "became a folder meanwhile");
      if (!set->overwrites_ && fs::exists(fs::symlink_status(file->target, fault)))
        return io_fault(file->named, "was made by another process meanwhile; --force replaces it");
      if (!is_one_step) remembers = steps.remember(file->target) && remembers;
    }
  return remembers;
}

Status OutputSet::commit() {
  std::vector<OutputSet*> sets{this};
  for (OutputSet& set : joined_) sets.push_back(&set);
  std::vector<fs::path> folders;
  for (OutputSet* set : sets) {
    if (auto done = set->finish(); !done) return done;
    for (const auto& file : set->files_) folders.push_back(folder_of(file->target));
  }
  if (Listening::is_cancelled()) return fail(Fault::Cancelled, "was cancelled before its files stood");
  budget::end();  // all of them or none: nothing is refused from here on
  const auto held = HeldFolders::hold(folders);
  if (!held) return std::unexpected(held.error());
  {
    const Placing placing;
    Steps steps;
    const auto remembers = remember(sets, steps);
    if (!remembers) return std::unexpected(remembers.error());
    for (std::size_t i = sets.size(); --i > 0;)
      for (auto file = sets[i]->files_.rbegin(); file != sets[i]->files_.rend(); ++file)
        if (auto done = steps.set_aside((*file)->target); !done) return done;
    for (OutputSet* set : sets)
      if (auto done = set->put_in_place(steps, *remembers); !done) return done;
    steps.keep();
  }
  for (OutputSet* set : sets) {
    for (auto& file : set->files_) file->forget();
    for (std::size_t i = 0; i + 1 < set->files_.size(); ++i)
      clear_names_by_content(set->files_[i]->target, set->files_.back()->target);
    for (const fs::path& file : set->dropped_) clear_names_by_content(file, set->files_.back()->target);
  }
  return held->sync();
}

}  // namespace convoy
