#include "port/convert_weights.h"

#include "base/atomic_output.h"
#include "base/sha256.h"
#include "containers/hdf5_write.h"
#include "containers/npy.h"
#include "containers/pickle_writer.h"
#include "containers/safetensors.h"
#include "formats/torch/weight_norm.h"
#include "formats/weights.h"
#include "ops/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace convoy {
namespace {

namespace fs = std::filesystem;

enum class Form : std::uint8_t { Safetensors, KerasWeights, Npz, Checkpoint };

Result<Form> form_of(const fs::path& output) {
  const std::string name = output.filename().string();
  if (name.ends_with(".safetensors")) return Form::Safetensors;
  if (name.ends_with(".weights.h5")) return Form::KerasWeights;
  if (name.ends_with(".npz")) return Form::Npz;
  if (name.ends_with(".pt") || name.ends_with(".pth")) return Form::Checkpoint;
  return fail(Fault::Usage,
              "-o '" + output.string() + "': weights are written as .safetensors, .weights.h5, .npz or .pt");
}

// "layers/dense/vars/0"
bool is_keras_name(std::string_view name) {
  const auto slash = name.rfind('/');
  if (slash == std::string_view::npos || slash + 1 == name.size()) return false;
  const std::string_view place = name.substr(0, slash);
  return name.find_first_not_of("0123456789", slash + 1) == std::string_view::npos &&
         (place == "vars" || place.ends_with("/vars"));
}

Hdf5Node document_of(const std::vector<LoadedTensor>& tensors, bool keras) {
  Hdf5Node root;
  if (keras) root.group("vars");  // which older versions of Keras open whether they need it or not
  for (const auto& [name, tensor] : tensors) {
    Hdf5Node& made = root.dataset(name, tensor);
    if (tensor.dtype() == DType::BF16) made.set("dtype", std::string("bfloat16"));
  }
  return root;
}

// A name that leads through another tensor would need a dataset that is a group.
Status check_tree(const Hdf5Node& node, const std::string& path) {
  if (node.tensor && !node.children.empty())
    return fail(Fault::Unsupported, "'" + path + "' is a tensor and leads to others, which HDF5 has no form for");
  for (const auto& [name, child] : node.children)
    if (auto good = check_tree(child, path.empty() ? name : path + "/" + name); !good) return good;
  return {};
}

Status write_keras_weights(const std::vector<LoadedTensor>& tensors, bool keras, const Append& append) {
  const Hdf5Node root = document_of(tensors, keras);
  if (auto good = check_tree(root, ""); !good) return good;
  const auto layout = Hdf5Layout::of(root);
  if (!layout) return std::unexpected(layout.error());
  return layout->write(append);
}

Status write_form(Form form, const WeightsFile& file, bool keras, const Append& append) {
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : file.tensors) named.push_back({name, tensor});
  switch (form) {
    case Form::KerasWeights: return write_keras_weights(file.tensors, keras, append);
    case Form::Checkpoint: return write_state_dict(named, append);
    case Form::Npz: {
      std::vector<std::pair<std::string, Tensor>> pairs;
      for (auto& [name, tensor] : named) pairs.emplace_back(std::move(name), std::move(tensor));
      return write_npz(pairs, append);
    }
    case Form::Safetensors: {
      std::map<std::string, std::string> metadata;
      if (file.kind == WeightsKind::PyTorch) metadata["format"] = "pt";
      return write_safetensors(std::move(named), metadata, append);
    }
  }
  return fail(Fault::Internal, "an unknown kind of weights file");
}

Status check_names(const std::vector<LoadedTensor>& tensors) {
  std::vector<std::string_view> names;
  for (const auto& one : tensors) names.push_back(one.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) return fail(Fault::Unsupported, "two tensors are named '" + std::string(*twice) + "'");
  return {};
}

// Archives and HDF5 begin no name with a slash, and know no empty step in one.
std::string name_in(Form form, const std::string& name) {
  if (form != Form::Npz && form != Form::KerasWeights) return name;
  std::string kept;
  for (const char c : name)
    if (c != '/' || (!kept.empty() && kept.back() != '/')) kept += c;
  while (kept.ends_with('/')) kept.pop_back();
  return kept;
}

// As they are named there, and what is said of it.
std::optional<std::string> name_for(Form form, std::vector<LoadedTensor>& tensors) {
  std::optional<std::string> said;
  for (auto& [name, tensor] : tensors) {
    std::string kept = name_in(form, name);
    if (kept == name) continue;
    if (!said)
      said = fmt::format("such a file has no empty step in a name: '{}' is '{}' there, and others alike", name, kept);
    name = std::move(kept);
  }
  return said;
}

Tensor written_as(const Tensor& tensor, Form form) {
  return form == Form::Npz && tensor.dtype() == DType::BF16 ? tensor.converted(DType::F32) : tensor;
}

// What was written, read by the reader that any file goes through, and compared with what was to be written.
Result<std::vector<ConvertedTensor>> read_back(const fs::path& file, const std::vector<LoadedTensor>& tensors,
                                               Form form) {
  auto again = load_weights_file(file);
  if (!again) return pass(again);
  std::map<std::string_view, const Tensor*> found;
  for (const auto& one : again->tensors) found.emplace(one.name, &one.tensor);
  if (found.size() != tensors.size()) return fail(Fault::Internal, "the written file has another count of tensors");
  std::vector<ConvertedTensor> all;
  for (const auto& [name, tensor] : tensors) {
    const auto at = found.find(name);
    const Tensor wanted = written_as(tensor, form);
    if (at == found.end() || !same_bytes(*at->second, wanted))
      return fail(Fault::Internal, "'" + name + "' is not in the file as it was written");
    all.push_back({{}, name, wanted.shape(), tensor.dtype(), wanted.dtype(), sha256_hex(wanted.bytes())});
    tensor.let_go();
  }
  return all;
}

// Every tensor of real numbers in this type, and how far that moves them: in parts of a tensor's largest number.
Result<std::string> convert_reals(std::vector<LoadedTensor>& tensors, DType to) {
  double worst = 0;
  std::string where;
  Size changed = 0;
  for (auto& [name, tensor] : tensors) {
    if (!is_floating(tensor.dtype()) || tensor.dtype() == to) continue;
    const Tensor made = tensor.converted(to);
    const auto before = tensor.doubles(), after = made.doubles();
    double most = 0, off = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!std::isfinite(before[i])) continue;
      if (!std::isfinite(after[i]))
        return fail(Fault::Usage, fmt::format("'{}' holds {:g}, which {} does not reach; leave --{} out", name,
                                              before[i], name_of(to), name_of(to)));
      most = std::max(most, std::abs(before[i]));
      off = std::max(off, std::abs(after[i] - before[i]));
    }
    if (off > 0 && off / most > worst) worst = off / most, where = name;
    tensor = made;
    ++changed;
  }
  std::string text = fmt::format("{} tensors become {}", changed, name_of(to));
  if (worst > 0) text += fmt::format(", by {:.2g} of a tensor's largest number at most (in '{}')", worst, where);
  return text;
}

std::vector<std::string> notes_of(const WeightsFile& file, Form form, bool keras) {
  std::vector<std::string> notes;
  if (form == Form::KerasWeights && !keras)
    notes.push_back(
        "these are not the names of Keras 3's layout, so load_weights cannot place them: read the file with h5py, or "
        "port the model itself");
  if (form == Form::Npz &&
      std::ranges::any_of(file.tensors, [](const auto& t) { return t.tensor.dtype() == DType::BF16; }))
    notes.push_back("numpy has no bfloat16: those tensors are float32, with the same values");
  return notes;
}

}  // namespace

Status write_weights_file(const fs::path& name, const WeightsFile& file, const Append& append) {
  const auto form = form_of(name);
  if (!form) return std::unexpected(form.error());
  WeightsFile named = file;
  name_for(*form, named.tensors);
  if (auto good = check_names(named.tensors); !good) return good;
  const bool keras = std::ranges::all_of(named.tensors, [](const auto& t) { return is_keras_name(t.name); });
  return write_form(*form, named, keras, append);
}

std::optional<std::string> name_below(std::string_view name, std::string_view below) {
  if (below.empty()) return std::string(name);
  if (below.ends_with('.') || below.ends_with('/')) below.remove_suffix(1);
  if (name.size() < below.size() + 2 || !name.starts_with(below)) return std::nullopt;
  const char separator = name[below.size()];
  if (separator != '.' && separator != '/') return std::nullopt;
  return std::string(name.substr(below.size() + 1));
}

Result<ConvertedWeights> convert_weights(const fs::path& source, const WeightsOptions& options) {
  const auto form = form_of(options.output);
  if (!form) return std::unexpected(form.error());
  auto out = OutputSet::begin({options.output}, options.overwrites, {source});
  if (!out) return pass(out);
  auto file = load_weights_file(source);
  if (!file) return pass(file);
  const std::string place = source.filename().string(), target = options.output.filename().string();
  if (file->tensors.empty())
    return within(place, Result<ConvertedWeights>(fail(Fault::Unsupported, "holds no tensors")));
  std::map<std::string, std::string> made;
  if (options.plain) {
    for (const auto& [weight, magnitude, direction] : torch::normed_weights(file->tensors))
      made[weight] = magnitude + " and " + direction;
    auto plain = within(place, torch::with_plain_weights(std::move(file->tensors)));
    if (!plain) return pass(plain);
    file->tensors = std::move(*plain);
  }
  std::vector<std::string> sources;
  std::vector<LoadedTensor> chosen;
  for (auto& [name, tensor] : file->tensors)
    if (auto below = name_below(name, options.below)) {
      const auto two = made.find(name);
      sources.push_back(two == made.end() ? name : two->second);
      chosen.push_back({std::move(*below), std::move(tensor)});
    }
  if (chosen.empty()) return fail(Fault::Usage, "--below '" + options.below + "': no tensor lies below that name");
  file->tensors = std::move(chosen);
  const auto renamed = name_for(*form, file->tensors);
  if (auto good = within(place, check_names(file->tensors)); !good) return pass(good);
  const bool keras = std::ranges::all_of(file->tensors, [](const auto& t) { return is_keras_name(t.name); });
  std::vector<DType> read;
  for (const auto& one : file->tensors) read.push_back(one.tensor.dtype());
  std::optional<std::string> changes;
  if (options.reals) {
    auto said = within(place, convert_reals(file->tensors, *options.reals));
    if (!said) return pass(said);
    changes = *std::move(said);
  }

  if (auto done = within(target, write_form(*form, *file, keras, out->sink(0))); !done) return pass(done);
  const auto sha256 = out->close(0);
  if (!sha256) return std::unexpected(sha256.error());
  auto tensors = within(target, read_back(out->temporary(0), file->tensors, *form));
  if (!tensors) return pass(tensors);
  for (std::size_t i = 0; i < sources.size(); ++i)
    (*tensors)[i].source = std::move(sources[i]), (*tensors)[i].read = read[i];
  ConvertedWeights done{.tensors = std::move(*tensors),
                        .file = {options.output, out->bytes_written(0), *sha256},
                        .notes = notes_of(*file, *form, keras)};
  if (renamed) done.notes.push_back(*renamed);
  if (changes) done.notes.insert(done.notes.begin(), *changes);
  if (auto s = out->commit(); !s) return pass(s);
  return done;
}

}  // namespace convoy
