// convoy diff: where two models part, why, and what to write instead.
#include "diagnose/diagnose.h"

#include "base/atomic_output.h"
#include "base/mapped_file.h"
#include "cli/command.h"
#include "containers/npy.h"
#include "formats/source.h"
#include "report/difference.h"
#include "report/page.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <optional>

namespace convoy::cli {
namespace {

struct Diff {
  std::string a, b, size, weights_a, weights_b, html;
  std::vector<std::string> inputs, shapes;
  bool json = false, quiet = false, force = false;
  std::uint64_t seed = 0;
  int threads = 0;
};

Result<Graph> load_one(const Diff& o, const std::string& file, const std::string& weights) {
  ModelOptions model;
  model.file = file;
  model.size = o.size;
  model.weights = weights;
  model.shapes = o.shapes;
  return model.load();
}

Result<std::vector<Tensor>> read_inputs(const Graph& a, const std::vector<std::string>& words) {
  std::vector<Tensor> inputs;
  if (words.empty()) return inputs;
  if (words.size() != a.inputs.size())
    return fail(Fault::Usage,
                fmt::format("--input is given {} times, the model has {} inputs", words.size(), a.inputs.size()));
  for (const auto& file : words) {
    const auto mapped = open_file(file);
    if (!mapped) return std::unexpected(mapped.error());
    auto tensor = within(file, read_npy({(*mapped)->bytes(), *mapped}));
    if (!tensor) return pass(tensor);
    const Shape& shape = a[a.inputs[inputs.size()]].fact.shape;
    if (tensor->shape().size() != shape.size())
      return fail(Fault::Usage, fmt::format("--input '{}' has {} axes, input '{}' of a has {}", file,
                                            tensor->shape().size(), a[a.inputs[inputs.size()]].name, shape.size()));
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

Status write_page(OutputSet& out, const std::string& page) {
  if (auto s = out.append(0, bytes_of(page)); !s) return s;
  return out.commit();
}

int run_diff(const Diff& o) {
  std::optional<OutputSet> page;
  if (!o.html.empty()) {
    auto out = OutputSet::begin({o.html}, o.force, {file_of(o.a), file_of(o.b)});
    if (!out) return report(out.error());
    page = std::move(*out);
  }
  const auto a = load_one(o, o.a, o.weights_a);
  if (!a) return report(a.error());
  const auto b = load_one(o, o.b, o.weights_b);
  if (!b) return report(b.error());
  auto inputs = read_inputs(*a, o.inputs);
  if (!inputs) return report(inputs.error());
  diagnose::Options options;
  options.inputs = *std::move(inputs);
  options.seed = o.seed;
  options.threads = o.threads;
  options.maps = page.has_value();
  const auto found = diagnose::diagnose(*a, *b, options);
  if (!found) return report(found.error());
  const auto name = [](const std::string& file) { return std::filesystem::path(file).filename().string(); };
  const DiffNames names{name(o.a), a->source_format, name(o.b), b->source_format};
  if (o.json) fmt::print("{}\n", diff_json(*found).dump(1));
  else if (!o.quiet) fmt::print("{}", diff_text(*found, names));
  if (page)
    if (auto done = write_page(*page, diff_page(*found, *a, *b, names)); !done) return report(done.error());
  return found->same ? Done : Differs;
}

}  // namespace

void offer_diff(CLI::App& app, int& code) {
  auto o = std::make_shared<Diff>();
  auto* command = app.add_subcommand("diff",
                                     "align two models, find where and why they differ, and what to write instead\n\n"
                                     "  convoy diff net.keras port.pt2\n"
                                     "  convoy diff net.onnx port.onnx --size 224x224\n"
                                     "  convoy diff net.h5 port.pt2 --input x.npy --json\n"
                                     "  convoy diff net.keras port.pt2 --html report.html\n\n"
                                     "Exit code 0: the same; 1: they differ.");
  command->add_option("a", o->a, "the original: .keras, .h5, .hdf5, .json, .onnx or .pt2")->required();
  command->add_option("b", o->b, "the other model, of any of these formats")->required();
  command->add_option("--input", o->inputs, "numbers for a's inputs, in a's layout (.npy; once per input)");
  command->add_option("--size", o->size, "spatial size of the image inputs of both, such as 64x64");
  command->add_option("--shape", o->shapes, "full shape of one input, such as image=1,64,64,3 (may be repeated)");
  command->add_option("--weights-a", o->weights_a, "weights for a file that has none (model.json)");
  command->add_option("--weights-b", o->weights_b, "the same for b");
  command->add_option("--seed", o->seed, "for the probing inputs");
  command->add_option("-j,--threads", o->threads, "threads to compute with")->check(CLI::Range(1, 256));
  command->add_option("--html", o->html, "write a page that shows both models side by side, and where they differ");
  command->add_flag("-f,--force", o->force, "replace a page that exists");
  command->add_flag("--json", o->json, "one JSON object on standard output instead of text");
  command->add_flag("-q,--quiet", o->quiet, "print nothing; the exit code says it");
  command->callback([o, &code] { code = run_diff(*o); });
}

}  // namespace convoy::cli
