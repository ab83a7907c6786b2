// Windows laid out as columns: ONNX has no word for it before Col2Im, and none for the way there.
#include "formats/onnx/write/sink.h"

#include <array>

namespace convoy::onnx {
namespace {

constexpr std::array rows{lacks<Unfold, Sink>("laying windows out as columns has no form in ONNX"),
                          lacks<Fold, Sink>("adding columns back into space is not written to ONNX yet")};
static_assert(decides<Unfolding>(rows));

}  // namespace

std::span<const Row> unfold_rows() { return rows; }

}  // namespace convoy::onnx
