// replay TARGET FILE...: reads kept inputs as a fuzz target does, without libFuzzer; a folder stands for its files.
// replay --runs N --found FOLDER TARGET FILE...: then N inputs made of them, which are the same in every run. Each has a
// budget, as files have it on the command line; one that takes more processor time or memory than its budget says, or
// that ends the program, is left in FOLDER.
#include "base/budget.h"
#include "containers/zip.h"
#include "fuzz/mutated_archive.h"
#include "fuzz/mutated_bytes.h"
#include "fuzz/targets.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using namespace convoy;

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr double slower = 12;  // than what users run, and memory is not counted
#else
constexpr double slower = 1;
#endif
// What an input may take beyond what its budget grants to read it: every writer says it once.
constexpr double most_seconds = 2;
constexpr long most_kilobytes = 420L << 10;

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

long peak_kilobytes() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

Bytes being_read;
std::string kept_as;

// Only what a signal handler may call.
void keep() {
  if (kept_as.empty() || being_read.empty()) return;
  const int file = ::open(kept_as.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  [[maybe_unused]] const auto written = ::write(file, being_read.data(), being_read.size());
  ::close(file);
}

extern "C" void on_end(int signal) {
  keep();
  ::raise(signal);  // the handler is gone by now
}

void keep_what_ends_the_program() {
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) ::sigaction(signal, &action, nullptr);
}

struct Replay {
  const fuzz::Target* target = nullptr;
  Size runs = 0;
  fs::path found;
  std::vector<std::string> inputs;
  double slowest = 0;

  // False: it took too much.
  bool read(Bytes bytes, Size number) {
    budget::begin();
    budget::grant_file(0, number, static_cast<Size>(bytes.size()));
    const double begun = processor_seconds();
    try {
      target->read(bytes);
    } catch (const std::bad_alloc&) {  // over the budget
    }
    const double gone = processor_seconds() - begun;
    slowest = std::max(slowest, gone);
    const bool is_slow = gone > most_seconds * slower;
    const bool is_large = slower == 1 && peak_kilobytes() > most_kilobytes;
    if (is_slow || is_large)
      std::cerr << target->name << ": an input took " << gone << " s and " << peak_kilobytes() / 1024 << " MiB\n";
    return !is_slow && !is_large;
  }

  // What the program ends on is kept.
  bool read_made(Bytes bytes, Size number) {
    being_read = bytes;
    const bool kept = read(bytes, number);
    if (!kept) keep();
    being_read = {};
    return kept;
  }

  std::vector<std::byte> made(std::minstd_rand& random) {
    const Bytes from = bytes_of(inputs[random() % inputs.size()]), other = bytes_of(inputs[random() % inputs.size()]);
    const auto change = [&](Bytes bytes) { return fuzz::mutated_bytes(bytes, other, random); };
    if (ZipArchive::begins(from) && random() % 8 != 0)
      if (auto archive = fuzz::with_one_mutated(from, random, change); !archive.empty()) return archive;
    if (target->name == "source" || target->name == "python") return fuzz::mutated_lines(from, other, random);
    return change(from);
  }

  int run() {
    Size number = 0;
    for (const std::string& input : inputs)
      if (!read(bytes_of(input), ++number)) return 1;
    std::minstd_rand random(1);
    for (Size i = 0; i < runs && !inputs.empty(); ++i)
      if (!read_made(made(random), ++number)) return 1;
    std::cout << target->name << ": " << inputs.size() << " inputs, " << runs << " made of them, the slowest took "
              << slowest << " s, " << peak_kilobytes() / 1024 << " MiB at most\n";
    return 0;
  }
};

}  // namespace

int main(int count, char** words) {
  Replay replay;
  int at = 1;
  for (; at + 1 < count && std::string_view(words[at]).starts_with("--"); at += 2) {
    if (std::string_view(words[at]) == "--runs") replay.runs = std::stoll(words[at + 1]);
    else if (std::string_view(words[at]) == "--found") replay.found = words[at + 1];
  }
  const auto target =
      std::ranges::find(fuzz::targets, std::string_view(at < count ? words[at] : ""), &fuzz::Target::name);
  if (target == fuzz::targets.end()) {
    std::cerr << "usage: replay [--runs N --found FOLDER] TARGET FILE...\n";
    return 2;
  }
  replay.target = &*target;
  if (!replay.found.empty()) {
    fs::create_directories(replay.found);
    kept_as = (replay.found / "last").string();
    keep_what_ends_the_program();
  }
  std::vector<fs::path> files;
  for (int i = at + 1; i < count; ++i) {
    if (fs::is_directory(words[i]))
      for (const auto& entry : fs::recursive_directory_iterator(words[i]))
        if (entry.is_regular_file()) files.push_back(entry.path());
    if (fs::is_regular_file(words[i])) files.emplace_back(words[i]);
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    replay.inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return replay.run();
}
