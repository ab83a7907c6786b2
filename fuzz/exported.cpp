#include "formats/torch/exported/reader.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::exported(Bytes bytes) {
  const auto zip = ZipArchive::open(blob_of(bytes));
  if (!answered(zip)) return;
  answered(torch::read_exported_program(*zip, {}));
  const auto weights = torch::weights_of_exported(*zip);
  if (answered(weights)) touch(*weights);
}
