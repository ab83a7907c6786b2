// convoy diff: where two models part, why, and what to write instead.
#include "diagnose/diagnose.h"

#include "base/atomic_output.h"
#include "base/mapped_file.h"
#include "base/shown.h"
#include "cli/certificate.h"
#include "cli/command.h"
#include "cli/diff_calls.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "containers/npy.h"
#include "formats/source.h"
#include "port/mend_model.h"
#include "port/pair.h"
#include "port/spelt_steps.h"
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
  std::string a, b, kernel, channels, weights_a, weights_b, html, report_file, check_file, folder;
  ModelOptions both;  // how both are read
  std::vector<std::string> inputs;
  bool json = false, quiet = false, force = false, fixes = false;
  std::uint64_t seed = 0;
  int threads = 0;
};

// `inputs`: numbers for a's; `shares`: one is source without weights of its own.
struct Both {
  Graph a, b;
  std::vector<Tensor> inputs;
  bool shares = false;
};

Result<std::vector<Tensor>> read_inputs_of_both(const Graph& a, const std::vector<std::string>& words) {
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
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

Result<Both> load_both(const Diff& o) {
  auto of_a = options_of_one(o.a, o.weights_a, o.both), of_b = options_of_one(o.b, o.weights_b, o.both);
  if (!of_a) return pass(of_a);
  if (!of_b) return pass(of_b);
  of_a->keeps_quantized = of_b->keeps_quantized = true;
  auto pair = load_pair(o.a, *of_a, o.b, *of_b);
  if (!pair) return pass(pair);
  const bool shares = (is_source(o.a) && !of_a->weights) || (is_source(o.b) && !of_b->weights);
  auto inputs = read_inputs_of_both(pair->a, o.inputs);
  if (!inputs) return pass(inputs);
  std::vector<Tensor> none;
  if (auto done = within("a", hold_as_reals(pair->a, *inputs)); !done) return pass(done);
  if (auto done = within("b", hold_as_reals(pair->b, none)); !done) return pass(done);
  return Both{std::move(pair->a), std::move(pair->b), *std::move(inputs), shares};
}

// What was asked for, so that it can be asked again.
Json asked_of(const Diff& o, const CertificateFile& file) {
  const auto here = [&](const std::string& word) { return word.empty() ? word : file.path_from_here(word); };
  Json asked{{"a", here(o.a)},
             {"b", here(o.b)},
             {"weights_a", here(o.weights_a)},
             {"weights_b", here(o.weights_b)},
             {"size", o.both.size},
             {"shapes", o.both.shapes},
             {"inputs", Json::array()}};
  for (const std::string& input : o.inputs) asked["inputs"].push_back(here(input));
  keep_reading(o.both, file, asked);
  asked["seed"] = o.seed;
  return asked;
}

Status certify(const Diff& o, const diagnose::Diagnosis& found, CertificateFile& file) {
  std::vector<std::filesystem::path> sources;
  for (const std::string* word : {&o.a, &o.b, &o.weights_a, &o.weights_b})
    if (!word->empty()) sources.push_back(file_of(*word));
  for (const std::string& input : o.inputs) sources.emplace_back(input);
  auto certificate = begun_certificate(file, "diff", asked_of(o, file), sources);
  if (!certificate) return pass(certificate);
  certificate->update(diff_json(found));
  return file.write(*certificate);
}

// The files that are asked for beside the answer.
struct Kept {
  std::optional<OutputSet> page;
  std::optional<CertificateFile> certificate;
};

Result<Kept> begin_kept(const Diff& o) {
  Kept kept;
  if (!o.html.empty()) {
    auto out = OutputSet::begin({o.html}, o.force, {file_of(o.a), file_of(o.b)});
    if (!out) return pass(out);
    kept.page = std::move(*out);
  }
  if (!o.report_file.empty()) {
    auto begun = CertificateFile::begin(o.report_file, o.force, {o.a, o.b, o.weights_a, o.weights_b});
    if (!begun) return pass(begun);
    kept.certificate = *std::move(begun);
  }
  return kept;
}

// They are written, and appear together.
Result<std::optional<OutputSet>> written(const Diff& o, const diagnose::Diagnosis& found, const Graph& a,
                                         const Graph& b, const DiffNames& names, Kept kept) {
  std::optional<OutputSet> all = std::move(kept.page);
  if (all)
    if (auto done = all->append(0, bytes_of(diff_page(found, a, b, names))); !done) return pass(done);
  if (!kept.certificate) return all;
  if (auto done = certify(o, found, *kept.certificate); !done) return pass(done);
  if (all) all->join(kept.certificate->take());
  else all = kept.certificate->take();
  return all;
}

// Says on standard error why b was not mended: the findings are said already, and stand. What is kept of them is put in
// place with the mended model, or without it where there is none; where it cannot be written, nothing is.
int mend(const Diff& o, const Graph& a, const Graph& b, const diagnose::Diagnosis& found,
         const diagnose::Options& options, std::optional<OutputSet> kept) {
  std::function<Result<OutputSet>(const PortReport&)> accompany;
  if (kept) accompany = [&](const PortReport&) -> Result<OutputSet> { return *std::exchange(kept, std::nullopt); };
  const auto mended = mend_model(a, b, o.b, o.folder, o.force, found, options, accompany);
  if (!mended) {
    if (kept && mended.error().fault != Fault::Io)
      if (const auto done = kept->commit(); !done) return report(done.error());
    return report(mended.error());
  }
  for (const WrittenFile& file : mended->files) say("wrote   {}  {} bytes\n", shown(file.path.string()), file.bytes);
  say("mended  a and what was written are the same: no stretch differs by more than rounding explains\n");
  return Differs;
}

// Two calls have no files, no weights and no numbers.
int run_calls(const Diff& o) {
  for (const auto& [is_given, option] : {std::pair{!o.inputs.empty(), "--input"},
                                         {!o.both.roots.empty(), "--allow-root"},
                                         {!o.both.names.empty(), "--set"},
                                         {!o.both.signature.empty(), "--signature"},
                                         {o.both.dequantizes, "--dequantize"},
                                         {!o.weights_a.empty(), "--weights-a"},
                                         {!o.weights_b.empty(), "--weights-b"},
                                         {!o.html.empty(), "--html"},
                                         {!o.report_file.empty(), "--report"},
                                         {o.fixes, "--fix"},
                                         {!o.folder.empty(), "-o"}})
    if (is_given) return report({Fault::Usage, fmt::format("{}: two calls have no use for it", option), {}});
  return diff_calls({o.a, o.b, o.both.size, o.kernel, o.channels, o.both.shapes, o.json, o.quiet});
}

int run_diff(const Diff& o) {
  if (!o.check_file.empty()) return check_certificate({o.check_file, o.json, o.quiet, o.threads});
  if (is_call(o.a) || is_call(o.b)) return run_calls(o);
  for (const auto& [word, option] : {std::pair{&o.kernel, "--kernel"}, {&o.channels, "--channels"}})
    if (!word->empty()) return report({Fault::Usage, fmt::format("{}: the files say it", option), {}});
  if (!o.fixes && !o.folder.empty())
    return report({Fault::Usage, "-o '" + o.folder + "' is for a mended model: add --fix, or leave -o out", {}});
  if (o.fixes && o.folder.empty())
    return report({Fault::Usage, "--fix needs a folder for the mended model: -o DIR", {}});
  auto begun = begin_kept(o);
  if (!begun) return report(begun.error());
  auto pair = load_both(o);
  if (!pair) return report(pair.error());
  const Graph &a = pair->a, &b = pair->b;
  if (o.fixes)
    if (const auto place = place_for_mended(b, o.b, o.folder, o.force); !place) return report(place.error());
  diagnose::Options options;
  options.inputs = std::move(pair->inputs);
  options.seed = o.seed;
  options.threads = o.threads;
  options.maps = begun->page.has_value();
  options.shares_weights = pair->shares;
  const auto found = [&] {
    const WorkLine line(!o.quiet);  // it ends with this search
    return diagnose::diagnose(a, b, options);
  }();
  if (!found) return report(found.error());
  const auto name = [](const std::string& file) { return std::filesystem::path(file).filename().string(); };
  const DiffNames names{name(o.a), a.source_format, name(o.b), b.source_format};
  auto kept = written(o, *found, a, b, names, *std::move(begun));
  if (!kept) return report(kept.error());
  const bool mends = o.fixes && !found->same;
  if (*kept && !mends)
    if (const auto done = (*kept)->commit(); !done) return report(done.error());
  if (o.json) print_json(diff_json(*found));
  else if (!o.quiet) print("{}", diff_text(*found, names));
  if (mends) return mend(o, a, b, *found, options, *std::move(kept));
  return found->same ? Done : Differs;
}

}  // namespace

Result<Json> diff_again(const Json& asked, const std::filesystem::path& folder, int threads) {
  const auto in_folder = [&](const std::string& word) { return word.empty() ? word : (folder / word).string(); };
  Diff o;
  o.a = in_folder(word_in(asked, "a"));
  o.b = in_folder(word_in(asked, "b"));
  o.weights_a = in_folder(word_in(asked, "weights_a"));
  o.weights_b = in_folder(word_in(asked, "weights_b"));
  read_again(asked, folder, o.both);
  for (const std::string& word : words_in(asked, "inputs")) o.inputs.push_back(in_folder(word));
  auto pair = load_both(o);
  if (!pair) return std::unexpected(pair.error());
  const Graph &a = pair->a, &b = pair->b;
  diagnose::Options options;
  options.inputs = std::move(pair->inputs);
  options.seed = seed_in(asked);
  options.shares_weights = pair->shares;
  options.threads = threads;
  const auto found = diagnose::diagnose(a, b, options);
  if (!found) return std::unexpected(found.error());
  return diff_json(*found);
}

void offer_diff(CLI::App& app, int& code) {
  auto o = std::make_shared<Diff>();
  auto* command = app.add_subcommand("diff",
                                     "align two models, find where and why they differ, and what to write instead\n\n"
                                     "  convoy diff net.keras port.pt2\n"
                                     "  convoy diff net.onnx port.onnx --size 224x224\n"
                                     "  convoy diff net.h5 port.pt2 --input x.npy --json\n"
                                     "  convoy diff net.keras port.pt2 --html report.html\n"
                                     "  convoy diff --check port.proof.json\n"
                                     "  convoy diff net.keras port.onnx --fix -o mended\n"
                                     "  convoy diff 'nn.Conv2d(3, 8, 3, 2, 1)' 'Conv2D(8, 3, 2, \"same\")'\n\n"
                                     "Exit code 0: the same; 1: they differ.");
  auto* a = command->add_option(
      "a", o->a, "the original: .keras, .h5, .hdf5, .json, .onnx, .tflite, .pb, .pt2, a SavedModel; or a layer's call");
  auto* b = command->add_option("b", o->b, "the other model, of any of these formats; or another call");
  command->add_option("--input", o->inputs, "numbers for a's inputs, in a's layout (.npy; once per input)");
  o->both.offer_for_two(*command);
  command->add_option("--kernel", o->kernel,
                      "of two calls: the kernel's size, such as 3 or 4x1, where neither says it");
  command->add_option("--channels", o->channels, "of two calls: channels of the input, where neither says them");
  command->add_option("--weights-a", o->weights_a, "weights for a file that has none (model.json)");
  command->add_option("--weights-b", o->weights_b, "the same for b");
  auto* kept = command->add_option("--report", o->report_file, "keep a certificate of the comparison as JSON");
  command->add_flag("-f,--force", o->force, "replace files that exist");
  auto* check =
      command->add_option("--check", o->check_file, "run a certificate again, of port or diff: what changed since");
  check->excludes(a)->excludes(b)->excludes(kept);
  command->add_option("--seed", o->seed, "for the probing inputs");
  command->add_option("-j,--threads", o->threads, "threads to compute with")->check(CLI::Range(1, 256));
  command->add_flag("--fix", o->fixes,
                    "write b with what differs put right into the folder -o, once it is shown to be the same as a");
  command->add_option("-o,--output", o->folder, "--fix: the folder for the mended model");
  command->add_option("--html", o->html, "write a page that shows both models side by side, and where they differ");
  command->add_flag("--json", o->json, "one JSON object on standard output instead of text");
  command->add_flag("-q,--quiet", o->quiet, "print nothing; the exit code says it");
  command->callback([o, &code] {
    if (o->check_file.empty() && o->b.empty()) throw CLI::RequiredError(o->a.empty() ? "a" : "b");
    code = run_diff(*o);
  });
}

}  // namespace convoy::cli
