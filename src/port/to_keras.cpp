// A Keras model in one file: the archive .keras, or the older .h5. The proof compares the source with the file as it is
// read back, so what was written is what was meant. Source code is a journey of its own.
#include "formats/keras/write/files.h"
#include "port/journey.h"
#include "port/training_lost.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

Result<fs::path> file_of(const fs::path& source, const PortOptions& options) {
  fs::path model = options.output;
  if (model.empty()) model = source.stem().string() + ".keras";
  if (model.extension() != ".keras" && model.extension() != ".h5")
    return fail(Fault::Usage,
                "-o '" + model.string() + "' does not end in .keras, .h5 or .py, which a Keras model must");
  return model;
}

}  // namespace

Result<PortReport> port_to_keras(const fs::path& source, const PortOptions& options) {
  if (options.output.extension() == ".py") return port_to_keras_source(source, options);
  const auto file = file_of(source, options);
  if (!file) return std::unexpected(file.error());
  auto out = OutputSet::begin({*file}, options.overwrites, sources_of(source, options));
  if (!out) return pass(out);

  auto begun = rewritten(source, options, keras_target());
  if (!begun) return pass(begun);
  PortReport& r = *begun;
  const auto document = keras::document_of(r.target);
  if (!document) return std::unexpected(document.error());
  std::ranges::move(lost_in_training(r.target, *document), std::back_inserter(r.remarks));
  const auto write = file->extension() == ".h5" ? keras::write_hdf5 : keras::write_archive;
  if (auto s = write(*document, out->sink(0)); !s) return pass(s);
  if (auto closed = out->close(0); !closed) return pass(closed);
  return finished(std::move(r), *out, {*file}, options, 0, {}, document->carried);
}

}  // namespace convoy
