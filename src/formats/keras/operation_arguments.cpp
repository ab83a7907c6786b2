// What a keras.ops node is called with stands in its config, among its arguments by place, or among them by name.
#include "formats/keras/operation.h"

#include "base/whole_tensor.h"
#include "formats/numbers.h"
#include "ops/expect.h"

#include <algorithm>

namespace convoy::keras {
namespace {

std::optional<std::size_t> tensor_index(const Json& value) {
  if (!value.is_object() || value.size() != 1 || !value.contains("$tensor")) return std::nullopt;
  return value["$tensor"].get<std::size_t>();
}

void flatten_numbers(Call& call, const Json& value, Sizes& shape, std::vector<double>& out, std::size_t depth) {
  if (value.is_number() || value.is_boolean()) {
    out.push_back(value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>());
    return;
  }
  if (!value.is_array() || depth > 8)
    return call.refuse(Fault::Unsupported, "holds a constant that is no array of numbers");
  if (shape.size() <= depth) shape.push_back(static_cast<Size>(value.size()));
  if (shape[depth] != static_cast<Size>(value.size())) return call.refuse(Fault::Format, "holds a ragged array");
  for (const Json& one : value) flatten_numbers(call, one, shape, out, depth + 1);
}

}  // namespace

const Json* option(Call& call, std::string_view name, std::size_t place) {
  const Json* config = call.attrs.raw(name);
  if (!call.call) return config;
  const auto& args = call.call->args;
  if (place < args.size() && !args[place].is_null()) return &args[place];
  const auto it = call.call->kwargs.find(std::string(name));
  if (it != call.call->kwargs.end() && !it->is_null()) return &*it;
  return config;
}

bool is_said_none(Call& call, std::string_view name, std::size_t place) {
  const auto none_in = [&](const Json& object) {
    const auto it = object.find(std::string(name));
    return it != object.end() && it->is_null();
  };
  const auto* config = call.layer.config;
  if (config && config->is_object() && none_in(*config)) return true;
  return call.call &&
         ((place < call.call->args.size() && call.call->args[place].is_null()) || none_in(call.call->kwargs));
}

namespace {

// An array of whole numbers or truths says its type, and so does True; it counts unless it meets fractions alone: these make
// fractions of it.
std::optional<DType> whole_type_of(Call& call, const Json& value) {
  const bool says = value.is_object() && value["config"].contains("dtype");
  if (!says && !value.is_boolean()) return std::nullopt;
  const auto dtype = says ? input_dtype(policy_word(value["config"]["dtype"])) : DType::Bool;
  const auto is_real = [&](ValueId v) { return is_floating(call.type(v).dtype); };
  if (!dtype || is_floating(*dtype) || (!call.inputs.empty() && std::ranges::all_of(call.inputs, is_real)))
    return std::nullopt;
  return *dtype;
}

void flatten_whole_numbers(Call& call, const Json& value, std::vector<std::int64_t>& out) {
  if (value.is_array())
    for (const Json& one : value) flatten_whole_numbers(call, one, out);
  else if (value.is_number_float()) call.refuse(Fault::Format, "holds a fraction in an array of whole numbers");
  else out.push_back(value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<std::int64_t>());
}

// As which real numbers a constant stands: an array of such says so, others take the type of the tensor that they meet.
DType real_type_of(Call& call, const Json& value, bool is_number) {
  const bool says = value.is_object() && value["config"].contains("dtype");
  if (says)
    if (const auto policy = policy_of(policy_word(value["config"]["dtype"]))) return policy->compute;
  const bool takes = says || (value.is_number() && is_number);  // whole numbers of an array, too
  if (!takes || call.inputs.empty()) return DType::F32;
  const DType met = call.type(call.inputs.front()).dtype;
  return is_floating(met) ? met : DType::F32;
}

ValueId value_of(Call& call, const Json* value, std::string_view name) {
  if (const auto index = tensor_index(*value)) {
    if (*index < call.inputs.size()) return call.inputs[*index];
    call.refuse(Fault::Format, "argument '" + std::string(name) + "' is no tensor");
    return {};
  }
  const Json* numbers = value;
  if (value->is_object() && value->contains("config") && (*value)["config"].is_object() &&
      (*value)["config"].contains("value"))
    numbers = &(*value)["config"]["value"];
  Sizes shape;
  std::vector<double> all;
  flatten_numbers(call, *numbers, shape, all, 0);
  const auto count = checked_count(shape);
  if (call.failed() || !count || *count != static_cast<Size>(all.size())) {
    call.refuse(Fault::Format, "argument '" + std::string(name) + "' is no array of numbers");
    return {};
  }
  if (const auto dtype = whole_type_of(call, *value)) {
    std::vector<std::int64_t> whole;
    flatten_whole_numbers(call, *numbers, whole);
    if (call.failed()) return {};
    return call.literal(name, whole_tensor(*dtype, shape, std::move(whole)));
  }
  const DType type = real_type_of(call, *value, shape.empty());
  return call.literal(name, Tensor::of(shape, std::move(all)).converted(type));
}

}  // namespace

ValueId operand(Call& call, std::string_view name, std::size_t place) {
  const Json* value = option(call, name, place);
  if (value) return value_of(call, value, name);
  call.refuse(Fault::Format, "argument '" + std::string(name) + "' is missing");
  return {};
}

Values operands(Call& call, std::string_view name, std::size_t place) {
  if (!call.call && !call.inputs.empty()) return call.inputs;
  const Json* list = option(call, name, place);
  if (!list || !list->is_array() || list->empty()) {
    call.refuse(Fault::Format, "argument '" + std::string(name) + "' is no list of tensors");
    return {};
  }
  Values all;
  for (std::size_t i = 0; i < list->size() && !call.failed(); ++i)
    all.push_back(value_of(call, &(*list)[i], std::string(name) + "_" + std::to_string(i)));
  return all;
}

Sizes list_of(Call& call, const Json* value, std::string_view name) {
  if (!value) return {};
  const Json* list = Attrs::tuple_of(value);
  if (!list->is_array()) return {call.attrs.integer_of(list, name)};
  if (std::ranges::any_of(*list, [](const Json& one) { return one.is_null(); }))
    call.refuse(Fault::Unsupported,
                "argument '" + std::string(name) + "' holds a size that is free; give it with --shape");
  return call.attrs.sizes_of(list, name, list->size());
}

ValueId whole_constant(Call& call, std::string_view name, std::int64_t value, DType dtype) {
  return call.make_constant(name, whole_tensor(dtype, {}, {value}));
}

}  // namespace convoy::keras
