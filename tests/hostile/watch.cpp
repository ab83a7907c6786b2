// The child writes into shared memory what it is doing, so that the parent knows which input killed it.
#include "hostile/watch.h"

#include "formats/format.h"
#include "graph/graph.h"
#include "hostile/walk.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>

namespace convoy::hostile {
namespace {

constexpr std::size_t most_findings = 8;

struct Shared {
  std::atomic<std::size_t> next, errors, graphs, findings;
  struct {
    std::size_t index;
    char what[400];
  } found[most_findings];

  void find(std::size_t index, const std::string& what) {
    const std::size_t slot = findings++;
    if (slot >= most_findings) return;
    found[slot].index = index;
    std::strncpy(found[slot].what, what.c_str(), sizeof found[slot].what - 1);
  }
};

long peak_kibibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Success: the file was read; a graph that was read must be sound.
Status read_one(const Series& series, const std::filesystem::path& file, Shared& shared, std::size_t index) {
  if (series.door == Door::Container) return walk(file);
  if (series.door == Door::Weights) {
    std::filesystem::path numbers = file;
    numbers.replace_extension(".data-00000-of-00001");
    std::error_code stands;
    std::filesystem::create_symlink(std::filesystem::absolute(*series.weights), numbers, stands);
    auto tensors = load_weights(file);
    return tensors ? Status() : Status(pass(tensors));
  }
  LoadOptions options;
  options.weights = series.weights;
  auto graph = load(file, options);
  if (!graph) return pass(graph);
  if (auto checked = check(*graph); !checked) shared.find(index, "made a broken graph: " + message(checked.error()));
  return {};
}

void load_one(const Series& series, std::size_t index, const std::filesystem::path& file, Shared& shared) {
  const auto result = read_one(series, file, shared, index);
  if (result) {
    ++shared.graphs;
    if (series.must_fail) shared.find(index, "was read without a complaint");
    return;
  }
  ++shared.errors;
  const Error& error = result.error();
  if (error.fault == Fault::Internal) shared.find(index, "calls it our fault: " + message(error));
  if (error.what.empty() || (series.door == Door::Reader && error.where.empty()))
    shared.find(index, "names no place: " + message(error));
}

void work(const Series& series, const std::filesystem::path& file, const Limits& limits, Shared& shared) {
  const long before = peak_kibibytes();
  bool tall = false;
  for (std::size_t index = shared.next; index < series.count; index = ++shared.next) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << series.make(index);
    alarm(static_cast<unsigned>(limits.seconds * 10) + 5);  // a hang ends the child, and that is a finding
    const std::clock_t start = std::clock();  // of the processor: what else runs there is no finding
    load_one(series, index, file, shared);
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (took > limits.seconds) shared.find(index, "took " + std::to_string(took) + " s");
    if (const long grown = peak_kibibytes() - before; grown > limits.kibibytes && !tall) {
      tall = true;
      shared.find(index, "took " + std::to_string(grown / 1024) + " MiB");
    }
  }
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return "never came back";
  if (WIFSIGNALED(status)) return std::string("crashed: ") + strsignal(WTERMSIG(status));
  return "ended the process with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Outcome watch(const Series& series, const std::filesystem::path& folder, const Limits& limits) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {0, 0, {{0, "no shared memory"}}};
  auto& shared = *new (memory) Shared{};
  const std::filesystem::path file = folder / ("model" + series.extension);
  while (shared.next < series.count && shared.findings < most_findings) {
    const pid_t child = fork();
    if (child < 0) {
      shared.find(shared.next, "cannot fork");
      break;
    }
    if (child == 0) {
      work(series, file, limits, shared);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    shared.find(shared.next, how_it_ended(status));
    ++shared.next;
  }
  Outcome outcome{shared.errors, shared.graphs, {}};
  for (std::size_t i = 0; i < std::min<std::size_t>(shared.findings, most_findings); ++i)
    outcome.findings.push_back({shared.found[i].index, shared.found[i].what});
  munmap(memory, sizeof(Shared));
  return outcome;
}

}  // namespace convoy::hostile
