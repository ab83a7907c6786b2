// [f(x) for x in all if g(x)], as sets, dictionaries and generators as well.
#include "containers/python/evaluator.h"
#include "containers/python/generator.h"
#include "containers/python/unread.h"

#include <memory>

namespace convoy::python {

// Goes from one element to the next. Its names are its own; what its first clause goes through is known in front.
class ComprehensionWalk {
 public:
  ComprehensionWalk(Interpreter& in, ProgramFile& file, Scope& scope, const Syntax& s, Iterator& outermost)
      : in_(in),
        inner_(in, file, scope),
        syntax_(s),
        width_(s.text == "dict" ? 2 : 1),
        open_{&outermost} {}

  // The next element, with its key in front in a dictionary; nothing: there is none any more.
  Result<std::optional<ValueList>> next() {
    while (!open_.empty()) {
      const Syntax& part = syntax_.parts[width_ + open_.size() - 1];
      auto holds = inner_.at(part, advance(part));
      if (!holds) return pass(holds);
      if (!*holds) continue;
      if (width_ + open_.size() == syntax_.parts.size()) return element();
      const Syntax& further = syntax_.parts[width_ + open_.size()];
      const auto iterable = inner_.value(further.parts[1]);
      if (!iterable) return std::unexpected(iterable.error());
      const auto iterator = in_.iterator(*iterable);
      if (!iterator) return inner_.at(further, Result<std::optional<ValueList>>(std::unexpected(iterator.error())));
      open_.push_back(*iterator);
    }
    return std::nullopt;
  }

 private:
  // The next value of the innermost clause, and whether its conditions hold for it.
  Result<bool> advance(const Syntax& part) {
    if (auto paid = in_.step(); !paid) return pass(paid);
    const auto one = in_.pull(*open_.back());
    if (!one) return std::unexpected(one.error());
    if (!*one) {
      open_.pop_back();
      return false;
    }
    if (auto set_to = inner_.assign(part.parts[0], **one); !set_to) return pass(set_to);
    return inner_.passes(part);
  }

  Result<std::optional<ValueList>> element() {
    ValueList made;
    for (std::size_t i = 0; i < width_; ++i) {
      const auto one = inner_.value(syntax_.parts[i]);
      if (!one) return std::unexpected(one.error());
      made.push_back(*one);
    }
    if (auto paid = in_.charge(static_cast<Size>(width_) * 16); !paid) return pass(paid);
    return made;
  }

  Interpreter& in_;
  Evaluator inner_;
  const Syntax& syntax_;
  const std::size_t width_;
  std::vector<Iterator*> open_;  // of the clauses, from the outermost on
};

// What is made of each part of what lies outside lies there as well.
Result<Value> Evaluator::comprehension(const Syntax& s) {
  const Syntax& first = s.parts[s.text == "dict" ? 2 : 1];
  const auto outermost = value(first.parts[1]);
  if (!outermost) return outermost;
  if (auto* outside = outermost->as<Outside>()) return outside->changed(in_);
  const auto iterator = in_.iterator(*outermost);
  if (!iterator) return at(first, Result<Value>(std::unexpected(iterator.error())));
  auto* scope = in_.make<Scope>(&scope_);
  auto walk = std::make_shared<ComprehensionWalk>(in_, file_, *scope, s, **iterator);
  if (s.text == "generator")
    return Value::of(in_.make<Generator>([walk](Interpreter&) -> Result<std::optional<Value>> {
      const auto one = walk->next();
      if (!one) return std::unexpected(one.error());
      return *one ? std::optional((*one)->front()) : std::nullopt;
    }));
  ValueList made;
  auto* mapping = s.text == "list" ? nullptr : in_.make<Mapping>(s.text == "set");
  for (;;) {
    const auto one = walk->next();
    if (!one) return std::unexpected(one.error());
    if (!*one) return mapping ? Value::of(mapping) : in_.list(std::move(made));
    if (!mapping) made.push_back((*one)->front());
    else if (auto put = mapping->put(in_, (*one)->front(), s.text == "dict" ? (*one)->back() : Value()); !put)
      return pass(put);
  }
}

// The conditions of a clause.
Result<bool> Evaluator::passes(const Syntax& part) {
  for (std::size_t i = 2; i < part.parts.size(); ++i) {
    const auto holds = condition(part.parts[i]);
    if (!holds || !*holds) return holds;
  }
  return true;
}

}  // namespace convoy::python
