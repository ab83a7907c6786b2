// What ports to different targets share.
#include "port/journey.h"

#include "base/budget.h"

#include "base/mapped_file.h"
#include "formats/onnx/onnx.h"
#include "formats/source.h"
#include "formats/source_text.h"
#include "port/element_types.h"
#include "port/halves.h"
#include "port/quantized.h"
#include "port/spelt_steps.h"
#include "port/whole_biases.h"

#include <algorithm>
#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

PortedValue ported_value(const Graph& source, ValueId from, const Graph& target, ValueId to, std::string name,
                         const Border& border) {
  PortedValue c{std::move(name),   source[from].type.shape, target[to].type.shape, source[from].type.dtype, {},
                border.channels_of};
  if (target[to].origin && target[to].origin->split.empty()) c.permutation = target[to].origin->permutation;
  if (c.permutation.empty())
    for (Size i = 0; i < static_cast<Size>(c.target.size()); ++i) c.permutation.push_back(i);
  return c;
}

void fill_carried(PortReport& r, const Interface& fixed) {
  for (std::size_t i = 0; i < r.source.inputs.size(); ++i)
    r.inputs.push_back(ported_value(r.source, r.source.inputs[i], r.target, r.target.inputs[i],
                                    r.source[r.source.inputs[i]].name, fixed.inputs[i]));
  for (std::size_t i = 0; i < r.source.outputs.size(); ++i)
    r.outputs.push_back(ported_value(r.source, r.source.outputs[i], r.target, r.target.outputs[i],
                                     r.source.output_names[i], fixed.outputs[i]));
}

// Declared sizes are held against the operators, unless other sizes were asked for.
std::vector<std::string> remarks_on(const fs::path& source, const LoadOptions& load, const Graph& graph) {
  if (!load.shapes.empty() || !load.size.empty()) return {};
  const auto file = open_file(source.string());
  if (!file || !onnx::begins_model(blob_of(*file).bytes)) return {};
  return onnx::contradicted_sizes(blob_of(*file).bytes, graph);
}

// Of a file whose quantised numbers stand for real ones: how far that is from the model as it is.
Status say_without_steps(const fs::path& source, LoadOptions told, const ProofOptions& options, PortReport& r) {
  told.dequantizes = false;
  told.keeps_quantized = true;
  told.remarks = nullptr;
  told.listing = nullptr;
  auto whole = load(source, told);
  if (whole && !holds_whole_numbers(*whole)) return {};
  auto said = whole ? losses_without_steps(*whole, r.source, options) : Result<std::vector<std::string>>(pass(whole));
  if (said) {
    said->front() = "against the model's own kernels of whole numbers " + said->front();
    r.remarks.insert(r.remarks.end(), said->begin(), said->end());
  } else if (said.error().fault != Fault::Budget) {
    r.remarks.push_back("how far that is from the model's own kernels is not known: " + message(said.error()));
  } else if (auto wanted = budget::spend(0, "the port"); !wanted) return wanted;  // cancelled on the way
  return {};
}

}  // namespace

Result<PortReport> rewritten(const fs::path& source, const PortOptions& options, const Target& target,
                             const HeldWeights* whole) {
  PortReport r;
  LoadOptions told = options.load;
  told.remarks = &r.remarks;
  told.dequantizes = told.dequantizes || options.quantized == Quantized::Float;
  told.keeps_quantized = options.quantized && !told.dequantizes;
  auto loaded = options.graph ? Result<Graph>(*options.graph) : load(source, told);
  if (!loaded) return pass(loaded);
  r.source = std::move(*loaded);
  if (told.dequantizes && !options.graph)
    if (auto s = say_without_steps(source, told, options.proof(), r); !s) return pass(s);
  if (options.reals) {
    auto said = carry_reals_as(r.source, *options.reals, options.proof());
    if (!said) return pass(said);
    r.remarks.insert(r.remarks.end(), said->begin(), said->end());
  }
  if (holds_whole_numbers(r.source)) {
    auto said = spell_out_steps(r.source, options.proof());
    if (!said) return pass(said);
    r.remarks.insert(r.remarks.end(), said->begin(), said->end());
  }
  if (options.quantized == Quantized::Keep || options.quantized == Quantized::Float) {
    auto said = divide_by_scales(r.source, options.proof());
    if (!said) return pass(said);
    r.remarks.insert(r.remarks.end(), said->begin(), said->end());
  }
  if (options.quantized == Quantized::Float) {
    auto said = leave_out_rounding(r.source, options.proof());
    if (!said) return pass(said);
    r.remarks.insert(r.remarks.end(), said->begin(), said->end());
  }
  if (whole) {
    auto said = round_biases(r.source, *whole);
    if (!said) return pass(said);
    if (*said) r.remarks.push_back(std::move(**said));
  }
  if (options.rounds_to_halves) {
    auto said = round_weights_to_halves(r.source);
    if (!said) return pass(said);
    r.remarks.push_back(std::move(*said));
  }
  const auto more = remarks_on(source, options.load, r.source);
  r.remarks.insert(r.remarks.end(), more.begin(), more.end());
  r.target = r.source;
  name_origins(r.target);  // every value starts as its own origin; the passes keep that up to date
  Target fixed = target;
  fixed.outside = options.source_axes ? Outside::Source : Outside::Target;
  fixed.interface = interface_of(r.source, fixed);
  auto reports = run_passes(r.target, fixed, options.without);
  if (!reports) return pass(reports);
  r.passes = std::move(*reports);
  fill_carried(r, *fixed.interface);
  return r;
}

std::vector<fs::path> sources_of(const fs::path& source, const PortOptions& options) {
  std::vector<fs::path> sources{file_of(source)};
  if (options.load.weights) sources.push_back(*options.load.weights);
  return sources;
}

Status follow_keys(Graph& read, const Graph& target) {
  const auto place_of_name = [](const std::vector<std::string>& names, const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  };
  if (read.inputs_by_name && target.inputs_by_name) {
    std::vector<std::string> keys;
    for (const ValueId v : read.inputs) keys.push_back(read[v].name);
    std::vector<ValueId> inputs;
    for (const ValueId v : target.inputs) {
      const std::size_t at = place_of_name(keys, python::input_name(target, v));
      if (at == keys.size()) return fail(Fault::Internal, "what was written takes no '" + target[v].name + "'");
      inputs.push_back(read.inputs[at]);
    }
    read.inputs = std::move(inputs);
  }
  if (!read.outputs_by_name || !target.outputs_by_name) return {};
  std::vector<ValueId> outputs;
  for (const std::string& name : target.output_names) {
    const std::size_t at = place_of_name(read.output_names, name);
    if (at == read.outputs.size()) return fail(Fault::Internal, "what was written gives no '" + name + "'");
    outputs.push_back(read.outputs[at]);
  }
  read.outputs = std::move(outputs);
  read.output_names = target.output_names;
  return {};
}

Result<Graph> read_back(const Graph& target, const fs::path& written, const LoadOptions& options,
                        const std::map<std::string, ValueId>& names, const std::map<std::string, ValueId>& widened) {
  auto read = load(written, options);
  if (!read) {
    // The file has no name of its own yet.
    read.error().where = "the model as it was written" + read.error().where.substr(written.filename().string().size());
    return read;
  }
  for (Value& value : read->values) {
    const auto found = names.find(value.name);
    if (found == names.end()) continue;
    value.origin = target[found->second].origin;
    value.trainable = target[found->second].trainable;
  }
  if (holds_whole_numbers(*read)) {
    std::map<std::string, Origin> origins;
    for (const auto& [name, v] : widened)
      if (target[v].origin) origins.emplace(name, *target[v].origin);
    auto spelt = spelt_out(*read, origins);
    if (!spelt) return pass(spelt);
    read = std::move(spelt);
  }
  if (auto done = follow_keys(*read, target); !done) return pass(done);
  // An output carries what the target's carries, also where the file wanted it under a name of its own, or has it in one
  // place with the value that a transpose without anything to do left as it was.
  for (std::size_t i = 0; i < read->outputs.size() && i < target.outputs.size(); ++i) {
    auto& origin = (*read)[read->outputs[i]].origin;
    const auto& wanted = target[target.outputs[i]].origin;
    if (!origin || (wanted && origin->permutation != wanted->permutation)) origin = wanted;
  }
  return read;
}

Status prove_read_back(PortReport& report, Graph read, const ProofOptions& options) {
  report.target = std::move(read);
  auto proof = prove(report.source, report.target, options);
  if (!proof) return pass(proof);
  report.proof = std::move(*proof);
  report.read_back = {"the whole model was read back from the file, and that is what was compared"};
  return {};
}

Status put_in_place(OutputSet& out, const std::vector<fs::path>& targets, const PortOptions& options,
                    PortReport& report) {
  if (auto wanted = budget::spend(0, "the port"); !wanted) return wanted;  // cancelled on the way
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto sha256 = out.close(i);
    if (!sha256) return std::unexpected(sha256.error());
    report.files.push_back({targets[i], out.bytes_written(i), *sha256});
  }
  if (options.accompany) {
    auto more = options.accompany(report);
    if (!more) return pass(more);
    out.join(*std::move(more));
  }
  return out.commit();
}

Result<PortReport> finished(PortReport report, OutputSet& out, const std::vector<fs::path>& files,
                            const PortOptions& options, std::size_t written, const LoadOptions& load,
                            const std::map<std::string, ValueId>& names,
                            const std::map<std::string, ValueId>& widened) {
  if (options.proves) {
    auto read = read_back(report.target, out.temporary(written), load, names, widened);
    if (!read) return pass(read);
    if (auto s = prove_read_back(report, std::move(*read), options.proof()); !s) return pass(s);
    if (!report.proof->holds) return report;
  }
  if (auto s = put_in_place(out, files, options, report); !s) return pass(s);
  return report;
}

}  // namespace convoy
