// Sums, products and what leaves numbers as they are.
#include "formats/onnx/write/sink.h"

#include <array>

namespace convoy::onnx {
namespace {

const char* word_of(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::Add: return "Add";
    case BinaryFunction::Subtract: return "Sub";
    case BinaryFunction::Multiply: return "Mul";
    case BinaryFunction::Divide: return "Div";
    case BinaryFunction::Maximum: return "Max";
    case BinaryFunction::Minimum: return "Min";
    case BinaryFunction::Power: return "Pow";
  }
  std::unreachable();
}

Status write_binary(const Binary& op, Sink& sink) {
  sink.last(word_of(op.function), {sink.name(0), sink.name(1)});
  return {};
}

Status write_affine(const Affine& op, Sink& sink) {
  std::string y = sink.name();
  if (op.scale != 1 && op.offset == 0) return sink.last("Mul", {y, sink.number(op.scale)}), Status();
  if (op.scale != 1) y = sink.step("Mul", {y, sink.number(op.scale)});
  sink.last("Add", {y, sink.number(op.offset)});
  return {};
}

// What else makes noise in training has no word: at inference it is nothing.
Status write_dropout(const Dropout& op, Sink& sink) {
  if (op.noise != Noise::Dropout) return sink.last("Identity", {sink.name()}), Status();
  if (sink.opset() < 12) return sink.last("Dropout", {sink.name()}, {{"ratio", op.rate}}), Status();
  sink.last("Dropout",
            {sink.name(), sink.stored("ratio", Tensor::of({}, std::vector<float>{static_cast<float>(op.rate)}))});
  return {};
}

Status write_identity(const Identity&, Sink& sink) {
  sink.last("Identity", {sink.name()});
  return {};
}

Status write_cast(const Cast& op, Sink& sink) {
  sink.last("Cast", {sink.name()}, {{"to", data_type_of(op.to)}});
  return {};
}

constexpr std::array rows{writes<write_binary>(), writes<write_affine>(), writes<write_dropout>(),
                          writes<write_identity>(), writes<write_cast>()};
static_assert(decides<Elementwise>(rows));

}  // namespace

std::span<const Row> elementwise_rows() { return rows; }

}  // namespace convoy::onnx
