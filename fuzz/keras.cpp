#include "formats/keras/keras.h"

#include "containers/zip.h"
#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::keras(Bytes bytes) {
  const bool archive = ZipArchive::begins(bytes);
  answered_and_written(archive ? convoy::keras::read_archive(bytes, nullptr, {})
                               : convoy::keras::read_hdf5(bytes, nullptr, {}));
  const auto weights =
      archive ? convoy::keras::weights_of_archive(bytes, nullptr) : convoy::keras::weights_of_hdf5(bytes, nullptr);
  if (answered(weights)) touch(*weights);
}
