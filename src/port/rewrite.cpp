#include "port/rewrite.h"

#include "formats/keras/write/files.h"
#include "formats/onnx/onnx.h"
#include "passes/passes.h"

namespace convoy {

namespace fs = std::filesystem;

Result<Kind> kind_of(const Graph& graph) {
  const std::string& format = graph.source_format;
  if (format.starts_with("PyTorch")) return Kind::Torch;
  if (format.starts_with("Keras")) return Kind::Keras;
  if (format.starts_with("ONNX")) return Kind::Onnx;
  return fail(Fault::Unsupported, "is " + format + ", which convoy does not write");
}

Status write_as_it_was(const Graph& graph, Kind kind, const fs::path& name, const Append& append) {
  const std::string file = name.filename().string();
  Graph written = graph;
  if (kind == Kind::Onnx && file.ends_with(".onnx")) {
    Target target = onnx_target(static_cast<int>(onnx::usual_opset));
    target.outside = Outside::Source;
    const auto done = run_passes(written, target);
    if (!done) return std::unexpected(done.error());
    return onnx::write_model(written, {}, append);
  }
  const bool is_archive = file.ends_with(".keras"), is_weights = file.ends_with(".weights.h5");
  if (kind == Kind::Keras && (is_archive || file.ends_with(".h5"))) {
    Target target = keras_target();
    target.outside = Outside::Source;
    const auto done = run_passes(written, target);
    if (!done) return std::unexpected(done.error());
    const auto document = keras::document_of(written);
    if (!document) return std::unexpected(document.error());
    if (is_weights) return keras::write_weights(*document, append);
    return is_archive ? keras::write_archive(*document, append) : keras::write_hdf5(*document, append);
  }
  return fail(Fault::Usage, "-o '" + name.string() + "': " +
                                (kind == Kind::Onnx    ? "an ONNX model is written as .onnx"
                                 : kind == Kind::Keras ? "a Keras model is written as .keras, .h5 or .weights.h5"
                                                       : "a PyTorch model is not written whole"));
}

}  // namespace convoy
