// Reads the attributes of one layer or node from JSON. The first failure sticks, so a reader is straight-line code;
// `done` fails also on every attribute nobody asked for. A null counts as absent.
#pragma once
#include "containers/json.h"
#include "convoy/result.h"
#include "convoy/size.h"

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace convoy {

class Attrs {
 public:
  explicit Attrs(const Json& object);

  bool failed() const { return first_.has_value(); }
  void refuse(Fault fault, std::string what) { refuse(Error{fault, std::move(what), {}}); }
  void refuse(Error error);

  // Names under which tensors are given, so that what is asked for as a number is not called missing.
  void given_as_tensor(const std::string& key) { tensors_.insert(key); }

  // The value as it stands; null pointer when absent or null. Marks the key as asked for.
  const Json* raw(std::string_view key);
  // The first of several spellings of one attribute that is there.
  const Json* raw(std::initializer_list<std::string_view> keys);
  bool has(std::string_view key) { return raw(key) != nullptr; }
  bool says_none(std::string_view key) const;  // null, which is not the same as absent
  void ignore(std::initializer_list<std::string_view> keys) { ignore_all(keys); }
  template <class Keys>
  void ignore_all(const Keys& keys) {
    for (const auto key : keys) asked_.emplace(key);
  }

  Size integer(std::string_view key, std::optional<Size> otherwise = {});
  double number(std::string_view key, std::optional<double> otherwise = {});
  bool truth(std::string_view key, std::optional<bool> otherwise = {});
  std::string word(std::string_view key, std::optional<std::string> otherwise = {});
  // `count` whole numbers; one number stands for all; all `otherwise` when absent.
  Sizes sizes(std::string_view key, std::size_t count, std::optional<Size> otherwise = {});
  // Whole numbers of any count; one number is a list of one.
  Sizes list(std::string_view key, std::optional<Sizes> otherwise = {});

  // The same of a value that is at hand; `key` is what a refusal calls it.
  Size integer_of(const Json* value, std::string_view key, std::optional<Size> otherwise = {});
  double number_of(const Json* value, std::string_view key, std::optional<double> otherwise = {});
  Sizes sizes_of(const Json* value, std::string_view key, std::size_t count, std::optional<Size> otherwise = {});
  // Keras wraps Python tuples: {"class_name": "__tuple__", "items": [...]}.
  static const Json* tuple_of(const Json* value);

  Status done();

 private:
  template <class T>
  T absent(std::string_view key, const std::optional<T>& otherwise, T nothing);
  template <class T>
  T wrong(std::string_view key, std::string_view expected, T otherwise);

  const Json* object_;
  std::set<std::string, std::less<>> asked_, tensors_;
  std::optional<Error> first_;
};

}  // namespace convoy
