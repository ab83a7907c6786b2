#include "containers/python/vector.h"

#include "containers/python/vector_shapes.h"
#include "containers/python/vector_types.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::python {
namespace {

using Made = Result<Value>;

Made made_of(Interpreter& in, ValueList all, std::string element_type = {}) {
  if (auto paid = in.charge(static_cast<Size>(all.size()) * 16); !paid) return pass(paid);
  auto* made = in.make<Vector>(std::move(all));
  made->element_type = std::move(element_type);
  return Value::of(made);
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
  if (const auto* held_apart = dynamic_cast<const Vector*>(&array))
    if (auto current = held_apart->expect_current(); !current) return current;
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

// Lists of lists of numbers.
Value listed(Interpreter& in, const Sequence& array) {
  ValueList all;
  for (const Value& one : array.items) all.push_back(one.as<Sequence>() ? listed(in, *one.as<Sequence>()) : one);
  return in.list(std::move(all));
}

// sum, mean, max, min, prod over all numbers.
Made over_all(Interpreter& in, const Sequence& array, const std::string& name) {
  ValueList all;
  if (auto done = numbers_in(in, array, all); !done) return pass(done);
  if (name == "max" || name == "min") return in.call(in.builtins[name], ValueList{in.list(std::move(all))});
  const ElementType own = type_of(in, Value::of(const_cast<Sequence*>(&array)));
  const ElementType type = own.kind == 'f' ? own : name == "mean" ? floats : wholes;
  Made total = Value::of(std::int64_t{name == "prod"});
  for (const Value& one : all)
    if (total) total = in.binary(name == "prod" ? "*" : "+", *total, one);
  if (total && name == "mean") total = in.binary("/", *total, Value::of(static_cast<std::int64_t>(all.size())));
  return total ? held(in, *total, type) : total;
}

// The same along one axis.
Made over_axis(Interpreter& in, const Value& array, const std::string& name, Size axis, bool keeps) {
  const auto cells = numbers_and_shape(in, array);
  if (!cells) return std::unexpected(cells.error());
  const auto& [numbers, shape] = *cells;
  const auto rank = static_cast<Size>(shape.size());
  const auto place = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  if (axis < -rank || axis >= rank) return fail(Fault::Format, name + "() along an axis that there is not");
  const auto behind = static_cast<std::size_t>(
      *checked_count(Sizes(shape.begin() + static_cast<std::ptrdiff_t>(place) + 1, shape.end())));
  const auto along = static_cast<std::size_t>(shape[place]);
  const ElementType type = type_of(in, array);
  ValueList all;
  for (std::size_t i = 0; i < numbers.size(); i += i % behind + 1 == behind ? behind * (along - 1) + 1 : 1) {
    auto* line = in.make<Vector>(ValueList());
    line->element_type = name_of(type);
    for (std::size_t k = 0; k < along; ++k) line->items.push_back(numbers[i + k * behind]);
    const auto one = over_all(in, *line, name);
    if (!one) return one;
    all.push_back(*one);
  }
  Sizes left = shape;
  if (keeps) left[place] = 1;
  else left.erase(left.begin() + static_cast<std::ptrdiff_t>(place));
  const ElementType made = type_of(in, all.front());
  return nested(in, std::move(all), std::move(left), name_of(type.kind == 'f' ? type : made));
}

// sum(axis, keepdims) and its like: over all numbers, or along one axis.
Made over(Interpreter& in, const Value& array, const std::string& name, Arguments& a) {
  const auto given = bound(a, "axis dtype out keepdims", 0, name);
  if (!given) return std::unexpected(given.error());
  const Value axis = (*given)[0].value_or(Value()), keeps = (*given)[3].value_or(Value::of(false));
  const bool is_plain = (!(*given)[1] || (*given)[1]->is_none()) && !(*given)[2] && keeps.is_truth();
  if (!is_plain || (!axis.is_none() && !axis.is_whole()) || (axis.is_none() && keeps.whole() != 0))
    return fail(Fault::Unsupported, name + "() of an array along other than one axis");
  const auto* all = array.as<Vector>();
  return axis.is_none() ? over_all(in, *all, name) : over_axis(in, array, name, axis.whole(), keeps.whole() != 0);
}

Made each_of(Interpreter& in, const Value& value, const std::function<Made(const Value&)>& compute) {
  const auto* array = value.as<Sequence>();
  if (!array) return compute(value);
  ValueList all;
  for (const Value& one : array->items) {
    if (auto paid = in.step(); !paid) return pass(paid);
    auto made = each_of(in, one, compute);
    if (!made) return made;
    all.push_back(*made);
  }
  return made_of(in, std::move(all));
}

// Each number by itself. Floats stay in their own type.
Made each(Interpreter& in, const Value& value, const std::function<Made(const Value&)>& compute) {
  if (const auto* array = value.as<Vector>())
    if (auto current = array->expect_current(); !current) return pass(current);
  const ElementType type = type_of(in, value);
  auto made = each_of(in, value, compute);
  if (!made || !made->as<Vector>()) return made;
  const ElementType result = type_of(in, *made);
  return all_held(in, *made, result.kind == 'f' && type.kind == 'f' ? type : result);
}

}  // namespace

Result<std::optional<Value>> Vector::attribute(Interpreter& in, const std::string& name) {
  if (auto current = expect_current(); !current) return pass(current);
  if (name == "dtype") return in.text(name_of(type_of(in, Value::of(this))));
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
      if (name == "tolist") return listed(with, *this);
      return all_held(with, Value::of(this), type_of(with, Value::of(this)));
    });
  if (name == "astype")
    return in.native(name, [this](Interpreter& with, Arguments& a) -> Made {
      const auto said = a.take("dtype");
      const auto type = element_type_asked(said || a.placed.empty() ? said : std::optional(a.placed[0]));
      if (!type || !*type)
        return type ? Made(fail(Fault::Unsupported, "astype() of a type that is not known here"))
                    : std::unexpected(type.error());
      return all_held(with, Value::of(this), **type);
    });
  if (name == "sum" || name == "mean" || name == "max" || name == "min" || name == "prod")
    return in.native(
        name, [this, name](Interpreter& with, Arguments& a) -> Made { return over(with, Value::of(this), name, a); });
  return shape_method(in, *this, name);
}

Result<ValueList> Vector::elements(Interpreter& in) {
  if (auto current = expect_current(); !current) return pass(current);
  return Sequence::elements(in);
}

Result<Iterator*> Vector::iterator(Interpreter& in) {
  if (auto current = expect_current(); !current) return pass(current);
  return Sequence::iterator(in);
}

Result<Size> Vector::length(Interpreter& in) { return Sequence::length(in); }

namespace {

bool compares(std::string_view symbol) {
  return symbol == "==" || symbol == "!=" || symbol == "<" || symbol == ">" || symbol == "<=" || symbol == ">=";
}

// What a computation of two gives, where the other may be a number of the program.
ElementType type_of_result(Interpreter& in, std::string_view symbol, ElementType own, const Value& other) {
  if (compares(symbol)) return truths;
  const ElementType both = other.is_number() ? beside_number(own, other) : meeting(own, type_of(in, other));
  return symbol == "/" && both.kind != 'f' ? floats : both;
}

// A number of the program beside an array is of the array's type first.
Made as_meeting(Interpreter& in, const Value& number, ElementType type) {
  auto made = held(in, number, type);
  const bool is_beyond = made && type.kind != 'f' && number.is_whole() && made->whole() != number.whole();
  return is_beyond ? fail(Fault::Format, "a number that no " + name_of(type) + " is") : made;
}

Made one_result(Interpreter& in, std::string_view symbol, const Value& a, const Value& b, ElementType type) {
  if (const auto *x = a.as<Vector>(), *y = b.as<Vector>(); x || y) {
    auto made =
        x ? const_cast<Vector*>(x)->binary(in, symbol, b, false) : const_cast<Vector*>(y)->binary(in, symbol, a, true);
    if (!made) return pass(made);
    return *made ? Made(**made) : Made(fail(Fault::Unsupported, "'" + std::string(symbol) + "' of such arrays"));
  }
  if (compares(symbol)) {
    const auto holds = in.compare(symbol, a, b);
    return holds ? Made(Value::of(*holds)) : std::unexpected(holds.error());
  }
  const auto made = in.binary(symbol, a, b);
  return made ? held(in, *made, type) : made;
}

}  // namespace

Result<std::optional<Value>> Vector::binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) {
  if (auto current = expect_current(); !current) return pass(current);
  if (const auto* array = other.as<Vector>())
    if (auto current = array->expect_current(); !current) return pass(current);
  const auto* list = other.as<Sequence>();
  if (!other.is_number() && !list) return std::nullopt;
  const ElementType type = type_of_result(in, symbol, type_of(in, Value::of(this)), other);
  if (other.is_number() && type.kind != 'b') {
    const auto met = as_meeting(in, other, type);
    if (!met) return std::unexpected(met.error());
    other = *met;
  }
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
    auto made = made_of(in, std::move(parts), name_of(type));
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
    auto made = one_result(in, symbol, left, right, type);
    if (!made) return pass(made);
    all.push_back(*made);
  }
  auto made = made_of(in, std::move(all), name_of(type));
  if (!made) return pass(made);
  return *made;
}

Result<std::optional<Value>> Vector::unary(Interpreter& in, std::string_view symbol) {
  auto made = each(in, Value::of(this), [&](const Value& one) {
    const bool turns = symbol == "~" && one.is_truth();  // a truth stays one
    return turns ? Made(Value::of(one.whole() == 0)) : in.unary(symbol, one);
  });
  if (made) made = all_held(in, *made, type_of(in, Value::of(this)));
  if (!made) return pass(made);
  return *made;
}

Result<bool> Vector::truth(Interpreter& in) {
  if (items.size() != 1) return fail(Fault::Format, "a decision by an array of several numbers");
  return in.truth(items[0]);
}

Result<Value> array_of(Interpreter& in, const Value& value, int depth) {
  const auto* list = value.as<Sequence>();
  if (value.as<Vector>() || (!list && !value.as<Range>())) return value;
  if (depth > 8) return fail(Fault::Limit, "an array of more than 8 axes");
  auto all = in.elements(value);
  if (!all) return pass(all);
  for (Value& one : *all) {
    auto inner = array_of(in, one, depth + 1);
    if (!inner) return inner;
    if (!inner->is_number() && !inner->as<Vector>()) return value;
    one = *inner;
  }
  auto made = made_of(in, std::move(*all));
  return depth == 0 && made ? all_held(in, *made, type_of(in, *made)) : made;
}

namespace {

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

// round(x, decimals): scaled, rounded to whole numbers and scaled back, unlike Python's.
Made to_digits(Interpreter& in, Arguments& a) {
  const auto given = bound(a, "a decimals out", 1, "round");
  if (!given) return std::unexpected(given.error());
  const Value digits = (*given)[1].value_or(Value::of(std::int64_t{0}));
  if (!digits.is_whole() || std::abs(digits.whole()) > 15 || (*given)[2])
    return fail(Fault::Unsupported, "round() to other than 15 digits");
  const double scale = std::pow(10.0, static_cast<double>(std::abs(digits.whole())));
  const bool is_before = digits.whole() < 0;
  const auto one_of = [&](const Value& x) -> Made {
    if (x.as<Sequence>()) return fail(Fault::Format, "round() of what is no array");
    if (x.is_whole()) return in.call(in.builtins["round"], ValueList{x, digits});
    if (!x.is_real()) return in.call(in.builtins["round"], (*given)[1] ? ValueList{x, digits} : ValueList{x});
    if (digits.whole() == 0) return Value::of(std::nearbyint(x.real()));
    const double scaled = std::nearbyint(is_before ? x.real() / scale : x.real() * scale);
    return Value::of(is_before ? scaled * scale : scaled / scale);
  };
  const auto array = array_of(in, *(*given)[0]);
  return array ? each(in, *array, one_of) : array;
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
  add_array_makers(in, numpy);
  add_shape_functions(in, numpy);
  add("outer", [](Interpreter& with, Arguments& a) -> Made {
    if (a.placed.size() != 2) return wrong("outer() wants two arrays");
    const auto rows = array_of(with, a.placed[0]), columns = array_of(with, a.placed[1]);
    if (!rows || !columns) return rows ? columns : rows;
    if (!rows->as<Vector>()) return wrong("outer() wants two arrays");
    return each(with, *rows, [&](const Value& one) { return with.binary("*", one, *columns); });
  });
  for (const char* name : {"sum", "mean", "max", "min", "prod"})
    add(name, [name = std::string(name)](Interpreter& with, Arguments& a) -> Made {
      const auto array = array_of(with, a.placed[0]);
      if (!array) return array;
      a.placed.erase(a.placed.begin());
      if (array->as<Vector>()) return over(with, *array, name, a);
      if (!a.placed.empty() || !a.named.empty()) return fail(Fault::Unsupported, name + "() along an axis");
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
    return all_held(with, with.list(std::move(sums)), type_of(with, a.placed[0]));
  });
  add("unique", unique);
  for (const char* name : {"round", "around", "round_"}) add(name, to_digits);
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
  for (const char* name : {"ceil", "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "tanh",
                           "abs", "floor", "trunc", "degrees", "radians"}) {
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
