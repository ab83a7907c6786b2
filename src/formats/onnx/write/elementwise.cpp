// Sums, products and what leaves numbers as they are.
#include "formats/onnx/write/sink.h"
#include "ops/expect.h"

#include "ops/expect.h"

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
    case BinaryFunction::Equal: return "Equal";
    case BinaryFunction::Less: return "Less";
    case BinaryFunction::Greater: return "Greater";
    case BinaryFunction::LessOrEqual: return "LessOrEqual";
    case BinaryFunction::GreaterOrEqual: return "GreaterOrEqual";
    case BinaryFunction::And: return "And";
    case BinaryFunction::Or: return "Or";
    case BinaryFunction::Xor: return "Xor";
    default: return nullptr;
  }
}

// Input i as this type: ONNX never mixes two.
std::string typed(Sink& sink, std::size_t i, DType dtype) {
  if (sink.fact(i).dtype == dtype) return sink.name(i);
  return sink.step("Cast", {sink.name(i)}, {{"to", data_type_of(dtype)}});
}

// Toward zero: sign(q) * floor(|q|)
std::string truncated(Sink& sink, const std::string& q) {
  return sink.step("Mul", {sink.step("Sign", {q}), sink.step("Floor", {sink.step("Abs", {q})})});
}

Status write_division(const Binary& op, Sink& sink, const std::string& a, const std::string& b, bool whole) {
  switch (op.function) {
    case BinaryFunction::Remainder: sink.last("Mod", {a, b}, {{"fmod", Size{1}}}); return {};
    case BinaryFunction::Modulo:
      if (whole) return sink.last("Mod", {a, b}), Status();
      sink.last("Sub", {a, sink.step("Mul", {sink.step("Floor", {sink.step("Div", {a, b})}), b})});
      return {};
    case BinaryFunction::FloorDivide:
      if (whole) sink.last("Div", {sink.step("Sub", {a, sink.step("Mod", {a, b})}), b});
      else sink.last("Floor", {sink.step("Div", {a, b})});
      return {};
    default: break;
  }
  if (whole) return sink.last("Div", {a, b}), Status();
  sink.last("Identity", {truncated(sink, sink.step("Div", {a, b}))});
  return {};
}

Status write_binary(const Binary& op, Sink& sink) {
  const BinaryFunction f = op.function;
  const bool logic = f == BinaryFunction::And || f == BinaryFunction::Or || f == BinaryFunction::Xor;
  DType dtype = meeting(sink.fact(0).dtype, sink.fact(1).dtype);
  if (f == BinaryFunction::Divide || f == BinaryFunction::Power) dtype = arithmetic(dtype);
  else if (dtype == DType::Bool && !gives_truth(f)) dtype = sink.result_fact().dtype;
  if (logic) dtype = DType::Bool;
  const std::string a = typed(sink, 0, dtype), b = typed(sink, 1, dtype);
  const bool or_equal = f == BinaryFunction::LessOrEqual || f == BinaryFunction::GreaterOrEqual;
  if (or_equal && sink.opset() < 12) {
    const auto unequal = sink.step(f == BinaryFunction::LessOrEqual ? "Less" : "Greater", {a, b});
    sink.last("Or", {unequal, sink.step("Equal", {a, b})});
  } else if (f == BinaryFunction::NotEqual) {
    sink.last("Not", {sink.step("Equal", {a, b})});
  } else if (const char* word = word_of(f)) {
    sink.last(word, {a, b});
  } else {
    return write_division(op, sink, a, b, !is_floating(dtype));
  }
  return {};
}

Status write_where(const Where&, Sink& sink) {
  const DType dtype = sink.result_fact().dtype;
  sink.last("Where", {typed(sink, 0, DType::Bool), typed(sink, 1, dtype), typed(sink, 2, dtype)});
  return {};
}

Status write_affine(const Affine& op, Sink& sink) {
  if (const Tensor* constant = sink.constant(0); constant && is_floating(constant->dtype())) {
    auto numbers = constant->doubles();
    for (double& number : numbers) number = number * op.scale + op.offset;
    return sink.is(Tensor::of(constant->shape(), std::move(numbers)).converted(constant->dtype())), Status();
  }
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

constexpr std::array elementwise_table{writes<write_binary>(),  writes<write_where>(),    writes<write_affine>(),
                                       writes<write_dropout>(), writes<write_identity>(), writes<write_cast>()};
static_assert(decides<Elementwise>(elementwise_table));

}  // namespace

std::span<const Row> elementwise_rows() { return elementwise_table; }

}  // namespace convoy::onnx
