// An ONNX model: one file, or one with its weights beside it. The proof compares the source with the file as it is read
// back, so what was written is what was meant.
#include "base/mapped_file.h"
#include "formats/onnx/onnx.h"
#include "graph/quantized_steps.h"
#include "graph/time_first.h"
#include "passes/optimize.h"
#include "port/held_weights.h"
#include "port/journey.h"
#include "port/quantized.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

// The weights come first, the model that refers to them last.
Result<std::vector<fs::path>> files_of(const fs::path& source, const PortOptions& options) {
  fs::path model = options.output;
  if (model.empty()) model = source.stem().string() + ".onnx";
  if (model.extension() != ".onnx")
    return fail(Fault::Usage, "-o '" + model.string() + "' does not end in .onnx, which an ONNX model must");
  if (!options.external_data) return std::vector{model};
  return std::vector{fs::path(model.string() + ".data"), model};
}

// What a recurrent cell of ONNX gives and takes in another form, and what lies inside of one word, so that the file does not say
// it.
std::set<ValueId> unsaid(const Graph& target, bool keeps_quantized) {
  const TimeFirst found = time_first(target);
  std::set<ValueId> values, said;
  for (std::size_t i = 0; i < target.nodes.size(); ++i)
    if (found.goes[i]) values.insert(target.nodes[i].outputs.begin(), target.nodes[i].outputs.end());
  for (const auto& [node, cell] : found.cells) {
    if (cell.made) values.insert(target[node].outputs.begin(), target[node].outputs.end());
    said.insert({cell.y, cell.state, cell.last_cell, cell.in_time});
  }
  for (const ValueId v : said) values.erase(v);
  if (!keeps_quantized) return values;
  for (const auto& [last, stretch] : quantized_stretches(target).by_last)
    for (const NodeId inner : stretch.nodes)
      if (inner != last) values.insert(target[inner].outputs.front());
  return values;
}

// Names of recurrent weights say nothing of their order: the file holds their gates in another one than any permutation
// of axes says.
std::map<std::string, ValueId> names_in_file(const Graph& target, bool keeps_quantized) {
  std::set<ValueId> without = unsaid(target, keeps_quantized);
  for (const Node& node : target.nodes) {
    if (traits_of(node.op).kind != LayerKind::Recurrence) continue;
    for (const ValueId v : node.inputs)
      if (v && target[v].constant) without.insert(v);
  }
  const std::vector<std::string> written = onnx::names_of_values(target);
  std::map<std::string, ValueId> names;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const ValueId v{static_cast<std::int32_t>(i)};
    if (!without.contains(v)) names.emplace(written[i], v);
  }
  return names;
}

// Sizes keep what an ONNX file calls them, in the order that the axes have now, unless others were asked for.
onnx::SizeWords size_words_in(const fs::path& source, const PortOptions& options, const PortReport& r) {
  if (!options.load.shapes.empty() || !options.load.size.empty()) return {};
  const auto file = open_file(source.string());
  if (!file || !onnx::begins_model(blob_of(*file).bytes)) return {};
  const auto said = onnx::size_words_of_model(blob_of(*file).bytes);
  if (!said) return {};
  onnx::SizeWords now;
  for (const auto* side : {&r.inputs, &r.outputs})
    for (const PortedValue& c : *side) {
      const auto words = said->find(c.name);
      if (words == said->end() || words->second.size() != c.permutation.size()) continue;
      for (const Size axis : c.permutation) now[c.name].push_back(words->second[static_cast<std::size_t>(axis)]);
    }
  return now;
}

}  // namespace

Result<PortReport> port_to_onnx(const fs::path& source, const PortOptions& options) {
  const auto files = files_of(source, options);
  if (!files) return std::unexpected(files.error());
  auto out = OutputSet::begin(*files, options.overwrites, sources_of(source, options));
  if (!out) return pass(out);
  const std::size_t model = files->size() - 1;

  onnx::WriteOptions write;
  write.keeps_quantized = options.quantized != Quantized::Fake;
  write.opset = options.opset.value_or(onnx::usual_opset);
  auto begun = rewritten(source, options, onnx_target(static_cast<int>(write.opset)));
  if (!begun) return pass(begun);
  PortReport& r = *begun;
  if (const auto inverses = options.quantized ? 0 : inverse_scales(r.source); inverses > 0)
    r.remarks.push_back(
        std::to_string(inverses) +
        " roundings multiply by the inverse of their scale, which QuantizeLinear does not say: they are "
        "spelt out; --quantized keep divides by the scale");
  write.held = held_weights_in(source, options);
  write.size_words = size_words_in(source, options, r);
  if (options.optimizes) {
    auto folded = optimize(r.target);
    if (!folded) return pass(folded);
    r.passes.insert(r.passes.end(), folded->begin(), folded->end());
  }
  if (options.external_data) {
    write.external_location = files->front().filename().string();
    write.external_append = out->sink(0);
  }
  std::vector<std::string> output_names;
  std::set<std::string> without_kernel;
  write.output_names = &output_names;
  write.without_kernel = &without_kernel;
  if (auto s = onnx::write_model(r.target, write, out->sink(model)); !s) return pass(s);
  write.output_names = nullptr;
  write.without_kernel = nullptr;
  if (!without_kernel.empty())
    r.remarks.push_back(
        fmt::format("ONNX Runtime has no kernel of float64 for {}, so that the file does not load there; --float32 "
                    "carries the model in float32",
                    fmt::join(without_kernel, ", ")));
  for (std::size_t i = 0; i < output_names.size(); ++i) r.outputs[i].name = output_names[i];  // some had one name
  for (std::size_t i = 0; i < files->size(); ++i)
    if (auto closed = out->close(i); !closed) return pass(closed);
  if (options.external_data && out->replaces()) {
    const auto name = out->name_meanwhile(0);
    if (!name) return std::unexpected(name.error());
    onnx::WriteOptions meanwhile = write;
    meanwhile.external_location = *name;
    meanwhile.external_append = [](Bytes) { return Status(); };  // they are written
    const auto append = [&](Bytes bytes) { return out->append_meanwhile(bytes); };
    if (auto s = onnx::write_model(r.target, meanwhile, append); !s) return pass(s);
  }
  LoadOptions load;
  if (!write.external_location.empty()) load.side_files.emplace(write.external_location, out->temporary(0));
  const auto names = names_in_file(r.target, write.keeps_quantized);
  return finished(std::move(r), *out, *files, options, model, load, names);
}

}  // namespace convoy
