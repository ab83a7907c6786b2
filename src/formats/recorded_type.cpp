#include "formats/recorded_type.h"

namespace convoy {
namespace {

bool may_be_one(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].known() && b[i].known() && a[i] != b[i]) return false;
  return true;
}

}  // namespace

Status expect_recorded(const TensorType& read, const TensorType& recorded) {
  if (read.dtype == recorded.dtype && may_be_one(read.shape, recorded.shape)) return {};
  return fail(Fault::Unsupported, "gives " + text_of(recorded) + " as the file tells, and this version reads it as " +
                                      text_of(read) + ": this form of it is not carried");
}

}  // namespace convoy
