#include "containers/python/dictionary_views.h"

#include "containers/python/generator.h"

namespace convoy::python {

std::string View::type_name() const {
  return of_ == Of::Keys ? "dict_keys" : of_ == Of::Values ? "dict_values" : "dict_items";
}

Value View::at(Interpreter& in, std::size_t place) const {
  const auto& [key, value] = map_.entries[place];
  return of_ == Of::Keys ? key : of_ == Of::Values ? value : in.tuple({key, value});
}

Result<ValueList> View::elements(Interpreter& in) {
  if (auto paid = in.charge(static_cast<Size>(map_.entries.size()) * 16); !paid) return pass(paid);
  ValueList all;
  for (std::size_t i = 0; i < map_.entries.size(); ++i) all.push_back(at(in, i));
  return all;
}

Result<Iterator*> View::iterator(Interpreter& in) {
  return in.make<Generator>([this, next = std::size_t{0}](Interpreter& with) mutable -> Result<std::optional<Value>> {
    return next < map_.entries.size() ? std::optional(at(with, next++)) : std::nullopt;
  });
}

Result<bool> View::contains(Interpreter& in, Value value) {
  return of_ == Of::Keys ? map_.contains(in, value) : Object::contains(in, value);
}

Result<std::optional<Value>> View::binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) {
  const bool compares = symbol == "==";
  const auto* set = other.as<Mapping>();
  const auto* view = other.as<View>();
  if (of_ == Of::Values || (compares && !view && !(set && set->is_set))) return std::nullopt;
  if (!compares && symbol != "&" && symbol != "|" && symbol != "-") return std::nullopt;
  const auto own = in.call(in.builtins["set"], ValueList{Value::of(this)}),
             met = in.call(in.builtins["set"], ValueList{other});
  if (!own) return std::unexpected(own.error());
  if (!met) return std::unexpected(met.error());
  if (compares) {
    const auto same = in.equal(*own, *met);
    return same ? Result<std::optional<Value>>(Value::of(*same)) : std::unexpected(same.error());
  }
  const auto made = in.binary(symbol, reversed ? *met : *own, reversed ? *own : *met);
  return made ? Result<std::optional<Value>>(*made) : std::unexpected(made.error());
}

}  // namespace convoy::python
