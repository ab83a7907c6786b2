// Operators over more axes than the interpreter's kernels take: axes that are treated alike become one for them.
#pragma once
#include "formats/tflite/write/document.h"

namespace convoy::tflite {

// Each such operator stands between reshapes, of its inputs to fewer axes and of its result back. Fails: Unsupported, naming the
// operator, where that leaves too many axes, or several free sizes would be one.
Status join_axes(Document& document);

}  // namespace convoy::tflite
