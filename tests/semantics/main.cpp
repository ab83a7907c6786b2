// semantics [--most N] [--to torch|keras|onnx] [--known LIST] [--every N] [--show] FILE...: models at the edges of
// what operators mean, read and run, and, with --to, ported and read back: every number must be what the model's own framework answered. What a
// framework refuses must be refused where the numbers make it so. LIST names the rows that are known to differ, and why:
// one that does not differ fails. Ends with "N passed, N refused, N known, N failed"; more than N refusals fail as well.
#include "ops/expect.h"
#include "port/port.h"
#include "port/written_text.h"
#include "run/run.h"
#include "semantics/row.h"
#include "support/through.h"

#include <unistd.h>

#include <fstream>
#include <iostream>
#include <span>

namespace convoy::semantics {
namespace {

namespace fs = std::filesystem;

enum class Verdict : std::uint8_t { Passed, Refused, Failed };
struct Outcome {
  Verdict verdict = Verdict::Passed;
  std::string reason;
};

Outcome refused(const Error& error) {
  if (error.fault == Fault::Internal) return {Verdict::Failed, "a fault of ours: " + message(error)};
  const std::string text = message(error);
  return {Verdict::Refused, text.substr(0, text.find('\n'))};
}

std::vector<Tensor> inputs_of(const Row& row) {
  std::vector<Tensor> tensors;
  for (const Array& input : row.inputs) tensors.push_back(input.tensor);
  return tensors;
}

// How wide whole numbers are is a matter of overflow, which their numbers show.
int kind_of(DType dtype) { return is_floating(dtype) ? 0 : dtype == DType::Bool ? 1 : 2; }

Outcome compare(const Row& row, const std::vector<Tensor>& got, const Graph* graph) {
  if (got.size() != row.outputs.size()) return {Verdict::Failed, "another number of outputs"};
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (const auto wrong = difference(row, got[i], row.outputs[i])) return {Verdict::Failed, *wrong};
    if (!graph) continue;
    const DType said = (*graph)[graph->outputs[i]].type.dtype;
    if (kind_of(said) != kind_of(row.outputs[i].dtype))
      return {Verdict::Failed,
              "is " + std::string(name_of(said)) + ", wanted " + std::string(name_of(row.outputs[i].dtype))};
  }
  return {};
}

Outcome as_read(const Row& row, const Graph& graph) {
  const auto got = testing::run_through(graph, inputs_of(row), testing::Through::Nothing);
  if (!got) return refused(got.error());
  return compare(row, *got, &graph);
}

// Ports, reads the port back, and runs it as its own framework would.
Outcome as_ported(const Row& row, Graph graph, const std::string& to, const fs::path& folder) {
  PortOptions options;
  options.graph = std::move(graph);
  options.to = to;
  options.output = folder / (to == "torch" ? "net.py" : to == "keras" ? "net.keras" : "net.onnx");
  options.overwrites = true;
  options.proves = false;
  const auto ported = port("row", options);
  if (!ported) return refused(ported.error());
  std::vector<Tensor> fed;
  for (std::size_t i = 0; i < ported->target.inputs.size(); ++i) {
    auto tensor = testing::carried(row.inputs[i].tensor, ported->target[ported->target.inputs[i]].origin, {});
    if (!tensor) return refused(tensor.error());
    fed.push_back(std::move(*tensor));
  }
  Result<Graph> read = [&]() -> Result<Graph> {
    if (to != "torch") return load(options.output);
    std::ifstream file(options.output);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return read_written_text(text, last_class, folder / "net.safetensors", fed, ported->target);
  }();
  if (!read) return {Verdict::Failed, "not read back: " + message(read.error())};
  const auto values = run(*read, fed, {.threads = 1});
  if (!values) return refused(values.error());
  std::vector<Tensor> got;
  for (std::size_t i = 0; i < read->outputs.size(); ++i) {
    const Graph &source = ported->source, &target = ported->target;
    auto output = testing::restored(values->at(read->outputs[i]), target[target.outputs[i]].origin,
                                    source[source.outputs[i]].type.shape);
    if (!output) return refused(output.error());
    got.push_back(std::move(*output));
  }
  return compare(row, got, nullptr);
}

// Numbers that a framework refuses, rather than a type or an argument that it does not take.
bool is_about_numbers(const std::string& error) {
  for (const char* word : {"index", "Index", "indices", "Class values", "non-zero size", "Take"})
    if (error.contains(word)) return true;
  return false;
}

// A line of the list: the targets, with commas ("-": as read; "*": as read and toward every target), how the names of the rows begin, and why they differ.
struct Known {
  std::string to, begins, why;
  int seen = 0, differing = 0;

  bool is_of(const std::string& target) const { return ("," + to + ",").contains("," + target + ","); }
};

Result<std::vector<Known>> read_known(const std::string& name) {
  std::ifstream file(name);
  if (!file) return fail(Fault::Io, "cannot read " + name);
  std::vector<Known> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos) return fail(Fault::Format, name + ": a line has no three columns: " + line);
    all.push_back({line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return all;
}

struct Asked {
  std::string to;
  std::vector<Known> known;
  int most = -1;
  int every = 1;  // a sample: every so many rows
  bool shows = false;
  fs::path folder;
};

Outcome try_row(const Row& row, const Asked& asked) {
  auto graph = read_model_of(row);
  if (!graph) return row.error ? Outcome{} : refused(graph.error());
  if (row.error) {
    const auto got = testing::run_through(*graph, inputs_of(row), testing::Through::Nothing);
    if (got && is_about_numbers(*row.error)) return {Verdict::Failed, "answered, though: " + *row.error};
    return got ? Outcome{} : refused(got.error()).verdict == Verdict::Failed ? refused(got.error()) : Outcome{};
  }
  return asked.to.empty() ? as_read(row, *graph) : as_ported(row, std::move(*graph), asked.to, asked.folder);
}

// Whether a row is known to differ. Every line that tells of it counts what it told.
bool is_known(Asked& asked, const Row& row, bool failed) {
  bool told = false;
  for (Known& line : asked.known) {
    const bool here = line.to == "*" || line.is_of(asked.to.empty() ? "-" : asked.to);
    if (!here || !row.id.starts_with(line.begins)) continue;
    told = true;
    ++line.seen;
    line.differing += failed ? 1 : 0;
  }
  return told;
}

int run_files(const std::vector<std::string>& files, Asked& asked) {
  int passed = 0, refusals = 0, known = 0, failed = 0, at = 0;
  for (const std::string& name : files) {
    std::ifstream file(name);
    if (!file) return std::cerr << "semantics: cannot read " << name << "\n", 2;
    for (std::string line; std::getline(file, line);) {
      if (at++ % asked.every != 0) continue;
      const auto row = parse_row(line);
      if (!row) return std::cerr << "semantics: " << name << ": " << message(row.error()) << "\n", 2;
      const Outcome outcome = try_row(*row, asked);
      const bool wrong = outcome.verdict == Verdict::Failed;
      if (is_known(asked, *row, wrong) && wrong) {
        ++known;
      } else if (wrong) {
        ++failed;
        std::cout << "failed  " << row->id << ": " << outcome.reason << "\n";
      } else if (outcome.verdict == Verdict::Refused) {
        ++refusals;
        if (asked.shows) std::cout << "refused " << row->id << ": " << outcome.reason << "\n";
      } else {
        ++passed;
      }
    }
  }
  for (const Known& line : asked.known)
    if (asked.every == 1 && line.seen > 0 && line.differing == 0 && (line.to != "*" || asked.to.empty())) {
      ++failed;
      std::cout << "failed  " << line.begins << "...: is listed as known to differ, and none of its rows does\n";
    }
  std::cout << passed << " passed, " << refusals << " refused, " << known << " known, " << failed << " failed\n";
  if (passed == 0) return std::cerr << "semantics: no row passed\n", 1;
  return failed > 0 || (asked.most >= 0 && refusals > asked.most) ? 1 : 0;
}

int run_all(std::span<char*> arguments) {
  Asked asked;
  std::vector<std::string> files;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string word = arguments[i];
    if (word == "--most" && i + 1 < arguments.size()) asked.most = std::atoi(arguments[++i]);
    else if (word == "--every" && i + 1 < arguments.size()) asked.every = std::max(1, std::atoi(arguments[++i]));
    else if (word == "--to" && i + 1 < arguments.size()) asked.to = arguments[++i];
    else if (word == "--known" && i + 1 < arguments.size()) {
      auto known = read_known(arguments[++i]);
      if (!known) return std::cerr << "semantics: " << message(known.error()) << "\n", 2;
      asked.known = std::move(*known);
    } else if (word == "--show") asked.shows = true;
    else files.push_back(word);
  }
  if (files.empty())
    return std::cerr << "usage: semantics [--most N] [--to TARGET] [--known LIST] [--every N] [--show] FILE...\n", 2;
  std::string name = (fs::temp_directory_path() / "semantics_XXXXXX").string();
  if (!mkdtemp(name.data())) return std::cerr << "semantics: no temporary folder\n", 2;
  asked.folder = name;
  const int code = run_files(files, asked);
  std::error_code ignored;
  fs::remove_all(asked.folder, ignored);
  return code;
}

}  // namespace
}  // namespace convoy::semantics

int main(int argc, char** argv) { return convoy::semantics::run_all({argv, static_cast<std::size_t>(argc)}); }
