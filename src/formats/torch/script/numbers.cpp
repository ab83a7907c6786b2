// What TorchScript's code computes before any tensor: sizes, counts, truths, lists.
#include "base/words.h"
#include "formats/torch/script/operators.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::torch {

using Answer = Result<std::optional<Value>>;

namespace {

struct Operator {
  std::string_view name, symbol;
};
constexpr std::array binaries{Operator{"add", "+"},           Operator{"sub", "-"},         Operator{"mul", "*"},
                              Operator{"div", "/"},           Operator{"true_divide", "/"}, Operator{"floordiv", "//"},
                              Operator{"floor_divide", "//"}, Operator{"remainder", "%"},   Operator{"pow", "**"},
                              Operator{"__and__", "&"},       Operator{"__or__", "|"},      Operator{"__xor__", "^"},
                              Operator{"__lshift__", "<<"},   Operator{"__rshift__", ">>"}};
constexpr std::array comparisons{Operator{"eq", "=="}, Operator{"ne", "!="}, Operator{"lt", "<"},
                                 Operator{"le", "<="}, Operator{"gt", ">"},  Operator{"ge", ">="}};
// Of a number that is alone: they hand it on.
constexpr std::array<std::string_view, 7> same_number{"to",         "clone",          "detach",     "alias",
                                                      "contiguous", "ScalarImplicit", "IntImplicit"};

template <class Table>
const Operator* in_table(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Operator::name);
  return found == table.end() ? nullptr : &*found;
}

Result<Value> whole_of(double x) {
  if (!(std::abs(x) < 9.2e18)) return fail(Fault::Format, "a number too large for a whole number");
  return Value::of(static_cast<std::int64_t>(x));
}

Answer answer(Result<Value> made) {
  if (!made) return pass(made);
  return *made;
}

// Functions of one number.
Answer unary(Interpreter& in, const std::string& name, const Value& x) {
  if (name == "neg") return answer(in.unary("-", x));
  if (name == "__not__" || name == "logical_not") {
    const auto holds = in.truth(x);
    if (!holds) return std::unexpected(holds.error());
    return Value::of(!*holds);
  }
  if (!x.is_number()) return std::nullopt;
  const double number = x.real();
  if (name == "Int") return answer(whole_of(std::trunc(number)));
  if (name == "Float") return Value::of(number);
  if (name == "Bool") return Value::of(number != 0);
  if (name == "ceil") return answer(whole_of(std::ceil(number)));
  if (name == "floor") return answer(whole_of(std::floor(number)));
  if (name == "trunc" || name == "fix") return answer(whole_of(std::trunc(number)));
  if (name == "round") return answer(whole_of(std::nearbyint(number)));
  if (name == "abs") return x.is_whole() ? Value::of(std::abs(x.whole())) : Value::of(std::abs(number));
  if (name == "sqrt") return Value::of(std::sqrt(number));
  if (name == "exp") return Value::of(std::exp(number));
  if (name == "log") return Value::of(std::log(number));
  return std::nullopt;
}

Answer on_containers(Interpreter& in, const std::string& name, const Arguments& given) {
  const auto& all = given.placed;
  auto* list = all.empty() ? nullptr : all[0].as<Sequence>();
  if (name == "append" && list && all.size() == 2) {
    if (auto paid = in.charge(16); !paid) return pass(paid);
    list->items.push_back(all[1]);
    return all[0];
  }
  if (name == "list" && list) return in.list(list->items);
  if (name == "slice" && list && all.size() > 1) {
    const Value step = all.size() > 3 ? all[3] : Value();
    return answer(in.item(all[0], Value::of(in.make<python::Cut>(all[1], all.size() > 2 ? all[2] : Value(), step))));
  }
  const bool contains = list || (!all.empty() && (all[0].as<python::Mapping>() || all[0].as<python::Text>()));
  if (!contains) return std::nullopt;
  if (name == "len") {
    const auto count = in.length(all[0]);
    if (!count) return std::unexpected(count.error());
    return Value::of(*count);
  }
  if (name == "__getitem__" && all.size() == 2) return answer(in.item(all[0], all[1]));
  if (name == "__contains__" && all.size() == 2) {
    const auto holds = in.contains(all[0], all[1]);
    if (!holds) return std::unexpected(holds.error());
    return Value::of(*holds);
  }
  for (const char* method : {"keys", "values", "items", "copy", "reverse", "extend", "insert", "pop", "format"})
    if (name == method) {
      const auto found = in.attribute(all[0], name);
      if (!found) return std::unexpected(found.error());
      auto made = in.call(*found, ValueList(all.begin() + 1, all.end()));
      const bool is_view =
          name == "keys" || name == "values" || name == "items";  // of a dictionary, which are lists here
      return answer(made && is_view ? in.call(in.builtins["list"], ValueList{*made}) : std::move(made));
    }
  return std::nullopt;
}

Answer with_alpha(Interpreter& in, std::string_view symbol, const Arguments& given) {
  Value right = given.placed[1];
  const auto alpha = std::ranges::find(given.named, "alpha", &std::pair<std::string, Value>::first);
  const Value times = alpha != given.named.end() ? alpha->second
                      : given.placed.size() > 2  ? given.placed[2]
                                                 : Value::of(std::int64_t{1});
  if (!times.is_whole() || times.whole() != 1) {
    const auto scaled = in.binary("*", right, times);
    if (!scaled) return std::unexpected(scaled.error());
    right = *scaled;
  }
  return answer(in.binary(symbol, given.placed[0], right));
}

Answer two_numbers(Interpreter& in, const std::string& name, const Arguments& given) {
  const Value &a = given.placed[0], &b = given.placed[1];
  if (const Operator* compared = in_table(comparisons, name)) {
    const auto holds = in.compare(compared->symbol, a, b);
    if (!holds) return std::unexpected(holds.error());
    return Value::of(*holds);
  }
  if (name == "rsub") return with_alpha(in, "-", Arguments{{b, a}, given.named});
  if (name == "max" || name == "min") {
    const auto less = in.compare("<", a, b);
    if (!less) return std::unexpected(less.error());
    return *less == (name == "min") ? a : b;
  }
  const Operator* found = in_table(binaries, name);
  if (!found) return std::nullopt;
  if (name == "add" || name == "sub") return with_alpha(in, found->symbol, given);
  if (found->symbol == "/") {
    const auto mode = std::ranges::find(given.named, "rounding_mode", &std::pair<std::string, Value>::first);
    const auto* word = mode == given.named.end() ? nullptr : mode->second.as<python::Text>();
    if (word && word->text == "floor") return answer(in.binary("//", a, b));
    if (word && word->text == "trunc") {
      const auto quotient = in.binary("/", a, b);
      if (!quotient || !quotient->is_number()) return answer(quotient);
      return answer(whole_of(std::trunc(quotient->real())));
    }
  }
  return answer(in.binary(found->symbol, a, b));
}

constexpr std::int64_t float16 = 5, float64 = 7;  // as TorchScript counts types

// to(x, dtype, ...) and to(x, device, dtype, ...).
std::optional<std::int64_t> type_wanted(const python::ValueList& placed) {
  for (std::size_t i = 1; i < std::min<std::size_t>(placed.size(), 3); ++i)
    if (placed[i].is_whole() && !placed[i].is_truth()) return placed[i].whole();
  return std::nullopt;
}

bool is_plain(const Value& value) {
  return value.is_number() || value.as<FreeSize>() || value.as<python::Text>() || value.is_none();
}

}  // namespace

std::optional<Value> scalar_of(Tracer& tracer, const Value& value) {
  if (value.is_number() || value.as<FreeSize>()) return value;
  const auto* tensor = value.as<SourceTensor>();
  if (!tensor || tensor->stale || !tensor->value || tracer.weights.contains(tensor->value.index)) return std::nullopt;
  const auto& known = tracer.graph[tensor->value].constant;
  if (!known || known->rank() != 0) return std::nullopt;
  const double number = known->doubles()[0];
  if (known->dtype() == DType::Bool) return Value::of(number != 0);
  return is_floating(known->dtype()) ? Value::of(number) : Value::of(static_cast<std::int64_t>(number));
}

Answer call_on_numbers(Tracer& tracer, Interpreter& in, const std::string& name, const Arguments& given) {
  const auto& all = given.placed;
  if ((name == "__is__" || name == "__isnot__") && all.size() == 2)
    return Value::of(all[0].same(all[1]) == (name == "__is__"));
  if (auto made = on_containers(in, name, given); !made || *made) return made;
  if (name == "__range_length" && all.size() == 3) {
    if (!all[0].is_whole() || !all[1].is_whole() || !all[2].is_whole() || all[2].whole() == 0)
      return fail(Fault::Unsupported, "a loop over a range that is not known");
    return Value::of(python::Range(all[0].whole(), all[1].whole(), all[2].whole()).count());
  }
  if (name == "__derive_index" && all.size() == 3) {
    const auto far = in.binary("*", all[0], all[2]);
    return far ? answer(in.binary("+", all[1], *far)) : answer(far);
  }
  if (name == "device") return in.text("cpu");
  if (name == "warn") return Value();
  if (name == "dict") return Value::of(in.make<python::Mapping>());
  // Lists add up and are compared like numbers.
  if (all.size() >= 2 && all[0].as<Sequence>() && (all[1].as<Sequence>() || all[1].is_whole()) && name != "cat") {
    const auto* other = all[1].as<Sequence>();
    if (!other) return two_numbers(in, name, given);
    // The sizes of a tensor are a list here.
    return two_numbers(in, name,
                       Arguments{{in.list(all[0].as<Sequence>()->items), in.list(other->items)}, given.named});
  }
  if (all.empty()) return std::nullopt;
  // A tensor that holds one known number counts as that number beside another one.
  if (!std::ranges::any_of(all, is_plain)) return std::nullopt;
  Arguments plain{{}, given.named};
  for (const Value& one : all) {
    const auto scalar = is_plain(one) ? one : scalar_of(tracer, one);
    if (!scalar) return std::nullopt;
    plain.placed.push_back(*scalar);
  }
  if (is_among(same_number, name)) {
    const auto dtype = name == "to" ? type_wanted(plain.placed) : std::nullopt;
    if (dtype == float64 && plain.placed[0].is_number())
      return tracer.constant(in, Tensor::of({}, std::vector<double>{plain.placed[0].real()}));
    const bool real = dtype && *dtype >= float16 && *dtype <= float64;
    return real && plain.placed[0].is_whole() ? Value::of(plain.placed[0].real()) : plain.placed[0];
  }
  if (all.size() >= 2)
    if (auto made = two_numbers(in, name, plain); !made || *made) return made;
  return all.size() == 1 ? unary(in, name, plain.placed[0]) : Answer(std::nullopt);
}

}  // namespace convoy::torch
