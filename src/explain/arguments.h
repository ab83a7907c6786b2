// The arguments of a pasted call under the names of its signature, and as the JSON that the frameworks' rows read.
#pragma once
#include "containers/json.h"
#include "containers/python/expression.h"
#include "explain/names.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace convoy::explain {

struct Given {
  std::string name;
  const python::Expression* value = nullptr;
};

class Arguments {
 public:
  // Fails (Usage): more arguments by place than the signature has, a keyword that it has not (with the nearest that it
  // has), one given twice.
  static Result<Arguments> bind(const Named& named, const std::vector<python::Argument>& given, std::string_view text);

  const std::vector<Given>& all() const { return given_; }
  const python::Expression* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string_view text() const { return text_; }
  std::string source(const python::Expression& value) const { return python::source_of(value, text_); }

  // Of these arguments; None is left out. Fails (Usage): a value that is no number, word or list of them.
  Result<Json> json(const std::vector<std::string_view>& without) const;

 private:
  std::vector<Given> given_;
  std::string_view text_;
};

Result<Json> json_of(const python::Expression& value, std::string_view text);

}  // namespace convoy::explain
