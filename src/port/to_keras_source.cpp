// A Keras model as Python source, its weights, and the stored answer by which it checks itself.
#include "containers/npy.h"
#include "formats/keras/write/files.h"
#include "formats/keras/write/source.h"
#include "formats/source_text.h"
#include "port/journey.h"
#include "port/training_lost.h"
#include "port/written_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

// The places of the files, in the order in which they are put in place: the source refers to the others by name and
// carries the weights' checksum, so it comes last.
struct SourceFiles {
  fs::path weights, check, module;
  std::vector<fs::path> all(bool with_check) const {
    return with_check ? std::vector{weights, check, module} : std::vector{weights, module};
  }
};

SourceFiles files_of(const fs::path& module) {
  fs::path stem = module;
  stem.replace_extension();
  return {stem.string() + ".weights.h5", stem.string() + ".check.npz", module};
}

Status write_check_npz(const PortReport& r, const Append& append) {
  const CheckData& data = r.proof->check;
  std::vector<std::pair<std::string, Tensor>> tensors;
  const auto add = [&](const char* word, const std::vector<Tensor>& all, const std::vector<PortedValue>& carried) {
    std::vector<std::string> names;
    for (const PortedValue& one : carried) names.push_back(one.name);
    names = python::stored_names(names);
    for (std::size_t i = 0; i < all.size(); ++i)
      tensors.emplace_back(carried.size() == 1 ? std::string(word) : word + std::string(".") + names[i], all[i]);
  };
  add("input", data.inputs, r.inputs);
  add("output", data.outputs, r.outputs);
  add("bound", data.bounds, r.outputs);
  return write_npz(tensors, append);
}

// The source as it refers to its files while they replace others.
Status write_meanwhile(const keras::Document& document, const Graph& target, keras::SourceOptions said, bool with_check,
                       OutputSet& out) {
  const auto weights = out.name_meanwhile(0);
  if (!weights) return std::unexpected(weights.error());
  said.weights_file = *weights;
  // Not the answer that the old module checks itself by, whatever happens.
  said.check_file = fs::path(*weights).stem().stem().string() + ".check.npz";
  if (with_check) {
    const auto check = out.name_meanwhile(1);
    if (!check) return std::unexpected(check.error());
    said.check_file = *check;
  }
  const auto text = keras::write_source(document, target, said);
  if (!text) return std::unexpected(text.error());
  return out.append_meanwhile(bytes_of(*text));
}

}  // namespace

Result<PortReport> port_to_keras_source(const fs::path& source, const PortOptions& options) {
  const SourceFiles files = files_of(options.output);
  auto out = OutputSet::begin(files.all(options.proves), options.overwrites, sources_of(source, options));
  if (!out) return pass(out);
  const std::size_t module = options.proves ? 2 : 1;

  auto begun = rewritten(source, options, keras_target());
  if (!begun) return pass(begun);
  PortReport& r = *begun;
  const auto document = keras::document_of(r.target);
  if (!document) return std::unexpected(document.error());
  std::ranges::move(lost_in_training(r.target, *document), std::back_inserter(r.remarks));
  if (auto s = keras::write_weights(*document, out->sink(0)); !s) return pass(s);
  const auto weights_sha256 = out->close(0);
  if (!weights_sha256) return std::unexpected(weights_sha256.error());
  if (options.proves) {
    auto proof = prove(r.source, r.target, options.proof());
    if (!proof) return pass(proof);
    r.proof = std::move(*proof);
    if (!r.proof->holds) return begun;
    if (auto s = write_check_npz(r, out->sink(1)); !s) return pass(s);
  }
  keras::SourceOptions said;
  said.source_file = source.filename().string();
  said.module_name = files.module.stem().string();
  said.weights_file = files.weights.filename().string();
  said.check_file = files.check.filename().string();
  said.weights_sha256 = *weights_sha256;
  const auto text = keras::write_source(*document, r.target, said);
  if (!text) return std::unexpected(text.error());
  if (options.proves) {
    auto shown = show_written_text(r, *text, build_function, out->temporary(0));
    if (!shown) return pass(shown);
    r.read_back = std::move(*shown);
  }
  if (auto s = out->sink(module)(bytes_of(*text)); !s) return pass(s);
  if (out->replaces())
    if (auto s = write_meanwhile(*document, r.target, said, options.proves, *out); !s) return pass(s);
  if (!options.proves && options.overwrites) out->drop(files.check);  // an earlier answer belongs to other weights
  if (auto s = put_in_place(*out, files.all(options.proves), options, r); !s) return pass(s);
  return begun;
}

}  // namespace convoy
