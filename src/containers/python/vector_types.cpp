#include "containers/python/vector_types.h"

#include "base/half.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace convoy::python {
namespace {

struct NamedType {
  std::string_view name;
  ElementType type;
};
constexpr std::array types_by_name{
    NamedType{"bool", truths},       NamedType{"bool_", truths},      NamedType{"int64", wholes},
    NamedType{"int", wholes},        NamedType{"int32", {'i', 32}},   NamedType{"int16", {'i', 16}},
    NamedType{"int8", {'i', 8}},     NamedType{"uint8", {'u', 8}},    NamedType{"uint16", {'u', 16}},
    NamedType{"uint32", {'u', 32}},  NamedType{"float64", floats},    NamedType{"float", floats},
    NamedType{"double", floats},     NamedType{"float32", {'f', 32}}, NamedType{"single", {'f', 32}},
    NamedType{"float16", {'f', 16}}, NamedType{"half", {'f', 16}},    NamedType{"f4", {'f', 32}},
    NamedType{"f8", floats},         NamedType{"i4", {'i', 32}},      NamedType{"i8", wholes}};

// Whole numbers beside floats: these hold half as many bits of them.
ElementType float_beside(ElementType real, ElementType whole) {
  const int wanted = whole.kind == 'b' || whole.bits <= 8 ? 16 : whole.bits <= 16 ? 32 : 64;
  return {'f', std::max(real.bits, wanted)};
}

ElementType type_of_numbers(const Sequence& all) {
  if (const auto* array = dynamic_cast<const Vector*>(&all))
    for (const NamedType& one : types_by_name)
      if (one.name == array->element_type) return one.type;
  std::optional<ElementType> type;
  for (const Value& one : all.items) {
    const auto* inner = one.as<Sequence>();
    const ElementType here = inner            ? type_of_numbers(*inner)
                             : one.is_truth() ? truths
                             : one.is_whole() ? wholes
                                              : floats;
    type = type ? meeting(*type, here) : here;
  }
  return type.value_or(floats);
}

std::int64_t wrapped(std::int64_t n, ElementType type) {
  if (type.bits == 64) return n;
  const auto range = std::int64_t{1} << type.bits;
  const std::int64_t rest = ((n % range) + range) % range;
  return type.kind == 'i' && rest >= range / 2 ? rest - range : rest;
}

double narrowed(double x, int bits) {
  if (bits == 16) return static_cast<double>(widen_half(half_of(x)));
  return bits == 32 ? static_cast<double>(static_cast<float>(x)) : x;
}

}  // namespace

std::optional<ElementType> element_type_of(const Value& said) {
  const auto* word = said.as<Text>();
  const auto* builtin = said.as<Native>();
  if (!word && !builtin) return std::nullopt;
  const auto found = std::ranges::find(types_by_name, word ? word->text : builtin->name, &NamedType::name);
  return found == types_by_name.end() ? std::nullopt : std::optional(found->type);
}

Result<std::optional<ElementType>> element_type_asked(const std::optional<Value>& said) {
  if (!said || said->is_none()) return std::nullopt;
  const auto type = element_type_of(*said);
  const auto* word = said->as<Text>();
  if (!type) return fail(Fault::Unsupported, "an array of element type " + (word ? word->text : type_name(*said)));
  return type;
}

std::string name_of(ElementType type) {
  return std::string(std::ranges::find(types_by_name, type, &NamedType::type)->name);
}

ElementType meeting(ElementType a, ElementType b) {
  if (a.kind == b.kind) return {a.kind, std::max(a.bits, b.bits)};
  if (a.kind == 'b' || b.kind == 'b') return a.kind == 'b' ? b : a;
  if (a.kind == 'f' || b.kind == 'f') return a.kind == 'f' ? float_beside(a, b) : float_beside(b, a);
  const ElementType with_sign = a.kind == 'i' ? a : b, without = a.kind == 'i' ? b : a;
  return {'i', std::max(with_sign.bits, without.bits * 2)};
}

ElementType type_of(Interpreter&, const Value& numbers) {
  if (const auto* all = numbers.as<Sequence>()) return type_of_numbers(*all);
  return numbers.is_truth() ? truths : numbers.is_whole() ? wholes : floats;
}

ElementType beside_number(ElementType array, const Value& number) {
  if (number.is_truth() || array.kind == 'f') return array;
  if (number.is_whole()) return array.kind == 'b' ? wholes : array;
  return floats;
}

Result<Value> held(Interpreter&, const Value& number, ElementType type) {
  if (!number.is_number()) return fail(Fault::Unsupported, "a " + type_name(number) + " in an array of numbers");
  if (type.kind == 'f') return Value::of(narrowed(number.real(), type.bits));
  if (type.kind == 'b') return Value::of(number.real() != 0);
  if (number.is_whole()) return Value::of(wrapped(number.whole(), type));
  if (!(std::abs(number.real()) < 0x1p63)) return fail(Fault::Unsupported, "a float that no whole number is");
  return Value::of(wrapped(static_cast<std::int64_t>(number.real()), type));
}

Result<Value> all_held(Interpreter& in, const Value& numbers, ElementType type) {
  const auto* all = numbers.as<Sequence>();
  if (!all) return held(in, numbers, type);
  if (auto paid = in.charge(static_cast<Size>(all->items.size()) * 16); !paid) return pass(paid);
  ValueList made;
  for (const Value& one : all->items) {
    auto inner = all_held(in, one, type);
    if (!inner) return inner;
    made.push_back(*inner);
  }
  auto* array = in.make<Vector>(std::move(made));
  array->element_type = name_of(type);
  return Value::of(array);
}

}  // namespace convoy::python
