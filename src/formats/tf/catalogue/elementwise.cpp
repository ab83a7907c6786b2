// Functions of two and more numbers, choices, and what leaves numbers as they are or rounds them to a grid.
#include "base/whole_tensor.h"
#include "formats/tf/arguments.h"
#include "formats/tf/catalogue/catalogue.h"
#include "formats/whole_arithmetic.h"
#include "ops/expect.h"

#include <array>
#include <cmath>

namespace convoy::tf {
namespace {

std::vector<ValueId> binary_operator(FunctionCall& call) {
  return {call.add(Binary{meaning_of<BinaryFunction>(call)}, {call.tensor("x"), call.tensor("y")})};
}

// Whole numbers divide toward zero.
std::vector<ValueId> divide(FunctionCall& call) {
  const ValueId x = call.tensor("x"), y = call.tensor("y");
  const bool whole = !call.failed() && !is_floating(call.type(x).dtype);
  return {call.add(Binary{whole ? BinaryFunction::TruncateDivide : BinaryFunction::Divide}, {x, y})};
}

std::vector<ValueId> floor_divide(FunctionCall& call) {
  const ValueId x = call.tensor("x"), y = call.tensor("y");
  return {floor_of_quotient(call, x, y)};
}

std::vector<ValueId> power(FunctionCall& call) {
  const ValueId x = call.tensor("x"), y = call.tensor("y");
  if (call.failed()) return {};
  if (!is_floating(call.type(x).dtype)) return {power_of_whole(call, x, y)};
  return {call.add(Binary{BinaryFunction::Power}, {x, y})};
}

std::vector<ValueId> squared_difference(FunctionCall& call) {
  const ValueId x = call.add(Binary{BinaryFunction::Subtract}, {call.tensor("x"), call.tensor("y")});
  return {call.add(Unary{Function::Square}, {x})};
}

ValueId number(FunctionCall& call, ValueId like, double value, const char* word) {
  const DType dtype = call.type(like).dtype;
  return call.make_constant(word,
                            Tensor::of(Sizes{}, std::vector{value}).converted(is_floating(dtype) ? dtype : DType::F32));
}

// x / y, and 0 wherever y is 0, whatever x is. What is divided by there is 1, so that nothing infinite is made.
std::vector<ValueId> divide_or_zero(FunctionCall& call) {
  const ValueId x = call.tensor("x"), y = call.tensor("y");
  if (call.failed()) return {};
  const ValueId zero = number(call, x, 0, "zero"), one = number(call, x, 1, "one");
  const ValueId empty = call.add(Binary{BinaryFunction::Equal}, {y, zero});
  const ValueId divisor = call.add(Where{}, {empty, one, y});
  return {call.add(Where{}, {empty, zero, call.add(Binary{BinaryFunction::Divide}, {x, divisor})})};
}

// x * y, and 0 wherever y is 0, whatever x is.
std::vector<ValueId> multiply_or_zero(FunctionCall& call) {
  const ValueId x = call.tensor("x"), y = call.tensor("y");
  if (call.failed()) return {};
  const ValueId zero = number(call, x, 0, "zero");
  const ValueId empty = call.add(Binary{BinaryFunction::Equal}, {y, zero});
  return {call.add(Where{}, {empty, zero, call.add(Binary{BinaryFunction::Multiply}, {x, y})})};
}

// x * log(y), x * log(1 + y) or x / y, and 0 wherever x is 0, whatever y is: there y is taken for 1.
std::vector<ValueId> zero_where_first_is(FunctionCall& call) {
  const ValueId x = call.tensor("x"), y = call.tensor("y");
  if (call.failed()) return {};
  const ValueId zero = number(call, x, 0, "zero"), one = number(call, x, 1, "one");
  const ValueId empty = call.add(Binary{BinaryFunction::Equal}, {x, zero});
  ValueId other = call.add(Where{}, {empty, one, y});
  if (call.name != "Xdivy") other = call.add(Unary{call.name == "Xlogy" ? Function::Log : Function::Log1p}, {other});
  const auto function = call.name == "Xdivy" ? BinaryFunction::Divide : BinaryFunction::Multiply;
  return {call.add(Where{}, {empty, zero, call.add(Binary{function}, {x, other})})};
}

std::vector<ValueId> add_all(FunctionCall& call) {
  const auto inputs = call.several("inputs");
  if (inputs.empty()) call.refuse(Fault::Format, "has no input");
  call.attrs.ignore({"N"});
  if (call.failed()) return {};
  ValueId sum = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = call.add(Binary{BinaryFunction::Add}, {sum, inputs[i]});
  return {inputs.size() == 1 ? call.add(Identity{}, {sum}) : sum};
}

std::vector<ValueId> select(FunctionCall& call) {
  ValueId condition = call.tensor("condition");
  const ValueId yes = call.tensor("t"), no = call.tensor("e");
  if (call.failed()) return {};
  // The older operator takes one truth for each example, along the first axis.
  if (call.name == "Select" && call.rank(condition) == 1 && call.rank(yes) > 1) {
    Sizes to(static_cast<std::size_t>(call.rank(yes)), 1);
    to.front() = -1;
    condition = call.add(Reshape{to}, {condition});
  }
  return {call.add(Where{}, {condition, yes, no})};
}

std::vector<ValueId> clip_by_value(FunctionCall& call) {
  const ValueId x = call.tensor("t"), least = call.tensor("clip_value_min"), most = call.tensor("clip_value_max");
  if (call.failed()) return {};
  const Tensor *low = call.constant(least), *high = call.constant(most);
  if (low && high && low->count() == 1 && high->count() == 1 && !beyond_double(*low) && !beyond_double(*high))
    return {call.add(Clip{low->doubles().front(), high->doubles().front()}, {x})};
  const ValueId below = call.add(Binary{BinaryFunction::Minimum}, {x, most});
  return {call.add(Binary{BinaryFunction::Maximum}, {below, least})};
}

std::vector<ValueId> cast_operator(FunctionCall& call) {
  const ValueId x = call.tensor("x");
  call.attrs.ignore({"Truncate"});
  const std::string word = call.attrs.word("DstT");
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i)
    if (name_of(static_cast<DType>(i)) == word) return {call.add(Cast{static_cast<DType>(i)}, {x})};
  call.refuse(Fault::Unsupported, "casts to " + word + ", a type that is not carried");
  return {};
}

std::vector<ValueId> identity_operator(FunctionCall& call) {
  call.attrs.ignore({"message"});
  return {call.add(Identity{}, {call.tensor("x")})};
}

// The grid of a fake quantization, moved so that zero is on it, to where it begins or ends if all of it lies on one side.
// TensorFlow computes it in float32.
struct Grid {
  float least, most, step;
};
Grid grid_of(float least, float most, Size bits, bool narrow) {
  const auto first = static_cast<float>(narrow ? 1 : 0), last = static_cast<float>((Size{1} << bits) - 1);
  const float step = (most - least) / (last - first);
  const float zero = first - least / step;
  const float nudged = zero < first ? first : zero > last ? last : std::round(zero);
  return {(first - nudged) * step, (last - nudged) * step, step};
}

// Where TensorFlow reads a range of 0 to 0 from variables, 0 is all that there is, whatever comes in.
bool is_zero_alone(double least, double most) { return least == 0 && most == 0; }

// The grid that the attributes of the call ask for. Nothing: the call is refused.
std::optional<Grid> grid_of_call(FunctionCall& call, double least, double most) {
  const Size bits = call.attrs.integer("num_bits", 8);
  const bool narrow = call.attrs.truth("narrow_range", false);
  if (bits < 2 || bits > 16) call.refuse(Fault::Format, "'num_bits' is " + std::to_string(bits) + ", expected 2 to 16");
  if (!(least < most))
    call.refuse(Fault::Format, "quantizes from " + std::to_string(least) + " to " + std::to_string(most));
  if (call.failed()) return std::nullopt;
  return grid_of(static_cast<float>(least), static_cast<float>(most), bits, narrow);
}

// floor((clip(x) - least) / step + 0.5) * step + least
std::vector<ValueId> fake_quantized(FunctionCall& call, ValueId x, double least, double most) {
  const auto made = grid_of_call(call, least, most);
  if (!made) return {};
  const Grid grid = *made;
  const double low = static_cast<double>(grid.least), step = static_cast<double>(grid.step);
  const double inverse = static_cast<double>(1.0F / grid.step);
  ValueId y = call.add(Clip{low, static_cast<double>(grid.most)}, {x});
  y = call.add(Affine{inverse, 0.5}, {call.add(Affine{1, -low}, {y})});
  return {call.add(Affine{step, low}, {call.add(Unary{Function::Floor}, {y})})};
}

std::vector<ValueId> fake_quant_args(FunctionCall& call) {
  const ValueId x = call.tensor("inputs");
  return fake_quantized(call, x, call.attrs.number("min", -6), call.attrs.number("max", 6));
}

std::vector<ValueId> fake_quant_vars(FunctionCall& call) {
  const ValueId x = call.tensor("inputs");
  const Tensor *least = call.constant(call.tensor("min")), *most = call.constant(call.tensor("max"));
  if (!call.failed() && (!least || !most || least->count() != 1 || most->count() != 1))
    call.refuse(Fault::Unsupported, "its range is computed by the model");
  if (call.failed()) return {};
  const double from = least->doubles().front(), to = most->doubles().front();
  if (!is_zero_alone(from, to)) return fake_quantized(call, x, from, to);
  call.attrs.ignore({"num_bits", "narrow_range"});
  const ValueId zero = number(call, x, 0, "zero"), any = call.add(Binary{BinaryFunction::Equal}, {x, x});
  return {call.add(Where{}, {any, zero, zero})};
}

// A grid for each cell of the last axis.
std::vector<ValueId> fake_quant_channels(FunctionCall& call) {
  const ValueId x = call.tensor("inputs");
  const Tensor *least = call.constant(call.tensor("min")), *most = call.constant(call.tensor("max"));
  if (!call.failed() && (!least || !most)) call.refuse(Fault::Unsupported, "its ranges are computed by the model");
  if (call.failed()) return {};
  const auto from = least->doubles(), to = most->doubles();
  const Dim channels = call.rank(x) < 1 ? Dim(0) : call.dim(x, call.rank(x) - 1);
  if (least->rank() != 1 || from.size() != to.size() || !agreed(channels, Dim(static_cast<Size>(from.size()))))
    call.refuse(Fault::Format, "has ranges of " + std::to_string(from.size()) + " and " + std::to_string(to.size()) +
                                   " channels for an input of shape " + text_of(call.shape(x)));
  std::vector<float> lows, highs, steps, inverses;
  bool has_zeros_alone = false;
  for (std::size_t i = 0; i < from.size() && !call.failed(); ++i) {
    if (is_zero_alone(from[i], to[i])) {
      for (auto* of_channel : {&lows, &highs, &steps, &inverses}) of_channel->push_back(0);
      has_zeros_alone = true;
      continue;
    }
    const auto grid = grid_of_call(call, from[i], to[i]);
    if (!grid) return {};
    lows.push_back(grid->least), highs.push_back(grid->most), steps.push_back(grid->step);
    inverses.push_back(1.0F / grid->step);
  }
  call.attrs.ignore({"num_bits", "narrow_range"});  // read with each grid
  if (call.failed()) return {};
  const auto list = [&](const char* word, std::vector<float> numbers) {
    const auto count = static_cast<Size>(numbers.size());
    return call.make_constant(word, Tensor::of({count}, std::move(numbers)));
  };
  const ValueId low = list("least", lows), step = list("step", steps);
  using enum BinaryFunction;
  ValueId y = call.add(Binary{Maximum}, {call.add(Binary{Minimum}, {x, list("most", highs)}), low});
  y = call.add(Binary{Multiply}, {call.add(Binary{Subtract}, {y, low}), list("inverse", inverses)});
  y = call.add(Unary{Function::Floor}, {call.add(Affine{1, 0.5}, {y})});
  y = call.add(Binary{Add}, {call.add(Binary{Multiply}, {y, step}), low});
  if (!has_zeros_alone) return {y};
  const ValueId zero = number(call, x, 0, "zero");
  return {call.add(Where{}, {call.add(Binary{Equal}, {step, zero}), zero, y})};
}

constexpr Operator of_two(std::string_view name, BinaryFunction function) {
  return {.name = name,
          .inputs = "x y",
          .read = binary_operator,
          .meaning = function,
          .ignored = "incompatible_shape_error"};
}
constexpr Operator passes_on(std::string_view name) { return {.name = name, .inputs = "x", .read = identity_operator}; }

constexpr std::array elementwise_operator_table{
    of_two("Add", BinaryFunction::Add),
    of_two("AddV2", BinaryFunction::Add),
    of_two("Sub", BinaryFunction::Subtract),
    of_two("Mul", BinaryFunction::Multiply),
    of_two("RealDiv", BinaryFunction::Divide),
    Operator{.name = "FloorDiv", .inputs = "x y", .read = floor_divide, .meaning = BinaryFunction::FloorDivide},
    of_two("TruncateDiv", BinaryFunction::TruncateDivide),
    of_two("FloorMod", BinaryFunction::Modulo),
    of_two("Mod", BinaryFunction::Remainder),
    of_two("TruncateMod", BinaryFunction::Remainder),
    of_two("Maximum", BinaryFunction::Maximum),
    of_two("Minimum", BinaryFunction::Minimum),
    of_two("Equal", BinaryFunction::Equal),
    of_two("NotEqual", BinaryFunction::NotEqual),
    of_two("Less", BinaryFunction::Less),
    of_two("LessEqual", BinaryFunction::LessOrEqual),
    of_two("Greater", BinaryFunction::Greater),
    of_two("GreaterEqual", BinaryFunction::GreaterOrEqual),
    of_two("LogicalAnd", BinaryFunction::And),
    of_two("LogicalOr", BinaryFunction::Or),
    of_two("BitwiseAnd", BinaryFunction::BitAnd),
    of_two("BitwiseOr", BinaryFunction::BitOr),
    of_two("BitwiseXor", BinaryFunction::BitXor),
    Operator{.name = "Div", .inputs = "x y", .read = divide, .meaning = BinaryFunction::Divide},
    Operator{.name = "Pow", .inputs = "x y", .read = power, .meaning = BinaryFunction::Power},
    Operator{.name = "SquaredDifference", .inputs = "x y", .read = squared_difference},
    Operator{.name = "DivNoNan", .inputs = "x y", .read = divide_or_zero},
    Operator{.name = "MulNoNan", .inputs = "x y", .read = multiply_or_zero},
    Operator{.name = "Xdivy", .inputs = "x y", .read = zero_where_first_is},
    Operator{.name = "Xlogy", .inputs = "x y", .read = zero_where_first_is},
    Operator{.name = "Xlog1py", .inputs = "x y", .read = zero_where_first_is},
    Operator{.name = "AddN", .inputs = "inputs...", .read = add_all},
    Operator{.name = "Select", .inputs = "condition t e", .read = select},
    Operator{.name = "SelectV2", .inputs = "condition t e", .read = select},
    Operator{.name = "ClipByValue", .inputs = "t clip_value_min clip_value_max", .read = clip_by_value},
    Operator{.name = "Cast", .inputs = "x", .read = cast_operator, .types = "DstT"},
    Operator{.name = "FakeQuantWithMinMaxArgs", .inputs = "inputs", .read = fake_quant_args},
    Operator{.name = "FakeQuantWithMinMaxVars", .inputs = "inputs min max", .read = fake_quant_vars},
    Operator{.name = "FakeQuantWithMinMaxVarsPerChannel", .inputs = "inputs min max", .read = fake_quant_channels},
    passes_on("CheckNumerics"),
    passes_on("CheckNumericsV2"),
};

}  // namespace

std::span<const Operator> elementwise_operators() { return elementwise_operator_table; }

}  // namespace convoy::tf
