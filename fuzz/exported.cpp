#include "formats/torch/exported/reader.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::exported(Bytes bytes) {
  const auto zip = ZipArchive::open(blob_of(bytes));
  if (!answered(zip)) return;
  // Both parse the same graph first, which takes most of their time: an input is for one of them.
  if (bytes.size() % 4 != 0) {
    answered_and_written(torch::read_exported_program(*zip, {}));
    return;
  }
  const auto weights = torch::weights_of_exported(*zip);
  if (answered(weights)) touch(*weights);
}
