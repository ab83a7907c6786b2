#include "port/mend_model.h"

#include "diagnose/mend.h"
#include "formats/source.h"
#include "port/rewrite.h"

#include <fmt/format.h>

namespace convoy {
namespace {

namespace fs = std::filesystem;

fs::path place_of_mended(Kind kind, const fs::path& file_b, const fs::path& folder) {
  const fs::path file = file_of(file_b);
  fs::path name = folder / (file == "-" ? fs::path("model") : file.filename());
  const bool is_old = kind == Kind::Keras && (file.extension() == ".h5" || file.extension() == ".hdf5");
  name.replace_extension(kind == Kind::Torch ? ".py" : kind == Kind::Onnx ? ".onnx" : is_old ? ".h5" : ".keras");
  return name;
}

}  // namespace

Result<fs::path> place_for_mended(const Graph& b, const fs::path& file_b, const fs::path& folder, bool overwrites) {
  const auto kind = within(file_of(file_b).filename().string(), kind_of(b));
  if (!kind) return std::unexpected(kind.error());
  fs::path place = place_of_mended(*kind, file_b, folder);
  std::error_code ignored;
  if (!overwrites && fs::exists(place, ignored))
    return fail(Fault::Io, "'" + place.string() + "' exists; --force replaces it");
  return place;
}

Result<PortReport> mend_model(const Graph& a, const Graph& b, const fs::path& file_b, const fs::path& folder,
                              bool overwrites, const diagnose::Diagnosis& diagnosis, const diagnose::Options& options,
                              std::function<Result<OutputSet>(const PortReport&)> accompany) {
  const std::string name = file_of(file_b).filename().string();
  const auto kind = within(name, kind_of(b));
  if (!kind) return std::unexpected(kind.error());
  auto mended = within(name, diagnose::mend(a, b, diagnosis));
  if (!mended) return pass(mended);
  const auto again = diagnose::diagnose(a, *mended, options);
  if (!again) return std::unexpected(again.error());
  if (!again->same) {
    const auto& left = again->findings.front();
    return fail(Fault::Proof, fmt::format("{}: with what differs put right, layer '{}' of a still differs ('{}' of b); "
                                          "nothing was written",
                                          name, left.a, left.b));
  }
  PortOptions port_options;
  port_options.output = place_of_mended(*kind, file_b, folder);
  port_options.overwrites = overwrites;
  port_options.accompany = std::move(accompany);
  port_options.seed = options.seed;
  port_options.threads = options.threads;
  // A form with channels first is written with channels last for Keras, and as it is for the others.
  port_options.graph = std::move(*mended);
  const Graph& form = *port_options.graph;
  if (*kind != Kind::Keras) port_options.source_axes = true;
  const Interface lying = *kind == Kind::Keras ? interface_of(form, keras_target()) : interface_of_source(form);
  for (std::size_t i = 0; i < b.inputs.size(); ++i) {
    Shape shape;
    for (const Size axis : lying.inputs[i].permutation)
      shape.push_back(form[form.inputs[i]].type.shape[static_cast<std::size_t>(axis)]);
    if (shape != b[b.inputs[i]].type.shape)
      return fail(Fault::Unsupported,
                  fmt::format("{}: input '{}' would be taken with its axes in another order, so that "
                              "this is another model; write the line above into it",
                              name, b[b.inputs[i]].name));
  }
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  auto done = port(file_b, port_options);
  if (!done) return done;
  if (!done->holds()) return fail(Fault::Proof, name + ": " + done->proof->reason + "; nothing was written");
  return done;
}

}  // namespace convoy
