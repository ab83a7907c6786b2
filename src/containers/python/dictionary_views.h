// What keys(), values() and items() of a dictionary give: they show it as it is by then.
#pragma once
#include "containers/python/value.h"

namespace convoy::python {

class View : public Object {
 public:
  enum class Of : std::uint8_t { Keys, Values, Items };
  View(Mapping& map, Of what) : map_(map), of_(what) {}
  std::string type_name() const override;
  Result<bool> truth(Interpreter& in) override { return map_.truth(in); }
  Result<Size> length(Interpreter& in) override { return map_.length(in); }
  Result<ValueList> elements(Interpreter& in) override;
  Result<Iterator*> iterator(Interpreter& in) override;
  Result<bool> contains(Interpreter& in, Value value) override;
  // Keys and items meet sets, and each other, as sets do.
  Result<std::optional<Value>> binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) override;

 private:
  Value at(Interpreter& in, std::size_t place) const;
  Mapping& map_;
  const Of of_;
};

}  // namespace convoy::python
