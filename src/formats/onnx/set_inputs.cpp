#include "formats/onnx/set_inputs.h"

#include "base/nearest.h"
#include "base/whole_tensor.h"
#include "containers/json.h"
#include "formats/onnx/narrow_types.h"
#include "formats/onnx/types.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace convoy::onnx {
namespace {

// Python's lists, tuples and truths as JSON says them.
std::string in_json(std::string_view text) {
  std::string json;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (text.substr(i).starts_with("True")) json += "1", i += 3;
    else if (text.substr(i).starts_with("False")) json += "0", i += 4;
    else if (c == '(') json += '[';
    else if (c == ')' || c == ']') {
      while (!json.empty() && (json.back() == ' ' || json.back() == ',')) json.pop_back();
      json += ']';
    } else json += c;
  }
  return json;
}

// Numbers row by row, and how many there are along each axis. False: something else, or rows of unlike lengths.
bool gather_numbers(const Json& value, std::size_t depth, Sizes& shape, std::vector<Json>& numbers) {
  if (value.is_number()) {
    numbers.push_back(value);
    return depth == shape.size();
  }
  if (!value.is_array() || value.empty()) return false;
  const bool is_first = depth == shape.size() && numbers.empty();
  if (is_first) shape.push_back(static_cast<Size>(value.size()));
  if (depth >= shape.size() || shape[depth] != static_cast<Size>(value.size())) return false;
  return std::ranges::all_of(value, [&](const Json& one) { return gather_numbers(one, depth + 1, shape, numbers); });
}

// Nothing: it is none, or none that 64 bits hold. A number with a point is whole as long as it counts one by one.
std::optional<std::int64_t> whole_number(const Json& number) {
  if (number.is_number_unsigned() && number.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  if (number.is_number_integer()) return number.get<std::int64_t>();
  const double real = number.get<double>();
  if (std::trunc(real) != real || std::abs(real) >= 0x1p53) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

// What fits the declared shape: the shape that is said, or for one number the declared one. Nothing: it fits none.
std::optional<Sizes> fitted(const ValueInfo& input, const Sizes& said) {
  if (!input.shape) return said;
  Sizes declared;
  for (const NamedDim& dim : *input.shape) declared.push_back(dim.size && *dim.size > 0 ? *dim.size : -1);
  if (said.empty() && std::ranges::find(declared, Size{-1}) == declared.end()) return declared;
  const bool fits = std::ranges::equal(said, declared, [](Size a, Size b) { return b == -1 || a == b; });
  return fits ? std::optional(said) : std::nullopt;
}

Result<Tensor> numbers_for(const ValueInfo& input, const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return fail(Fault::Usage, "--set: '" + input.name + "=" + text + "' " + why);
  };
  const auto dtype = !input.type                 ? std::nullopt
                     : wide_type_of(*input.type) ? wide_type_of(*input.type)
                                                 : dtype_of(*input.type);
  if (!dtype) return wrong("is an input of a type that is not carried");
  auto json = parse_json(in_json(text));
  Sizes shape;
  std::vector<Json> numbers;
  if (!json || !gather_numbers(*json, 0, shape, numbers))
    return wrong("is no number and no list of numbers, such as 16000 or [1, 2]");
  const auto fits = fitted(input, shape);
  const auto count = fits ? checked_count(*fits) : std::nullopt;
  constexpr Size most = Size{1} << 24;
  if (!count || *count > most)
    return wrong("has the shape " + text_of(shape) + ", which is not what the file declares of the input");
  if (numbers.size() == 1) numbers.resize(static_cast<std::size_t>(*count), numbers.front());
  if (is_floating(*dtype)) {
    std::vector<double> reals;
    for (const Json& number : numbers) reals.push_back(number.get<double>());
    return Tensor::of(*fits, std::move(reals)).converted(*dtype);
  }
  std::vector<std::int64_t> whole;
  for (const Json& number : numbers) {
    const auto value = whole_number(number);
    if (!value) return wrong("is no whole number, as the input's " + std::string(name_of(*dtype)) + " takes");
    if (wrapped(*value, *dtype) != *value) return wrong("does not fit into " + std::string(name_of(*dtype)));
    whole.push_back(*value);
  }
  return whole_tensor(*dtype, *fits, std::move(whole));
}

}  // namespace

Result<std::map<std::string, Tensor>> inputs_set(const Model& model, const LoadOptions& options) {
  std::map<std::string, Tensor> set;
  for (const std::string& said : options.names) {
    const auto equals = said.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Fault::Usage, "--set: '" + said + "' is not NAME=VALUE, such as sr=16000");
    const std::string name = said.substr(0, equals);
    const auto input = std::ranges::find(model.graph.inputs, name, &ValueInfo::name);
    if (input == model.graph.inputs.end()) {
      if (!options.for_one_model) continue;
      std::vector<std::string> names;
      for (const ValueInfo& one : model.graph.inputs) names.push_back(one.name);
      return fail(Fault::Usage, "--set: the model has no input '" + name + "'" + did_you_mean(name, names));
    }
    auto numbers = numbers_for(*input, said.substr(equals + 1));
    if (!numbers) return pass(numbers);
    if (options.remarks)
      options.remarks->push_back("input '" + name + "' is " + said.substr(equals + 1) +
                                 ", as --set says: what was read takes no other, and nobody gives it");
    if (options.names_taken) options.names_taken->insert(name);
    set.insert_or_assign(name, *std::move(numbers));
  }
  return set;
}

}  // namespace convoy::onnx
