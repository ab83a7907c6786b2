// The numbers of a constant in the text form: listed, or made from a seed. Sizes are checked before anything is allocated.
#include "base/half.h"
#include "graph/text.h"
#include "graph/text_line.h"
#include "ops/expect.h"

#include <charconv>
#include <utility>

namespace convoy {

namespace {

constexpr Size most_numbers = Size{1} << 26;  // of one constant by seed

template <class T, class Narrow>
Tensor from_numbers(DType dtype, const Sizes& shape, const std::vector<T>& numbers, Narrow narrow) {
  using To = decltype(narrow(T{}));
  std::vector<std::byte> bytes(numbers.size() * sizeof(To));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const To value = narrow(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return Tensor::owning(dtype, shape, std::move(bytes)).value_or(Tensor());
}

template <class To>
auto cast() {
  return [](auto value) { return static_cast<To>(value); };
}

template <class T>
Tensor whole_tensor(DType dtype, const Sizes& shape, const std::vector<T>& numbers) {
  switch (dtype) {
    case DType::I8: return from_numbers(dtype, shape, numbers, cast<std::int8_t>());
    case DType::I16: return from_numbers(dtype, shape, numbers, cast<std::int16_t>());
    case DType::I32: return from_numbers(dtype, shape, numbers, cast<std::int32_t>());
    case DType::I64: return from_numbers(dtype, shape, numbers, cast<std::int64_t>());
    case DType::U16: return from_numbers(dtype, shape, numbers, cast<std::uint16_t>());
    case DType::U32: return from_numbers(dtype, shape, numbers, cast<std::uint32_t>());
    case DType::U64: return from_numbers(dtype, shape, numbers, cast<std::uint64_t>());
    case DType::U8:
    case DType::Bool: return from_numbers(dtype, shape, numbers, cast<std::uint8_t>());
    case DType::F16: return from_numbers(dtype, shape, numbers, [](T v) { return half_of(static_cast<double>(v)); });
    case DType::BF16: return from_numbers(dtype, shape, numbers, [](T v) { return bfloat_of(static_cast<double>(v)); });
    case DType::F32: return from_numbers(dtype, shape, numbers, cast<float>());
    case DType::F64: return from_numbers(dtype, shape, numbers, cast<double>());
  }
  std::unreachable();
}

// The numbers up to the end of the line, in the type that holds them all: a float32 is parsed as one, since going by
// way of double would round twice.
template <class T>
std::vector<T> read_numbers(text::Line& line) {
  std::vector<T> numbers;
  while (line.ok() && !line.at_end()) {
    const auto token = line.token();
    T value{};
    const auto end = std::from_chars(token.data(), token.data() + token.size(), value);
    if (end.ec != std::errc() || end.ptr != token.data() + token.size()) {
      line.complain("'" + std::string(token) + "' is not a number of this type");
    }
    numbers.push_back(value);
  }
  return numbers;
}

template <class T>
Tensor read_listed(text::Line& line, DType dtype, const Sizes& shape, Size count) {
  const auto numbers = read_numbers<T>(line);
  if (line.ok() && static_cast<Size>(numbers.size()) != count) {
    line.complain(std::to_string(numbers.size()) + " numbers, expected " + std::to_string(count));
  }
  return line.ok() ? whole_tensor(dtype, shape, numbers) : Tensor();
}

}  // namespace

Tensor seeded_tensor(DType dtype, const Sizes& shape, std::uint64_t seed, bool positive) {
  const Size count = checked_count(shape).value_or(0);
  const bool has_sign = is_floating(dtype) || (dtype >= DType::I8 && dtype <= DType::I64);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::uint64_t state = seed * 0x9E3779B97F4A7C15 + 0x1234567;
  for (auto& number : numbers) {
    state += 0x9E3779B97F4A7C15;  // splitmix64: short, and its low bits are as good as its high ones
    std::uint64_t mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    mixed ^= mixed >> 31;
    const auto size = static_cast<std::int64_t>(dtype == DType::Bool ? 1 : 1 + (mixed >> 8) % 3);
    number = has_sign && !positive && (mixed & 1) != 0 ? -size : size;
  }
  return whole_tensor(dtype, shape, numbers);
}

Tensor text::read_constant(Line& line, const TensorType& type) {
  const auto shape = sizes_of(type.shape);
  const Size count = shape ? checked_count(*shape).value_or(-1) : -1;
  if (line.ok() && count < 0) line.complain("a constant needs a shape without '?'");
  if (line.take_word("crc32")) line.complain("only the checksum of the numbers is written down, not the numbers");
  if (!line.ok()) return {};
  if (line.take_word("seed")) {
    const auto token = line.token();
    Size seed = 0;
    if (!text::parse(token, seed)) line.complain("'" + std::string(token) + "' is not a seed");
    const bool positive = line.take_word("positive");
    if (count > most_numbers) line.complain("more than " + std::to_string(most_numbers) + " numbers");
    return line.ok() ? seeded_tensor(type.dtype, *shape, static_cast<std::uint64_t>(seed), positive) : Tensor();
  }
  if (type.dtype == DType::F64) return read_listed<double>(line, type.dtype, *shape, count);
  if (is_floating(type.dtype)) return read_listed<float>(line, type.dtype, *shape, count);
  if (type.dtype == DType::U64) return read_listed<std::uint64_t>(line, type.dtype, *shape, count);
  return read_listed<std::int64_t>(line, type.dtype, *shape, count);
}

}  // namespace convoy
