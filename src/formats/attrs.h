// Reads the attributes of one layer or node from JSON. The first failure sticks, so a reader is straight-line code;
// `done` fails also on every attribute nobody asked for. A null counts as absent.
#pragma once
#include "containers/json.h"
#include "convoy/result.h"
#include "convoy/size.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy {

class Attrs {
 public:
  explicit Attrs(const Json& object) : object_(&object) {
    if (!object.is_object()) refuse(Fault::Format, "config is not an object");
  }

  bool failed() const { return first_.has_value(); }
  void refuse(Fault fault, std::string what) {
    if (!first_) first_ = Error{fault, std::move(what), {}};
  }
  void refuse(Error error) {
    if (!first_) first_ = std::move(error);
  }

  // The value as it stands; null pointer when absent or null. Marks the key as asked for.
  const Json* raw(std::string_view key) {
    asked_.emplace(key);
    if (!object_->is_object()) return nullptr;
    const auto it = object_->find(std::string(key));
    return it == object_->end() || it->is_null() ? nullptr : &*it;
  }
  // The first of several spellings of one attribute that is there.
  const Json* raw(std::initializer_list<std::string_view> keys) {
    const Json* found = nullptr;
    for (const auto key : keys)
      if (const Json* value = raw(key); value && !found) found = value;
    return found;
  }
  bool has(std::string_view key) { return raw(key) != nullptr; }
  void ignore(std::initializer_list<std::string_view> keys) {
    for (const auto key : keys) asked_.emplace(key);
  }
  template <class Keys>
  void ignore_all(const Keys& keys) {
    for (const auto key : keys) asked_.emplace(key);
  }

  Size integer(std::string_view key, std::optional<Size> otherwise = {}) {
    return integer_of(raw(key), key, otherwise);
  }
  double number(std::string_view key, std::optional<double> otherwise = {}) {
    return number_of(raw(key), key, otherwise);
  }
  bool truth(std::string_view key, std::optional<bool> otherwise = {}) {
    const Json* value = raw(key);
    if (!value) return absent(key, otherwise, false);
    if (value->is_boolean()) return value->get<bool>();
    if (value->is_number_integer() && (*value == 0 || *value == 1)) return *value == 1;
    return wrong(key, "true or false", otherwise.value_or(false));
  }
  std::string word(std::string_view key, std::optional<std::string> otherwise = {}) {
    const Json* value = raw(key);
    if (!value) return absent(key, otherwise, std::string());
    if (value->is_string()) return value->get<std::string>();
    return wrong(key, "a word", otherwise.value_or(""));
  }
  // `count` whole numbers; one number stands for all; all `otherwise` when absent.
  Sizes sizes(std::string_view key, std::size_t count, std::optional<Size> otherwise = {}) {
    return sizes_of(raw(key), key, count, otherwise);
  }
  // Whole numbers of any count; one number is a list of one.
  Sizes list(std::string_view key, std::optional<Sizes> otherwise = {}) {
    const Json* value = raw(key);
    if (!value) return absent(key, otherwise, Sizes());
    if (value->is_array()) return sizes_of(value, key, value->size(), {});
    return sizes_of(value, key, 1, {});
  }

  Size integer_of(const Json* value, std::string_view key, std::optional<Size> otherwise = {}) {
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
  double number_of(const Json* value, std::string_view key, std::optional<double> otherwise = {}) {
    if (!value) return absent(key, otherwise, 0.0);
    if (value->is_number()) return value->get<double>();
    return wrong(key, "a number", otherwise.value_or(0));
  }
  Sizes sizes_of(const Json* value, std::string_view key, std::size_t count, std::optional<Size> otherwise = {}) {
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
  // Keras wraps Python tuples: {"class_name": "__tuple__", "items": [...]}.
  static const Json* tuple_of(const Json* value) {
    if (value->is_object() && value->contains("items") && value->contains("class_name")) return &(*value)["items"];
    return value;
  }

  Status done() {
    if (first_) return std::unexpected(*first_);
    if (object_->is_object())
      for (const auto& [key, unused] : object_->items())
        if (!asked_.contains(key)) return fail(Fault::Unsupported, "attribute '" + key + "' is not understood");
    return {};
  }

 private:
  template <class T>
  T absent(std::string_view key, const std::optional<T>& otherwise, T nothing) {
    if (otherwise) return *otherwise;
    refuse(Fault::Format, "attribute '" + std::string(key) + "' is missing");
    return nothing;
  }
  template <class T>
  T wrong(std::string_view key, std::string_view expected, T otherwise) {
    refuse(Fault::Format, "attribute '" + std::string(key) + "' is not " + std::string(expected));
    return otherwise;
  }

  const Json* object_;
  std::set<std::string, std::less<>> asked_;
  std::optional<Error> first_;
};

}  // namespace convoy
