// Functions of functions and of lists: the modules functools, operator and itertools.
#include "containers/python/generator.h"
#include "containers/python/kinds.h"
#include "containers/python/modules.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace convoy::python {
namespace {

using Made = Result<Value>;

Made reduce(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[1]);
  if (!all) return std::unexpected(all.error());
  std::size_t next = 0;
  if (a.placed.size() < 3 && all->empty()) return wrong("reduce() of nothing");
  Made total = a.placed.size() > 2 ? a.placed[2] : (*all)[next++];
  for (; next < all->size() && total; ++next) total = in.call(a.placed[0], ValueList{*total, (*all)[next]});
  return total;
}

// functools.partial(function, ...): a class whose instances tell what they were made of.
Class* partial_class(Interpreter& in) {
  Class* made = in.make_class("partial", {});
  made->attributes.set("__init__", in.native("__init__", [](Interpreter& with, Arguments& a) -> Made {
    auto* self = a.placed.empty() ? nullptr : a.placed[0].as<Instance>();
    if (!self || a.placed.size() < 2) return wrong("partial() of no function");
    Value function = a.placed[1];
    ValueList first(a.placed.begin() + 2, a.placed.end());
    auto* words = with.make<Mapping>();
    if (const auto* inner = function.as<Instance>(); inner && inner->type == self->type) {  // they are laid together
      const auto* before = inner->attributes.find("args")->as<Sequence>();
      first.insert(first.begin(), before->items.begin(), before->items.end());
      for (const auto& [key, value] : inner->attributes.find("keywords")->as<Mapping>()->entries)
        if (auto put = words->put(with, key, value); !put) return pass(put);
      function = *inner->attributes.find("func");
    }
    for (const auto& [word, value] : a.named)
      if (auto put = words->put(with, with.text(word), value); !put) return pass(put);
    self->attributes.set("func", function);
    self->attributes.set("args", with.tuple(std::move(first)));
    self->attributes.set("keywords", Value::of(words));
    return Value();
  }));
  made->attributes.set("__call__", in.native("__call__", [](Interpreter& with, Arguments& more) -> Made {
    const auto* self = more.placed.empty() ? nullptr : more.placed[0].as<Instance>();
    const Value* function = self ? self->attributes.find("func") : nullptr;
    const Value *args = self ? self->attributes.find("args") : nullptr,
                *words = self ? self->attributes.find("keywords") : nullptr;
    if (!function || !args->as<Sequence>() || !words->as<Mapping>()) return wrong("a partial() without a function");
    Arguments all{args->as<Sequence>()->items, {}};
    all.placed.insert(all.placed.end(), more.placed.begin() + 1, more.placed.end());
    for (const auto& [key, value] : words->as<Mapping>()->entries)
      all.named.emplace_back(key.as<Text>() ? key.as<Text>()->text : std::string(), value);
    for (const auto& [word, value] : more.named) {
      all.take(word);
      all.named.emplace_back(word, value);
    }
    return with.call(*function, std::move(all));
  }));
  return made;
}

Made as_it_is(Interpreter&, Arguments& a) {
  if (a.placed.size() != 1) return wrong("a decorator of other than one function");
  return a.placed[0];
}

// A decorator that leaves what the function does as it is, and lets it tell the name and signature of another.
Made wraps(Interpreter& in, Arguments& a) {
  const auto* wrapped = a.placed[0].as<Function>();
  return in.native("decorator", [wrapped](Interpreter& with, Arguments& b) -> Made {
    auto same = as_it_is(with, b);
    auto* wrapper = same ? same->as<Function>() : nullptr;
    if (!wrapper || !wrapped) return same;
    wrapper->name = wrapped->name;
    const Function& told = wrapped->told();
    if (&told != wrapper) wrapper->wrapped = &told;
    return same;
  });
}

// A function that is called once for equal arguments.
Made remembering(Interpreter& in, Arguments& a) {
  if (a.placed.size() != 1) return wrong("a decorator of other than one function");
  const auto* told = a.placed[0].as<Function>();
  auto* known = in.make<Mapping>();
  return in.native(
      told ? told->name : "decorated", [known, function = a.placed[0]](Interpreter& with, Arguments& b) -> Made {
        ValueList all = b.placed;
        for (const auto& [word, value] : b.named) all.push_back(with.tuple({with.text(word), value}));
        const Value key =
            with.tuple({Value::of(static_cast<std::int64_t>(b.placed.size())), with.tuple(std::move(all))});
        const auto found = known->find(key);
        if (!found) return std::unexpected(found.error());
        if (*found) return **found;
        auto made = with.call(function, b);
        if (!made) return made;
        if (auto put = known->put(with, key, *made); !put) return pass(put);
        return made;
      });
}

// A decorator that remembers answers, with or without arguments of its own.
Made cached(Interpreter& in, Arguments& a) {
  if (a.placed.size() == 1 && a.named.empty() && can_be_called(a.placed[0])) return remembering(in, a);
  return in.native("decorator", remembering);
}

Made repeat(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "object times", 1, "repeat");
  if (!given) return std::unexpected(given.error());
  if (!(*given)[1]) return fail(Fault::Unsupported, "repeat() without an end is not read; say how many times");
  const Size n = std::max<Size>((*given)[1]->whole(), 0);
  const auto bytes = checked_multiply(n, 16);
  if (!bytes) return fail(Fault::Limit, "repeat() of more values than there is memory");
  if (auto paid = in.charge(*bytes); !paid) return pass(paid);
  return Value::of(in.make<Iterator>(ValueList(static_cast<std::size_t>(n), *(*given)[0])));
}

Made chain(Interpreter& in, Arguments& a) {
  std::vector<Iterator*> all;
  for (const Value& one : a.placed) {
    const auto iterator = in.iterator(one);
    if (!iterator) return std::unexpected(iterator.error());
    all.push_back(*iterator);
  }
  return Value::of(in.make<Generator>(
      [all = std::move(all), at = std::size_t{0}](Interpreter& with) mutable -> Result<std::optional<Value>> {
        for (; at < all.size(); ++at)
          if (auto one = with.pull(*all[at]); !one || *one) return one;
        return std::nullopt;
      }));
}

// itertools.chain, and its chain.from_iterable.
class Chain : public Object {
 public:
  std::string type_name() const override { return "function"; }
  Result<Value> call(Interpreter& in, Arguments& a) override { return chain(in, a); }
  Result<std::optional<Value>> attribute(Interpreter& in, const std::string& name) override {
    if (name != "from_iterable") return std::nullopt;
    return in.native(name, [](Interpreter& with, Arguments& a) -> Made {
      if (a.placed.size() != 1) return wrong("from_iterable() takes one list of lists");
      const auto all = with.elements(a.placed[0]);
      if (!all) return std::unexpected(all.error());
      Arguments each{*all, {}};
      return chain(with, each);
    });
  }
};

// combinations(all, r) in the order of their places, and permutations(all, r).
template <bool Rising>
Made chosen_of(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[0]);
  if (!all) return std::unexpected(all.error());
  const Value said =
      a.placed.size() > 1 ? a.placed[1] : a.take("r").value_or(Value::of(static_cast<std::int64_t>(all->size())));
  if (!said.is_whole() || said.whole() < 0) return wrong("so many of a list, which is no whole number");
  std::vector<std::vector<std::size_t>> rows{{}};
  for (std::int64_t k = 0; k < said.whole() && !rows.empty(); ++k) {
    std::vector<std::vector<std::size_t>> longer;
    for (const auto& row : rows)
      for (std::size_t i = Rising && !row.empty() ? row.back() + 1 : 0; i < all->size(); ++i) {
        if (!Rising && std::ranges::find(row, i) != row.end()) continue;
        if (auto paid = in.charge(100); !paid) return pass(paid);
        longer.push_back(row);
        longer.back().push_back(i);
      }
    rows = std::move(longer);
  }
  ValueList made;
  for (const auto& row : rows) {
    ValueList items;
    for (const std::size_t i : row) items.push_back((*all)[i]);
    made.push_back(in.tuple(std::move(items)));
  }
  return Value::of(in.make<Iterator>(std::move(made)));
}

Made zip_longest(Interpreter& in, Arguments& a) {
  const Value fill = a.take("fillvalue").value_or(Value());
  std::vector<ValueList> lists;
  std::size_t longest = 0;
  for (const Value& one : a.placed) {
    auto all = in.elements(one);
    if (!all) return pass(all);
    longest = std::max(longest, all->size());
    lists.push_back(std::move(*all));
  }
  ValueList rows;
  for (std::size_t i = 0; i < longest; ++i) {
    ValueList row;
    for (const auto& list : lists) row.push_back(i < list.size() ? list[i] : fill);
    if (auto paid = in.charge(static_cast<Size>(row.size()) * 16 + 100); !paid) return pass(paid);
    rows.push_back(in.tuple(std::move(row)));
  }
  return Value::of(in.make<Iterator>(std::move(rows)));
}

Made counted_on(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "start step", 0, "count");
  if (!given) return std::unexpected(given.error());
  const Value start = (*given)[0].value_or(Value::of(std::int64_t{0})),
              step = (*given)[1].value_or(Value::of(std::int64_t{1}));
  return Value::of(in.make<Generator>([next = start, step](Interpreter& with) mutable -> Result<std::optional<Value>> {
    const Value one = next;
    auto more = with.binary("+", next, step);
    if (!more) return pass(more);
    next = *more;
    return one;
  }));
}

Made over_and_over(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[0]);
  if (!all) return std::unexpected(all.error());
  return Value::of(
      in.make<Generator>([all = *all, i = std::size_t{0}](Interpreter&) mutable -> Result<std::optional<Value>> {
        if (all.empty()) return std::nullopt;
        return all[i++ % all.size()];
      }));
}

Made star_map(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[1]);
  if (!all) return std::unexpected(all.error());
  ValueList made;
  for (const Value& one : *all) {
    const auto row = in.elements(one);
    if (!row) return std::unexpected(row.error());
    auto answer = in.call(a.placed[0], *row);
    if (!answer) return answer;
    made.push_back(*answer);
  }
  return Value::of(in.make<Iterator>(std::move(made)));
}

// takewhile() and dropwhile()
template <bool Takes>
Made while_it_holds(Interpreter& in, Arguments& a) {
  const auto all = in.elements(a.placed[1]);
  if (!all) return std::unexpected(all.error());
  std::size_t end = 0;
  for (; end < all->size(); ++end) {
    const auto said = in.call(a.placed[0], ValueList{(*all)[end]});
    if (!said) return said;
    const auto holds = in.truth(*said);
    if (!holds) return std::unexpected(holds.error());
    if (!*holds) break;
  }
  const auto at = all->begin() + static_cast<std::ptrdiff_t>(end);
  return Value::of(in.make<Iterator>(Takes ? ValueList(all->begin(), at) : ValueList(at, all->end())));
}

Made cartesian(Interpreter& in, Arguments& a) {
  const auto times = a.take("repeat");
  std::vector<ValueList> rows{{}};
  const std::int64_t rounds = times && times->is_whole() ? std::clamp<std::int64_t>(times->whole(), 0, 64) : 1;
  for (std::int64_t r = 0; r < rounds; ++r)
    for (const Value& one : a.placed) {
      const auto some = in.elements(one);
      if (!some) return std::unexpected(some.error());
      std::vector<ValueList> longer;
      const auto count = checked_multiply(static_cast<Size>(rows.size()), static_cast<Size>(some->size()));
      if (!count || *count > 1000000) return fail(Fault::Limit, "product() of more than a million rows");
      if (auto paid = in.charge(*count * 200); !paid) return pass(paid);
      for (const auto& row : rows)
        for (const Value& next : *some) longer.push_back(row), longer.back().push_back(next);
      rows = std::move(longer);
    }
  ValueList all;
  for (auto& row : rows) all.push_back(in.tuple(std::move(row)));
  return Value::of(in.make<Iterator>(std::move(all)));
}

Made accumulate(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "iterable func initial", 1, "accumulate");
  if (!given) return std::unexpected(given.error());
  const auto all = in.elements(*(*given)[0]);
  if (!all) return std::unexpected(all.error());
  const Value function = (*given)[1].value_or(Value()), first = (*given)[2].value_or(Value());
  ValueList sums;
  if (!first.is_none()) sums.push_back(first);
  for (const Value& one : *all) {
    if (sums.empty()) {
      sums.push_back(one);
      continue;
    }
    const auto next =
        function.is_none() ? in.binary("+", sums.back(), one) : in.call(function, ValueList{sums.back(), one});
    if (!next) return next;
    sums.push_back(*next);
  }
  return Value::of(in.make<Iterator>(std::move(sums)));
}

// islice(all, stop), islice(all, start, stop, step): what lies behind the stop is left in `all`.
Made islice(Interpreter& in, Arguments& a) {
  const bool ends = a.placed.size() == 2;
  const Value bounds[] = {ends ? Value() : a.placed[1], ends ? a.placed[1] : a.placed[2],
                          a.placed.size() > 3 ? a.placed[3] : Value()};
  Size numbers[] = {0, std::numeric_limits<Size>::max(), 1};
  for (std::size_t i = 0; i < 3; ++i) {
    if (bounds[i].is_none()) continue;
    if (!bounds[i].is_whole() || bounds[i].whole() < (i == 2 ? 1 : 0))
      return wrong("islice() of other than whole numbers");
    numbers[i] = bounds[i].whole();
  }
  const auto all = in.iterator(a.placed[0]);
  if (!all) return std::unexpected(all.error());
  return Value::of(in.make<Generator>([all = *all, passed = Size{0}, next = numbers[0], stop = numbers[1],
                                       step = numbers[2]](Interpreter& with) mutable -> Result<std::optional<Value>> {
    for (; passed < std::min(next, stop); ++passed) {
      if (auto paid = with.step(); !paid) return pass(paid);
      if (auto one = with.pull(*all); !one || !*one) return one;
    }
    if (passed >= stop) return std::nullopt;
    next = step > stop - next ? stop : next + step;
    ++passed;
    return with.pull(*all);
  }));
}

}  // namespace

Module* functools_module(Interpreter& in) {
  auto* m = in.make<Module>("functools");
  add_function(in, *m, "reduce", 2, reduce);
  m->attributes.set("partial", Value::of(partial_class(in)));
  add_function(in, *m, "wraps", 1, wraps);
  for (const char* name : {"lru_cache", "cache"}) add_function(in, *m, name, 0, cached);
  add_function(in, *m, "cached_property", 1, [](Interpreter& with, Arguments& a) -> Made {
    const auto* function = a.placed[0].as<Function>();
    if (!function) return wrong("cached_property() of what is no function");
    return Value::of(with.make<Described>(Described::As::Cached, a.placed[0], function->name));
  });
  return m;
}

Module* operator_module(Interpreter& in) {
  auto* m = in.make<Module>("operator");
  struct Named {
    const char *name, *symbol;
  };
  for (const auto& [name, symbol] :
       {Named{"add", "+"}, Named{"sub", "-"}, Named{"mul", "*"}, Named{"truediv", "/"}, Named{"floordiv", "//"},
        Named{"mod", "%"}, Named{"pow", "**"}, Named{"matmul", "@"}, Named{"iadd", "+"}, Named{"concat", "+"},
        Named{"and_", "&"}, Named{"or_", "|"}})
    for (const std::string& spelled : {std::string(name), "__" + std::string(name) + "__"})
      add_function(in, *m, spelled, 2,
                   [symbol](Interpreter& with, Arguments& a) { return with.binary(symbol, a.placed[0], a.placed[1]); });
  add_function(in, *m, "itemgetter", 1, [](Interpreter& with, Arguments& a) -> Made {
    const ValueList keys = a.placed;
    return with.native("itemgetter", [keys](Interpreter& within_it, Arguments& b) -> Made {
      ValueList all;
      for (const Value& key : keys) {
        const auto one = within_it.item(b.placed.empty() ? Value() : b.placed[0], key);
        if (!one) return one;
        all.push_back(*one);
      }
      return all.size() == 1 ? Made(all[0]) : Made(within_it.tuple(all));
    });
  });
  add_function(in, *m, "neg", 1, [](Interpreter& with, Arguments& a) { return with.unary("-", a.placed[0]); });
  add_function(in, *m, "getitem", 2,
               [](Interpreter& with, Arguments& a) { return with.item(a.placed[0], a.placed[1]); });
  return m;
}

Module* itertools_module(Interpreter& in) {
  auto* m = in.make<Module>("itertools");
  add_function(in, *m, "combinations", 2, chosen_of<true>);
  add_function(in, *m, "permutations", 1, chosen_of<false>);
  add_function(in, *m, "zip_longest", 0, zip_longest);
  add_function(in, *m, "count", 0, counted_on);
  add_function(in, *m, "cycle", 1, over_and_over);
  add_function(in, *m, "starmap", 2, star_map);
  add_function(in, *m, "takewhile", 2, while_it_holds<true>);
  add_function(in, *m, "dropwhile", 2, while_it_holds<false>);
  add_function(in, *m, "repeat", 1, repeat);
  auto* chained = in.make<Chain>();
  m->attributes.set("chain", Value::of(chained));
  add_function(in, *m, "product", 1, cartesian);
  add_function(in, *m, "accumulate", 1, accumulate);
  add_function(in, *m, "islice", 2, islice);
  return m;
}

}  // namespace convoy::python
