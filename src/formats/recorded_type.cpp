#include "formats/recorded_type.h"

#include "ops/expect.h"

namespace convoy {

Status expect_recorded(const TensorType& read, const TensorType& recorded) {
  if (read.dtype == recorded.dtype && agree(read.shape, recorded.shape)) return {};
  return fail(Fault::Unsupported, "gives " + text_of(recorded) + " as the file tells, and this version reads it as " +
                                      text_of(read) + ": this form of it is not carried");
}

}  // namespace convoy
