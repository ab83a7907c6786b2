// The numbers of a constant in the text form: listed, or made from a seed. Sizes are checked before anything is allocated.
#include "base/whole_tensor.h"
#include "graph/text.h"
#include "graph/text_line.h"
#include "ops/expect.h"

#include <charconv>
#include <utility>

namespace convoy {

namespace {

constexpr Size most_numbers = Size{1} << 26;  // of one constant by seed

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

// As many as the shape says, or the line complains.
template <class T>
std::vector<T> read_listed(text::Line& line, Size count) {
  auto numbers = read_numbers<T>(line);
  if (line.ok() && static_cast<Size>(numbers.size()) != count) {
    line.complain(std::to_string(numbers.size()) + " numbers, expected " + std::to_string(count));
  }
  return numbers;
}

Tensor read_tensor(text::Line& line, DType dtype, const Sizes& shape, Size count) {
  if (dtype == DType::F64) {
    auto numbers = read_listed<double>(line, count);
    return line.ok() ? Tensor::of(shape, std::move(numbers)) : Tensor();
  }
  if (is_floating(dtype)) {
    auto numbers = read_listed<float>(line, count);
    return line.ok() ? Tensor::of(shape, std::move(numbers)).converted(dtype) : Tensor();
  }
  std::vector<std::int64_t> numbers;
  if (dtype == DType::U64)
    for (const std::uint64_t number : read_listed<std::uint64_t>(line, count))
      numbers.push_back(static_cast<std::int64_t>(number));
  else numbers = read_listed<std::int64_t>(line, count);
  return line.ok() ? whole_tensor(dtype, shape, std::move(numbers)) : Tensor();
}

}  // namespace

Tensor seeded_tensor(DType dtype, const Sizes& shape, std::uint64_t seed, bool positive) {
  const auto count = checked_count(shape);
  if (!count) return {};
  const bool has_sign = is_floating(dtype) || (dtype >= DType::I8 && dtype <= DType::I64);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(*count));
  std::uint64_t state = seed * 0x9E3779B97F4A7C15 + 0x1234567;
  for (auto& number : numbers) {
    state += 0x9E3779B97F4A7C15;  // splitmix64: short, and its low bits are as good as its high ones
    std::uint64_t mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    mixed ^= mixed >> 31;
    const auto size = static_cast<std::int64_t>(dtype == DType::Bool ? 1 : 1 + (mixed >> 8) % 3);
    number = has_sign && !positive && (mixed & 1) != 0 ? -size : size;
  }
  if (is_floating(dtype)) return Tensor::of(shape, std::move(numbers)).converted(dtype);
  return whole_tensor(dtype, shape, std::move(numbers));
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
  return read_tensor(line, type.dtype, *shape, count);
}

}  // namespace convoy
