#include "containers/python/vector.h"

#include "containers/python/vector_shapes.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::python {
namespace {

using Made = Result<Value>;

Made made_of(Interpreter& in, ValueList all) {
  if (auto paid = in.charge(static_cast<Size>(all.size()) * 16); !paid) return pass(paid);
  return Value::of(in.make<Vector>(std::move(all)));
}

Value shape_of(Interpreter& in, const Sequence& array) {
  ValueList sizes;
  for (const Sequence* at = &array; at; at = at->items.empty() ? nullptr : at->items[0].as<Vector>())
    sizes.push_back(Value::of(static_cast<std::int64_t>(at->items.size())));
  return in.tuple(std::move(sizes));
}

// A list of numbers is of one axis as an array is.
std::size_t rank_of(const Sequence& array) {
  std::size_t rank = 1;
  for (const Sequence* at = &array; !at->items.empty() && at->items[0].as<Sequence>() && rank < 9; ++rank)
    at = at->items[0].as<Sequence>();
  return rank;
}

// Every number, in order.
Status numbers_in(Interpreter& in, const Sequence& array, ValueList& into) {
  for (const Value& one : array.items) {
    if (auto paid = in.step(); !paid) return paid;
    if (const auto* inner = one.as<Vector>()) {
      if (auto done = numbers_in(in, *inner, into); !done) return done;
    } else {
      into.push_back(one);
    }
  }
  return {};
}

// sum, mean, max, min, prod over all numbers.
Made over_all(Interpreter& in, const Sequence& array, const std::string& name) {
  ValueList all;
  if (auto done = numbers_in(in, array, all); !done) return pass(done);
  if (name == "max" || name == "min") return in.call(in.builtins[name], ValueList{in.list(std::move(all))});
  Made total = Value::of(std::int64_t{name == "prod"});
  for (const Value& one : all)
    if (total) total = in.binary(name == "prod" ? "*" : "+", *total, one);
  if (!total || name != "mean") return total;
  return in.binary("/", *total, Value::of(static_cast<std::int64_t>(all.size())));
}

// Each number by itself.
Made each(Interpreter& in, const Value& value, const std::function<Made(const Value&)>& compute) {
  const auto* array = value.as<Sequence>();
  if (!array) return compute(value);
  ValueList all;
  for (const Value& one : array->items) {
    if (auto paid = in.step(); !paid) return pass(paid);
    auto made = each(in, one, compute);
    if (!made) return made;
    all.push_back(*made);
  }
  return made_of(in, std::move(all));
}

Made as_type(Interpreter& in, const Value& value, const std::string& type) {
  constexpr std::array types{std::pair{"float", "float"}, std::pair{"int", "int"}, std::pair{"uint", "int"},
                             std::pair{"bool", "bool"}};
  const auto named = std::ranges::find_if(types, [&](const auto& one) { return type.starts_with(one.first); });
  if (named == types.end()) return fail(Fault::Unsupported, "an array of element type " + type);
  const Value convert = in.builtins[named->second];
  auto made = each(in, value, [&](const Value& one) { return in.call(convert, ValueList{one}); });
  if (auto* array = made ? made->as<Vector>() : nullptr) array->element_type = type;
  return made;
}

}  // namespace

Result<std::optional<Value>> Vector::attribute(Interpreter& in, const std::string& name) {
  if (name == "shape") return shape_of(in, *this);
  if (name == "T") {
    auto turned = in.call(*shape_method(in, *this, "transpose"), ValueList{});
    if (!turned) return pass(turned);
    return *turned;
  }
  if (name == "ndim") return Value::of(static_cast<std::int64_t>(shape_of(in, *this).as<Sequence>()->items.size()));
  if (name == "size") {
    ValueList all;
    if (auto done = numbers_in(in, *this, all); !done) return pass(done);
    return Value::of(static_cast<std::int64_t>(all.size()));
  }
  if (name == "tolist" || name == "copy")
    return in.native(name, [this, name](Interpreter& with, Arguments&) -> Made {
      return name == "copy" ? made_of(with, items) : with.list(items);
    });
  if (name == "astype")
    return in.native(name, [this](Interpreter& with, Arguments& a) -> Made {
      const auto* type = a.placed.empty() ? nullptr : a.placed[0].as<Text>();
      const auto* builtin = a.placed.empty() ? nullptr : a.placed[0].as<Native>();
      return as_type(with, Value::of(this), type ? type->text : builtin ? builtin->name : "that is not known");
    });
  if (name == "sum" || name == "mean" || name == "max" || name == "min" || name == "prod")
    return in.native(name, [this, name](Interpreter& with, Arguments& a) -> Made {
      if (!a.placed.empty() || !a.named.empty()) return fail(Fault::Unsupported, name + "() of an array along an axis");
      return over_all(with, *this, name);
    });
  return shape_method(in, *this, name);
}

Made Vector::item(Interpreter& in, Value key) {
  if (const auto* several = key.as<Sequence>(); several && several->is_tuple && !several->items.empty()) {
    const Value first = several->items[0];
    const ValueList behind(several->items.begin() + 1, several->items.end());
    if (first.is_none()) {  // a new axis of one element
      auto inner = behind.empty() ? Made(Value::of(this)) : item(in, in.tuple(behind));
      if (!inner) return inner;
      return made_of(in, {*inner});
    }
    Made at = item(in, first);
    if (behind.empty() || !at) return at;
    if (first.is_whole()) return in.item(*at, in.tuple(behind));
    if (!first.as<Cut>() || !at->as<Vector>())
      return fail(Fault::Unsupported, "a part of an array by other than whole numbers, slices and None");
    ValueList rows;
    for (const Value& row : at->as<Vector>()->items) {
      // None stands behind the last axis, too.
      Made part = row;
      if (row.as<Vector>()) part = in.item(row, in.tuple(behind));
      else if (behind.size() == 1 && behind[0].is_none()) part = made_of(in, {row});
      else part = fail(Fault::Format, "an array has fewer axes than its index");
      if (!part) return part;
      rows.push_back(*part);
    }
    return made_of(in, std::move(rows));
  }
  if (key.is_none()) return made_of(in, {Value::of(this)});
  auto part = Sequence::item(in, key);
  if (!part || !part->as<Sequence>() || part->as<Vector>()) return part;
  return made_of(in, part->as<Sequence>()->items);
}

Result<std::optional<Value>> Vector::binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) {
  const auto* list = other.as<Sequence>();
  if (!other.is_number() && !list) return std::nullopt;
  // Axes are counted from the last: what has fewer of them meets every part of the other.
  const std::size_t own_rank = rank_of(*this), other_rank = list ? rank_of(*list) : 0;
  const bool in_parts = list && own_rank == other_rank;
  if (list && own_rank < other_rank) {
    ValueList parts;
    for (const Value& part : list->items) {
      auto one = binary(in, symbol, part, reversed);
      if (!one) return one;
      if (!*one) return std::nullopt;
      parts.push_back(**one);
    }
    auto made = made_of(in, std::move(parts));
    if (!made) return pass(made);
    return *made;
  }
  const std::size_t count = in_parts ? std::max(items.size(), list->items.size()) : items.size();
  if (in_parts && items.size() != list->items.size() && items.size() != 1 && list->items.size() != 1)
    return fail(Fault::Unsupported, "arrays of " + std::to_string(items.size()) + " and " +
                                        std::to_string(list->items.size()) + " elements in one computation");
  ValueList all;
  for (std::size_t i = 0; i < count; ++i) {
    const Value mine = items[items.size() == 1 ? 0 : i];
    const Value theirs = in_parts ? list->items[list->items.size() == 1 ? 0 : i] : other;
    const Value left = reversed ? theirs : mine, right = reversed ? mine : theirs;
    const bool compares = symbol == "==" || symbol == "!=" || symbol.find_first_of("<>") == 0;
    Made made = Value();
    if (compares && !mine.as<Vector>()) {
      const auto holds = in.compare(symbol, left, right);
      if (!holds) return std::unexpected(holds.error());
      made = Value::of(*holds);
    } else if (compares) {
      return fail(Fault::Unsupported, "a comparison of arrays of several axes");
    } else {
      made = in.binary(symbol, left, right);
    }
    if (!made) return pass(made);
    all.push_back(*made);
  }
  auto made = made_of(in, std::move(all));
  if (!made) return pass(made);
  return *made;
}

Result<std::optional<Value>> Vector::unary(Interpreter& in, std::string_view symbol) {
  auto made = each(in, Value::of(this), [&](const Value& one) { return in.unary(symbol, one); });
  if (!made) return pass(made);
  return *made;
}

Result<bool> Vector::truth(Interpreter& in) {
  if (items.size() != 1) return fail(Fault::Format, "a decision by an array of several numbers");
  return in.truth(items[0]);
}

Result<Value> array_of(Interpreter& in, const Value& value, int depth) {
  const auto* list = value.as<Sequence>();
  if (!list && !value.as<Range>()) return value;
  if (depth > 8) return fail(Fault::Limit, "an array of more than 8 axes");
  auto all = in.elements(value);
  if (!all) return pass(all);
  for (Value& one : *all) {
    auto inner = array_of(in, one, depth + 1);
    if (!inner) return inner;
    if (!inner->is_number() && !inner->as<Vector>()) return value;
    one = *inner;
  }
  return made_of(in, std::move(*all));
}

namespace {

// Whole numbers of a size that is known to be small enough.
Result<Size> count_of(const Value& v, std::string_view function) {
  if (!v.is_whole() || v.whole() < 0 || v.whole() > 1'000'000)
    return fail(Fault::Limit, std::string(function) + "() of other than up to a million numbers");
  return v.whole();
}

Made linspace(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "start stop num endpoint retstep dtype axis", 2, "linspace");
  if (!given) return std::unexpected(given.error());
  const auto n = count_of((*given)[2].value_or(Value::of(std::int64_t{50})), "linspace");
  if (!n) return std::unexpected(n.error());
  if (!(*given)[0]->is_number() || !(*given)[1]->is_number()) return wrong("linspace() between what is no number");
  const bool ends = !(*given)[3] || (*given)[3]->whole() != 0;
  if ((*given)[4] && (*given)[4]->whole() != 0) return fail(Fault::Unsupported, "linspace() with its step");
  const double start = (*given)[0]->real(), stop = (*given)[1]->real();
  const double parts = static_cast<double>(ends ? *n - 1 : *n), step = parts > 0 ? (stop - start) / parts : 0;
  if (auto paid = in.step(*n); !paid) return pass(paid);
  ValueList all;
  for (Size i = 0; i < *n; ++i) all.push_back(Value::of(static_cast<double>(i) * step + start));
  if (ends && *n > 1) all.back() = Value::of(stop);
  return made_of(in, std::move(all));
}

Made eye(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "N M k dtype", 1, "eye");
  if (!given) return std::unexpected(given.error());
  const auto rows = count_of(*(*given)[0], "eye");
  const auto columns = (*given)[1] && !(*given)[1]->is_none() ? count_of(*(*given)[1], "eye") : rows;
  if (!rows || !columns || *rows * *columns > 1'000'000)
    return fail(Fault::Limit, "eye() of other than up to a million numbers");
  const Value k = (*given)[2].value_or(Value::of(std::int64_t{0}));
  if (!k.is_whole()) return wrong("eye() of a diagonal that is no whole number");
  if (auto paid = in.step(*rows * *columns); !paid) return pass(paid);
  ValueList all;
  for (Size row = 0; row < *rows; ++row) {
    ValueList one;
    for (Size column = 0; column < *columns; ++column) one.push_back(Value::of(column - row == k.whole() ? 1.0 : 0.0));
    all.push_back(in.list(std::move(one)));
  }
  return array_of(in, in.list(std::move(all)));
}

Made arange(Interpreter& in, Arguments& a) {
  a.take("dtype");
  const auto given = bound(a, a.placed.size() == 1 ? "stop" : "start stop step", 1, "arange");
  if (!given) return std::unexpected(given.error());
  Value start = Value::of(std::int64_t{0}), stop = *(*given)[0], step = Value::of(std::int64_t{1});
  if (given->size() > 1) {
    start = stop;
    stop = (*given)[1].value_or(Value());
    step = (*given)[2].value_or(step);
  }
  if (!start.is_number() || !stop.is_number() || !step.is_number() || step.real() == 0)
    return wrong("arange() of what is no number");
  const double parts = std::ceil((stop.real() - start.real()) / step.real());
  if (!(parts < 1e6)) return fail(Fault::Limit, "arange() of more than a million numbers");
  const bool whole = start.is_whole() && stop.is_whole() && step.is_whole();
  if (auto paid = in.step(static_cast<Size>(std::max(parts, 0.0))); !paid) return pass(paid);
  ValueList all;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(parts); ++i)
    all.push_back(whole ? Value::of(start.whole() + i * step.whole())
                        : Value::of(start.real() + static_cast<double>(i) * step.real()));
  return made_of(in, std::move(all));
}

// Every number once, in order, and how often each stands there.
Made unique(Interpreter& in, Arguments& a) {
  const auto counts = a.take("return_counts");
  const bool counted = counts && counts->is_whole() && counts->whole() != 0;
  if (a.placed.size() > 1 || !a.named.empty())
    return fail(Fault::Unsupported, "unique() with more than an array and return_counts");
  const auto array = array_of(in, a.placed[0]);
  if (!array) return array;
  ValueList all;
  if (const auto* held = array->as<Vector>()) {
    if (auto done = numbers_in(in, *held, all); !done) return pass(done);
  } else {
    all.push_back(*array);
  }
  if (!std::ranges::all_of(all, &Value::is_number)) return wrong("unique() of what is no number");
  if (std::ranges::any_of(all, [](const Value& one) { return std::isnan(one.real()); }))
    return fail(Fault::Unsupported, "unique() of what is no number (NaN)");
  std::ranges::stable_sort(all, {}, [](const Value& one) { return one.real(); });
  ValueList once, times;
  for (const Value& one : all) {
    const bool is_new = once.empty() || once.back().real() != one.real();
    if (is_new) once.push_back(one);
    const std::int64_t before = is_new ? 0 : times.back().whole();
    if (!is_new) times.pop_back();
    times.push_back(Value::of(before + 1));
  }
  const auto numbers = made_of(in, std::move(once));
  if (!counted || !numbers) return numbers;
  const auto often = made_of(in, std::move(times));
  return often ? in.tuple({*numbers, *often}) : often;
}

bool is_negative_whole(const Value& one) { return one.is_whole() && one.whole() < 0; }

// power(a, b), number by number: whole numbers to negative powers are what NumPy refuses.
Made raised(Interpreter& in, Arguments& a) {
  if (a.placed.size() != 2 || !a.named.empty()) return fail(Fault::Unsupported, "power() of other than two values");
  const auto base = array_of(in, a.placed[0]), exponent = array_of(in, a.placed[1]);
  if (!base || !exponent) return base ? exponent : base;
  ValueList bases{*base}, exponents{*exponent};
  for (auto* all : {&bases, &exponents})
    if (const auto* array = all->front().as<Vector>()) {
      ValueList numbers;
      if (auto done = numbers_in(in, *array, numbers); !done) return pass(done);
      *all = std::move(numbers);
    }
  if (std::ranges::all_of(bases, &Value::is_whole) && std::ranges::any_of(exponents, is_negative_whole))
    return wrong("power() of whole numbers to negative whole ones");
  return in.binary("**", *base, *exponent);
}

// add(a, b) and its like, where both are numbers or arrays of them.
struct Pairwise {
  const char *name, *symbol;
};
constexpr std::array pairwise{Pairwise{"add", "+"},    Pairwise{"subtract", "-"},    Pairwise{"multiply", "*"},
                              Pairwise{"divide", "/"}, Pairwise{"true_divide", "/"}, Pairwise{"floor_divide", "//"},
                              Pairwise{"mod", "%"},    Pairwise{"remainder", "%"}};

}  // namespace

void add_array_functions(Interpreter& in, Module& numpy) {
  const auto add = [&](const char* name, NativeFunction run, std::size_t least = 1) {
    add_function(in, numpy, name, least, std::move(run));
  };
  add("linspace", linspace, 0);
  add("arange", arange);
  add("eye", eye, 0);
  add(
      "identity",
      [](Interpreter& with, Arguments& a) -> Made {
        if (const auto said = a.take("n")) a.placed.insert(a.placed.begin(), *said);
        a.take("dtype");
        if (a.placed.empty() || a.placed.size() > 2) return wrong("identity() takes a size and a type");
        a.placed.resize(1);
        return eye(with, a);
      },
      0);
  add_shape_functions(in, numpy);
  for (const char* name : {"array", "asarray"})
    add(name, [](Interpreter& with, Arguments& a) -> Made {
      const auto made = array_of(with, a.placed[0]);
      const auto type = a.take("dtype");
      const Value said = type ? *type : a.placed.size() > 1 ? a.placed[1] : Value();
      const auto* word = said.as<Text>();
      const auto* builtin = said.as<Native>();
      if (!made || (!word && !builtin) || !made->as<Vector>()) return made;
      return as_type(with, *made, word ? word->text : builtin->name);
    });
  add("outer", [](Interpreter& with, Arguments& a) -> Made {
    if (a.placed.size() != 2) return wrong("outer() wants two arrays");
    const auto rows = array_of(with, a.placed[0]), columns = array_of(with, a.placed[1]);
    if (!rows || !columns) return rows ? columns : rows;
    if (!rows->as<Vector>()) return wrong("outer() wants two arrays");
    return each(with, *rows, [&](const Value& one) { return with.binary("*", one, *columns); });
  });
  for (const char* name : {"sum", "mean", "max", "min", "prod"})
    add(name, [name = std::string(name)](Interpreter& with, Arguments& a) -> Made {
      if (a.placed.size() > 1 || !a.named.empty()) return fail(Fault::Unsupported, name + "() along an axis");
      const auto array = array_of(with, a.placed[0]);
      if (!array) return array;
      if (const auto* all = array->as<Vector>()) return over_all(with, *all, name);
      const auto method = with.attribute(*array, name);
      return method ? with.call(*method, ValueList{}) : method;
    });
  add("cumsum", [](Interpreter& with, Arguments& a) -> Made {
    const auto all = with.elements(a.placed[0]);
    if (!all) return std::unexpected(all.error());
    ValueList sums;
    for (const Value& one : *all) {
      const auto next = sums.empty() ? Made(one) : with.binary("+", sums.back(), one);
      if (!next) return next;
      sums.push_back(*next);
    }
    return made_of(with, std::move(sums));
  });
  add("unique", unique);
  add("power", raised, 2);
  for (const auto& [name, symbol] : pairwise)
    add(
        name,
        [symbol](Interpreter& with, Arguments& a) -> Made {
          if (a.placed.size() != 2 || !a.named.empty())
            return fail(Fault::Unsupported, "'" + std::string(symbol) + "' of other than two arrays");
          const auto left = array_of(with, a.placed[0]), right = array_of(with, a.placed[1]);
          if (!left || !right) return left ? right : left;
          return with.binary(symbol, *left, *right);
        },
        2);
  // Functions of one number, of arrays number by number.
  for (const char* name :
       {"ceil", "floor", "sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tanh", "abs", "round"}) {
    const Value* known = numpy.attributes.find(name);
    const Value one_by_one = known ? *known : in.builtins[name];
    add(name, [one_by_one](Interpreter& with, Arguments& a) -> Made {
      if (!a.placed[0].as<Sequence>()) return with.call(one_by_one, std::move(a));
      return each(with, a.placed[0], [&](const Value& one) {
        auto made = with.call(one_by_one, ValueList{one});
        // Python's own functions round to whole numbers, NumPy's keep the type.
        return made && !one.is_whole() && made->is_whole() ? Made(Value::of(made->real())) : made;
      });
    });
  }
}

}  // namespace convoy::python
