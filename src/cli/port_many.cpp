#include "cli/port_many.h"

#include "base/budget.h"
#include "base/temporaries.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "containers/json.h"
#include "formats/source.h"
#include "report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <system_error>

namespace convoy::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_reason = 4096;

// A model whose process runs.
struct Worker {
  std::size_t item = 0;
  pid_t process = 0;
  int errors = -1;  // what it says
  std::string said, sha256;
  Clock::time_point begun;
};

// How a process ended.
struct Ending {
  int code = 0, signal = 0;
  Size memory = 0;
};

Ending ending_of(pid_t process) {
  int status = 0;
  struct rusage usage = {};
  while (::wait4(process, &status, 0, &usage) < 0 && errno == EINTR) {}
  Ending ending;
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  else ending.code = WEXITSTATUS(status);
  ending.memory = Size{usage.ru_maxrss} << 10;
  return ending;
}

std::string verdict_of(const Ending& ending, bool proves) {
  if (ending.signal != 0) return "failed";
  switch (ending.code) {
    case Done: return proves ? "proved" : "written";
    case NotProven: return "differs";
    case BrokenFile: return "broken";
    case BadCommandLine:
    case NotSupported: return "refused";
    default: return "failed";
  }
}

// "convoy: model.keras: the sentence" -> "the sentence": the entry names the model.
std::string reason_of(const std::string& source, const std::string& said, const Ending& ending) {
  if (ending.signal != 0)
    return fmt::format("its process was ended by signal {} ({}), twice", ending.signal, ::strsignal(ending.signal));
  std::string reason = said.substr(0, said.find('\n'));
  for (const std::string& place : {std::string("convoy: "), file_of(source).filename().string() + ": ", source + ": "})
    if (reason.starts_with(place)) reason.erase(0, place.size());
  return reason;
}

// A file that lines are added to, each as one piece, so that a kill cuts off the last at most.
class Ledger {
 public:
  Ledger() = default;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger() {
    if (file_ >= 0) ::close(file_);
  }
  Status open(const fs::path& path) {
    path_ = path;
    file_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) return trouble();
    const off_t size = ::lseek(file_, 0, SEEK_END);
    char last = '\n';
    if (size > 0 && ::pread(file_, &last, 1, size - 1) != 1) return trouble();
    return last == '\n' ? Status() : append("\n");  // behind a line that was cut off
  }
  Status append(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return trouble();
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

 private:
  std::unexpected<Error> trouble() const {
    return fail(Fault::Io, "the ledger '" + path_.string() + "' cannot be written: " + std::strerror(errno));
  }
  int file_ = -1;
  fs::path path_;
};

int gravest(const std::vector<int>& codes) {
  for (const int code : {OurFault, NotProven, BrokenFile, InputOutput, NotSupported, BadCommandLine})
    if (std::ranges::find(codes, code) != codes.end()) return code;
  return Done;
}

class Porters {
 public:
  Porters(const Batch& batch, const Carry& carry)
      : batch_(batch),
        carry_(carry),
        progress_(!batch.quiet && !batch.json),
        entries_(batch.items.size()) {}

  // The exit code; of a child, what it is to end with.
  int go() {
    if (auto ready = begin(); !ready) return report(ready.error());
    while (!waiting_.empty() || !lost_.empty() || !workers_.empty()) {
      if (const auto code = start()) return *code;
      if (auto heard = hear(); !heard) return report(heard.error());
    }
    close();
    return gravest(codes_);
  }

 private:
  Status begin() {
    std::error_code trouble;
    fs::create_directories(batch_.folder, trouble);
    if (trouble)
      return fail(Fault::Io, "the folder '" + batch_.folder.string() + "' cannot be made: " + trouble.message());
    for (std::size_t i = batch_.shard.index; i < batch_.items.size(); i += batch_.shard.count) {
      if (still_stands(i)) ++standing_;
      else waiting_.push_back(i);
    }
    total_ = waiting_.size();
    return ledger_.open(ledger_in(batch_.folder, batch_.shard));
  }

  const LedgerEntry* entry_before(std::size_t item) const {
    const auto found = batch_.before.find(batch_.items[item].source);
    return found == batch_.before.end() ? nullptr : &found->second;
  }

  // What the ledger says is ported, where model and port are as they were.
  bool still_stands(std::size_t item) const {
    const LedgerEntry* const entry = entry_before(item);
    std::error_code ignored;
    if (!entry || entry->output != batch_.items[item].output || !fs::exists(entry->output, ignored)) return false;
    if (entry->verdict != "proved" && batch_.proves) return false;
    return sha256_of_model(source_file(item)).value_or("") == entry->sha256;
  }

  fs::path source_file(std::size_t item) const { return file_of(batch_.items[item].source); }

  // Models wait until there is room; those whose process was lost are asked once more, one by one, at the end.
  std::optional<int> start() {
    while (static_cast<int>(workers_.size()) < batch_.jobs && !waiting_.empty()) {
      const std::size_t item = waiting_.front();
      waiting_.pop_front();
      if (const auto code = start(item)) return code;
    }
    if (!workers_.empty() || lost_.empty()) return std::nullopt;
    const std::size_t item = lost_.front();
    lost_.pop_front();
    return start(item);
  }

  std::optional<int> start(std::size_t item) {
    const BatchItem& model = batch_.items[item];
    const LedgerEntry* const before = entry_before(item);
    Worker worker{
        .item = item, .said = {}, .sha256 = sha256_of_model(source_file(item)).value_or(""), .begun = Clock::now()};
    std::error_code trouble;
    fs::create_directories(model.output.parent_path(), trouble);  // what fails is said by who writes there
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
      return report({Fault::Io, std::string("no process can be heard: ") + std::strerror(errno), {}});
    std::fflush(nullptr);  // what waits is said once
    const pid_t parent = ::getpid();
    worker.process = ::fork();
    if (worker.process < 0)
      return report({Fault::Io, std::string("no process can be started: ") + std::strerror(errno), {}});
    if (worker.process == 0) return carried(model, before && before->output == model.output, pipe[1], parent);
    ::close(pipe[1]);
    worker.errors = pipe[0];
    workers_.push_back(std::move(worker));
    return std::nullopt;
  }

  // In the child.
  int carried(const BatchItem& model, bool is_ours, int errors, pid_t parent) const {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) return InputOutput;
    if (const int nothing = ::open("/dev/null", O_RDWR); nothing >= 0) {
      ::dup2(nothing, STDIN_FILENO);
      ::dup2(nothing, STDOUT_FILENO);
    }
    ::dup2(errors, STDERR_FILENO);
    budget::begin_again();
    return carry_(model, batch_.overwrites || is_ours);
  }

  Status hear() {
    std::vector<pollfd> streams;
    for (const Worker& worker : workers_) streams.push_back({worker.errors, POLLIN, 0});
    constexpr int milliseconds = 200;  // for the line that says what is being done
    if (::poll(streams.data(), streams.size(), milliseconds) < 0 && errno != EINTR)
      return fail(Fault::Io, std::string("no process can be heard: ") + std::strerror(errno));
    for (std::size_t i = workers_.size(); i-- > 0;)
      if (streams[i].revents != 0 && !hears_more(workers_[i])) {
        const Worker done = std::move(workers_[i]);
        workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
        if (auto kept = end(done); !kept) return kept;
      }
    if (!workers_.empty()) progress_.show("porting", done_, total_, batch_.items[workers_.front().item].source);
    return {};
  }

  static bool hears_more(Worker& worker) {
    std::array<char, 4096> piece{};
    const ssize_t n = ::read(worker.errors, piece.data(), piece.size());
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    const auto heard = static_cast<std::size_t>(n);
    if (worker.said.size() < longest_reason) worker.said.append(piece.data(), heard);
    return heard > 0;
  }

  Status end(const Worker& worker) {
    ::close(worker.errors);
    const Ending ending = ending_of(worker.process);
    if (ending.signal != 0) clear_litter(batch_.items[worker.item].output.parent_path());
    if (ending.signal != 0 && std::ranges::find(asked_twice_, worker.item) == asked_twice_.end()) {
      asked_twice_.push_back(worker.item);
      lost_.push_back(worker.item);
      return {};
    }
    const BatchItem& model = batch_.items[worker.item];
    const double seconds = std::chrono::duration<double>(Clock::now() - worker.begun).count();
    LedgerEntry entry{.file = model.source,
                      .sha256 = worker.sha256,
                      .verdict = verdict_of(ending, batch_.proves),
                      .reason = {},
                      .seconds = std::round(seconds * 1000) / 1000,
                      .memory = ending.memory,
                      .output = {}};
    if (ending.signal == 0 && ending.code == Done) entry.output = model.output.string();
    else entry.reason = reason_of(model.source, worker.said, ending);
    codes_.push_back(ending.signal == 0 ? ending.code : ending.signal == SIGKILL ? InputOutput : OurFault);
    ++done_;
    tell(entry);
    entries_[worker.item] = entry;
    return ledger_.append(ledger_line(entry));
  }

  void tell(const LedgerEntry& entry) {
    if (batch_.json || (batch_.quiet && entry.stands())) return;
    progress_.clear();
    print("{:<8} {:>7.1f} s  {}{}\n", entry.verdict, entry.seconds, entry.file,
          entry.stands() ? " -> " + entry.output : ": " + entry.reason);
    std::fflush(stdout);
  }

  // The closing table.
  void close() {
    const std::string ledger = ledger_in(batch_.folder, batch_.shard).string();
    if (batch_.json) return print_json(as_json(ledger));
    if (batch_.quiet) return;
    progress_.clear();
    Table table("lrrr");
    table.row({"verdict", "models", "seconds", "most memory"});
    for (const char* verdict : {"proved", "written", "differs", "refused", "broken", "failed"}) {
      Size models = 0, memory = 0;
      double seconds = 0;
      for (const auto& entry : entries_)
        if (entry && entry->verdict == verdict) {
          ++models;
          seconds += entry->seconds;
          memory = std::max(memory, entry->memory);
        }
      if (models > 0)
        table.row({verdict, with_commas(models), fmt::format("{:.1f}", seconds), budget::text_of_bytes(memory)});
    }
    if (total_ > 0) print("\n{}", table.text());
    if (standing_ > 0)
      print("{} of {} models stood already and were left as they are\n", standing_, standing_ + total_);
    print("the ledger is {}\n", ledger);
  }

  Json as_json(const std::string& ledger) const {
    Json models = Json::array();
    for (const auto& entry : entries_)
      if (entry) models.push_back(*parse_json(ledger_line(*entry)));
    return Json{{"models", std::move(models)}, {"stood_already", standing_}, {"ledger", ledger}};
  }

  const Batch& batch_;
  const Carry& carry_;
  ProgressLine progress_;
  Ledger ledger_;
  std::deque<std::size_t> waiting_, lost_;
  std::vector<std::size_t> asked_twice_;
  std::vector<Worker> workers_;
  std::vector<std::optional<LedgerEntry>> entries_;
  std::vector<int> codes_;
  std::size_t total_ = 0, done_ = 0, standing_ = 0;
};

}  // namespace

int port_many(const Batch& batch, const Carry& carry) { return Porters(batch, carry).go(); }

}  // namespace convoy::cli
