#include "formats/tf/tf.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::graphdef(Bytes bytes) {
  const std::filesystem::path nowhere = "/dev/null/none/model.pb";  // variables that lie beside it are not there
  if (convoy::tf::begins_graph(bytes)) {
    answered_and_written(convoy::tf::read_graph(blob_of(bytes), {}));
    const auto weights = convoy::tf::weights_of_graph(blob_of(bytes));
    if (answered(weights)) touch(*weights);
  } else if (convoy::tf::begins_saved_model(bytes)) {
    LoadOptions options;
    options.structure_only = true;
    answered_and_written(convoy::tf::read_saved_model(blob_of(bytes), nowhere, options));
  } else if (convoy::tf::begins_meta_graph(bytes)) {
    LoadOptions options;
    options.structure_only = true;
    answered_and_written(convoy::tf::read_meta_graph(blob_of(bytes), nowhere, options));
  }
}
