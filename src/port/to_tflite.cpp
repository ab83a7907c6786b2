// A TFLite model in one file. The proof compares the source with the file as it is read back, so what was written is what
// was meant.
#include "formats/tflite/tflite.h"
#include "port/journey.h"

#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

Result<fs::path> file_named(const fs::path& source, const PortOptions& options) {
  fs::path model = options.output;
  if (model.empty()) model = source.stem().string() + ".tflite";
  if (model.extension() != ".tflite")
    return fail(Fault::Usage, "-o '" + model.string() + "' does not end in .tflite, which a TFLite model must");
  return model;
}

// The file calls every value as the graph does.
std::map<std::string, ValueId> names_of_values(const Graph& target) {
  std::map<std::string, ValueId> names;
  for (std::size_t i = 0; i < target.values.size(); ++i)
    names.emplace(target.values[i].name, ValueId{static_cast<std::int32_t>(i)});
  return names;
}

}  // namespace

Result<PortReport> port_to_tflite(const fs::path& source, const PortOptions& options) {
  const auto file = file_named(source, options);
  if (!file) return std::unexpected(file.error());
  auto out = OutputSet::begin({*file}, options.overwrites, sources_of(source, options));
  if (!out) return pass(out);
  auto begun = rewritten(source, options, tflite_target());
  if (!begun) return pass(begun);
  PortReport& r = *begun;
  if (auto s = tflite::write_model(r.target, out->sink(0), options.rounds_to_halves); !s) return pass(s);
  if (auto closed = out->close(0); !closed) return pass(closed);
  const auto names = names_of_values(r.target);
  return finished(std::move(r), *out, {*file}, options, 0, {}, names);
}

}  // namespace convoy
