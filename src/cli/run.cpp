// convoy run: compute a model's outputs with the native runtime.
#include "run/plan/engine.h"

#include "base/atomic_output.h"
#include "base/budget.h"
#include "base/fresh_names.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "containers/npy.h"
#include "formats/source.h"
#include "ops/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

namespace convoy::cli {
namespace {

struct Run {
  ModelOptions model;
  std::vector<std::string> inputs;
  std::string output, seed;
  bool doubles = false, force = false, plain = false, direct = false;
  int threads = 0;
};

Result<Tensor> read_tensor(const std::string& file) {
  const auto mapped = open_file(file);
  if (!mapped) return std::unexpected(mapped.error());
  return within(file, read_npy({(*mapped)->bytes(), *mapped}));
}

// "NAME=x.npy", or a single "x.npy" without a name.
std::pair<std::string, std::string> name_and_file(const Run& o, const std::string& word) {
  const bool named = o.inputs.size() > 1 || (word.contains('=') && !std::filesystem::exists(word));
  const auto equals = named ? word.find('=') : std::string::npos;
  if (equals == std::string::npos) return {"", word};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

// The shapes of the inputs by their names, that of a single one without a name.
Result<std::map<std::string, Shape>> shapes_of(const Run& o) {
  std::map<std::string, Shape> shapes;
  for (const auto& word : o.inputs) {
    const auto [name, file] = name_and_file(o, word);
    const auto tensor = read_tensor(file);
    if (!tensor) return std::unexpected(tensor.error());
    const auto [place, is_new] = shapes.try_emplace(name);
    if (!is_new)
      return fail(Fault::Usage, name.empty()
                                    ? "--input is given several times without a name; write NAME=x.npy for each"
                                    : fmt::format("--input {}= is given twice", name));
    for (const Size n : tensor->shape()) place->second.emplace_back(n);
  }
  return shapes;
}

// Source and scripts say no type of their inputs: whole numbers and truths are what the files hold.
Status take_types(const Run& o, LoadOptions& options) {
  for (const auto& word : o.inputs) {
    const auto [name, file] = name_and_file(o, word);
    const auto tensor = read_tensor(file);
    if (!tensor && !is_source(o.model.file)) continue;  // of a file that cannot be carried, that is told first
    if (!tensor) return std::unexpected(tensor.error());
    if (!is_floating(tensor->dtype())) options.types_at_hand.emplace(name, tensor->dtype());
  }
  return {};
}

// The numbers of the inputs, in the order of the graph's.
Result<std::vector<Tensor>> read_inputs(const Graph& graph, const Run& o) {
  std::vector<std::optional<Tensor>> found(graph.inputs.size());
  for (const auto& word : o.inputs) {
    const auto [name, file] = name_and_file(o, word);
    std::size_t at = 0;
    const bool is_only = name.empty() && graph.inputs.size() == 1 && o.inputs.size() == 1;
    while (!is_only && at < graph.inputs.size() && graph[graph.inputs[at]].name != name) ++at;
    if (at == graph.inputs.size()) {
      std::string names;
      std::vector<std::string> known;
      for (const ValueId v : graph.inputs) {
        names += (names.empty() ? "" : ", ") + graph[v].name;
        known.push_back(graph[v].name);
      }
      return fail(Fault::Usage, fmt::format("--input '{}' names no input of the model; it has {}: write NAME=x.npy{}",
                                            word, names, name.empty() ? "" : did_you_mean(name, known)));
    }
    auto tensor = read_tensor(file);
    if (!tensor) return std::unexpected(tensor.error());
    found[at] = std::move(*tensor);
  }
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i])
      return fail(Fault::Usage, fmt::format("input '{}' is not given; add --input {}=x.npy",
                                            graph[graph.inputs[i]].name, graph[graph.inputs[i]].name));
    inputs.push_back(std::move(*found[i]));
  }
  return inputs;
}

// The model with the inputs' own sizes: a declared size that differs is an error of the graph's checker.
Result<std::vector<Tensor>> outputs_of(std::shared_ptr<const Graph> graph, const std::vector<Tensor>& inputs,
                                       const Run& o) {
  RunOptions options;
  options.precision = o.doubles ? Precision::Double : Precision::Single;
  options.threads = o.threads;
  options.kernels = o.plain ? KernelChoice::Plain : KernelChoice::Fast;
  const budget::Computing computing;
  const WorkLine line(true);
  return Engine(std::move(graph)).run(inputs, options, !o.direct);
}

// What a node must know beforehand is computed from these inputs, where the model is refused without.
Result<Graph> loaded_for_these(const Run& o, LoadOptions options, Error refusal) {
  if (options.shapes.empty()) {
    auto shapes = shapes_of(o);
    if (!shapes) return std::unexpected(std::move(refusal));
    options.shapes = std::move(*shapes);
  }
  bool asked = false;
  options.answers = [&](const Graph& part) -> Result<std::vector<Tensor>> {
    asked = true;
    const auto inputs = read_inputs(part, o);
    if (!inputs) return std::unexpected(inputs.error());
    return outputs_of(std::make_shared<const Graph>(part), *inputs, o);
  };
  auto graph = load(o.model.file, options);
  if (!graph && !asked) return std::unexpected(std::move(refusal));
  return graph;
}

// Of several inputs whose sizes are free, the sizes that are given may not fit together: read again for these, each operator says so. A
// model that is refused there for another reason is run as it was read.
Result<Graph> read_at_these(const Run& o, LoadOptions options, Graph graph) {
  const auto shapes = shapes_of(o);
  if (!shapes || graph.inputs.size() < 2) return graph;
  bool free = false;
  for (const ValueId input : graph.inputs) {
    const Shape& declared = graph[input].type.shape;
    const auto given = shapes->find(graph[input].name);
    if (sizes_of(declared) || given == shapes->end()) continue;
    bool fits = given->second.size() == declared.size();
    for (std::size_t i = 0; i < declared.size() && fits; ++i) fits = agreed(declared[i], given->second[i]).has_value();
    if (!fits) return graph;  // its checker says so
    options.shapes.emplace(*given);
    free = true;
  }
  if (!free) return graph;
  auto read = load(o.model.file, options);
  const bool refused = !read && (read.error().fault == Fault::Format || read.error().fault == Fault::Usage);
  return read || refused ? std::move(read) : Result<Graph>(std::move(graph));
}

// Source takes the shapes and types of its inputs where it is given none, and so does a file that says none or needs them.
Result<Graph> loaded(const Run& o) {
  auto options = o.model.parsed();
  if (!options) return pass(options);
  options->keeps_quantized = true;
  if (!o.seed.empty()) {
    const auto seed = seed_of_option(o.seed);
    if (!seed) return std::unexpected(seed.error());
    if (!is_source(o.model.file) || options->weights)
      return fail(Fault::Usage, "--seed draws the initial weights of source, and here " +
                                    std::string(options->weights ? "--weights gives them" : "the file holds them"));
    options->seed = *seed;
  }
  if (auto taken = take_types(o, *options); !taken) return pass(taken);
  const bool open = options->shapes.empty();
  auto graph = open && is_source(o.model.file) ? Result<Graph>(fail(Fault::Usage, "")) : load(o.model.file, *options);
  if (!graph && graph.error().fault == Fault::Unsupported && !is_source(o.model.file))
    return loaded_for_these(o, *std::move(options), std::move(graph.error()));
  if (graph && open) return read_at_these(o, *std::move(options), *std::move(graph));
  if (graph || !open || graph.error().fault != Fault::Usage) return graph;
  auto shapes = shapes_of(o);
  if (!shapes) return pass(shapes);
  options->shapes = std::move(*shapes);
  return load(o.model.file, *options);
}

void print_outputs(const Graph& graph, const std::vector<Tensor>& outputs) {
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string shape;
    for (const Size n : outputs[i].shape()) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
    print("{} [{}]\n", shown(graph.output_names[i]), shape);
    const auto values = outputs[i].doubles();
    for (std::size_t k = 0; k < std::min(values.size(), most); ++k) print("  {:.6g}", values[k]);
    if (values.size() > most) print("  ... ({} numbers; -o y.npy keeps them)", values.size());
    print("\n");
  }
}

Status write_outputs(const Graph& graph, const std::vector<Tensor>& outputs, const Run& o) {
  const bool several = std::filesystem::path(o.output).extension() == ".npz";
  if (!several && outputs.size() > 1)
    return fail(Fault::Usage, fmt::format("the model has {} outputs; write them to a .npz file", outputs.size()));
  auto set = OutputSet::begin({o.output}, o.force, {o.model.file});
  if (!set) return pass(set);
  const auto append = set->sink(0);
  if (!several) {
    if (auto s = write_npy(outputs[0], append); !s) return s;
  } else {
    std::vector<std::pair<std::string, Tensor>> named;
    const auto names = names_apart(graph.output_names);
    for (std::size_t i = 0; i < outputs.size(); ++i) named.emplace_back(names[i], outputs[i]);
    if (auto s = write_npz(named, append); !s) return s;
  }
  return set->commit();
}

int run_model(const Run& o) {
  auto read = loaded(o);
  if (!read) return report(read.error());
  const auto graph = std::make_shared<const Graph>(*std::move(read));
  const auto inputs = read_inputs(*graph, o);
  if (!inputs) return report(inputs.error());
  const auto outputs = within(o.model.file, outputs_of(graph, *inputs, o));
  if (!outputs) return report(outputs.error());
  if (o.output.empty()) {
    print_outputs(*graph, *outputs);
    return Done;
  }
  const auto written = write_outputs(*graph, *outputs, o);
  return written ? int{Done} : report(written.error());
}

}  // namespace

void offer_run(CLI::App& app, int& code) {
  auto o = std::make_shared<Run>();
  auto* command = app.add_subcommand("run",
                                     "compute a model's outputs without any framework\n\n"
                                     "  convoy run model.keras --input x.npy -o y.npy\n"
                                     "  convoy run model.h5 --input picture=a.npy --input meta=b.npy -o y.npz");
  o->model.offer(*command);
  command->add_option("--input", o->inputs, "x.npy, or NAME=x.npy for a model with several inputs (repeated)");
  command->add_option("-o,--output", o->output, "y.npy, or y.npz for several outputs (default: print)");
  command->add_flag("-f,--force", o->force, "replace a file that exists");
  command->add_flag("--float64", o->doubles, "compute in float64");
  command->add_flag("--plain", o->plain, "compute node by node with the kernels that define what is right");
  command->add_flag("--direct", o->direct, "no Winograd: convolutions sum the products of their definition");
  command->add_option("--seed", o->seed, "source: the initial weights are those behind the framework's own seed (0)");
  command->add_option("-j,--threads", o->threads, "threads to compute with")->check(CLI::Range(1, 256));
  command->callback([o, &code] { code = run_model(*o); });
}

}  // namespace convoy::cli
