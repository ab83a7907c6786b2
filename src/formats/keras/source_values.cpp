#include "formats/keras/source_values.h"

#include "base/whole_tensor.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace convoy::keras {
namespace {

// A weight of a layer that the program wrote itself: one of the arrays of that layer.
Result<ValueId> weight_of(Builder& builder, const Layer& layer, const std::string& full_name,
                          const Location& location) {
  if (const auto known = builder.bound.find(full_name); known != builder.bound.end()) return known->second;
  const Json& config = *layer.config;
  const auto argument = config.find("shape"), place = config.find("index"), all = config.find("count");
  if (argument == config.end() || place == config.end() || all == config.end() || !place->is_number_integer() ||
      !all->is_number_integer() || !argument->is_array())
    return fail(Fault::Format, "is no layer that a file can hold");
  Sizes shape;
  for (const Json& n : *argument) shape.push_back(n.is_number_integer() && n >= 0 ? n.get<Size>() : 0);
  Result<Tensor> numbers = Tensor();
  if (!builder.weights) {
    numbers = initial_weight("", config, "kernel", shape);
  } else {
    // An .h5 file of Keras 1 or 2 has a group for each layer of the model; what lies in others is not told apart.
    const std::string owner = layer.name.substr(0, layer.name.rfind('/'));
    auto held = builder.weights->of(builder.weights->nests() ? location : Location{"", {owner}});
    if (!held) return pass(held);
    if (!builder.weights->nests() && held->all.size() != all->get<std::size_t>())
      return fail(
          Fault::Unsupported,
          "is a weight of a layer of the program's own, and an .h5 file of Keras 1 or 2 does not say which of " +
              std::to_string(held->all.size()) + " arrays of '" + owner +
              "' it is; save the weights as NAME.weights.h5");
    if (held->all.size() != all->get<std::size_t>())
      return fail(Fault::Format, "the file holds " + std::to_string(held->all.size()) + " arrays at '" +
                                     location.group + "', the program makes " + std::to_string(all->get<Size>()));
    numbers = held->all.at(place->get<std::size_t>()).tensor;
    if (numbers->shape() != shape)
      return fail(Fault::Format, "has another shape in the file, at '" + location.group + "'");
  }
  if (!numbers) return pass(numbers);
  const auto trains = config.find("trainable");
  const ValueId made =
      builder.graph.constant(full_name, numbers->converted(DType::F32), trains == config.end() || *trains == true);
  builder.bound.emplace(full_name, made);
  return made;
}

Result<Tensor> numbers_of(const Json& config) {
  const Json none;
  const auto part = [&](const char* word) -> const Json& {
    const auto found = config.find(word);
    return found == config.end() ? none : *found;
  };
  const Json &sizes = part("shape"), &all = part("numbers");
  Sizes shape;
  std::vector<double> numbers;
  if (sizes.is_array() && sizes.size() <= 16)
    for (const Json& n : sizes) shape.push_back(n.is_number_integer() && n >= 0 ? n.get<Size>() : -1);
  if (all.is_array())
    for (const Json& n : all)
      if (n.is_number() || n.is_boolean()) numbers.push_back(n.is_boolean() ? (n == true) : n.get<double>());
  const auto count = checked_count(shape);
  const bool fits = sizes.is_array() && all.is_array() && std::ranges::find(shape, -1) == shape.end() && count &&
                    *count == static_cast<Size>(numbers.size()) && numbers.size() == all.size();
  if (!fits) return fail(Fault::Format, "is no layer that a file can hold");
  if (part("dtype") == "float32") return Tensor::of(shape, std::move(numbers)).converted(DType::F32);
  if (part("dtype") == "float64") return Tensor::of(shape, std::move(numbers));
  if (part("dtype") == "int32" || part("dtype") == "int64") {
    if (!std::ranges::all_of(numbers, [](double value) { return std::abs(value) < 0x1p53; }))
      return fail(Fault::Format, "holds a whole number over 2^53");
    return whole_tensor(part("dtype") == "int32" ? DType::I32 : DType::I64, shape, {numbers.begin(), numbers.end()});
  }
  if (part("dtype") != "bool") return fail(Fault::Format, "is no layer that a file can hold");
  std::vector<std::byte> truths;
  for (const double value : numbers) truths.push_back(static_cast<std::byte>(value != 0));
  return Tensor::owning(DType::Bool, shape, std::move(truths));
}

}  // namespace

Result<std::optional<ValueId>> source_value(Builder& builder, const Layer& layer, const std::string& full_name,
                                            const Location& location) {
  const auto known = [](Result<ValueId> made) -> Result<std::optional<ValueId>> {
    if (!made) return pass(made);
    return *made;
  };
  if (!layer.config) return std::nullopt;
  if (layer.class_name == source_weight) return known(weight_of(builder, layer, full_name, location));
  if (layer.class_name != source_constant) return std::nullopt;
  if (const auto made = builder.bound.find(full_name); made != builder.bound.end()) return made->second;
  auto numbers = layer.config->is_object() ? numbers_of(*layer.config) : fail(Fault::Format, "holds no numbers");
  if (!numbers) return pass(numbers);
  const ValueId made = builder.graph.constant(full_name, std::move(*numbers), false);
  builder.bound.emplace(full_name, made);
  return made;
}

}  // namespace convoy::keras
