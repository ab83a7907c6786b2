// A PyTorch module, its weights, and the stored answer by which it checks itself.
#include "base/mapped_file.h"
#include "containers/pickle_writer.h"
#include "containers/safetensors.h"
#include "formats/source_text.h"
#include "formats/torch/torch.h"
#include "port/journey.h"
#include "port/training_lost.h"
#include "port/written_text.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

// The places of the files of a PyTorch port, in the order in which they are put in place: the module refers to the
// others by name and carries the weights' checksum, so it comes last.
struct TorchFiles {
  fs::path weights, check, module;
  std::vector<fs::path> all(bool with_check) const {
    return with_check ? std::vector{weights, check, module} : std::vector{weights, module};
  }
};

Result<TorchFiles> torch_files(const fs::path& source, const PortOptions& options) {
  fs::path module = options.output;
  if (module.empty()) module = source.stem().string() + ".py";
  if (module.extension() != ".py")
    return fail(Fault::Usage, "-o '" + module.string() + "' does not end in .py, which a PyTorch module must");
  fs::path stem = module;
  stem.replace_extension();
  return TorchFiles{stem.string() + "." + options.weights_format, stem.string() + ".check.safetensors", module};
}

std::vector<NamedTensor> tensors_of(const std::vector<torch::Parameter>& parameters) {
  std::vector<NamedTensor> tensors;
  for (const auto& p : parameters) tensors.push_back({p.name, p.tensor});
  return tensors;
}

Status write_weights(const std::vector<torch::Parameter>& parameters, const std::string& format, const Append& append) {
  if (format == "pt") return write_state_dict(tensors_of(parameters), append);
  return write_safetensors(tensors_of(parameters), {{"format", "pt"}}, append);
}

// The target with its weights as they stand in the file just written.
Result<Graph> with_weights_of(const Graph& target, const std::vector<torch::Parameter>& parameters,
                              const fs::path& file, const std::string& format) {
  const auto mapped = open_file(file.string());
  if (!mapped) return std::unexpected(mapped.error());
  const Blob blob = blob_of(*mapped);
  auto tensors = format == "pt" ? read_back_state_dict(blob, tensors_of(parameters)) : read_safetensors(blob);
  if (!tensors) return pass(tensors);
  std::map<std::string, Tensor> named;
  for (auto& [name, tensor] : *tensors) named.emplace(name, std::move(tensor));
  Graph read_back = target;
  for (const auto& p : parameters) {
    if (!p.value) continue;
    const auto found = named.find(p.name);
    auto& constant = read_back[p.value].constant;
    if (found == named.end() || found->second.count() != constant->count() ||
        found->second.dtype() != constant->dtype())
      return fail(Fault::Internal, "'" + p.name + "' is not in the weights as it was written");
    constant = found->second.reshaped(constant->shape());
  }
  return read_back;
}

// A picture, a series or a volume whose size is declared: the port is for that size.
bool has_fixed_size(const Graph& g) {
  return std::any_of(g.inputs.begin(), g.inputs.end(), [&](ValueId v) {
    const Shape& shape = g[v].type.shape;
    return shape.size() >= 3 && std::any_of(shape.begin() + 1, shape.end() - 1, [](Dim d) { return d.known(); });
  });
}

// One row more of every input whose batch is declared, and the batches that these have.
std::pair<std::vector<Shape>, std::set<Size>> with_one_row_more(const Graph& g) {
  std::vector<Shape> shapes;
  std::set<Size> batches;
  for (const ValueId v : g.inputs) {
    Shape shape = g[v].type.shape;
    if (!shape.empty() && shape[0].known() && *shape[0] > 0) {
      batches.insert(*shape[0]);
      shape[0] = Dim(*shape[0] + 1);
    }
    shapes.push_back(std::move(shape));
  }
  return {std::move(shapes), std::move(batches)};
}

// A batch that is declared, of one input or of several, and that a value of another batch does not follow: x.reshape(2, -1), a
// constant repeated for it. What has one row for any batch and comes of no input stretches to it.
bool depends_on_batch(const Graph& g) {
  const auto [shapes, batches] = with_one_row_more(g);
  if (batches.empty()) return false;
  const auto more = with_input_shapes(g, shapes);
  if (!more) return true;
  std::vector<bool> follows(g.values.size(), false);
  for (const ValueId v : g.inputs) follows[v.slot()] = true;
  for (const Node& node : g.nodes) {
    const bool is_of_input = std::ranges::any_of(node.inputs, [&](ValueId v) { return v && follows[v.slot()]; });
    for (const ValueId v : node.outputs) {
      follows[v.slot()] = is_of_input;
      const Shape &before = g[v].type.shape, &behind = (*more)[v].type.shape;
      const bool stays = !before.empty() && before[0].known() && batches.contains(*before[0]) && before[0] == behind[0];
      const bool is_output = std::ranges::find(g.outputs, v) != g.outputs.end();
      if (stays && (*before[0] > 1 || is_of_input || is_output)) return true;
    }
  }
  return false;
}

Status write_check_safetensors(const PortReport& r, const Append& append) {
  const CheckData& data = r.proof->check;
  std::vector<NamedTensor> tensors;
  const auto add = [&](const char* word, const std::vector<Tensor>& all, const std::vector<PortedValue>& carried) {
    std::vector<std::string> names;
    for (const PortedValue& one : carried) names.push_back(one.name);
    names = python::stored_names(names);
    for (std::size_t i = 0; i < all.size(); ++i)
      tensors.push_back({carried.size() == 1 ? std::string(word) : word + std::string(".") + names[i], all[i]});
  };
  add("input", data.inputs, r.inputs);
  add("output", data.outputs, r.outputs);
  add("bound", data.bounds, r.outputs);
  return write_safetensors(std::move(tensors), {{"format", "pt"}}, append);
}

// The module as it refers to its files while they replace others.
Status write_meanwhile(const Graph& target, torch::SourceOptions said, bool with_check, OutputSet& out) {
  const auto weights = out.name_meanwhile(0);
  if (!weights) return std::unexpected(weights.error());
  said.weights_file = *weights;
  // Not the answer that the old module checks itself by, whatever happens.
  said.check_file = fs::path(*weights).stem().string() + ".check.safetensors";
  if (with_check) {
    const auto check = out.name_meanwhile(1);
    if (!check) return std::unexpected(check.error());
    said.check_file = *check;
  }
  const auto text = torch::write_source(target, said);
  if (!text) return std::unexpected(text.error());
  return out.append_meanwhile(bytes_of(text->text));
}

torch::SourceOptions said_of(const PortReport& r, const fs::path& source, const TorchFiles& files) {
  torch::SourceOptions options;
  options.source_file = source.filename().string();
  options.module_name = files.module.stem().string();
  options.weights_file = files.weights.filename().string();
  options.check_file = files.check.filename().string();
  options.fixed_size = has_fixed_size(r.target);
  options.fixed_batch = depends_on_batch(r.target);
  return options;
}

}  // namespace

Result<PortReport> port_to_torch(const fs::path& source, const PortOptions& options) {
  const auto files = torch_files(source, options);
  if (!files) return std::unexpected(files.error());
  auto out = OutputSet::begin(files->all(options.proves), options.overwrites, sources_of(source, options));
  if (!out) return pass(out);
  const std::size_t module = options.proves ? 2 : 1;

  auto begun = rewritten(source, options, torch_target());
  if (!begun) return pass(begun);
  PortReport& r = *begun;
  std::ranges::move(left_to_training(r.target), std::back_inserter(r.remarks));

  torch::SourceOptions said = said_of(r, source, *files);
  const auto parameters = torch::state_dict(r.target, said);
  if (!parameters) return std::unexpected(parameters.error());
  if (auto s = write_weights(*parameters, options.weights_format, out->sink(0)); !s) return pass(s);
  const auto weights_sha256 = out->close(0);
  if (!weights_sha256) return std::unexpected(weights_sha256.error());
  if (options.proves) {
    auto read_back = with_weights_of(r.target, *parameters, out->temporary(0), options.weights_format);
    if (!read_back) return pass(read_back);
    r.target = std::move(*read_back);
    auto proof = prove(r.source, r.target, options.proof());
    if (!proof) return pass(proof);
    r.proof = std::move(*proof);
    if (!r.proof->holds) return begun;
    if (auto s = write_check_safetensors(r, out->sink(1)); !s) return pass(s);
  }
  said.weights_sha256 = *weights_sha256;
  const auto text = torch::write_source(r.target, said);
  if (!text) return std::unexpected(text.error());
  if (options.proves) {
    auto shown = show_written_text(r, text->text, last_class, out->temporary(0));
    if (!shown) return pass(shown);
    r.read_back = std::move(*shown);
  }
  if (auto s = out->sink(module)(bytes_of(text->text)); !s) return pass(s);
  if (out->replaces())
    if (auto s = write_meanwhile(r.target, said, options.proves, *out); !s) return pass(s);
  if (!options.proves && options.overwrites) out->drop(files->check);  // an earlier answer belongs to other weights
  if (auto s = put_in_place(*out, files->all(options.proves), options, r); !s) return pass(s);
  return begun;
}

}  // namespace convoy
