#include "formats/tflite/tflite.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::tflite(Bytes bytes) {
  if (!convoy::tflite::begins_model(bytes)) return;
  answered_and_written(convoy::tflite::read_model(blob_of(bytes), {}));
  LoadOptions real;
  real.dequantizes = true;
  answered(convoy::tflite::read_model(blob_of(bytes), real));
  const auto weights = convoy::tflite::weights_of_model(blob_of(bytes));
  if (answered(weights)) touch(*weights);
}
