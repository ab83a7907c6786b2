// Functions of two and more numbers, and what leaves numbers as they are.
#include "formats/onnx/arguments.h"
#include "formats/onnx/types.h"

#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

struct NamedBinary {
  std::string_view word;
  BinaryFunction function;
};
constexpr NamedBinary binaries[] = {
    {"Add", BinaryFunction::Add},     {"Sub", BinaryFunction::Subtract}, {"Mul", BinaryFunction::Multiply},
    {"Div", BinaryFunction::Divide},  {"Pow", BinaryFunction::Power},    {"Max", BinaryFunction::Maximum},
    {"Min", BinaryFunction::Minimum}, {"Sum", BinaryFunction::Add},      {"Mean", BinaryFunction::Add}};

BinaryFunction function_of(std::string_view name) {
  return std::ranges::find(binaries, name, &NamedBinary::word)->function;
}

std::vector<ValueId> binary(FunctionCall& call) {
  const ValueId a = call.tensor("A"), b = call.tensor("B");
  if (call.name == "Div" && a && b && !is_floating(call.fact(a).dtype) && !is_floating(call.fact(b).dtype))
    return {call.add(Binary{BinaryFunction::TruncateDivide}, {a, b})};
  // The square of whole numbers is theirs, however large.
  if (call.name == "Pow" && !call.failed() && !is_floating(call.fact(a).dtype))
    if (const Tensor* known = call.constant(b); known && known->rank() == 0 && known->doubles().front() == 2)
      return {call.add(Binary{BinaryFunction::Multiply}, {a, a})};
  const ValueId y = call.add(Binary{function_of(call.name)}, {a, b});
  // A power has the type of its base.
  if (call.name == "Pow" && !call.failed() && call.fact(y).dtype != call.fact(a).dtype)
    return {call.add(Cast{call.fact(a).dtype}, {y})};
  return {y};
}

// The remainder with the sign of b, or, as C's fmod, with that of a.
std::vector<ValueId> modulo(FunctionCall& call) {
  const ValueId a = call.tensor("A"), b = call.tensor("B");
  const bool of_c = call.attrs.truth("fmod", false);
  return {call.add(Binary{of_c ? BinaryFunction::Remainder : BinaryFunction::Modulo}, {a, b})};
}

std::vector<ValueId> several(FunctionCall& call) {
  const auto inputs = call.several("data");
  if (inputs.empty()) call.refuse(Fault::Format, "has no input");
  if (call.failed()) return {};
  ValueId sum = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = call.add(Binary{function_of(call.name)}, {sum, inputs[i]});
  if (call.name == "Mean" && inputs.size() > 1)
    sum = call.add(Affine{1.0 / static_cast<double>(inputs.size()), 0}, {sum});
  return {inputs.size() == 1 ? call.add(Identity{}, {sum}) : sum};
}

std::vector<ValueId> identity(FunctionCall& call) { return {call.add(Identity{}, {call.tensor("input")})}; }

// The ratio is an attribute until opset 11 and an input since; at inference it says nothing.
std::vector<ValueId> dropout(FunctionCall& call) {
  const ValueId x = call.tensor("data");
  call.attrs.ignore({"seed"});
  double ratio = 0.5;
  if (call.opset < 12) {
    ratio = call.attrs.number("ratio", 0.5);
  } else {
    ratio = known_number(call, "ratio").value_or(0.5);
    if (known_number(call, "training_mode").value_or(0) != 0)
      call.refuse(Fault::Unsupported, "drops numbers by chance, as in training");
  }
  const ValueId y = call.add(Dropout{Noise::Dropout, ratio, 1}, {x});
  if (call.results == 1) return {y};
  if (call.opset < 10) call.refuse(Fault::Unsupported, "is asked for its mask as well");
  return {y, call.add(Cast{DType::Bool}, {call.add(Affine{0, 1}, {x})})};  // all of it is kept
}

std::vector<ValueId> cast(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  if (call.opset >= 19) call.attrs.ignore({"saturate"});  // of float8 types alone
  if (call.opset >= 24) call.attrs.ignore({"round_mode"});
  const Size code = call.attrs.integer("to");
  const auto to = dtype_of(code);
  if (!to)
    call.refuse(Fault::Unsupported, "attribute 'to' is " + std::to_string(code) + ", a type that is not carried");
  if (call.failed()) return {};
  return {call.add(Cast{*to}, {x})};
}

std::vector<ValueId> cast_like(FunctionCall& call) {
  const ValueId x = call.tensor("input"), like = call.tensor("target_type");
  if (call.opset >= 19) call.attrs.ignore({"saturate"});
  if (call.opset >= 24) call.attrs.ignore({"round_mode"});
  if (call.failed()) return {};
  return {call.add(Cast{call.fact(like).dtype}, {x})};
}

constexpr std::array elementwise_table{FunctionRow{"Add", "A B", binary},
                                       FunctionRow{"Sub", "A B", binary},
                                       FunctionRow{"Mul", "A B", binary},
                                       FunctionRow{"Div", "A B", binary},
                                       FunctionRow{"Pow", "A B", binary},
                                       FunctionRow{"Max", "data...", several},
                                       FunctionRow{"Min", "data...", several},
                                       FunctionRow{"Sum", "data...", several},
                                       FunctionRow{"Mean", "data...", several},
                                       FunctionRow{"Identity", "input", identity},
                                       FunctionRow{"Dropout", "data ratio training_mode", dropout},
                                       FunctionRow{"Mod", "A B", modulo},
                                       FunctionRow{"Cast", "input", cast},
                                       FunctionRow{"CastLike", "input target_type", cast_like}};

}  // namespace

std::span<const FunctionRow> elementwise_functions() { return elementwise_table; }

}  // namespace convoy::onnx
