// Functions with `yield`: what each of them does between one value and the next.
#include "containers/python/evaluator.h"
#include "containers/python/generator.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

namespace convoy::python {

// Statements that hold a `yield` are gone through part by part, all others at once.
class GeneratorBody {
 public:
  GeneratorBody(Interpreter& in, const Function& function, Scope& scope)
      : in_(in),
        evaluator_(in, *function.file, scope) {
    find_yields(*function.body);
    open_.push_back({function.body});
  }

  Size looked_at() const { return looked_at_; }

  Result<std::optional<Value>> next() {
    while (!open_.empty()) {
      if (auto paid = in_.step(); !paid) return pass(paid);
      auto given = go_on();
      if (!given) open_.clear();
      if (!given || *given) return given;
    }
    return std::nullopt;
  }

 private:
  using Given = Result<std::optional<Value>>;

  struct Open {  // a block, a loop or a `yield from` that is not through
    const Syntax* syntax;
    std::size_t next = 0;  // of the statements of a block
    Iterator* iterator = nullptr;
  };

  bool find_yields(const Syntax& s) {
    if (s.kind == SyntaxKind::Def || s.kind == SyntaxKind::Lambda || s.kind == SyntaxKind::Class) return false;
    ++looked_at_;
    bool holds = s.kind == SyntaxKind::Yield;
    for (const Syntax& part : s.parts) holds = find_yields(part) || holds;
    if (holds) yielding_.insert(&s);
    return holds;
  }

  Given go_on() {
    Open& top = open_.back();
    const Syntax& s = *top.syntax;
    if (s.kind == SyntaxKind::Block) {
      if (top.next == s.parts.size()) return through();
      const Syntax& statement = s.parts[top.next++];
      return evaluator_.at(statement, enter(statement));
    }
    if (s.kind == SyntaxKind::While) {
      const auto holds = evaluator_.condition(s.parts[0]);
      if (!holds) return std::unexpected(holds.error());
      return *holds ? into(s.parts[1]) : end_of_loop(s, 2);
    }
    auto one = in_.pull(*top.iterator);
    if (!one || s.kind == SyntaxKind::Yield) return !one || *one ? one : through();
    if (!*one) return end_of_loop(s, 3);
    if (auto put = evaluator_.assign(s.parts[0], **one); !put) return pass(put);
    return into(s.parts[2]);
  }

  Given through() {
    open_.pop_back();
    return std::nullopt;
  }

  Given into(const Syntax& block) {
    open_.push_back({&block});
    return std::nullopt;
  }

  Given end_of_loop(const Syntax& loop, std::size_t otherwise) {
    open_.pop_back();
    return loop.parts.size() > otherwise ? into(loop.parts[otherwise]) : Given(std::nullopt);
  }

  Given enter(const Syntax& s) {
    if (!yielding_.contains(&s)) return at_once(s);
    if (s.kind == SyntaxKind::Expression && s.parts[0].kind == SyntaxKind::Yield) return yielded(s.parts[0]);
    if (s.kind == SyntaxKind::Assign && s.parts.back().kind == SyntaxKind::Yield && s.parts.back().text.empty()) {
      for (std::size_t i = 0; i + 1 < s.parts.size(); ++i)  // nothing is ever sent into it
        if (auto put = evaluator_.assign(s.parts[i], Value()); !put) return pass(put);
      return yielded(s.parts.back());
    }
    if (s.kind == SyntaxKind::If) {
      const auto chosen = evaluator_.branch(s);
      if (!chosen) return std::unexpected(chosen.error());
      return *chosen ? into(**chosen) : Given(std::nullopt);
    }
    if (s.kind == SyntaxKind::While) return into(s);
    if (s.kind == SyntaxKind::For) return over(s, s.parts[1]);
    return fail(Fault::Unsupported, "a 'yield' inside of a 'try', a 'with' or an expression is not followed");
  }

  Given over(const Syntax& s, const Syntax& what) {
    const auto iterable = evaluator_.value(what);
    if (!iterable) return std::unexpected(iterable.error());
    const auto iterator = in_.iterator(*iterable);
    if (!iterator) return std::unexpected(iterator.error());
    open_.push_back({&s, 0, *iterator});
    return std::nullopt;
  }

  Given yielded(const Syntax& s) {
    if (s.text == "from") return over(s, s.parts[0]);
    auto given = evaluator_.value(s.parts[0]);
    if (!given) return pass(given);
    return *given;
  }

  Given at_once(const Syntax& s) {
    const auto next = evaluator_.statement(s);
    if (!next) return std::unexpected(next.error());
    if (*next == Evaluator::Next::Return) open_.clear();
    if (*next != Evaluator::Next::Break && *next != Evaluator::Next::Continue) return std::nullopt;
    const auto is_loop = [](const Open& one) {
      return one.syntax->kind == SyntaxKind::For || one.syntax->kind == SyntaxKind::While;
    };
    while (!open_.empty() && !is_loop(open_.back())) open_.pop_back();
    if (*next == Evaluator::Next::Break && !open_.empty()) open_.pop_back();
    return std::nullopt;
  }

  Interpreter& in_;
  Evaluator evaluator_;
  std::vector<Open> open_;
  std::unordered_set<const Syntax*> yielding_;
  Size looked_at_ = 0;
};

Result<Value> generator_of(Interpreter& in, const Function& function, Scope& scope) {
  auto body = std::make_shared<GeneratorBody>(in, function, scope);
  if (auto paid = in.step(body->looked_at() / 8); !paid) return pass(paid);
  auto* made = in.make<Generator>([body](Interpreter&) { return body->next(); });
  if (function.around.empty()) return Value::of(made);
  auto all = made->elements(in);  // inside of the contexts that stand around the call
  if (!all) return pass(all);
  return Value::of(in.make<Iterator>(std::move(*all)));
}

}  // namespace convoy::python
