#include "formats/source.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::source(Bytes bytes) {
  LoadOptions options;
  options.size = {8, 8};
  options.for_one_model = false;  // sizes that nothing takes are no fault
  options.structure_only = bytes.size() % 2 == 0;
  answered_and_written(read_source_text(std::string(text_of(bytes)), "", options));
}
