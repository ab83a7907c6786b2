#include "formats/torch/checkpoint.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::checkpoint(Bytes bytes) {
  if (!ZipArchive::begins(bytes)) {
    const auto weights = torch::weights_of_stream(blob_of(bytes));
    if (answered(weights)) touch(*weights);
    return;
  }
  const auto zip = ZipArchive::open(blob_of(bytes));
  if (!answered(zip)) return;
  const auto weights = torch::weights_of_zip(*zip);
  if (answered(weights)) touch(*weights);
}
