// The bits of numbers: two numbers' together, moved to either side, and read as those of another type.
#include "formats/onnx/composed.h"
#include "formats/onnx/types.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>

namespace convoy::onnx {
namespace {

using enum BinaryFunction;

std::vector<ValueId> bits_of_two(FunctionCall& call) {
  const ValueId a = call.tensor("A"), b = call.tensor("B");
  return {both(call, meaning_of<BinaryFunction>(call.name), a, b)};
}

std::vector<ValueId> bits_not(FunctionCall& call) {
  const ValueId x = call.tensor("X");
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;
  if (is_floating(dtype) || dtype == DType::Bool)
    call.refuse(Fault::Format, "works on the bits of numbers that are not whole");
  if (call.failed()) return {};
  return {both(call, BitXor, x, call.make_constant("bits", whole_tensor(dtype, {}, {-1})))};
}

bool is_signed(DType dtype) {
  return dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32 || dtype == DType::I64;
}

// 2^n for each n up to `last`, and that of `last` for those up to `count`.
std::vector<std::int64_t> powers_until(Size last, Size count) {
  std::vector<std::int64_t> powers;
  for (Size n = 0; n <= count; ++n) powers.push_back(static_cast<std::int64_t>(std::uint64_t{1} << std::min(n, last)));
  return powers;
}

// x * 2^y, or x / 2^y rounded down; all bits are lost where y is none of the places that the type has.
std::vector<ValueId> bit_shift(FunctionCall& call) {
  const ValueId x = call.tensor("X"), y = call.tensor("Y");
  const std::string direction = call.attrs.word("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    call.refuse(Fault::Format, "attribute 'direction' is '" + direction + "', expected LEFT or RIGHT");
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;
  const Size bits = 8 * bytes_of(dtype);
  const ValueId given = as_type(call, y, DType::I64), none = number(call, "none", 0, DType::I64),
                all = number(call, "all", static_cast<double>(bits), DType::I64);
  const ValueId by = call.add(Where{}, {both(call, Less, given, none), all, both(call, Minimum, given, all)});
  const auto looked_up = [&](std::string_view word, std::vector<std::int64_t> numbers) {
    return call.add(Gather{0}, {call.make_constant(word, whole_tensor(dtype, {bits + 1}, std::move(numbers))), by});
  };
  if (direction == "LEFT") {
    std::vector<std::int64_t> powers = powers_until(bits - 1, bits);
    powers.back() = 0;
    return {both(call, Multiply, x, looked_up("powers", std::move(powers)))};
  }
  // The largest power that is above 0 in the type, and what is then left of the way.
  const Size last = is_signed(dtype) || dtype == DType::U64 ? bits - 2 : bits - 1;
  std::vector<std::int64_t> rest;
  for (Size n = 0; n <= bits; ++n) rest.push_back(n > last ? 2 : 1);
  if (dtype != DType::U64) {
    const ValueId most = both(call, FloorDivide, x, looked_up("powers", powers_until(last, bits)));
    return {both(call, FloorDivide, most, looked_up("rest", std::move(rest)))};
  }
  // Half of a number of 64 bits without a sign is one with a sign that is not negative.
  const ValueId halved = both(call, FloorDivide, x, call.make_constant("two", whole_tensor(dtype, {}, {2})));
  const std::int64_t below = static_cast<std::int64_t>(~std::uint64_t{0} >> 1);
  const ValueId half = both(call, BitAnd, halved, call.make_constant("below", whole_tensor(dtype, {}, {below})));
  std::vector<std::int64_t> powers{1};
  for (Size n = 0; n < bits; ++n) powers.push_back(static_cast<std::int64_t>(std::uint64_t{1} << std::min(n, last)));
  rest.assign(static_cast<std::size_t>(bits) + 1, 1);
  rest.back() = 2;
  const ValueId most = both(call, FloorDivide, half, looked_up("powers", std::move(powers)));
  const ValueId shifted = both(call, FloorDivide, most, looked_up("rest", std::move(rest)));
  return {call.add(Where{}, {both(call, Equal, given, none), x, shifted})};
}

// Whole numbers of as many bits wrap around; the bits of others are read where they are known.
std::vector<ValueId> bit_cast(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  const Size code = call.attrs.integer("to", 0);
  const auto to = dtype_of(code);
  if (!to) call.refuse(Fault::Unsupported, "attribute 'to' is " + name_of_type(code) + ", a type that is not carried");
  if (call.failed()) return {};
  const DType from = call.type(x).dtype;
  if (bytes_of(from) != bytes_of(*to))
    call.refuse(Fault::Format, "reads " + std::string(name_of(from)) + " as " + std::string(name_of(*to)));
  if (call.failed()) return {};
  if (!is_floating(from) && !is_floating(*to) && *to != DType::Bool) return {call.add(Cast{*to}, {x})};
  const Tensor* known = call.constant(x);
  const auto bytes = known ? known->bytes() : std::span<const std::byte>();
  auto read = known ? Tensor::owning(*to, known->shape(), {bytes.begin(), bytes.end()}) : Result<Tensor>(Tensor());
  if (!known) call.refuse(Fault::Unsupported, "reads the bits of numbers that are known only when the model runs");
  else if (!read) call.refuse(read.error().fault, read.error().what);
  if (call.failed()) return {};
  return {call.make_constant("bits", *std::move(read))};
}

// clang-format off
constexpr std::array bit_table{
    Operator{"BitwiseAnd", {18}, "A B", "", bits_of_two, BitAnd},
    Operator{"BitwiseOr", {18}, "A B", "", bits_of_two, BitOr},
    Operator{"BitwiseXor", {18}, "A B", "", bits_of_two, BitXor},
    Operator{"BitwiseNot", {18}, "X", "", bits_not},
    Operator{"BitShift", {11}, "X Y", "direction:s", bit_shift},
    Operator{"BitCast", {26}, "input", "to:i", bit_cast}};
// clang-format on

}  // namespace

std::span<const Operator> bit_operators() { return bit_table; }

}  // namespace convoy::onnx
