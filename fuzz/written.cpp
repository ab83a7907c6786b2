// A graph as every writer and the JSON of a summary say it; the passes come first, as in a port.
#include "formats/keras/write/files.h"
#include "formats/onnx/onnx.h"
#include "formats/tflite/tflite.h"
#include "formats/torch/torch.h"
#include "fuzz/answer.h"
#include "graph/text.h"
#include "passes/passes.h"
#include "report/summary.h"

#include <nlohmann/json.hpp>

namespace convoy::fuzz {
namespace {

const auto forget = [](Bytes) -> Status { return {}; };

std::optional<Graph> rewritten(const Graph& graph, const convoy::Target& target) {
  Graph copy = graph;
  name_origins(copy);
  if (!answered(run_passes(copy, target))) return std::nullopt;
  return copy;
}

}  // namespace

void write_everywhere(const Graph& graph) {
  static_cast<void>(summary_json(graph, "model").dump(1, ' ', false, Json::error_handler_t::replace));
  static_cast<void>(summary_text(graph, "model"));
  static_cast<void>(text_of(graph));
  if (const auto torch = rewritten(graph, torch_target()))
    if (answered(convoy::torch::state_dict(*torch))) answered(convoy::torch::write_source(*torch, {}));
  if (const auto keras = rewritten(graph, keras_target()))
    if (const auto document = convoy::keras::document_of(*keras); answered(document)) {
      answered(convoy::keras::write_archive(*document, forget));
      answered(convoy::keras::write_hdf5(*document, forget));
    }
  const convoy::onnx::WriteOptions options;
  if (const auto onnx = rewritten(graph, onnx_target(static_cast<int>(options.opset))))
    answered(convoy::onnx::write_model(*onnx, options, forget));
  if (const auto lite = rewritten(graph, tflite_target())) answered(convoy::tflite::write_model(*lite, forget));
}

}  // namespace convoy::fuzz
