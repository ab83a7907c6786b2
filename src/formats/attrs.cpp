#include "formats/attrs.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace convoy {

template <class T>
T Attrs::absent(std::string_view key, const std::optional<T>& otherwise, T nothing) {
  if (tensors_.contains(key))
    refuse(Fault::Unsupported,
           "argument '" + std::string(key) + "' is a tensor; this version reads it as a number or a list");
  if (otherwise) return *otherwise;
  refuse(Fault::Format, "attribute '" + std::string(key) + "' is missing");
  return nothing;
}

template <class T>
T Attrs::wrong(std::string_view key, std::string_view expected, T otherwise) {
  refuse(Fault::Format, "attribute '" + std::string(key) + "' is not " + std::string(expected));
  return otherwise;
}

Attrs::Attrs(const Json& object) : object_(&object) {
  if (!object.is_object()) refuse(Fault::Format, "config is not an object");
}

void Attrs::refuse(Error error) {
  if (!first_) first_ = std::move(error);
}

const Json* Attrs::raw(std::string_view key) {
  asked_.emplace(key);
  if (!object_->is_object()) return nullptr;
  const auto it = object_->find(std::string(key));
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

bool Attrs::says_none(std::string_view key) const {
  if (!object_->is_object()) return false;
  const auto it = object_->find(std::string(key));
  return it != object_->end() && it->is_null();
}

const Json* Attrs::raw(std::initializer_list<std::string_view> keys) {
  const Json* found = nullptr;
  for (const auto key : keys)
    if (const Json* value = raw(key); value && !found) found = value;
  return found;
}

Size Attrs::integer(std::string_view key, std::optional<Size> otherwise) {
  return integer_of(raw(key), key, otherwise);
}

double Attrs::number(std::string_view key, std::optional<double> otherwise) {
  return number_of(raw(key), key, otherwise);
}

bool Attrs::truth(std::string_view key, std::optional<bool> otherwise) {
  const Json* value = raw(key);
  if (!value) return absent(key, otherwise, false);
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_number_integer() && (*value == 0 || *value == 1)) return *value == 1;
  return wrong(key, "true or false", otherwise.value_or(false));
}

std::string Attrs::word(std::string_view key, std::optional<std::string> otherwise) {
  const Json* value = raw(key);
  if (!value) return absent(key, otherwise, std::string());
  if (value->is_string()) return value->get<std::string>();
  return wrong(key, "a word", otherwise.value_or(""));
}

Sizes Attrs::sizes(std::string_view key, std::size_t count, std::optional<Size> otherwise) {
  return sizes_of(raw(key), key, count, otherwise);
}

Sizes Attrs::list(std::string_view key, std::optional<Sizes> otherwise) {
  const Json* value = raw(key);
  if (!value) return absent(key, otherwise, Sizes());
  return sizes_of(value, key, value->is_array() ? value->size() : 1);
}

Size Attrs::integer_of(const Json* value, std::string_view key, std::optional<Size> otherwise) {
  if (!value) return absent(key, otherwise, Size{0});
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return wrong(key, "a whole number in range", otherwise.value_or(0));
  if (value->is_number_integer()) return value->get<Size>();
  if (value->is_number_float()) {  // Python wrote 2.0 where it means 2
    const double number = value->get<double>();
    if (std::abs(number) < 0x1p53 && number == std::floor(number)) return static_cast<Size>(number);
  }
  return wrong(key, "a whole number", otherwise.value_or(0));
}

double Attrs::number_of(const Json* value, std::string_view key, std::optional<double> otherwise) {
  if (!value) return absent(key, otherwise, 0.0);
  if (value->is_number()) return value->get<double>();
  if (value->is_boolean()) return *value == true ? 1 : 0;  // as Python counts
  return wrong(key, "a number", otherwise.value_or(0));
}

Sizes Attrs::sizes_of(const Json* value, std::string_view key, std::size_t count, std::optional<Size> otherwise) {
  if (!value) return Sizes(count, absent(key, otherwise, Size{0}));
  const Json* list = tuple_of(value);
  if (!list->is_array()) return Sizes(count, integer_of(value, key));
  if (list->size() != count) {
    refuse(Fault::Format, "attribute '" + std::string(key) + "' has " + std::to_string(list->size()) +
                              " numbers, expected " + std::to_string(count));
    return Sizes(count, otherwise.value_or(0));
  }
  Sizes all;
  all.reserve(count);
  for (const Json& one : *list) all.push_back(integer_of(&one, key));
  return all;
}

const Json* Attrs::tuple_of(const Json* value) {
  if (value->is_object() && value->contains("items") && value->contains("class_name")) return &(*value)["items"];
  if (value->is_object() && value->value("class_name", Json()) == "__numpy__" && value->contains("config"))
    if (const auto& config = (*value)["config"]; config.is_object() && config.contains("value"))
      return &config["value"];
  return value;
}

Status Attrs::done() {
  if (first_) return std::unexpected(*first_);
  if (object_->is_object())
    for (const auto& [key, unused] : object_->items())
      if (!asked_.contains(key)) return fail(Fault::Unsupported, "attribute '" + key + "' is not understood");
  return {};
}

}  // namespace convoy
