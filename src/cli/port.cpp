// convoy port: carry a model over: read, rewrite, write, read back, prove.
#include "port/port.h"
#include "cli/output.h"
#include "cli/progress.h"

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "cli/certificate.h"
#include "cli/port_many.h"
#include "cli/real_types.h"
#include "formats/source.h"
#include "report/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>

namespace convoy::cli {
namespace {

struct Port {
  ModelOptions model;
  PortSettings settings;
  std::string output, seed = "0", report_file, shard;
  bool json = false, quiet = false, resume = false;
  int jobs = 0;
};

Result<PortOptions> parsed(const Port& o) {
  auto load = o.model.parsed();
  if (!load) return pass(load);
  const auto seed = seed_of_option(o.seed);
  if (!seed) return std::unexpected(seed.error());
  load->seed = *seed;
  PortOptions options{o.settings};
  options.load = std::move(*load);
  options.output = o.output;
  options.seed = *seed;
  return options;
}

std::string with_commas_between(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ",") + word;
  return all;
}

// The word of --quantized.
std::string word_of(const std::optional<Quantized>& quantized) {
  if (!quantized) return {};
  return *quantized == Quantized::Keep ? "keep" : *quantized == Quantized::Fake ? "fake" : "float";
}

// What the port was asked for, so that it can be asked again.
Json asked_of(const Port& o, const PortReport& done, const CertificateFile& file) {
  const std::string whole = o.model.file, plain = file_of(whole).string();
  std::string output = done.files.empty() ? o.output : done.files.back().path.string();
  const PortSettings& settings = o.settings;
  if (output.empty()) output = "port" + extension_of_target(settings.to).value_or(".py");
  Json asked{{"file", file.path_from_here(plain) + whole.substr(std::min(plain.size(), whole.size()))},
             {"to", settings.to},
             {"output", std::filesystem::path(output).filename().string()},
             {"size", o.model.size},
             {"shapes", o.model.shapes},
             {"outputs", o.model.outputs},
             {"weights", o.model.weights.empty() ? "" : file.path_from_here(o.model.weights)},
             {"interface", settings.source_axes ? "source" : "target"},
             {"without", with_commas_between(settings.without)},
             {"weights_format", settings.weights_format}};
  keep_reading(o.model, file, asked);
  asked["opset"] = settings.opset ? Json(*settings.opset) : Json();
  asked["external_data"] = settings.external_data;
  asked["optimize"] = settings.optimizes;
  asked["float16_weights"] = settings.rounds_to_halves;
  asked["reals"] = settings.reals ? std::string(name_of(*settings.reals)) : std::string();
  asked["quantized"] = word_of(settings.quantized);
  asked["proof"] = settings.proves;
  asked["seed"] = seed_of_option(o.seed).value_or(0);
  return asked;
}

Port asked_again(const Json& asked, const std::filesystem::path& folder) {
  Port o;
  const auto in_folder = [&](const std::string& word) { return word.empty() ? word : (folder / word).string(); };
  o.model.file = in_folder(word_in(asked, "file"));
  read_again(asked, folder, o.model);
  o.model.outputs = word_in(asked, "outputs");
  o.model.weights = in_folder(word_in(asked, "weights"));
  PortSettings& settings = o.settings;
  settings.to = word_in(asked, "to");
  o.output = std::filesystem::path(word_in(asked, "output")).filename().string();
  settings.source_axes = word_in(asked, "interface") == "source";
  if (const std::string without = word_in(asked, "without"); !without.empty()) settings.without = split(without, ',');
  if (asked.contains("weights_format")) settings.weights_format = word_in(asked, "weights_format");
  if (asked.contains("opset") && asked["opset"].is_number_integer()) settings.opset = asked["opset"].get<Size>();
  settings.external_data = flag_in(asked, "external_data");
  settings.optimizes = flag_in(asked, "optimize");
  settings.rounds_to_halves = flag_in(asked, "float16_weights");
  settings.reals = real_type_named(word_in(asked, "reals"));
  settings.quantized = quantized_named(word_in(asked, "quantized"));
  settings.proves = flag_in(asked, "proof");
  o.seed = std::to_string(seed_in(asked));
  return o;
}

// The numbers of the source as they were read, wherever they lay: side files too.
std::string numbers_sha256(const Graph& source) {
  Sha256 sum;
  for (const Value& value : source.values)
    if (value.constant) sum.update(value.constant->bytes());
  return sum.finish_hex();
}

Json results_of(const PortReport& done, const std::string& name) {
  Json results = port_json(done, name);
  results["source"]["numbers_sha256"] = numbers_sha256(done.source);
  return results;
}

Status certify(const Port& o, const PortReport& done, const std::string& name, CertificateFile& file) {
  std::vector<std::filesystem::path> sources{file_of(o.model.file)};
  if (!o.model.weights.empty()) sources.emplace_back(o.model.weights);
  auto certificate = begun_certificate(file, "port", asked_of(o, done, file), sources);
  if (!certificate) return pass(certificate);
  certificate->update(results_of(done, name));
  (*certificate)["source"]["sha256"] = (*certificate)["sources"][0]["sha256"];
  for (Json& written : (*certificate)["files"]) written["path"] = file.path_from_here(word_in(written, "path"));
  return file.write(*certificate);
}

// A proof that does not hold is kept too: nothing else is put in place.
Status keep_evidence(const Port& o, const PortReport& done, const std::string& name, CertificateFile& file) {
  if (auto written = certify(o, done, name, file); !written) return written;
  return file.take().commit();
}

int run_port(const Port& o) {
  auto options = parsed(o);
  if (!options) return report(options.error());
  std::optional<CertificateFile> certificate;
  if (!o.report_file.empty()) {
    if (o.model.file == "-")
      return report(
          {Fault::Usage, "a source on standard input cannot be read again; give --report a file", "--report"});
    auto begun =
        CertificateFile::begin(o.report_file, o.settings.overwrites, {o.model.file, o.model.weights, o.output});
    if (!begun) return report(begun.error());
    certificate = *std::move(begun);
  }
  const std::string name = std::filesystem::path(o.model.file).filename().string();
  if (certificate)  // put in place together with the port, or neither is
    options->accompany = [&](const PortReport& done) -> Result<OutputSet> {
      if (auto written = certify(o, done, name, *certificate); !written) return pass(written);
      return certificate->take();
    };
  auto done = [&] {
    const WorkLine line(!o.quiet);  // it ends with the work
    return port(o.model.file, *options);
  }();
  if (!done) return report(done.error());
  if (certificate && !done->holds())
    if (const auto kept = keep_evidence(o, *done, name, *certificate); !kept) return report(kept.error());
  if (o.json)
    if (const auto file = open_file(o.model.file)) done->source_sha256 = sha256_hex((*file)->bytes());
  if (o.json) print_json(port_json(*done, name));
  else if (!o.quiet || !done->holds()) print("{}", port_text(*done, name));
  if (!done->holds()) return report({Fault::Proof, done->proof->reason + "; nothing was written", o.model.file});
  return Done;
}

// One of many: what it was asked for, said as that of one model is, and nothing else.
int run_port_of(const Port& all, const BatchItem& model, bool overwrites) {
  Port one = all;
  one.model.file = model.source;
  one.output = model.output.string();
  one.settings.overwrites = overwrites;
  one.json = false;
  one.quiet = true;
  return run_port(one);
}

bool is_batch(const Port& o) {
  return !o.model.more.empty() || names_folder(o.model.file) || !o.shard.empty() || o.resume || o.jobs > 0;
}

Result<Batch> batch_of_options(const Port& o) {
  std::vector<std::string> named{o.model.file};
  named.insert(named.end(), o.model.more.begin(), o.model.more.end());
  if (!o.report_file.empty())
    return fail(Fault::Usage, "--report keeps the proof of one model; leave it out where many are ported");
  if (!o.model.weights.empty())
    return fail(Fault::Usage, "--weights is for one model; leave it out where many are ported");
  if (std::ranges::find(named, "-") != named.end())
    return fail(Fault::Usage, "standard input is one model; name files or folders where many are ported");
  if (o.settings.to.empty()) return fail(Fault::Usage, "no target is given; add --to torch, --to keras or --to onnx");
  if (o.output.empty()) return fail(Fault::Usage, "many models need a folder to be written to; add -o ports");
  const auto extension = extension_of_target(o.settings.to);
  if (!extension) return std::unexpected(extension.error());
  Batch batch{.items = {}, .folder = o.output, .shard = {}};
  if (!o.shard.empty()) {
    const auto shard = shard_of(o.shard);
    if (!shard) return std::unexpected(shard.error());
    batch.shard = *shard;
  }
  if (o.resume) {
    auto before = read_ledgers(batch.folder);
    if (!before) return pass(before);
    batch.before = std::move(*before);
  }
  auto items = batch_of(named, batch.folder, *extension, batch.before);
  if (!items) return pass(items);
  batch.items = std::move(*items);
  batch.overwrites = o.settings.overwrites;
  batch.proves = o.settings.proves;
  batch.json = o.json;
  batch.quiet = o.quiet;
  batch.jobs = std::max(1, o.jobs);
  return batch;
}

int run_ports(const Port& o) {
  if (!is_batch(o)) return run_port(o);
  if (const auto options = parsed(o); !options) return report(options.error());
  const auto batch = batch_of_options(o);
  if (!batch) return report(batch.error());
  return port_many(*batch, [&](const BatchItem& model, bool overwrites) { return run_port_of(o, model, overwrites); });
}

// A folder of its own for what is written once more, gone when it is left.
struct Aside {
  std::filesystem::path folder;
  std::error_code trouble;
  Aside() {
    std::string name = (std::filesystem::temp_directory_path(trouble) / "convoy-check-XXXXXX").string();
    if (!trouble && !mkdtemp(name.data())) trouble = {errno, std::generic_category()};
    folder = name;
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  ~Aside() {
    std::error_code ignored;
    if (!trouble) std::filesystem::remove_all(folder, ignored);
  }
};

}  // namespace

Result<Json> port_again(const Json& asked, const std::filesystem::path& folder, int threads) {
  Port o = asked_again(asked, folder);
  o.settings.threads = threads;
  o.settings.overwrites = true;
  const Aside aside;
  if (aside.trouble)
    return fail(Fault::Io, "'" + aside.folder.string() + "' cannot be made: " + aside.trouble.message());
  if (o.output.empty()) return fail(Fault::Format, "the certificate does not say what was written");
  o.output = (aside.folder / o.output).string();
  const auto options = parsed(o);
  if (!options) return std::unexpected(options.error());
  const auto done = port(o.model.file, *options);
  if (!done) return std::unexpected(done.error());
  Json results = results_of(*done, std::filesystem::path(o.model.file).filename().string());
  const std::filesystem::path file = file_of(o.model.file);
  if (const auto mapped = open_file(file.string())) results["source"]["sha256"] = sha256_hex((*mapped)->bytes());
  return results;
}

void offer_port(CLI::App& app, int& code) {
  auto o = std::make_shared<Port>();
  auto* command = app.add_subcommand("port",
                                     "carry a model over: read, rewrite, write, read back, prove\n\n"
                                     "  convoy port model.keras --to torch -o model.py\n"
                                     "  convoy port model.h5 --to torch -o model.py --size ?x?\n"
                                     "  convoy port model.pt2 -o model.keras\n"
                                     "  convoy port model.pt2 --to keras -o model.py\n"
                                     "  convoy port model.keras -o model.onnx --opset 17\n"
                                     "  convoy port model.keras -o model.py --report model.proof.json\n"
                                     "  convoy port zoo more/*.h5 --to torch -o ports --jobs 4 --resume");
  o->model.offer(*command, true);
  PortSettings& settings = o->settings;
  command
      ->add_option("--to", settings.to,
                   "target format: torch, keras, onnx or tflite (else told by the extension of -o)")
      ->type_name("{torch,keras,onnx,tflite}");
  command->add_option("-o,--output", o->output,
                      "the file to write (default: named after the source, here); of many models "
                      "the folder, where ledger.jsonl keeps what became of each");
  command
      ->add_option_function<std::string>(
          "--interface", [o](const std::string& word) { o->settings.source_axes = word == "source"; },
          "whose axes inputs and outputs have: the target's convention for images (default), or the source's")
      ->check(CLI::IsMember({"source", "target"}));
  command->add_flag("-f,--force", settings.overwrites, "replace files that exist");
  command->add_flag_callback("--no-proof", [o] { o->settings.proves = false; }, "write without proving, and say so");
  command->add_option_function<std::string>(
      "--without", [o](const std::string& words) { o->settings.without = split(words, ','); },
      "passes to leave out, separated by commas (convoy ops lists them)");
  command->add_option("--weights-format", settings.weights_format, "safetensors or pt")
      ->check(CLI::IsMember({"safetensors", "pt"}));
  command->add_option("--opset", settings.opset, "ONNX: the operator set to write, 11 to 22 (default 17)");
  command->add_flag("--optimize", settings.optimizes, "ONNX: take batch normalisations into the layers before them");
  command->add_flag("--float16-weights", settings.rounds_to_halves,
                    "TFLite: weights are rounded to float16 and stored so");
  offer_real_types(*command, settings.reals, "carry the model with all real numbers of {}, and say what that changes");
  command
      ->add_option_function<std::string>(
          "--quantized", [o](const std::string& word) { o->settings.quantized = quantized_named(word); },
          "of a model that rounds to whole numbers of a scale: keep them (ONNX and TFLite; its default for ONNX), "
          "fake: float32 "
          "rounded to the same steps (the default elsewhere, but for TFLite files), float: leave the rounding out")
      ->check(CLI::IsMember({"keep", "fake", "float"}));
  command->add_flag("--external-data", settings.external_data, "ONNX: the larger tensors in a file beside the model");
  command->add_option("--report", o->report_file,
                      "keep a certificate of the proof as JSON, which diff --check runs again");
  command->add_option("--seed", o->seed,
                      "for the probing inputs; source without weights: the initial weights are those behind the "
                      "framework's own seed");
  command->add_option("-j,--threads", settings.threads, "threads to compute with")->check(CLI::Range(1, 256));
  command->add_option("--jobs", o->jobs, "many models: so many at once, each in a process of its own (default 1)")
      ->check(CLI::Range(1, 1024));
  command->add_flag(
      "--resume", o->resume,
      "many models: leave those out that the ledger says are ported, while model and port are as they were");
  command
      ->add_option("--shard", o->shard,
                   "many models: I/N takes every N-th, beginning with the I-th, counted from 0, such as 0/8")
      ->type_name("I/N");
  command->add_flag("--json", o->json, "one JSON object on standard output instead of text");
  command->add_flag("-q,--quiet", o->quiet, "print nothing when all went well");
  command->callback([o, &code] { code = run_ports(*o); });
}

}  // namespace convoy::cli
