// Tables of methods: a name, its parameters, and what it does to an object of one kind.
#pragma once
#include "containers/python/interpreter.h"

#include <algorithm>
#include <type_traits>

namespace convoy::python {

template <class Of>
struct Method {
  std::string_view name, words;
  std::size_t least;
  Result<Value> (*run)(Interpreter&, Of&, std::vector<std::optional<Value>>&);
};

template <class Of, class Table>
Result<std::optional<Value>> method_of(Interpreter& in, Of& self, const Table& table, const std::string& name) {
  const auto found = std::ranges::find(table, name, &Method<Of>::name);
  if (found == table.end()) return std::nullopt;
  const Method<Of>* method = &*found;
  return in.native(name, [&self, method](Interpreter& with, Arguments& given) -> Result<Value> {
    auto taken = bound(given, method->words, method->least, method->name);
    if (!taken) return pass(taken);
    if constexpr (std::is_same_v<Of, Text>)
      if (auto paid = self.read(with); !paid) return pass(paid);
    return method->run(with, self, *taken);
  });
}

using Taken = std::vector<std::optional<Value>>;

}  // namespace convoy::python
