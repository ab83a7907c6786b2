// A PyTorch module, its weights, and the stored answer by which it checks itself.
#include "base/mapped_file.h"
#include "containers/pickle_writer.h"
#include "containers/safetensors.h"
#include "formats/source.h"
#include "formats/torch/torch.h"
#include "port/journey.h"
#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <map>
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
    const Shape& shape = g[v].fact.shape;
    return shape.size() >= 3 && std::any_of(shape.begin() + 1, shape.end() - 1, [](Dim d) { return d.known(); });
  });
}

Status write_check(const PortReport& r, const Append& append) {
  const CheckData& data = r.proof->check;
  std::vector<NamedTensor> tensors;
  const auto add = [&](const char* word, const std::vector<Tensor>& all, const std::vector<Carried>& carried) {
    for (std::size_t i = 0; i < all.size(); ++i)
      tensors.push_back({carried.size() == 1 ? std::string(word) : word + std::string(".") + carried[i].name, all[i]});
  };
  add("input", data.inputs, r.inputs);
  add("output", data.outputs, r.outputs);
  add("bound", data.bounds, r.outputs);
  return write_safetensors(std::move(tensors), {{"format", "pt"}}, append);
}

Result<torch::Source> module_text(const PortReport& r, const fs::path& source, const TorchFiles& files,
                                  const std::string& weights_sha256) {
  torch::SourceOptions options;
  options.source_file = source.filename().string();
  options.module_name = files.module.stem().string();
  options.weights_file = files.weights.filename().string();
  options.weights_sha256 = weights_sha256;
  options.fixed_size = has_fixed_size(r.target);
  return torch::write_source(r.target, options);
}

bool agree(const Tensor& got, const Tensor& want, const Tensor& bound) {
  if (got.shape() != want.shape()) return false;
  const auto a = got.doubles(), b = want.doubles(), most = bound.doubles();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= most[i]) && !(std::isnan(a[i]) && std::isnan(b[i])) && a[i] != b[i]) return false;
  return true;
}

// The arguments of the last forward() in a module: those of the network.
std::vector<std::string> arguments_of(const std::string& text) {
  constexpr std::string_view begin = "def forward(self, ";
  std::vector<std::string> names;
  std::size_t at = text.rfind(begin);
  if (at == std::string::npos) return names;
  at += begin.size();
  for (std::size_t end = text.find(')', at); at < end && end != std::string::npos;) {
    const std::size_t colon = text.find(':', at), comma = std::min(text.find(", ", at), end);
    names.push_back(text.substr(at, std::min(colon, comma) - at));
    at = comma + 2;
  }
  return names;
}

// The text as the reader of source understands it, with the weights as they were written, must give the stored answer.
// Says what was shown. Fails (Internal): the text says something else than was meant.
Result<std::vector<std::string>> text_read_back(const PortReport& r, const torch::Source& written,
                                                const fs::path& weights) {
  const CheckData& data = r.proof->check;
  LoadOptions options;
  options.weights = weights;
  const auto arguments = arguments_of(written.text);
  for (std::size_t i = 0; i < arguments.size() && i < data.inputs.size(); ++i) {
    Shape& shape = options.shapes[arguments[i]];
    for (const Size n : data.inputs[i].shape()) shape.emplace_back(n);
  }
  const auto unread = [](const Error& error) {
    return std::vector<std::string>{"the weights were read back from the file; the Python text was not, because",
                                    error.what.substr(0, error.what.find('\n'))};
  };
  const auto read = read_source_text(written.text, "", options);
  if (!read) return unread(read.error());
  const auto values = run(*read, data.inputs);
  if (!values) return unread(values.error());
  bool same = read->outputs.size() == data.outputs.size();
  for (std::size_t i = 0; same && i < data.outputs.size(); ++i)
    same = agree(values->at(read->outputs[i]), data.outputs[i], data.bounds[i]);
  if (!same) return fail(Fault::Internal, "the Python text, read back, does not give the answer of the source");
  return std::vector<std::string>{"the weights and the Python text were read back from what was written, and give",
                                  "the answer of the source; the module checks itself against it, too"};
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

  const auto parameters = torch::state_dict(r.target);
  if (!parameters) return std::unexpected(parameters.error());
  if (auto s = write_weights(*parameters, options.weights_format, out->sink(0)); !s) return pass(s);
  const auto weights_sha256 = out->close(0);
  if (!weights_sha256) return std::unexpected(weights_sha256.error());
  if (options.proves) {
    auto read_back = with_weights_of(r.target, *parameters, out->temporary(0), options.weights_format);
    if (!read_back) return pass(read_back);
    r.target = std::move(*read_back);
    auto proof = prove(r.source, r.target, options.proof);
    if (!proof) return pass(proof);
    r.proof = std::move(*proof);
    if (!r.proof->holds) return begun;
    if (auto s = write_check(r, out->sink(1)); !s) return pass(s);
  }
  const auto text = module_text(r, source, *files, *weights_sha256);
  if (!text) return std::unexpected(text.error());
  if (options.proves) {
    auto shown = text_read_back(r, *text, out->temporary(0));
    if (!shown) return pass(shown);
    r.read_back = std::move(*shown);
  }
  if (auto s = out->sink(module)(bytes_of(text->text)); !s) return pass(s);
  if (auto s = put_in_place(*out, files->all(options.proves), r); !s) return pass(s);
  if (!options.proves && options.overwrites) {
    std::error_code absent;  // the answer of an earlier port would belong to other weights
    fs::remove(files->check, absent);
  }
  return begun;
}

}  // namespace convoy
