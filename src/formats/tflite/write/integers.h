// A document of float32 that is rounded to steps by QUANTIZE and widened by DEQUANTIZE, computed in whole numbers by TFLite's
// own kernels where these take the scales.
#pragma once
#include "formats/tflite/tflite.h"
#include "formats/tflite/write/document.h"

namespace convoy::tflite {

// Weights that `held` has whole numbers for are stored as such, bytes become int8 (uint8 where most weights have a zero point
// of their own), and what no kernel of whole numbers says stays an operator of float32 between DEQUANTIZE and QUANTIZE.
Status compute_in_integers(Document& document, const HeldWeights& held, IntegerReport& report);

}  // namespace convoy::tflite
