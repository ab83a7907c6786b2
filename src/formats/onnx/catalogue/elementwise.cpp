// Functions of two and more numbers, and what leaves numbers as they are.
#include "formats/onnx/composed.h"
#include "formats/onnx/types.h"
#include "formats/onnx/write/sink.h"
#include "formats/whole_arithmetic.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

// The square and the cube of whole numbers are theirs, however large; other powers are those of float64, as ONNX Runtime
// computes them.
ValueId power_by_runtime(FunctionCall& call, ValueId a, ValueId b) {
  const Tensor* known = call.constant(b);
  const double exponent = known && known->count() == 1 ? known->doubles().front() : 0;
  if (known && known->rank() <= call.rank(a) && (exponent == 2 || exponent == 3))
    return power_by_products(call, a, static_cast<int>(exponent));
  return power_in_float64(call, a, b);
}

std::vector<ValueId> binary(FunctionCall& call) {
  const ValueId a = call.tensor("A"), b = call.tensor("B");
  if (call.name == "Div" && a && b && !is_floating(call.type(a).dtype) && !is_floating(call.type(b).dtype))
    return {call.add(Binary{BinaryFunction::TruncateDivide}, {a, b})};
  if (call.name == "Pow" && !call.failed() && !is_floating(call.type(a).dtype)) return {power_by_runtime(call, a, b)};
  const ValueId y = call.add(Binary{meaning_of<BinaryFunction>(call.name)}, {a, b});
  // A power has the type of its base.
  if (call.name == "Pow" && !call.failed() && call.type(y).dtype != call.type(a).dtype)
    return {call.add(Cast{call.type(a).dtype}, {y})};
  return {y};
}

// The remainder with the sign of b, or, as C's fmod, with that of a.
std::vector<ValueId> modulo(FunctionCall& call) {
  const ValueId a = call.tensor("A"), b = call.tensor("B");
  const bool of_c = call.attrs.truth("fmod", false);
  const ValueId rest = call.add(Binary{of_c ? BinaryFunction::Remainder : BinaryFunction::Modulo}, {a, b});
  if (of_c || call.failed() || !is_floating(call.type(rest).dtype)) return {rest};
  // A remainder of nothing has the sign of b, as numpy's has.
  const DType dtype = call.type(rest).dtype;
  const ValueId positive = number(call, "zero", 0.0, dtype), negative = number(call, "negative_zero", -0.0, dtype);
  const ValueId zero = call.add(Where{}, {both(call, BinaryFunction::Less, b, positive), negative, positive});
  const ValueId none = call.add(Binary{BinaryFunction::Equal}, {rest, zero});
  return {call.add(Where{}, {none, zero, rest})};
}

std::vector<ValueId> several(FunctionCall& call) {
  const auto inputs = call.several("data");
  if (inputs.empty()) call.refuse(Fault::Format, "has no input");
  if (call.failed()) return {};
  const bool is_mean = call.name == "Mean";
  const Binary function{is_mean ? BinaryFunction::Add : meaning_of<BinaryFunction>(call.name)};
  ValueId sum = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = call.add(function, {sum, inputs[i]});
  if (is_mean && inputs.size() > 1) sum = call.add(Affine{1.0 / static_cast<double>(inputs.size()), 0}, {sum});
  return {inputs.size() == 1 ? call.add(Identity{}, {sum}) : sum};
}

std::vector<ValueId> identity(FunctionCall& call) { return {call.add(Identity{}, {call.tensor("input")})}; }

// The ratio is an attribute until opset 11 and an input since; at inference it says nothing.
std::vector<ValueId> dropout(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  call.attrs.ignore({"seed"});
  double ratio = 0.5;
  if (takes_attribute(call, "ratio")) {
    ratio = call.attrs.number("ratio", 0.5);
  } else {
    ratio = known_number(call, "ratio").value_or(0.5);
    if (known_number(call, "training_mode").value_or(0) != 0)
      call.refuse(Fault::Unsupported, "drops numbers by chance, as in training");
  }
  const ValueId y = call.add(Dropout{Noise::Dropout, ratio, 1}, {x});
  if (call.results == 1) return {y};
  if (call.opset < 10) call.refuse(Fault::Unsupported, "is asked for its mask as well");
  const ValueId yes = call.make_constant(
      "kept", whole_tensor(DType::Bool, Sizes(static_cast<std::size_t>(call.rank(x)), 1), {1}));  // all of it
  return {y, call.filled_like(yes, x)};
}

std::vector<ValueId> cast(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (takes(call, "saturate")) call.attrs.ignore({"saturate"});  // of float8 types alone
  if (takes(call, "round_mode")) call.attrs.ignore({"round_mode"});
  const Size code = call.attrs.integer("to");
  const auto to = dtype_of(code);
  if (!to) call.refuse(Fault::Unsupported, "attribute 'to' is " + name_of_type(code) + ", a type that is not carried");
  if (call.failed()) return {};
  return {call.add(Cast{*to}, {x})};
}

std::vector<ValueId> cast_like(FunctionCall& call) {
  const ValueId x = call.tensor("input"), like = call.tensor("target_type");
  if (takes(call, "saturate")) call.attrs.ignore({"saturate"});
  if (takes(call, "round_mode")) call.attrs.ignore({"round_mode"});
  if (call.failed()) return {};
  return {call.add(Cast{call.type(like).dtype}, {x})};
}

// clang-format off
constexpr std::array elementwise_table{
    Operator{"Add", {}, "A B", "", binary, BinaryFunction::Add},
    Operator{"Sub", {}, "A B", "", binary, BinaryFunction::Subtract},
    Operator{"Mul", {}, "A B", "", binary, BinaryFunction::Multiply},
    Operator{"Div", {}, "A B", "", binary, BinaryFunction::Divide},
    Operator{"Pow", {}, "A B", "", binary, BinaryFunction::Power},
    Operator{"Max", {}, "data...", "", several, BinaryFunction::Maximum},
    Operator{"Min", {}, "data...", "", several, BinaryFunction::Minimum},
    Operator{"Sum", {}, "data...", "", several, BinaryFunction::Add},
    Operator{"Mean", {}, "data...", "", several},
    Operator{"Identity", {}, "input", "", identity, Moved{}},
    Operator{"Dropout", {}, "data ratio?@12 training_mode?@12", "ratio:f@-11 seed:i@12", dropout, {}, {1, 2}},
    Operator{"Mod", {10}, "A B", "fmod:i", modulo, BinaryFunction::Modulo},
    Operator{"Cast", {}, "input", "round_mode:s@24 saturate:i@19 to:i", cast},
    Operator{"CastLike", {15}, "input target_type", "round_mode:s@24 saturate:i@19", cast_like}};
// clang-format on

// ---- written ----------------------------------------------------------------------------------------------------------

// Toward zero: sign(q) * floor(|q|)
std::string truncated(Sink& sink, const std::string& q) {
  return sink.step("Mul", {sink.step("Sign", {q}), sink.step("Floor", {sink.step("Abs", {q})})});
}

// What the remainder leaves divides without one, downward. Beside the last numbers of a type it may lie outside: 64 bits hold it.
void write_floor_division(Sink& sink, const std::string& a, const std::string& b, DType dtype) {
  const bool narrow = dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32;
  if (!narrow) return sink.last("Div", {sink.step("Sub", {a, sink.step("Mod", {a, b})}), b});
  const auto widened = [&](const std::string& x) { return sink.step("Cast", {x}, {{"to", data_type_of(DType::I64)}}); };
  const std::string wide_a = widened(a), wide_b = widened(b);
  const std::string left = sink.step("Sub", {wide_a, sink.step("Mod", {wide_a, wide_b})});
  sink.last("Cast", {sink.step("Div", {left, wide_b})}, {{"to", data_type_of(dtype)}});
}

Status write_division(const Binary& op, Sink& sink, const std::string& a, const std::string& b, DType dtype) {
  const bool whole = !is_floating(dtype);
  switch (op.function) {
    case BinaryFunction::Remainder: sink.last("Mod", {a, b}, {{"fmod", Size{1}}}); return {};
    case BinaryFunction::Modulo:
      if (whole) return sink.last("Mod", {a, b}), Status();
      sink.last("Sub", {a, sink.step("Mul", {sink.step("Floor", {sink.step("Div", {a, b})}), b})});
      return {};
    case BinaryFunction::FloorDivide:
      if (whole) return write_floor_division(sink, a, b, dtype), Status();
      sink.last("Floor", {sink.step("Div", {a, b})});
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
  DType dtype = meeting(sink.type(0).dtype, sink.type(1).dtype);
  if (f == BinaryFunction::Divide || f == BinaryFunction::Power) dtype = arithmetic(dtype);
  else if (dtype == DType::Bool && !gives_truth(f)) dtype = sink.result_type().dtype;
  if (logic) dtype = DType::Bool;
  const bool extreme = f == BinaryFunction::Maximum || f == BinaryFunction::Minimum;
  if (extreme && dtype == DType::Bool) {  // any of two truths, or both
    sink.last(f == BinaryFunction::Maximum ? "Or" : "And", {sink.typed(0, dtype), sink.typed(1, dtype)});
    return {};
  }
  const std::string a = sink.typed(0, dtype), b = sink.typed(1, dtype);
  const Operator* word = operator_for(f);
  if (divides_whole(f)) return write_division(op, sink, a, b, dtype);
  if (works_on_bits(f) && !(word && sink.knows(word->name))) return sink.too_old("what works on bits", 18);
  if (word && sink.knows(word->name)) {
    sink.last(std::string(word->name), {a, b});
  } else if (f == BinaryFunction::NotEqual) {
    sink.last("Not", {sink.step("Equal", {a, b})});
  } else {
    const auto unequal = sink.step(f == BinaryFunction::LessOrEqual ? "Less" : "Greater", {a, b});
    sink.last("Or", {unequal, sink.step("Equal", {a, b})});
  }
  return {};
}

Status write_where(const Where&, Sink& sink) {
  const DType dtype = sink.result_type().dtype;
  sink.last("Where", {sink.typed(0, DType::Bool), sink.typed(1, dtype), sink.typed(2, dtype)});
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
  if (!sink.takes_input("Dropout", "ratio")) return sink.last("Dropout", {sink.name()}, {{"ratio", op.rate}}), Status();
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

constexpr std::array elementwise_writers{writes<write_binary>(),  writes<write_where>(),    writes<write_affine>(),
                                         writes<write_dropout>(), writes<write_identity>(), writes<write_cast>()};
static_assert(decides<Elementwise>(elementwise_writers));

}  // namespace

std::span<const Operator> elementwise_operators() { return elementwise_table; }

std::span<const Row> elementwise_rows() { return elementwise_writers; }

}  // namespace convoy::onnx
