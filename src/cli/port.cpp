// convoy port: carry a model over: read, rewrite, write, read back, prove.
#include "port/port.h"

#include "cli/command.h"
#include "report/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

namespace convoy::cli {
namespace {

struct Port {
  ModelOptions model;
  std::string to, output, without, weights_format = "safetensors", report_file;
  bool force = false, no_proof = false, json = false, quiet = false;
  std::uint64_t seed = 0;
  int threads = 0;
  std::optional<Size> opset;
  bool external_data = false, optimizes = false;
};

Result<PortOptions> parsed(const Port& o) {
  auto load = o.model.parsed();
  if (!load) return pass(load);
  PortOptions options;
  options.load = std::move(*load);
  options.to = o.to;
  options.output = o.output;
  options.overwrites = o.force;
  options.proves = !o.no_proof;
  if (!o.without.empty()) options.without = split(o.without, ',');
  options.weights_format = o.weights_format;
  options.opset = o.opset;
  options.external_data = o.external_data;
  options.optimizes = o.optimizes;
  options.proof.seed = o.seed;
  options.proof.threads = o.threads;
  return options;
}

Status keep_evidence(const std::string& file, const std::string& text, bool force) {
  if (!force && std::filesystem::exists(file))
    return fail(Fault::Io, fmt::format("'{}' exists; --force replaces it", file));
  std::ofstream out(file, std::ios::binary);
  out << text << '\n';
  out.close();
  if (!out) return fail(Fault::Io, fmt::format("'{}' cannot be written", file));
  return {};
}

int run_port(const Port& o) {
  const auto options = parsed(o);
  if (!options) return report(options.error());
  const auto done = port(o.model.file, *options);
  if (!done) return report(done.error());
  const std::string name = std::filesystem::path(o.model.file).filename().string();
  const std::string evidence = o.json || !o.report_file.empty() ? port_json(*done, name).dump(1) : std::string();
  if (!o.report_file.empty())
    if (const auto kept = keep_evidence(o.report_file, evidence, o.force); !kept) return report(kept.error());
  if (o.json) fmt::print("{}\n", evidence);
  else if (!o.quiet || !done->holds()) fmt::print("{}", port_text(*done, name));
  if (!done->holds()) return report({Fault::Proof, done->proof->reason + "; nothing was written", o.model.file});
  return Done;
}

}  // namespace

void offer_port(CLI::App& app, int& code) {
  auto o = std::make_shared<Port>();
  auto* command = app.add_subcommand("port",
                                     "carry a model over: read, rewrite, write, read back, prove\n\n"
                                     "  convoy port model.keras --to torch -o model.py\n"
                                     "  convoy port model.h5 --to torch -o model.py --size ?x?\n"
                                     "  convoy port model.pt2 -o model.keras\n"
                                     "  convoy port model.pt2 --to keras -o model.py\n"
                                     "  convoy port model.keras -o model.onnx --opset 17");
  o->model.offer(*command);
  command->add_option("--to", o->to, "target format: torch, keras or onnx (else told by the extension of -o)");
  command->add_option("-o,--output", o->output, "the file to write (default: named after the source, here)");
  command->add_flag("-f,--force", o->force, "replace files that exist");
  command->add_flag("--no-proof", o->no_proof, "write without proving, and say so");
  command->add_option("--without", o->without, "passes to leave out, separated by commas (convoy ops lists them)");
  command->add_option("--weights-format", o->weights_format, "safetensors or pt")
      ->check(CLI::IsMember({"safetensors", "pt"}));
  command->add_option("--opset", o->opset, "ONNX: the operator set to write, 11 to 22 (default 17)");
  command->add_flag("--optimize", o->optimizes, "ONNX: take batch normalisations into the layers before them");
  command->add_flag("--external-data", o->external_data, "ONNX: the larger tensors in a file beside the model");
  command->add_option("--report", o->report_file, "keep the evidence of the proof as JSON");
  command->add_option("--seed", o->seed, "for the probing inputs");
  command->add_option("-j,--threads", o->threads, "threads to compute with")->check(CLI::Range(1, 256));
  command->add_flag("--json", o->json, "one JSON object on standard output instead of text");
  command->add_flag("-q,--quiet", o->quiet, "print nothing when all went well");
  command->callback([o, &code] { code = run_port(*o); });
}

}  // namespace convoy::cli
