#include "run/held.h"

#include "base/whole_tensor.h"
#include "ops/expect.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace convoy {

Tensor wrapped(Tensor tensor, DType dtype) {
  if (tensor.dtype() != DType::I64 || dtype == DType::I64) return tensor;
  if (dtype == DType::U64) return whole_tensor(dtype, tensor.shape(), tensor.integers());  // the same bits mean others
  tensor = tensor.realigned();
  const auto leaves = [&](std::int64_t value) { return wrapped(value, dtype) != value; };
  if (std::ranges::none_of(tensor.raw<std::int64_t>(), leaves)) return tensor;
  auto numbers = tensor.integers();
  for (std::int64_t& number : numbers) number = wrapped(number, dtype);
  return Tensor::of(tensor.shape(), std::move(numbers));
}

Tensor rounded_to_half(Tensor tensor, DType dtype) {
  if (!is_half(dtype) || !is_floating(tensor.dtype()) || tensor.dtype() == dtype) return tensor;
  return tensor.converted(dtype).converted(DType::F32);
}

Tensor held_as(Tensor tensor, DType dtype, Precision precision, const EdgeRules& rules) {
  if (precision == Precision::Single && !rules.halves_stay_wide) tensor = rounded_to_half(std::move(tensor), dtype);
  return wrapped(std::move(tensor), dtype);
}

Result<Tensor> handed_in(const Tensor& given, const Value& input) {
  const DType dtype = input.type.dtype;
  if (input.quantization || is_floating(given.dtype()) == is_floating(dtype)) return given;
  if (is_floating(dtype)) return given.converted(dtype == DType::F64 ? DType::F64 : DType::F32);
  const auto numbers = given.doubles();
  const auto is_whole = [](double number) { return number == std::floor(number) && std::abs(number) < 0x1p63; };
  if (const auto fraction = std::ranges::find_if_not(numbers, is_whole); fraction != numbers.end())
    return fail(Fault::Usage, "input '" + input.name + "' takes whole numbers (" + std::string(name_of(dtype)) +
                                  "), and " + std::to_string(*fraction) + " is none: hand over an array of that type");
  return Tensor::of(given.shape(), std::vector<std::int64_t>(numbers.begin(), numbers.end()));
}

Tensor handed_out(const Tensor& value, DType dtype, Precision precision) {
  if (value.dtype() == dtype) return value;
  if (is_floating(value.dtype())) {
    const bool narrows = is_half(dtype) && precision == Precision::Single;
    return narrows ? value.converted(dtype) : value;
  }
  return is_floating(dtype) ? value : whole_tensor(dtype, value.shape(), value.integers());
}

bool computes_in_double(const Graph& graph, const Node& node) {
  const auto is_double = [&](ValueId v) { return v && graph[v].type.dtype == DType::F64; };
  const auto is_real = [&](ValueId v) { return v && is_floating(graph[v].type.dtype); };
  // What gives no real numbers, a comparison or a place, computes in the type that it reads.
  if (std::ranges::any_of(node.outputs, is_real)) return std::ranges::any_of(node.outputs, is_double);
  return std::ranges::any_of(node.inputs, is_double);
}

}  // namespace convoy
