// Pad, in every mode that ONNX has.
#include "formats/onnx/write/sink.h"

#include <array>
#include <cmath>

namespace convoy::onnx {
namespace {

const char* word_of(PadMode mode) {
  switch (mode) {
    case PadMode::Constant: return "constant";
    case PadMode::Reflect: return "reflect";
    case PadMode::Edge: return "edge";
    case PadMode::Wrap: return "wrap";
    case PadMode::Symmetric: return nullptr;
  }
  std::unreachable();
}

Status write_pad(const Pad& op, Sink& sink) {
  const char* mode = word_of(op.mode);
  if (!mode) return sink.refused("a pad that mirrors the border cell too");
  if (op.mode == PadMode::Wrap && sink.opset() < 19) return sink.too_old("a pad from the other side", 19);
  std::vector<std::string> inputs{sink.name(), sink.numbers(begins_then_ends(op.before, op.after))};
  if (op.mode == PadMode::Constant && op.value != 0) inputs.push_back(sink.number(op.value));
  sink.last("Pad", std::move(inputs), {{"mode", std::string(mode)}});
  return {};
}

constexpr std::array rows{writes<write_pad>(),
                          lacks<PadToWindow, Sink>("pads that depend on a size known only when the model runs; give "
                                                   "the size with --size")};
static_assert(decides<Padded>(rows));

}  // namespace

std::span<const Row> pad_rows() { return rows; }

}  // namespace convoy::onnx
