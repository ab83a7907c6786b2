#include "base/put_in_place.h"

#include "base/sha256.h"
#include "base/temporaries.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t digits = 16;  // of the checksum that a name tells

bool stands(const fs::path& path) {
  std::error_code fault;
  return fs::exists(fs::symlink_status(path, fault));
}

// Whether it was held within ten seconds; what cannot be held counts as held.
bool hold_folder(int handle) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (::flock(handle, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// What name_by_content puts around the digits.
std::pair<std::string, std::string> around(const fs::path& file, const fs::path& main) {
  const std::string stem = main.stem().string(), name = file.filename().string();
  const std::size_t cut = name.starts_with(stem) ? stem.size() : 0;
  return {name.substr(0, cut) + ".", cut == 0 ? "." + name : name.substr(cut)};
}

std::optional<std::string> checksum_of(const fs::path& file) {
  const int handle = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (handle < 0) return std::nullopt;
  Sha256 sum;
  std::array<std::byte, 1 << 16> piece{};
  ssize_t n = 0;
  while ((n = ::read(handle, piece.data(), piece.size())) > 0)
    sum.update(Bytes(piece).first(static_cast<std::size_t>(n)));
  ::close(handle);
  if (n < 0) return std::nullopt;
  return sum.finish_hex();
}

}  // namespace

std::unexpected<Error> io_fault(const fs::path& path, const std::string& what) {
  return fail(Fault::Io, "'" + path.string() + "' " + what);
}
std::string reason_of(int system_fault) { return std::generic_category().message(system_fault); }

Result<HeldFolders> HeldFolders::hold(const std::vector<fs::path>& folders) {
  struct Found {
    dev_t device;
    ino_t inode;
    fs::path path;
  };
  std::vector<Found> found;
  for (const fs::path& path : folders)
    if (struct stat status{}; ::stat(path.c_str(), &status) == 0) found.push_back({status.st_dev, status.st_ino, path});
  // In one order, so that two processes never wait for each other; each folder once, however it is spelt.
  const auto identity = [](const Found& one) { return std::pair(one.device, one.inode); };
  std::ranges::sort(found, {}, identity);
  const auto [first, last] = std::ranges::unique(found, {}, identity);
  found.erase(first, last);
  HeldFolders all;
  for (const Found& one : found) {
    const int handle = ::open(one.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0) continue;  // a folder that may be written but not read
    all.held_.push_back({one.path, handle});
    if (!hold_folder(handle)) return io_fault(one.path, "is held by another process that puts files there; try again");
  }
  return all;
}

HeldFolders::~HeldFolders() {
  for (const Held& one : held_) ::close(one.handle);
}

Status HeldFolders::sync() const {
  for (const Held& one : held_)
    if (::fsync(one.handle) != 0 && errno != EINVAL)
      return io_fault(one.path, "holds the new files, but could not be synced: " + reason_of(errno));
  return {};
}

// False: a step could not be taken back, so that what stands may need the names that would be removed.
bool Steps::take_back() {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
    if ((step->to.empty() ? ::unlink(step->back.c_str()) : ::rename(step->back.c_str(), step->to.c_str())) != 0)
      return false;
  return true;
}

Steps::~Steps() {
  if (!take_back()) return;
  std::erase_if(extra_, [](const Extra& one) { return one.stood; });
  keep();
}

void Steps::keep() {
  steps_.clear();
  for (const Extra& one : extra_) ::unlink(one.name.c_str());
  for (const auto& [target, hidden] : replaced_) ::unlink(hidden.c_str());
  extra_.clear();
  replaced_.clear();
}

const fs::path* Steps::hidden_of(const fs::path& target) const {
  const auto found = std::ranges::find(replaced_, target, &Replaced::target);
  return found == replaced_.end() ? nullptr : &found->hidden;
}

bool Steps::remember(const fs::path& target) {
  if (!stands(target) || hidden_of(target)) return true;
  const fs::path hidden = temporary_beside(target);
  if (::link(target.c_str(), hidden.c_str()) != 0) return false;
  replaced_.push_back({target, hidden});
  return true;
}

Status Steps::set_aside(const fs::path& target) {
  if (!stands(target)) return {};
  fs::path hidden;
  if (const fs::path* remembered = hidden_of(target)) {
    hidden = *remembered;
    if (::unlink(target.c_str()) != 0) return io_fault(target, "cannot be set aside: " + reason_of(errno));
  } else {
    hidden = temporary_beside(target);
    if (::rename(target.c_str(), hidden.c_str()) != 0)
      return io_fault(target, "cannot be set aside: " + reason_of(errno));
    replaced_.push_back({target, hidden});
  }
  steps_.push_back({hidden, target});
  return {};
}

Status Steps::name_also(const fs::path& file, const fs::path& name) {
  const bool stood = stands(name);
  if (stood) {
    // Of an earlier process that was killed, and what stands in place may refer to it: it is replaced in one step.
    const fs::path hidden = temporary_beside(name);
    if (::link(file.c_str(), hidden.c_str()) != 0) return io_fault(name, "cannot be written: " + reason_of(errno));
    if (::rename(hidden.c_str(), name.c_str()) != 0) {
      const int fault = errno;
      ::unlink(hidden.c_str());
      return io_fault(name, "cannot be written: " + reason_of(fault));
    }
  } else if (::link(file.c_str(), name.c_str()) != 0) {
    return io_fault(name, "cannot be written: " + reason_of(errno));
  }
  extra_.push_back({name, stood});
  return {};
}

Status Steps::move(const fs::path& file, const fs::path& target, const fs::path& back) {
  const bool stood = stands(target);
  if (::rename(file.c_str(), target.c_str()) != 0)
    return io_fault(target, "cannot be put in place: " + reason_of(errno));
  const fs::path* hidden = stood ? hidden_of(target) : nullptr;
  if (!back.empty()) steps_.push_back({back, target});
  else if (hidden) steps_.push_back({*hidden, target});
  else if (!stood) steps_.push_back({target, {}});
  return {};
}

Status Steps::move_copy(const fs::path& file, const fs::path& target) {
  const fs::path copy = temporary_beside(target);
  if (::link(file.c_str(), copy.c_str()) != 0) return io_fault(target, "cannot be put in place: " + reason_of(errno));
  auto moved = move(copy, target);
  if (!moved) ::unlink(copy.c_str());
  return moved;
}

fs::path name_by_content(const fs::path& file, const fs::path& main, const std::string& sha256) {
  const auto [before, after] = around(file, main);
  return file.parent_path() / (before + sha256.substr(0, digits) + after);
}

void clear_names_by_content(const fs::path& file, const fs::path& main) {
  const auto [before, after] = around(file, main);
  std::error_code fault;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  for (auto it = fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, fault);
       !fault && it != fs::directory_iterator(); it.increment(fault)) {
    const std::string name = it->path().filename().string();
    if (name.size() != before.size() + digits + after.size() || !name.starts_with(before) || !name.ends_with(after))
      continue;
    const std::string told = name.substr(before.size(), digits);
    if (told.find_first_not_of("0123456789abcdef") != std::string::npos) continue;
    const auto checksum = checksum_of(it->path());
    std::error_code ignored;
    if (checksum && checksum->starts_with(told)) fs::remove(it->path(), ignored);
  }
}

}  // namespace convoy
