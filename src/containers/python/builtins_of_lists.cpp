// Builtin functions that make, measure and go through lists and their like.
#include "containers/python/builtins.h"
#include "containers/python/generator.h"

#include <algorithm>

namespace convoy::python {
namespace {

using Made = Result<Value>;

Made len(Interpreter& in, Arguments& a) {
  const auto n = in.length(a.placed[0]);
  if (!n) return std::unexpected(n.error());
  return Value::of(*n);
}

Made range(Interpreter& in, Arguments& a) {
  std::int64_t bounds[3] = {0, 0, 1};
  for (std::size_t i = 0; i < a.placed.size(); ++i) {
    if (!a.placed[i].is_whole()) return wrong("range() of a " + type_name(a.placed[i]));
    bounds[a.placed.size() == 1 ? 1 : i] = a.placed[i].whole();
  }
  if (bounds[2] == 0) return wrong("range() with a step of 0");
  return Value::of(in.make<Range>(bounds[0], bounds[1], bounds[2]));
}

Result<std::vector<Iterator*>> iterators_of(Interpreter& in, const ValueList& all) {
  std::vector<Iterator*> made;
  for (const Value& one : all) {
    const auto iterator = in.iterator(one);
    if (!iterator) return std::unexpected(iterator.error());
    made.push_back(*iterator);
  }
  return made;
}

// The next value of each; nothing: the first that has none any more has ended it. Fails where `strict` and others go on.
Result<std::optional<ValueList>> pull_row(Interpreter& in, const std::vector<Iterator*>& all, bool strict = false) {
  ValueList row;
  bool is_ended = all.empty();
  for (Iterator* iterator : all) {
    const auto one = in.pull(*iterator);
    if (!one) return std::unexpected(one.error());
    const bool is_first = iterator == all.front() && row.empty();
    if (strict && !is_first && one->has_value() == is_ended)
      return in.raises("ValueError", "zip() of arguments of different lengths");
    is_ended = !*one;
    if (is_ended && !strict) return std::nullopt;
    if (!is_ended) row.push_back(**one);
  }
  if (is_ended) return std::nullopt;
  if (auto paid = in.charge(static_cast<Size>(row.size()) * 16 + 100); !paid) return pass(paid);
  return row;
}

Value generated(Interpreter& in, Generator::Make make) { return Value::of(in.make<Generator>(std::move(make))); }

Made zip(Interpreter& in, Arguments& a) {
  const auto said = a.take("strict");
  const auto strict = said ? in.truth(*said) : Result<bool>(false);
  if (!strict) return std::unexpected(strict.error());
  auto all = iterators_of(in, a.placed);
  if (!all) return std::unexpected(all.error());
  return generated(in, [all = std::move(*all), is_strict = *strict](Interpreter& with) -> Result<std::optional<Value>> {
    auto row = pull_row(with, all, is_strict);
    if (!row) return std::unexpected(row.error());
    return *row ? std::optional(with.tuple(std::move(**row))) : std::nullopt;
  });
}

Made enumerate(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "iterable start", 1, "enumerate");
  if (!given) return std::unexpected(given.error());
  const auto all = iterators_of(in, {*(*given)[0]});
  if (!all) return std::unexpected(all.error());
  const std::int64_t start = (*given)[1] ? (*given)[1]->whole() : 0;
  return generated(in, [all = *all, i = start](Interpreter& with) mutable -> Result<std::optional<Value>> {
    const auto row = pull_row(with, all);
    if (!row) return std::unexpected(row.error());
    return *row ? std::optional(with.tuple({Value::of(i++), (*row)->front()})) : std::nullopt;
  });
}

Made map(Interpreter& in, Arguments& a) {
  if (a.placed.size() < 2) return wrong("map() takes a function and lists");
  const Value function = a.placed[0];
  const auto all = iterators_of(in, ValueList(a.placed.begin() + 1, a.placed.end()));
  if (!all) return std::unexpected(all.error());
  return generated(in, [function, all = *all](Interpreter& with) -> Result<std::optional<Value>> {
    auto row = pull_row(with, all);
    if (!row) return std::unexpected(row.error());
    if (!*row) return std::nullopt;
    auto made = with.call(function, std::move(**row));
    if (!made) return pass(made);
    return *made;
  });
}

Made filter(Interpreter& in, Arguments& a) {
  const Value function = a.placed[0];
  const auto all = iterators_of(in, {a.placed[1]});
  if (!all) return std::unexpected(all.error());
  return generated(in, [function, all = *all](Interpreter& with) -> Result<std::optional<Value>> {
    for (;;) {
      const auto row = pull_row(with, all);
      if (!row) return std::unexpected(row.error());
      if (!*row) return std::nullopt;
      const auto said = function.is_none() ? Made((*row)->front()) : with.call(function, **row);
      if (!said) return std::unexpected(said.error());
      const auto holds = with.truth(*said);
      if (!holds) return std::unexpected(holds.error());
      if (*holds) return (*row)->front();
    }
  });
}

template <bool Tuple>
Made sequence(Interpreter& in, Arguments& a) {
  if (a.placed.empty()) return Tuple ? in.tuple({}) : in.list({});
  auto all = in.elements(a.placed[0]);
  if (!all) return pass(all);
  return Tuple ? in.tuple(std::move(*all)) : in.list(std::move(*all));
}

template <bool Frozen>
Made set(Interpreter& in, Arguments& a) {
  auto* made = in.make<Mapping>(true);
  made->is_frozen = Frozen;
  if (a.placed.empty()) return Value::of(made);
  const auto all = in.elements(a.placed[0]);
  if (!all) return std::unexpected(all.error());
  for (const Value& one : *all)
    if (auto put = made->put(in, one, Value()); !put) return pass(put);
  return Value::of(made);
}

Made dict(Interpreter& in, Arguments& a) {
  auto* made = in.make<Mapping>();
  if (!a.placed.empty()) {
    if (const auto* map = a.placed[0].as<Mapping>()) {
      for (const auto& [key, value] : map->entries)
        if (auto put = made->put(in, key, value); !put) return pass(put);
    } else {
      const auto all = in.elements(a.placed[0]);
      if (!all) return std::unexpected(all.error());
      for (const Value& one : *all) {
        const auto pair = in.elements(one);
        if (!pair) return std::unexpected(pair.error());
        if (pair->size() != 2) return wrong("dict() of what are no pairs");
        if (auto put = made->put(in, (*pair)[0], (*pair)[1]); !put) return pass(put);
      }
    }
  }
  for (const auto& [word, value] : a.named)
    if (auto put = made->put(in, in.text(word), value); !put) return pass(put);
  return Value::of(made);
}

template <bool Most>
Made extreme(Interpreter& in, Arguments& a) {
  const auto key = a.take("key"), otherwise = a.take("default");
  ValueList all = a.placed;
  if (a.placed.size() == 1) {
    auto items = in.elements(a.placed[0]);
    if (!items) return pass(items);
    all = std::move(*items);
  }
  if (all.empty())
    return otherwise ? Made(*otherwise) : Made(in.raises("ValueError", "the largest or smallest of nothing"));
  // A size that is free knows what it is the largest of.
  for (const Value& one : all)
    if (!key && one.is_object() && !one.as<Text>() && !one.as<Instance>()) {
      auto method = in.find_attribute(one, Most ? "of_max" : "of_min");
      if (!method) return pass(method);
      if (*method) return in.call(**method, all);
    }
  std::optional<Value> best, best_key;
  for (const Value& one : all) {
    const auto measured = key ? in.call(*key, ValueList{one}) : Made(one);
    if (!measured) return measured;
    if (best) {
      const auto better = Most ? in.compare("<", *best_key, *measured) : in.compare("<", *measured, *best_key);
      if (!better) return std::unexpected(better.error());
      if (!*better) continue;
    }
    best = one;
    best_key = *measured;
  }
  return *best;
}

Made sum(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "iterable start", 1, "sum");
  if (!given) return std::unexpected(given.error());
  const auto all = in.elements(*(*given)[0]);
  if (!all) return std::unexpected(all.error());
  Made total = (*given)[1].value_or(Value::of(std::int64_t{0}));
  for (const Value& one : *all) {
    total = in.binary("+", *total, one);
    if (!total) return total;
  }
  return total;
}

template <bool Any>
Made some(Interpreter& in, Arguments& a) {
  const auto iterator = in.iterator(a.placed[0]);
  if (!iterator) return std::unexpected(iterator.error());
  for (;;) {  // what stands behind the answer is not looked at
    const auto one = in.pull(**iterator);
    if (!one) return std::unexpected(one.error());
    if (!*one) return Value::of(!Any);
    const auto holds = in.truth(**one);
    if (!holds) return std::unexpected(holds.error());
    if (*holds == Any) return Value::of(Any);
  }
}

Made sorted(Interpreter& in, Arguments& a) {
  const auto key = a.take("key"), reverse = a.take("reverse");
  auto all = in.elements(a.placed[0]);
  if (!all) return pass(all);
  if (all->size() > 100000) return fail(Fault::Limit, "sorts more than 100000 values");
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& one : *all) {
    const auto measured = key ? in.call(*key, ValueList{one}) : Made(one);
    if (!measured) return measured;
    keyed.emplace_back(*measured, one);
  }
  bool down = false;
  if (reverse) down = in.truth(*reverse).value_or(false);
  Status failed;
  // A merge sort, so that a comparison that fails leaves nothing undone.
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& x, const auto& y) {
    if (!failed) return false;
    const auto less = down ? in.compare("<", y.first, x.first) : in.compare("<", x.first, y.first);
    if (!less) failed = std::unexpected(less.error());
    return less && *less;
  });
  if (!failed) return pass(failed);
  ValueList sorted_items;
  for (const auto& [unused, one] : keyed) sorted_items.push_back(one);
  return in.list(std::move(sorted_items));
}

Made reversed(Interpreter& in, Arguments& a) {
  auto all = in.elements(a.placed[0]);
  if (!all) return pass(all);
  std::ranges::reverse(*all);
  return Value::of(in.make<Iterator>(std::move(*all)));
}

Made iter(Interpreter& in, Arguments& a) {
  const auto* instance = a.placed[0].as<Instance>();
  if (const Value* method = instance ? instance->own_method("__iter__") : nullptr)
    return in.call(*method, ValueList{a.placed[0]});
  const auto iterator = in.iterator(a.placed[0]);
  return iterator ? Made(Value::of(*iterator)) : std::unexpected(iterator.error());
}

Made next(Interpreter& in, Arguments& a) {
  const auto* instance = a.placed[0].as<Instance>();
  if (const Value* method = instance ? instance->own_method("__next__") : nullptr) {
    auto made = in.call(*method, ValueList{a.placed[0]});
    return !made && a.placed.size() > 1 && in.catches("StopIteration") ? Made(a.placed[1]) : made;
  }
  auto* iterator = a.placed[0].as<Iterator>();
  if (!iterator) return wrong("next() of a " + type_name(a.placed[0]));
  const auto one = in.pull(*iterator);
  if (!one) return std::unexpected(one.error());
  if (*one) return **one;
  return a.placed.size() > 1 ? Made(a.placed[1]) : Made(in.raises("StopIteration", "next() finds nothing more"));
}

constexpr Builtin of_lists[] = {{"len", len, 1, 1},
                                {"range", range, 1, 3},
                                {"zip", zip, 0, any_number},
                                {"enumerate", enumerate, 1, 2},
                                {"map", map, 2, any_number},
                                {"filter", filter, 2, 2},
                                {"list", sequence<false>, 0, 1},
                                {"tuple", sequence<true>, 0, 1},
                                {"set", set<false>, 0, 1},
                                {"frozenset", set<true>, 0, 1},
                                {"dict", dict, 0, 1},
                                {"max", extreme<true>, 1, any_number},
                                {"min", extreme<false>, 1, any_number},
                                {"sum", sum, 1, 2},
                                {"any", some<true>, 1, 1},
                                {"all", some<false>, 1, 1},
                                {"sorted", sorted, 1, 1},
                                {"reversed", reversed, 1, 1},
                                {"iter", iter, 1, 1},
                                {"next", next, 1, 2}};

}  // namespace

std::span<const Builtin> builtins_of_lists() { return of_lists; }

}  // namespace convoy::python
