// Going through values once: lists and ranges as they are by then, and what makes its values when they are asked for.
#include "containers/python/generator.h"

namespace convoy::python {

Result<Iterator*> Interpreter::iterator(Value value) {
  if (!value.is_object()) return wrong("a " + python::type_name(value) + " cannot be gone through");
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return fail(Fault::Limit, "values are nested too deep");
  return value.object()->iterator(*this);
}

Result<std::optional<Value>> Interpreter::pull(Iterator& of) {
  const Deeper deeper(depth_);
  if (depth_ > limits_.depth) return fail(Fault::Limit, "values are nested too deep");
  return of.pull(*this);
}

Result<Iterator*> Object::iterator(Interpreter& in) {
  auto all = in.elements(Value::of(this));
  if (!all) return std::unexpected(all.error());
  return in.make<Iterator>(std::move(*all));
}

// A list may grow while it is gone through.
Result<Iterator*> Sequence::iterator(Interpreter& in) {
  return in.make<Generator>([this, next = std::size_t{0}](Interpreter&) mutable -> Result<std::optional<Value>> {
    return next < items.size() ? std::optional(items[next++]) : std::nullopt;
  });
}

Result<bool> Sequence::contains(Interpreter& in, Value value) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto same = in.same_or_equal(items[i], value);
    if (!same || *same) return same;
  }
  return false;
}

Result<Iterator*> Range::iterator(Interpreter& in) {
  return in.make<Generator>([this, next = Size{0}](Interpreter&) mutable -> Result<std::optional<Value>> {
    return next < count() ? std::optional(Value::of(start + next++ * step)) : std::nullopt;
  });
}

Result<ValueList> Iterator::elements(Interpreter&) {
  ValueList rest(items.begin() + static_cast<std::ptrdiff_t>(next), items.end());
  next = items.size();
  return rest;
}

Result<std::optional<Value>> Iterator::pull(Interpreter&) {
  return next < items.size() ? std::optional(items[next++]) : std::nullopt;
}

// It is gone through up to the value.
Result<bool> Iterator::contains(Interpreter& in, Value value) {
  for (;;) {
    const auto one = in.pull(*this);
    if (!one) return std::unexpected(one.error());
    if (!*one) return false;
    const auto same = in.same_or_equal(**one, value);
    if (!same || *same) return same;
  }
}

Result<ValueList> Generator::elements(Interpreter& in) {
  ValueList rest;
  for (;;) {
    auto one = in.pull(*this);
    if (!one) return pass(one);
    if (!*one) return rest;
    rest.push_back(**one);
  }
}

Result<std::optional<Value>> Generator::pull(Interpreter& in) {
  if (done_) return std::nullopt;
  auto made = make_(in);
  done_ = !made || !*made;
  if (auto paid = in.charge(16); !paid) return pass(paid);
  return made;
}

}  // namespace convoy::python
