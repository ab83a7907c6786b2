#include "formats/keras/source/free_size.h"

#include <array>
#include <optional>

namespace convoy::keras {

namespace {

struct Symbol {
  std::string_view text;
  BinaryFunction function;
};
constexpr std::array symbols{Symbol{"+", BinaryFunction::Add}, Symbol{"-", BinaryFunction::Subtract},
                             Symbol{"*", BinaryFunction::Multiply}, Symbol{"//", BinaryFunction::TruncateDivide}};

}  // namespace

std::unexpected<Error> depends_on(const FreeSize& size) {
  return fail(Fault::Usage, "depends on " + size.text + ", which is free; give the sizes of the input with --shape");
}

Result<std::optional<Value>> FreeSize::attribute(Interpreter& in, const std::string& name) {
  if (name != "of_int") return std::nullopt;
  return in.native(name, [this](Interpreter&, Arguments&) -> Made { return Value::of(this); });
}

Result<std::optional<Value>> FreeSize::binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) {
  const auto* free = other.as<FreeSize>();
  if (!other.is_whole() && !free) {
    if (symbol == "==") return Value::of(false);
    if (other.is_number()) return depends_on(*this);
    return std::nullopt;
  }
  if (symbol == ">" || symbol == ">=" || symbol == "<=" || symbol == "!=") return std::nullopt;  // asked by the others
  // Equal numbers are equal sizes.
  const bool same = free && free->tensor == tensor && free->axis == axis;
  Number mine = number, theirs = free ? free->number : Number::of(other.whole());
  if (mine.kind == Number::Kind::Multiple) mine.size = 0;
  if (theirs.kind == Number::Kind::Multiple) theirs.size = same ? 0 : 1;
  if (reversed) std::swap(mine, theirs);
  if (symbol == "==" || symbol == "<") {
    const Number known = of_whole(symbol == "<" ? BinaryFunction::Less : BinaryFunction::Equal, mine, theirs);
    if (known.kind != Number::Kind::Whole) return depends_on(*this);
    return Value::of(known.whole != 0);
  }
  const auto known = std::ranges::find(symbols, symbol, &Symbol::text);
  Number made = known == symbols.end() ? Number{} : of_whole(known->function, mine, theirs);
  if (made.kind == Number::Kind::Computed) made = {};
  if (made.kind == Number::Kind::Whole) return Value::of(made.whole);
  const bool is_theirs = made.kind == Number::Kind::Multiple && made.size == 1;
  const std::string right = free ? free->text : python::repr(in, other);
  std::string words =
      reversed ? right + " " + std::string(symbol) + " " + text : text + " " + std::string(symbol) + " " + right;
  return Value::of(
      in.make<FreeSize>(is_theirs ? free->tensor : tensor, is_theirs ? free->axis : axis, made, std::move(words)));
}

Result<std::optional<Value>> FreeSize::unary(Interpreter& in, std::string_view symbol) {
  if (symbol != "-") return std::nullopt;
  return binary(in, "*", Value::of(std::int64_t{-1}), false);
}

Result<bool> FreeSize::truth(Interpreter&) {
  if (number.is_multiple(1)) return true;  // no axis is empty
  return depends_on(*this);
}

Value running_sizes(Interpreter& in, SourceTensor& tensor) {
  ValueList sizes;
  const Shape& shape = tensor.type.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    sizes.push_back(shape[axis].known()
                        ? Value::of(static_cast<std::int64_t>(*shape[axis]))
                        : Value::of(in.make<FreeSize>(&tensor, axis, Number::multiple(1, 0),
                                                      "size " + std::to_string(axis) + " of " + text_of(shape))));
  return in.tuple(std::move(sizes));
}

Json json_of(const FreeSize& size, std::size_t tensor) {
  Json made{{"class_name", "__size__"}, {"config", Json::object()}};
  if (size.number.kind == Number::Kind::Multiple)
    made["config"] = {{"tensor", {{"$tensor", tensor}}},
                      {"axis", size.axis},
                      {"times", size.number.real},
                      {"added", size.number.whole}};
  return made;
}

}  // namespace convoy::keras
