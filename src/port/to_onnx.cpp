// An ONNX model: one file, or one with its weights beside it. The proof compares the source with the file as it is read
// back, so what was written is what was meant.
#include "formats/onnx/onnx.h"
#include "passes/optimize.h"
#include "port/journey.h"

#include <map>
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

// The model as the file says it, each value with the origin that the value of this name had when it was written.
Result<Graph> read_back(const Graph& target, const fs::path& model, const fs::path& data, const std::string& location) {
  LoadOptions options;
  if (!location.empty()) options.side_files.emplace(location, data);
  auto read = load(model, options);
  if (!read) {
    // The file has no name of its own yet.
    read.error().where = "the model as it was written" + read.error().where.substr(model.filename().string().size());
    return read;
  }
  std::map<std::string_view, const Value*> written;
  for (const Value& value : target.values) written.emplace(value.name, &value);
  for (Value& value : read->values) {
    const auto found = written.find(value.name);
    if (found == written.end()) continue;
    value.origin = found->second->origin;
    value.trainable = found->second->trainable;
  }
  // An output that ONNX wanted under a name of its own carries what the target's carries.
  for (std::size_t i = 0; i < read->outputs.size() && i < target.outputs.size(); ++i)
    if (auto& origin = (*read)[read->outputs[i]].origin; !origin) origin = target[target.outputs[i]].origin;
  return read;
}

}  // namespace

Result<PortReport> port_to_onnx(const fs::path& source, const PortOptions& options) {
  const auto files = files_of(source, options);
  if (!files) return std::unexpected(files.error());
  auto out = OutputSet::begin(*files, options.overwrites, sources_of(source, options));
  if (!out) return pass(out);
  const std::size_t model = files->size() - 1;

  onnx::WriteOptions write;
  write.opset = options.opset.value_or(onnx::usual_opset);
  auto begun = rewritten(source, options, onnx_target(static_cast<int>(write.opset)));
  if (!begun) return pass(begun);
  PortReport& r = *begun;
  if (options.optimizes) {
    auto folded = optimize(r.target);
    if (!folded) return pass(folded);
    r.passes.insert(r.passes.end(), folded->begin(), folded->end());
  }
  if (options.external_data) {
    write.external_location = files->front().filename().string();
    write.external_append = out->sink(0);
  }
  if (auto s = onnx::write_model(r.target, write, out->sink(model)); !s) return pass(s);
  for (std::size_t i = 0; i < files->size(); ++i)
    if (auto closed = out->close(i); !closed) return pass(closed);
  if (options.proves) {
    auto read = read_back(r.target, out->temporary(model), out->temporary(0), write.external_location);
    if (!read) return pass(read);
    r.target = std::move(*read);
    auto proof = prove(r.source, r.target, options.proof);
    if (!proof) return pass(proof);
    r.proof = std::move(*proof);
    r.read_back = {"the whole model was read back from the file, and that is what was compared"};
    if (!r.proof->holds) return begun;
  }
  if (auto s = put_in_place(*out, *files, r); !s) return pass(s);
  return begun;
}

}  // namespace convoy
