#include "base/temporaries.h"

#include "base/bytes.h"
#include "base/crc32.h"

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace convoy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view marker = ".convoy-";

// Fixed room, filled and emptied by atomic pointers.
std::array<std::atomic<const char*>, 64> temporaries{};
std::atomic<int> placing = 0, waiting_signal = 0;

// Empty where it cannot be read: a process may end between the opening of its file and the reading. An iterator over the
// buffer would throw then.
std::string text_of(const fs::path& file) {
  std::string text;
  std::ifstream in(file, std::ios::binary);
  std::getline(in, text, '\0');
  return text;
}

// When a process began, in ticks since the machine was started; nothing: it has ended. 0: this system does not say.
std::optional<unsigned long long> began(long pid) {
  const bool is_there = ::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
  if (!is_there) return std::nullopt;
  // "17 (name, with any character) S 1 ...": the state is the third field, the start the twenty-second.
  const std::string line = text_of("/proc/" + std::to_string(pid) + "/stat");
  auto at = line.rfind(')');
  if (at == std::string::npos || at + 2 >= line.size()) return 0;
  if (line[at + 2] == 'Z' || line[at + 2] == 'X') return std::nullopt;  // killed, and its parent does not know yet
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  unsigned long long ticks = 0;
  if (at != std::string::npos) std::from_chars(line.data() + at + 1, line.data() + line.size(), ticks);
  return ticks;
}

// Where a process id means something: one start of one machine, and one space of ids in it (containers have their own).
std::string machine() {
  std::error_code fault;
  const std::string words =
      text_of("/proc/sys/kernel/random/boot_id") + fs::read_symlink("/proc/self/ns/pid", fault).string();
  return std::to_string(crc32_of(bytes_of(words)));
}

struct Maker {
  long pid = 0;
  unsigned long long began = 0;
  std::string machine;
};

// The process that made a temporary of this name; nothing: it is none of ours.
std::optional<Maker> maker_of(const std::string& name) {
  const auto at = name.rfind(marker);
  if (name.empty() || name[0] != '.' || at == std::string::npos) return std::nullopt;
  std::vector<std::string> fields{""};
  for (const char c : name.substr(at + marker.size())) {
    if (c == '-') fields.emplace_back();
    else if (c < '0' || c > '9') return std::nullopt;
    else fields.back() += c;
  }
  Maker maker;
  const auto number = [](const std::string& text, auto& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
  };
  if (fields.size() != 4 || !number(fields[0], maker.pid) || !number(fields[1], maker.began) || maker.pid < 1)
    return std::nullopt;
  maker.machine = fields[2];
  return maker;
}

bool is_litter(const Maker& maker, const std::string& here, const fs::directory_entry& entry) {
  std::error_code fault;
  if (!entry.is_regular_file(fault)) return false;
  if (maker.machine == here) {
    const auto now = began(maker.pid);
    return !now || *now != maker.began;
  }
  const auto changed = entry.last_write_time(fault);
  return !fault && changed < fs::file_time_type::clock::now() - std::chrono::hours(24);
}

}  // namespace

fs::path temporary_beside(const fs::path& target) {
  const std::string maker =
      std::to_string(::getpid()) + "-" + std::to_string(began(::getpid()).value_or(0)) + "-" + machine() + "-";
  constexpr std::size_t longest = 150;  // of the 255 bytes that a name may have
  std::random_device random;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  return folder /
         ("." + target.filename().string().substr(0, longest) + std::string(marker) + maker + std::to_string(random()));
}

void clear_litter(const fs::path& folder) {
  const std::string here = machine();
  std::error_code fault;
  for (auto it = fs::directory_iterator(folder, fs::directory_options::skip_permission_denied, fault);
       !fault && it != fs::directory_iterator(); it.increment(fault)) {
    const auto maker = maker_of(it->path().filename().string());
    std::error_code ignored;
    if (maker && is_litter(*maker, here, *it)) fs::remove(it->path(), ignored);
  }
}

void remember_temporary(const char* path) {
  for (auto& slot : temporaries) {
    const char* none = nullptr;
    if (slot.compare_exchange_strong(none, path)) return;
  }
}
void forget_temporary(const char* path) {
  for (auto& slot : temporaries) {
    const char* same = path;
    if (slot.compare_exchange_strong(same, nullptr)) return;
  }
}

Placing::Placing() { ++placing; }
Placing::~Placing() {
  if (--placing > 0) return;
  if (const int signal = waiting_signal.exchange(0); signal != 0) ::raise(signal);
}

bool remove_temporaries_of_this_process(int signal) {
  if (placing > 0 && waiting_signal.exchange(signal) == 0) return false;
  for (auto& slot : temporaries)
    if (const char* path = slot.exchange(nullptr)) ::unlink(path);
  return true;
}

}  // namespace convoy
