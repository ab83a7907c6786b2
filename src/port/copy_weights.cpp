#include "port/copy_weights.h"

#include "base/mapped_file.h"
#include "formats/source.h"
#include "formats/torch/exported/archive.h"
#include "formats/weights.h"
#include "graph/stored.h"
#include "passes/passes.h"
#include "port/convert_weights.h"
#include "port/journey.h"
#include "port/pair.h"
#include "port/rewrite.h"

#include <algorithm>
#include <map>
#include <set>

namespace convoy {
namespace {

namespace fs = std::filesystem;

bool has_name(const fs::path& output, std::initializer_list<std::string_view> ends) {
  const std::string name = output.filename().string();
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

Status check_name(Kind kind, const fs::path& output) {
  const auto wrong = [&](const char* sentence) {
    return Status(fail(Fault::Usage, "-o '" + output.string() + "': " + sentence));
  };
  if (kind == Kind::Torch && !has_name(output, {".pt", ".pth", ".safetensors", ".npz"}))
    return wrong("b is a PyTorch model, whose weights are written as .safetensors, .pt, .pth or .npz");
  if (kind == Kind::Keras && !has_name(output, {".keras", ".h5"}))
    return wrong("b is a Keras model, which is written as .keras, .h5 or .weights.h5");
  if (kind == Kind::Onnx && !has_name(output, {".onnx"})) return wrong("b is an ONNX model, which is written as .onnx");
  return {};
}

// b's own tensors, by the names and in the order of its state_dict. Tied ones are one tensor.
Result<std::vector<LoadedTensor>> own_state(const fs::path& file_b, const LoadOptions& options) {
  if (is_source(file_b)) return state_of_source(file_b, options);
  const auto mapped = open_file(file_b.string());
  if (!mapped) return std::unexpected(mapped.error());
  const auto zip = ZipArchive::open(blob_of(*mapped));
  if (!zip) return std::unexpected(zip.error());
  auto archive = torch::read_exported(*zip);
  if (!archive) return pass(archive);
  std::vector<LoadedTensor> tensors;
  for (auto& [name, tensor] : archive->weights) tensors.push_back({name, std::move(tensor)});
  return tensors;
}

std::set<std::string> targets_of(const MatchedModels& models) {
  std::set<std::string> names;
  for (const auto& row : models.carried.weights) names.insert(row.target);
  return names;
}

// What state_dict holds: b's own tensors with a's numbers where they have a counterpart.
Result<std::vector<LoadedTensor>> state_dict_of(const MatchedModels& models, const fs::path& file_b,
                                                const LoadOptions& options) {
  const Graph& b = models.carried.b;
  const auto targets = targets_of(models);
  std::map<std::string, Tensor> carried;
  for (const Value& value : b.values)
    if (value.constant && targets.contains(stored_name(value)))
      carried.emplace(stored_name(value), as_stored(value, *value.constant));
  auto tensors = own_state(file_b, options);
  if (!tensors) return tensors;
  std::map<const void*, const Tensor*> tied;
  std::set<std::string> held;
  for (const auto& [name, tensor] : *tensors) {
    held.insert(name);
    if (const auto found = carried.find(name); found != carried.end()) tied[tensor.identity()] = &found->second;
  }
  for (const auto& row : models.carried.weights)
    if (!held.contains(row.target))
      return fail(
          Fault::Unsupported,
          "layer '" + row.layer_b +
              "' of b makes its weight of others that it stores, so that a's numbers have no place there; store "
              "it as the layer uses it (a parametrization is taken off with remove_parametrizations, "
              "remove_weight_norm or remove_spectral_norm of torch.nn.utils)");
  for (auto& [name, tensor] : *tensors) {
    const auto found = tied.find(tensor.identity());
    if (found != tied.end() && found->second->shape() == tensor.shape()) tensor = *found->second;
  }
  return tensors;
}

// b as one would have it who loads what was written.
Result<Graph> read_again(const MatchedModels& models, Kind kind, const fs::path& file_b, const fs::path& written,
                         const CopyOptions& options) {
  const bool is_weights = kind == Kind::Torch || has_name(options.output, {".weights.h5"});
  if (!is_weights) return load(written, {});
  if (is_source(file_b) || file_b.extension() == ".json") {
    LoadOptions again = options.load_b;
    again.weights = written;
    return load(file_b, again);
  }
  auto tensors = load_weights_file(written);
  if (!tensors) return pass(tensors);
  if (kind == Kind::Keras) {
    // load_weights finds them by their places: those of b's own file.
    const auto own = load_weights_file(file_b);
    if (!own) return std::unexpected(own.error());
    const auto places = [](const WeightsFile& file) {
      std::map<std::string, Sizes> all;
      for (const auto& one : file.tensors) all.emplace(one.name, one.tensor.shape());
      return all;
    };
    if (places(*own) != places(*tensors))
      return fail(
          Fault::Unsupported,
          "b keeps its weights in other places than the model as it is written here; write it whole, as .keras");
    return models.carried.b;
  }
  Graph b = models.carried.b;
  std::map<std::string, const Tensor*> named;
  for (const auto& one : tensors->tensors) named.emplace(one.name, &one.tensor);
  const auto targets = targets_of(models);
  for (Value& value : b.values) {
    if (!value.constant || !targets.contains(stored_name(value))) continue;
    const auto found = named.find(stored_name(value));
    if (found == named.end())
      return fail(Fault::Internal, "'" + stored_name(value) + "' is not in the file as it was written");
    value.constant = as_read(value, *found->second);
  }
  return b;
}

std::vector<std::string> notes_of(const diagnose::CarriedModel& carried) {
  std::vector<std::string> notes;
  if (carried.kept.empty()) return notes;
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(carried.kept.size(), 6); ++i)
    names += (i == 0 ? "" : ", ") + carried.kept[i];
  if (carried.kept.size() > 6) names += ", ...";
  notes.push_back("kept as they are in b, because nothing of a stands for them: " + names);
  return notes;
}

Status write_copy(const MatchedModels& models, Kind kind, const fs::path& file_b, const CopyOptions& options,
                  const Append& append) {
  const fs::path& output = options.output;
  if (kind != Kind::Torch) return write_as_it_was(models.carried.b, kind, output, append);
  auto tensors = state_dict_of(models, file_b, options.load_b);
  if (!tensors) return pass(tensors);
  return write_weights_file(output, {WeightsKind::PyTorch, std::move(*tensors)}, append);
}

}  // namespace

Result<MatchedModels> match_models(const fs::path& a, const fs::path& b, CopyOptions& options) {
  auto pair = load_pair(a, options.load_a, b, options.load_b);
  if (!pair) return pass(pair);
  MatchedModels models{.a = std::move(pair->a), .b = std::move(pair->b), .carried = {}};
  auto carried = diagnose::carry(models.a, models.b);
  if (!carried) return pass(carried);
  models.carried = std::move(*carried);
  return models;
}

Result<CopiedWeights> copy_weights(const fs::path& a, const fs::path& b, const CopyOptions& given) {
  CopyOptions options = given;
  auto out = OutputSet::begin({options.output}, options.overwrites, {file_of(a), file_of(b)});
  if (!out) return pass(out);
  auto models = match_models(a, b, options);
  if (!models) return pass(models);
  const auto kind = within(b.filename().string(), kind_of(models->b));
  if (!kind) return std::unexpected(kind.error());
  if (auto good = check_name(*kind, options.output); !good) return pass(good);
  if (auto done = write_copy(*models, *kind, b, options, out->sink(0)); !done) return pass(done);
  const auto sha256 = out->close(0);
  if (!sha256) return std::unexpected(sha256.error());
  auto again = read_again(*models, *kind, b, out->temporary(0), options);
  if (!again) {
    again.error().where = options.output.filename().string();
    return pass(again);
  }
  CopiedWeights done{.carried = std::move(models->carried),
                     .format_a = models->a.source_format,
                     .format_b = models->b.source_format,
                     .proof = {},
                     .file = {},
                     .notes = {}};
  done.notes = notes_of(done.carried);
  if (options.proves) {
    auto proof =
        diagnose::diagnose(models->a, *again, {.inputs = {}, .seed = options.seed, .threads = options.threads});
    if (!proof) return pass(proof);
    done.proof = std::move(*proof);
    if (!done.proof->same) return done;
  }
  done.file = WrittenFile{options.output, out->bytes_written(0), *sha256};
  if (auto s = out->commit(); !s) return pass(s);
  return done;
}

}  // namespace convoy
