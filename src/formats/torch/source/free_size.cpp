#include "formats/torch/source/free_size.h"

#include <optional>

namespace convoy::torch {

namespace {

std::unexpected<Error> free_decision(const std::string& text) {
  return fail(Fault::Usage, "a decision by " + text + ", which is free; give the sizes of the input with --shape");
}

// `compute` at every size that is tried: the value where all agree; nothing: they do not, or it fails somewhere.
Result<std::optional<Value>> settled(Interpreter& in, const std::function<Made(Interpreter&, Size)>& compute) {
  std::optional<Value> first;
  for (const Size n : tried_sizes()) {
    const auto one = compute(in, n);
    if (!one)
      return is_too_much(one.error().fault) ? Result<std::optional<Value>>(std::unexpected(one.error())) : std::nullopt;
    if (!one->is_number()) return std::nullopt;
    if (!first) first = *one;
    if (!first->same(*one)) return std::nullopt;
  }
  return first;
}

// A value computed of a free size: a number, where it is always the same.
Made computed(Interpreter& in, const FreeSize& of, Size axis, std::string text, FreeSize::At compute,
              FreeSize::Computed how) {
  if (axis >= 0) {
    auto known = settled(in, [&](Interpreter& with, Size n) {
      return compute(with, [n](const FreeSize&) { return std::optional(n); });
    });
    if (!known) return pass(known);
    if (*known) return **known;
  }
  return Value::of(in.make<FreeSize>(of.tensor, axis, std::move(text), std::move(compute), std::move(how)));
}

// f(numbers), each of which may be free.
Made applied(Interpreter& in, const FreeSize& of, const std::string& name, const Value& function, ValueList given) {
  Size axis = of.axis;
  for (const Value& one : given) {
    const auto* free = one.as<FreeSize>();
    if (!one.is_number() && !free) return free_decision(of.text);
    if (free && (free->tensor != of.tensor || free->axis != of.axis)) axis = -1;
  }
  const auto compute = [function, given](Interpreter& with, const FreeSize::Cells& cells) -> Made {
    if (auto step = with.step(); !step) return pass(step);
    ValueList numbers;
    for (const Value& one : given) {
      auto number = one.as<FreeSize>() ? one.as<FreeSize>()->number(with, cells) : Made(one);
      if (!number) return number;
      numbers.push_back(*number);
    }
    return with.call(function, std::move(numbers));
  };
  return computed(in, of, axis, name + "(" + of.text + ")", compute, {name, given});
}

}  // namespace

// Enough for every stride and kernel that is met, and far ones for thresholds.
const std::vector<Size>& tried_sizes() {
  static const std::vector<Size> sizes = [] {
    std::vector<Size> all;
    for (Size n = 1; n <= 96; ++n) all.push_back(n);
    for (const Size n : {223, 224, 225, 299, 511, 512, 1000, 1023, 1024, 4097, 65536}) all.push_back(n);
    return all;
  }();
  return sizes;
}

FreeSize* computed_of(Interpreter& in, std::string words, const ValueList& read, FreeSize::At compute) {
  const FreeSize* first = nullptr;
  bool is_one = true;
  for (const Value& one : read) {
    const auto* free = one.as<FreeSize>();
    if (!free) continue;
    if (!first) first = free;
    is_one = is_one && free->tensor == first->tensor && free->axis == first->axis;
  }
  return in.make<FreeSize>(first ? first->tensor : ValueId{}, first && is_one ? first->axis : -1, std::move(words),
                           std::move(compute), FreeSize::Computed{{}, read});
}

Made FreeSize::number(Interpreter& in, const Cells& cells) const {
  if (at) return at(in, cells);
  const auto n = cells(*this);
  return n ? Made(Value::of(*n)) : Made(std::unexpected(free_decision(text).error()));
}

Made FreeSize::number(Interpreter& in, Size n) const {
  return number(in, [n](const FreeSize&) { return std::optional(n); });
}

std::optional<FreeSize::Steady> FreeSize::steady(Interpreter& in) const {
  if (is_size()) return Steady{};
  std::optional<Steady> found;
  std::optional<Size> first;
  for (const Size n : tried_sizes()) {
    const auto one = number(in, n);
    if (!one || !one->is_whole()) return std::nullopt;
    if (!first) first = one->whole();
    else if (!found) found = Steady{one->whole() - *first, 2 * *first - one->whole()};  // of sizes 1 and 2
    else if (one->whole() != found->scale * n + found->offset) return std::nullopt;
  }
  return found;
}

Result<std::optional<Value>> FreeSize::attribute(Interpreter& in, const std::string& name) {
  // What the builtins ask of values that are no numbers of their own.
  const Value self = Value::of(this);
  for (const char* rounding : {"ceil", "floor"})
    if (name == rounding) {
      auto math = in.import("math");
      if (!math) return pass(math);
      auto function = in.attribute(*math, name);
      if (!function) return pass(function);
      return in.native(name, [self, name, function = *function](Interpreter& with, Arguments&) {
        return applied(with, *self.as<FreeSize>(), name, function, {self});
      });
    }
  for (const char* builtin : {"int", "float", "abs", "round", "max", "min"})
    if (name == "of_" + std::string(builtin))
      return in.native(name, [self, word = std::string(builtin)](Interpreter& with, Arguments& given) {
        return applied(with, *self.as<FreeSize>(), word, with.builtins[word],
                       given.placed.empty() ? ValueList{self} : given.placed);
      });
  return std::nullopt;
}

Result<std::optional<Value>> FreeSize::binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) {
  const auto* free = other.as<FreeSize>();
  const bool decides = symbol == "==" || symbol == "<";
  const bool same = free && free->tensor == tensor && free->axis == axis && axis >= 0;
  if (decides && same && is_size() && free->is_size()) return Value::of(symbol == "==");
  if (!other.is_number() && !free) {
    if (symbol == "==") return Value::of(false);
    return std::nullopt;
  }
  const std::string right = free ? free->text : python::repr(in, other);
  const std::string words =
      reversed ? right + " " + std::string(symbol) + " " + text : text + " " + std::string(symbol) + " " + right;
  const bool is_of_one = axis >= 0 && (!free || same);
  if (decides && !is_of_one) return free_decision(text);
  const Value self = Value::of(this);
  const At compute = [self, other, word = std::string(symbol), reversed](Interpreter& with,
                                                                         const Cells& cells) -> Made {
    if (auto step = with.step(); !step) return pass(step);
    auto mine = self.as<FreeSize>()->number(with, cells);
    auto theirs = other.as<FreeSize>() ? other.as<FreeSize>()->number(with, cells) : Made(other);
    if (!mine) return mine;
    if (!theirs) return theirs;
    if (reversed) std::swap(*mine, *theirs);
    if (word == "==" || word == "<") {
      const auto holds = with.compare(word, *mine, *theirs);
      return holds ? Made(Value::of(*holds)) : Made(std::unexpected(holds.error()));
    }
    return with.binary(word, *mine, *theirs);
  };
  if (decides) {
    auto known = settled(in, [&](Interpreter& with, Size n) {
      return compute(with, [n](const FreeSize&) { return std::optional(n); });
    });
    if (!known) return pass(known);
    return *known ? Result<std::optional<Value>>(**known) : free_decision(text);
  }
  ValueList both{self, other};
  if (reversed) std::swap(both[0], both[1]);
  auto made = computed(in, *this, is_of_one ? axis : -1, words, compute, {std::string(symbol), std::move(both)});
  if (!made) return pass(made);
  return *made;
}

Result<std::optional<Value>> FreeSize::unary(Interpreter& in, std::string_view symbol) {
  if (symbol != "-") return std::nullopt;
  return binary(in, "*", Value::of(std::int64_t{-1}), false);
}

Status FreeSize::expect_no_number() const { return free_decision(text); }

Result<bool> FreeSize::truth(Interpreter& in) {
  if (is_size()) return true;  // no axis is empty
  if (axis < 0) return free_decision(text);
  const auto known = settled(in, [this](Interpreter& with, Size n) -> Made {
    const auto one = number(with, n);
    if (!one) return one;
    return Value::of(one->is_number() && one->real() != 0);
  });
  if (!known) return std::unexpected(known.error());
  if (!*known) return free_decision(text);
  return (*known)->whole() != 0;
}

}  // namespace convoy::torch
