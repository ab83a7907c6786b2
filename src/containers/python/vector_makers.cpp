// Arrays that are made of few numbers, or of those that stand in the program: NumPy's zeros, full, eye, linspace, arange and array.
#include "containers/python/vector_shapes.h"
#include "containers/python/vector_types.h"

#include <algorithm>
#include <cmath>

namespace convoy::python {
namespace {

using Made = Result<Value>;

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
  const auto type = element_type_asked((*given)[5]);
  if (!type) return std::unexpected(type.error());
  if (*type && (*type)->kind != 'f')  // cut off downward
    for (Value& one : all) one = Value::of(std::floor(one.real()));
  return all_held(in, in.list(std::move(all)), type->value_or(floats));
}

// zeros(shape), full(shape, number) and others, and zeros_like(array). What empty() holds nobody should ask.
Made filled_with(Interpreter& in, const std::string& name, Arguments& a) {
  const bool is_full = name.starts_with("full"), is_like = name.ends_with("_like");
  for (const char* word : {"order", "device", "subok"}) a.take(word);
  for (auto& [word, value] : a.named)
    if (is_like && word == "a") word = "shape";
  const auto given = bound(a, is_full ? "shape fill_value dtype" : "shape dtype", is_full ? 2 : 1, name);
  if (!given) return std::unexpected(given.error());
  const auto asked = element_type_asked(given->back());
  if (!asked) return std::unexpected(asked.error());
  const auto like = is_like ? numbers_and_shape(in, *(*given)[0]) : Result<std::pair<ValueList, Sizes>>();
  if (!like) return std::unexpected(like.error());
  const auto shape = is_like ? Result<Sizes>(like->second) : whole_sizes(*(*given)[0], name);
  const auto count = shape ? checked_count(*shape) : std::nullopt;
  if (!shape) return std::unexpected(shape.error());
  if (!count) return fail(Fault::Limit, name + "() of more numbers than there are");
  if (auto paid = in.charge(*count * 32); !paid) return pass(paid);
  const Value number = is_full ? *(*given)[1] : Value::of(name.starts_with("ones") ? 1.0 : 0.0);
  const ElementType usual = is_like ? type_of(in, *(*given)[0]) : is_full ? type_of(in, number) : floats;
  const ElementType type = asked->value_or(usual);
  const auto one = held(in, number, type);
  if (!one) return one;
  return nested(in, ValueList(static_cast<std::size_t>(*count), *one), *shape, name_of(type));
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
  const auto type = element_type_asked((*given)[3]);
  if (!type) return std::unexpected(type.error());
  return all_held(in, in.list(std::move(all)), type->value_or(floats));
}

// Of floats the first two are put down, and the others so far apart: 1 + 2 * (1.1 - 1), which is not 1 + 2 * 0.1.
template <class Number>
ValueList counted_up(double start, double step, std::int64_t count) {
  const auto first = static_cast<Number>(start), second = static_cast<Number>(start + step);
  const Number by = second - first;
  ValueList all;
  for (std::int64_t i = 0; i < count; ++i) {
    const Number part = static_cast<Number>(i) * by;
    all.push_back(Value::of(static_cast<double>(i == 1 ? second : static_cast<Number>(first + part))));
  }
  return all;
}

Made arange(Interpreter& in, Arguments& a) {
  const auto type = element_type_asked(a.take("dtype"));
  if (!type) return std::unexpected(type.error());
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
  const auto count = static_cast<std::int64_t>(parts);
  const ElementType wanted = type->value_or(whole ? wholes : floats);
  if (!whole && wanted.kind != 'f') return fail(Fault::Unsupported, "arange() of floats as whole numbers");
  ValueList all;
  if (whole)
    for (std::int64_t i = 0; i < count; ++i) all.push_back(Value::of(start.whole() + i * step.whole()));
  else
    all = wanted.bits < 64 ? counted_up<float>(start.real(), step.real(), count)
                           : counted_up<double>(start.real(), step.real(), count);
  return all_held(in, in.list(std::move(all)), wanted);
}

}  // namespace

void add_array_makers(Interpreter& in, Module& numpy) {
  const auto add = [&](const char* name, NativeFunction run, std::size_t least = 1) {
    add_function(in, numpy, name, least, std::move(run));
  };
  for (const std::string name :
       {"zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like"})
    add(name.c_str(), [name](Interpreter& with, Arguments& a) { return filled_with(with, name, a); }, 0);
  add("linspace", linspace, 0);
  add("arange", arange);
  add("eye", eye, 0);
  add(
      "identity",
      [](Interpreter& with, Arguments& a) -> Made {
        if (const auto said = a.take("n")) a.placed.insert(a.placed.begin(), *said);
        if (a.placed.empty() || a.placed.size() > 2) return wrong("identity() takes a size and a type");
        if (a.placed.size() > 1) a.named.emplace_back("dtype", a.placed[1]);
        a.placed.resize(1);
        return eye(with, a);
      },
      0);
  for (const char* name : {"array", "asarray"})
    add(name, [name = std::string(name)](Interpreter& with, Arguments& a) -> Made {
      const auto made = array_of(with, a.placed[0]);
      const auto said = a.take("dtype");
      const auto type = element_type_asked(said || a.placed.size() < 2 ? said : std::optional(a.placed[1]));
      if (!type) return std::unexpected(type.error());
      if (!made) return made;
      const auto* array = made->as<Vector>();
      const bool is_same = array && name == "asarray" && (!*type || **type == type_of(with, *made));
      if (!array || is_same) return *type && made->is_number() ? held(with, *made, **type) : made;
      return all_held(with, *made, type->value_or(type_of(with, *made)));
    });
}

}  // namespace convoy::python
