// The arguments that PyTorch's functions share.
#include "formats/torch/catalogue/arguments.h"

#include "containers/json.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace convoy::torch {

Size space_of(std::string_view name) {
  const auto digit = name.find_first_of("123");
  return digit == std::string_view::npos ? 0 : name[digit] - '0';
}

namespace {

// PyTorch takes no 2.0 for a 2, and no True for a 1. What is far beyond any array would wrap in sums.
Size whole(FunctionCall& call, const Json& value, std::string_view key) {
  constexpr Size most = Size{1} << 40;
  const auto in_range = [](auto n) { return std::cmp_less_equal(n, most) && std::cmp_greater_equal(n, -most); };
  const bool fits = value.is_number_unsigned() ? in_range(value.get<std::uint64_t>())
                                               : value.is_number_integer() && in_range(value.get<Size>());
  if (fits) return value.get<Size>();
  call.refuse(value.is_number_integer() ? Fault::Limit : Fault::Format,
              "argument '" + std::string(key) + "' is " + json_text(value) + ", expected " +
                  (value.is_number_integer() ? "a size that an array can have" : "a whole number"));
  return 1;
}

}  // namespace

Sizes whole_numbers(FunctionCall& call, std::string_view key) {
  const Json* argument = call.attrs.raw(key);
  if (!argument) return call.attrs.list(key);
  if (!argument->is_array()) return {whole(call, *argument, key)};
  Sizes numbers;
  for (const Json& one : *argument) numbers.push_back(whole(call, one, key));
  return numbers;
}

Size whole_number(FunctionCall& call, std::string_view key, std::optional<Size> otherwise) {
  const Json* argument = call.attrs.raw(key);
  return argument ? whole(call, *argument, key) : call.attrs.integer(key, otherwise);
}

double number_or_default(FunctionCall& call, std::string_view key) {
  return call.attrs.number(key, default_number(call.name, key));
}

Size integer_or_default(FunctionCall& call, std::string_view key) {
  const auto number = default_number(call.name, key);
  return call.attrs.integer(key, number ? std::optional(static_cast<Size>(*number)) : std::nullopt);
}

bool truth_or_default(FunctionCall& call, std::string_view key) {
  const std::string_view word = default_in_row(call.name, key);
  return call.attrs.truth(key, word.empty() ? std::nullopt : std::optional(word == "True"));
}

std::string word_or_default(FunctionCall& call, std::string_view key) {
  const std::string_view word = default_in_row(call.name, key);
  return call.attrs.word(key,
                         word.size() < 2 ? std::nullopt : std::optional(std::string(word.substr(1, word.size() - 2))));
}

bool is_mask(FunctionCall& call, ValueId index) {
  const DType dtype = call.type(index).dtype;
  return dtype == DType::Bool || dtype == DType::U8;
}

Size axis_of(FunctionCall& call, Size axis, Size rank) {
  const Size most = std::max<Size>(rank, 1);  // PyTorch lets a single number have an axis
  if (axis >= -most && axis < most) return positive_axis(axis, most);
  call.refuse(Fault::Format, "axis " + std::to_string(axis) + " of an input of rank " + std::to_string(rank));
  return 0;
}

Sizes reduced_axes(FunctionCall& call, ValueId x) {
  Sizes all = call.attrs.has("dim") ? call.attrs.list("dim") : Sizes();
  for (Size& axis : all) axis = axis_of(call, axis, call.rank(x));
  if (all.empty()) {
    all.resize(static_cast<std::size_t>(call.rank(x)));
    std::iota(all.begin(), all.end(), Size{0});
  }
  std::ranges::sort(all);
  return all;
}

ValueId real_tensor(FunctionCall& call, std::string_view name) {
  const ValueId x = call.tensor(name);
  if (call.failed() || is_floating(call.type(x).dtype)) return x;
  call.refuse(Fault::Unsupported, "of whole numbers (" + std::string(name_of(call.type(x).dtype)) + ")");
  return x;
}

Sizes per_axis(FunctionCall& call, std::string_view key, Size count, std::optional<Size> otherwise, ListOfOne one) {
  const auto all = static_cast<std::size_t>(count);
  const Json* argument = call.attrs.raw(key);
  if (!argument) return call.attrs.sizes_of(nullptr, key, all, otherwise);
  if (!argument->is_array()) return Sizes(all, whole(call, *argument, key));
  if (argument->size() == 1 && one == ListOfOne::ForAll) return Sizes(all, whole(call, argument->front(), key));
  if (argument->size() != all) {
    call.refuse(Fault::Format, "argument '" + std::string(key) + "' is " + argument->dump() + ", expected one number" +
                                   (count > 1 ? " or " + std::to_string(count) : std::string()));
    return Sizes(all, otherwise.value_or(1));
  }
  return whole_numbers(call, key);
}

void expect_least(FunctionCall& call, std::string_view key, const Sizes& numbers, Size least) {
  if (std::ranges::any_of(numbers, [&](Size n) { return n < least; }))
    call.refuse(Fault::Format, "argument '" + std::string(key) + "' is " + text_of(numbers) + ", expected " +
                                   std::to_string(least) + " or more");
}

Batched with_batch(FunctionCall& call, ValueId input, Size space) {
  if (call.failed() || call.rank(input) == space + 2) return {input, false};
  if (call.rank(input) == space + 1) return {call.add(Unsqueeze{{0}}, {input}), true};
  call.refuse(Fault::Format, "input has shape " + text_of(call.shape(input)) + ", expected rank " +
                                 std::to_string(space + 2) + ", or " + std::to_string(space + 1) +
                                 " without a batch axis");
  return {input, false};
}

ValueId without_batch(FunctionCall& call, const Batched& input, ValueId value) {
  return input.added ? call.add(Squeeze{{0}}, {value}) : value;
}

}  // namespace convoy::torch
