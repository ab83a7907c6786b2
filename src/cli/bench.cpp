// convoy bench: how long a model takes in the native runtime, step by step, and the same for programs that compare runtimes.
#include "base/atomic_output.h"
#include "base/budget.h"
#include "base/mapped_file.h"
#include "base/shown.h"
#include "cli/command.h"
#include "cli/output.h"
#include "containers/json.h"
#include "containers/npy.h"
#include "run/plan/engine.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>

namespace convoy::cli {
namespace {

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Bench {
  ModelOptions model;
  std::vector<std::string> inputs;  // --serve: x.npy behind the model
  int threads = 1, runs = 20;
  bool json = false, plan = false, serves = false, plain = false, direct = false, force = false;
};

RunOptions options_of(const Bench& o) {
  RunOptions options;
  options.threads = o.threads;
  options.kernels = o.plain ? KernelChoice::Plain : KernelChoice::Fast;
  return options;
}

// Numbers that look like normalized pictures; whole ones are zeros, which stand in every table.
Result<std::vector<Tensor>> made_inputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  for (const ValueId v : graph.inputs) {
    Sizes shape;
    for (std::size_t d = 0; d < graph[v].type.shape.size(); ++d) {
      const auto size = graph[v].type.shape[d].size();
      if (!size && d > 0)
        return fail(Fault::Usage, fmt::format("input '{}' has shape {}; say the free sizes with --size or --shape",
                                              graph[v].name, text_of(graph[v].type.shape)));
      shape.push_back(size.value_or(1));
    }
    const auto count = checked_count(shape);
    if (auto held = budget::afford(count, "input '" + graph[v].name + "'"); !held) return pass(held);
    if (graph[v].type.dtype == DType::F32 || graph[v].type.dtype == DType::F64 || graph[v].type.dtype == DType::F16) {
      std::vector<float> values(static_cast<std::size_t>(*count));
      for (float& value : values) value = normal(engine);
      inputs.push_back(Tensor::of(std::move(shape), std::move(values)));
    } else {
      inputs.push_back(Tensor::of(std::move(shape), std::vector<std::int64_t>(static_cast<std::size_t>(*count))));
    }
  }
  return inputs;
}

Result<Tensor> read_input(const std::string& file) {
  const auto mapped = open_file(file);
  if (!mapped) return std::unexpected(mapped.error());
  return within(file, read_npy({(*mapped)->bytes(), *mapped}));
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// The steps of the plan, each with the median of its times.
struct Row {
  std::string layer, what;
  double operations = 0, ms = 0;
};

Result<std::vector<Row>> timed_steps(const plan::Plan& plan, const std::vector<Tensor>& inputs, const Bench& o) {
  std::vector<std::vector<plan::Timing>> runs(static_cast<std::size_t>(std::max(o.runs, 1)));
  for (auto& run : runs)
    if (const auto done = plan.run(inputs, o.threads, &run); !done) return std::unexpected(done.error());
  std::vector<Row> rows;
  for (std::size_t i = 0; i < runs[0].size(); ++i) {
    std::vector<double> times;
    for (const auto& run : runs) times.push_back(run[i].seconds * 1e3);
    rows.push_back({runs[0][i].layer, runs[0][i].what, runs[0][i].operations, median(std::move(times))});
  }
  return rows;
}

double rate(double operations, double ms) { return ms > 0 ? operations / ms * 1e-6 : 0; }

int measure(const Bench& o) {
  auto read = o.model.load();
  if (!read) return report(read.error());
  const auto graph = std::make_shared<const Graph>(*std::move(read));
  const auto inputs = within(o.model.file, made_inputs(*graph));
  if (!inputs) return report(inputs.error());
  const budget::Computing computing;
  const Engine engine(graph);
  const auto start = Clock::now();
  if (const auto first = within(o.model.file, engine.run(*inputs, options_of(o), !o.direct)); !first)
    return report(first.error());
  const double first_ms = milliseconds_since(start);
  std::vector<double> times;
  for (int i = 0; i < o.runs; ++i) {
    const auto begin = Clock::now();
    if (const auto done = engine.run(*inputs, options_of(o), !o.direct); !done) return report(done.error());
    times.push_back(milliseconds_since(begin));
  }
  const auto plan = engine.plan_for(*inputs, options_of(o), !o.direct);
  std::vector<Row> rows;
  if (plan && *plan) {
    auto timed = timed_steps(**plan, *inputs, o);
    if (!timed) return report(timed.error());
    rows = *std::move(timed);
  }
  double operations = 0;
  for (const Row& row : rows) operations += row.operations;
  const double ms = median(times), least = *std::ranges::min_element(times);
  if (o.json) {
    nlohmann::ordered_json all{{"model", o.model.file},
                               {"threads", o.threads},
                               {"median_ms", ms},
                               {"min_ms", least},
                               {"first_ms", first_ms},
                               {"operations", operations},
                               {"gflops", rate(operations, ms)},
                               {"arena_bytes", plan && *plan ? (*plan)->arena_bytes() : 0}};
    all["steps"] = nlohmann::ordered_json::array();
    for (const Row& row : rows)
      all["steps"].push_back(
          {{"layer", row.layer}, {"step", row.what}, {"operations", row.operations}, {"ms", row.ms}});
    print("{}\n", json_text(all, 2));
    return Done;
  }
  print("{:.3f} ms (least {:.3f}, first {:.1f}), {:.1f} GF/s on {} thread{}\n", ms, least, first_ms,
        rate(operations, ms), o.threads, o.threads == 1 ? "" : "s");
  if (rows.empty()) print("computed node by node: this model has no plan\n");
  if (o.plan)
    for (const Row& row : rows)
      print("{:9.3f} ms {:8.1f} GF/s  {:<40} {}\n", row.ms, rate(row.operations, row.ms), row.what, shown(row.layer));
  return Done;
}

double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

int answer(const std::string& line) {
  print("{}\n", line);
  std::cout.flush();
  return Done;
}

// Lines of standard input are answered with lines of JSON: run N, out FILE, rss, quit.
int serve(const Bench& o) {
  const auto begin = Clock::now();
  auto read = o.model.load();
  if (!read) return report(read.error());
  const auto graph = std::make_shared<const Graph>(*std::move(read));
  const Engine engine(graph);
  std::vector<Tensor> inputs;
  for (const std::string& file : o.inputs) {
    auto input = read_input(file);
    if (!input) return report(input.error());
    inputs.push_back(*std::move(input));
  }
  if (o.inputs.empty()) {
    auto made = within(o.model.file, made_inputs(*graph));
    if (!made) return report(made.error());
    inputs = *std::move(made);
  }
  const budget::Computing computing;
  const double load_ms = milliseconds_since(begin);
  auto start = Clock::now();
  auto outputs = engine.run(inputs, options_of(o), !o.direct);
  if (!outputs) return report(outputs.error());
  answer(fmt::format(R"({{"ready":1,"import_ms":0,"load_ms":{:.3f},"first_ms":{:.3f}}})", load_ms,
                     milliseconds_since(start)));
  const double loaded = peak_memory();
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    std::istringstream words(line);
    std::string word, rest;
    words >> word >> rest;
    if (word == "run") {
      std::string times;
      for (int i = 0; i < std::atoi(rest.c_str()); ++i) {
        start = Clock::now();
        outputs = engine.run(inputs, options_of(o), !o.direct);
        if (!outputs) return report(outputs.error());
        times += fmt::format("{}{:.4f}", times.empty() ? "" : ",", milliseconds_since(start));
      }
      answer("{\"ms\":[" + times + "]}");
    } else if (word == "out") {
      auto set = OutputSet::begin({rest}, o.force, {o.model.file});
      if (!set) return report(set.error());
      if (auto s = write_npy((*outputs)[0], set->sink(0)); !s) return report(s.error());
      if (auto s = set->commit(); !s) return report(s.error());
      answer(R"({"ok":1})");
    } else if (word == "rss") {
      answer(fmt::format(R"({{"hwm_mb":{:.1f},"rss_loaded_mb":{:.1f}}})", peak_memory(), loaded));
    } else {
      return report(
          {Fault::Usage, fmt::format("'{}' is no request; there are run N, out FILE, rss and quit", shown(word))});
    }
  }
  return Done;
}

}  // namespace

void offer_bench(CLI::App& app, int& code) {
  auto o = std::make_shared<Bench>();
  auto* command = app.add_subcommand("bench",
                                     "how long a model takes in the native runtime\n\n"
                                     "  convoy bench model.onnx -j 2\n"
                                     "  convoy bench model.keras --size 224x224 --plan");
  o->model.offer(*command);
  command->add_option("--input", o->inputs,
                      "x.npy, one for each input in their order (default: random numbers); --serve");
  command->add_option("-j,--threads", o->threads, "threads to compute with (1)")->check(CLI::Range(1, 256));
  command->add_option("--runs", o->runs, "how often it is run (20)")->check(CLI::Range(1, 1000000));
  command->add_flag("--plan", o->plan, "every step of the plan: its time, and what was taken together");
  command->add_flag("--json", o->json, "all of it as JSON");
  command->add_flag("--plain", o->plain, "node by node with the kernels that define what is right");
  command->add_flag("--direct", o->direct, "no Winograd: convolutions sum the products of their definition");
  command->add_flag("-f,--force", o->force, "--serve: out FILE replaces a file that exists");
  command->add_flag("--serve", o->serves,
                    "answer lines of standard input for a bench of several runtimes: run N, out FILE, rss, quit");
  command->callback([o, &code] { code = o->serves ? serve(*o) : measure(*o); });
}

}  // namespace convoy::cli
