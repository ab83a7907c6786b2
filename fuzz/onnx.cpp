#include "formats/onnx/onnx.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::onnx(Bytes bytes) {
  if (!convoy::onnx::begins_model(bytes)) return;
  const std::filesystem::path nowhere = "/dev/null/none";  // files that the model names are not there
  answered_and_written(convoy::onnx::read_model(blob_of(bytes), nowhere, {}));
  const auto weights = convoy::onnx::weights_of_model(blob_of(bytes), nowhere);
  if (answered(weights)) touch(*weights);
}
