// Recurrent cells are not written yet: ONNX walks [T, N, F] and stores the gates of both biases together.
#include "formats/onnx/write/sink.h"

#include <array>

namespace convoy::onnx {
namespace {

constexpr std::array rows{lacks<Lstm, Sink>("recurrent cells are not written to ONNX yet"),
                          lacks<Gru, Sink>("recurrent cells are not written to ONNX yet"),
                          lacks<SimpleRnn, Sink>("recurrent cells are not written to ONNX yet")};
static_assert(decides<Recurrent>(rows));

}  // namespace

std::span<const Row> recurrent_rows() { return rows; }

}  // namespace convoy::onnx
