#include "containers/snappy.h"
#include "containers/table.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::bundle(Bytes bytes) {
  static_cast<void>(answered(read_table(bytes)));
  static_cast<void>(answered(unsnap(bytes)));
}
