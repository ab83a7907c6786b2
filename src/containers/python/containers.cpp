// Texts, lists, tuples, dictionaries, sets and ranges: their items, slices and sums.
#include "containers/python/formatting.h"
#include "containers/python/generator.h"
#include "containers/python/interpreter.h"
#include "containers/python/unread.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace convoy::python {
namespace {

Result<std::size_t> index_in(Interpreter& in, Value key, Size n, std::string_view what) {
  if (!key.is_whole()) return wrong(std::string(what) + " has no item " + repr(in, key));
  const Size i = key.whole() < 0 ? key.whole() + n : key.whole();
  if (i < 0 || i >= n)
    return in.raises("IndexError", "item " + repr(in, key) + " of a " + std::string(what) + " of " + std::to_string(n));
  return static_cast<std::size_t>(i);
}

Result<std::string> key_text(Value key, int depth = 0);

// The elements of a frozenset, in whatever order they came.
Result<std::string> key_text_of(const Mapping& set, int depth) {
  std::vector<std::string> parts;
  for (const auto& [key, unused] : set.entries) {
    auto part = key_text(key, depth + 1);
    if (!part) return part;
    parts.push_back(std::to_string(part->size()) + ":" + *part);
  }
  std::ranges::sort(parts);
  std::string joined = "{";
  for (const std::string& part : parts) joined += part;
  return joined;
}

// What makes two keys the same: 1, 1.0 and True are.
Result<std::string> key_text(Value key, int depth) {
  if (key.is_none()) return std::string("N");
  if (key.is_whole()) return "i" + std::to_string(key.whole());
  if (key.is_real()) {
    if (key.real() == std::floor(key.real()) && std::abs(key.real()) < 0x1p62)
      return "i" + std::to_string(static_cast<std::int64_t>(key.real()));
    return "r" + std::to_string(std::bit_cast<std::uint64_t>(key.real()));
  }
  if (const auto* text = key.as<Text>()) return "s" + text->text;
  if (const auto* all = key.as<Sequence>() ? key.as<Sequence>() : tuple_in(key)) {
    if (!all->is_tuple || depth > 16) return wrong("a list is no key of a dictionary");
    std::string joined = "(";
    for (const Value& one : all->items) {
      auto part = key_text(one, depth + 1);
      if (!part) return part;
      joined += std::to_string(part->size()) + ":" + *part;
    }
    return joined;
  }
  if (const auto* set = key.as<Mapping>(); set && set->is_frozen && depth <= 16) return key_text_of(*set, depth);
  if (key.as<Mapping>()) return wrong("a " + type_name(key) + " is no key of a dictionary");
  if (const auto* own = key.as<Instance>(); own && own->type->find("__eq__"))
    return fail(Fault::Unsupported,
                "a " + type_name(key) + " as a key, whose __eq__ and __hash__ are not followed there");
  if (const auto* unread = key.as<NotRead>())
    return fail(Fault::Unsupported, "a " + unread->type_name() + " as a key of a dictionary");
  return "o" + std::to_string(reinterpret_cast<std::uintptr_t>(key.object()));
}

}  // namespace

Result<Part> part_of(const Cut& cut, Size n) {
  for (const Value& bound : {cut.start, cut.stop, cut.step})
    if (!bound.is_none() && !bound.is_whole()) return wrong("a slice from a " + type_name(bound));
  const Size step = cut.step.is_none() ? 1 : cut.step.whole();
  if (step == 0) return wrong("the step of a slice is 0");
  const auto inside = [&](Value bound, Size otherwise, Size least, Size most) {
    if (bound.is_none()) return otherwise;
    const Size at = bound.whole() < 0 ? bound.whole() + n : bound.whole();
    return std::clamp(at, least, most);
  };
  const Size start = step > 0 ? inside(cut.start, 0, 0, n) : inside(cut.start, n - 1, -1, n - 1);
  const Size stop = step > 0 ? inside(cut.stop, n, 0, n) : inside(cut.stop, -1, -1, n - 1);
  const Size span = step > 0 ? stop - start : start - stop;
  const Size by = step > 0 ? step : (step == std::numeric_limits<Size>::min() ? n + 1 : -step);
  return Part{start, step, span <= 0 ? 0 : (span - 1) / by + 1};
}

// ---- texts

Result<Value> Text::item(Interpreter& in, Value key) {
  const auto* cut = key.as<Cut>();
  if (is_ascii && !cut) {
    const auto at = index_in(in, key, static_cast<Size>(text.size()), "str");
    return at ? in.text(text.substr(*at, 1)) : Result<Value>(std::unexpected(at.error()));
  }
  if (auto paid = read(in); !paid) return pass(paid);
  if (cut) {
    const auto all = letters();
    const auto part = part_of(*cut, static_cast<Size>(all.size()));
    if (!part) return std::unexpected(part.error());
    std::string words;
    for (Size i = 0; i < part->count; ++i) words += all[static_cast<std::size_t>(part->start + i * part->step)];
    return in.text(std::move(words));
  }
  const auto all = letters();
  const auto at = index_in(in, key, static_cast<Size>(all.size()), "str");
  if (!at) return std::unexpected(at.error());
  return in.text(std::string(all[*at]));
}

Result<std::optional<Value>> Text::binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) {
  if (const auto* b = other.as<Text>()) {
    if (symbol == "+" && !reversed) {
      if (auto paid = in.charge(static_cast<Size>(text.size() + b->text.size())); !paid) return pass(paid);
      return in.text(text + b->text);
    }
    if (symbol == "<" && !reversed) return Value::of(text < b->text);
  }
  if (symbol == "*" && other.is_whole()) {
    const Size n = std::max<Size>(other.whole(), 0);
    const auto bytes = checked_multiply(n, static_cast<Size>(text.size()));
    if (!bytes) return fail(Fault::Limit, "a text of more characters than there is memory");
    if (auto paid = in.charge(*bytes); !paid) return pass(paid);
    std::string words;
    for (Size i = 0; i < n; ++i) words += text;
    return in.text(std::move(words));
  }
  if (symbol == "%" && !reversed) {
    if (auto paid = read(in); !paid) return pass(paid);
    auto made = in.text_or_outside(marks_filled(in, text, other));
    if (!made) return pass(made);
    return *made;
  }
  return std::nullopt;
}

Result<ValueList> Text::elements(Interpreter& in) {
  if (auto paid = in.charge(static_cast<Size>(text.size()) * 100); !paid) return pass(paid);
  ValueList all;
  for (const auto letter : letters()) all.push_back(in.text(std::string(letter)));
  return all;
}

std::vector<std::string_view> Text::letters() const {
  std::vector<std::string_view> all;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) ++end;
    all.push_back(std::string_view(text).substr(i, end - i));
    i = end;
  }
  return all;
}

bool Text::holds_ascii(std::string_view words) {
  return std::ranges::all_of(words, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Status Text::read(Interpreter& in) const {
  constexpr std::size_t letters_per_step = 32;
  return in.step(static_cast<Size>(text.size() / letters_per_step));
}

Result<bool> Text::contains(Interpreter& in, Value value) {
  const auto* part = value.as<Text>();
  if (!part) return wrong("a text holds texts, no " + python::type_name(value));
  if (auto paid = read(in); !paid) return pass(paid);
  return text.find(part->text) != std::string::npos;
}

// ---- lists and tuples

Result<Value> Sequence::item(Interpreter& in, Value key) {
  if (const auto* cut = key.as<Cut>()) {
    const auto part = part_of(*cut, static_cast<Size>(items.size()));
    if (!part) return std::unexpected(part.error());
    if (auto paid = in.charge(part->count * 16); !paid) return pass(paid);
    ValueList some;
    for (Size i = 0; i < part->count; ++i)
      some.push_back(items[static_cast<std::size_t>(part->start + i * part->step)]);
    const Value made = is_tuple ? in.tuple(std::move(some)) : in.list(std::move(some));
    made.as<Sequence>()->is_size = is_size;
    return made;
  }
  const auto at = index_in(in, key, static_cast<Size>(items.size()), type_name());
  if (!at) return std::unexpected(at.error());
  return items[*at];
}

Status Sequence::set_item(Interpreter& in, Value key, Value value) {
  if (is_tuple) return wrong("an item of a tuple cannot be set");
  if (const auto* cut = key.as<Cut>()) {
    const auto part = part_of(*cut, static_cast<Size>(items.size()));
    auto given = in.elements(value);
    if (!part) return std::unexpected(part.error());
    if (!given) return pass(given);
    if (part->step == 1) {
      const auto first = items.begin() + part->start;
      items.insert(items.erase(first, first + part->count), given->begin(), given->end());
      return {};
    }
    if (static_cast<Size>(given->size()) != part->count) return wrong("a slice is set to a list of another length");
    for (Size i = 0; i < part->count; ++i)
      items[static_cast<std::size_t>(part->start + i * part->step)] = (*given)[static_cast<std::size_t>(i)];
    return {};
  }
  const auto at = index_in(in, key, static_cast<Size>(items.size()), type_name());
  if (!at) return std::unexpected(at.error());
  items[*at] = value;
  return {};
}

Status Sequence::delete_item(Interpreter& in, Value key) {
  if (is_tuple) return wrong("an item of a tuple cannot be deleted");
  if (const auto* cut = key.as<Cut>()) {
    const auto part = part_of(*cut, static_cast<Size>(items.size()));
    if (!part) return std::unexpected(part.error());
    if (part->step == 1) {
      items.erase(items.begin() + part->start, items.begin() + part->start + part->count);
      return {};
    }
    std::vector<bool> goes(items.size());
    for (Size i = 0; i < part->count; ++i) goes[static_cast<std::size_t>(part->start + i * part->step)] = true;
    std::size_t at = 0;
    std::erase_if(items, [&](const Value&) { return goes[at++]; });
    return {};
  }
  const auto at = index_in(in, key, static_cast<Size>(items.size()), type_name());
  if (!at) return std::unexpected(at.error());
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(*at));
  return {};
}

Result<std::optional<Value>> Sequence::binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) {
  if (const auto* b = other.as<Sequence>(); b && symbol == "+" && !reversed && b->is_tuple == is_tuple) {
    if (auto paid = in.charge(static_cast<Size>(items.size() + b->items.size()) * 16); !paid) return pass(paid);
    ValueList both = items;
    both.insert(both.end(), b->items.begin(), b->items.end());
    return is_tuple ? in.tuple(std::move(both)) : in.list(std::move(both));
  }
  if (symbol == "*" && other.is_whole()) {
    const Size n = std::max<Size>(other.whole(), 0);
    const auto bytes = checked_multiply(n, static_cast<Size>(items.size()) * 16);
    if (!bytes) return fail(Fault::Limit, "a list of more items than there is memory");
    if (auto paid = in.charge(*bytes); !paid) return pass(paid);
    ValueList all;
    for (Size i = 0; i < n && !items.empty(); ++i) all.insert(all.end(), items.begin(), items.end());
    return is_tuple ? in.tuple(std::move(all)) : in.list(std::move(all));
  }
  if (const auto* b = other.as<Sequence>(); b && symbol == "<" && !reversed) {
    for (std::size_t i = 0; i < std::min(items.size(), b->items.size()); ++i) {
      const auto same = in.equal(items[i], b->items[i]);
      if (!same) return std::unexpected(same.error());
      if (*same) continue;
      const auto less = in.compare("<", items[i], b->items[i]);
      if (!less) return std::unexpected(less.error());
      return Value::of(*less);
    }
    return Value::of(items.size() < b->items.size());
  }
  return std::nullopt;
}

Result<std::optional<Value>> Sequence::augmented(Interpreter& in, std::string_view symbol, Value other) {
  if (!is_tuple && symbol == "*" && other.is_whole()) {
    const auto repeated = in.binary("*", Value::of(this), other);
    if (!repeated) return std::unexpected(repeated.error());
    items = repeated->as<Sequence>()->items;
    return Value::of(this);
  }
  if (is_tuple || symbol != "+") return std::nullopt;
  if (auto* generator = other.as<Generator>()) {  // which may look at what it has given before
    for (;;) {
      auto one = in.pull(*generator);
      if (!one) return pass(one);
      if (!*one) return Value::of(this);
      items.push_back(**one);
    }
  }
  auto more = in.elements(other);
  if (!more) return pass(more);
  if (auto paid = in.charge(static_cast<Size>(more->size()) * 16); !paid) return pass(paid);
  items.insert(items.end(), more->begin(), more->end());
  return Value::of(this);
}

// ---- dictionaries and sets

Result<Value*> Mapping::find(Value key) {
  const auto text = key_text(key);
  if (!text) return std::unexpected(text.error());
  const auto found = places_.find(*text);
  if (found != places_.end()) return &entries[found->second].second;
  const auto no_number = [](const Value& one) { return one.object() ? one.object()->expect_no_number() : Status(); };
  if (auto other = no_number(key); !other)
    for (const auto& [held, value] : entries)
      if (held.is_number() || !no_number(held)) return std::unexpected(other.error());
  return nullptr;
}

Status Mapping::put(Interpreter& in, Value key, Value value) {
  auto text = key_text(key);
  if (!text) return pass(text);
  if (auto paid = in.charge(static_cast<Size>(text->size()) + 96); !paid) return paid;
  const auto [found, added] = places_.try_emplace(std::move(*text), entries.size());
  if (added) entries.emplace_back(key, value);
  else entries[found->second].second = value;
  return {};
}

Result<Value> Mapping::item(Interpreter& in, Value key) {
  if (is_set) return wrong("a set has no items");
  const auto found = find(key);
  if (!found) return std::unexpected(found.error());
  if (*found) return **found;
  if (otherwise.is_none()) return in.raises("KeyError", "the dictionary has no key " + repr(in, key));
  const auto made = in.call(otherwise, ValueList{});
  if (!made) return made;
  if (auto done = put(in, key, *made); !done) return pass(done);
  return made;
}

Status Mapping::set_item(Interpreter& in, Value key, Value value) { return put(in, key, value); }

Status Mapping::delete_item(Interpreter& in, Value key) {
  const auto found = find(key);
  if (!found) return std::unexpected(found.error());
  if (!*found) return in.raises("KeyError", "there is no key " + repr(in, key));
  const auto text = key_text(key);
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(places_[*text]));
  places_.clear();
  for (std::size_t i = 0; i < entries.size(); ++i) places_[*key_text(entries[i].first)] = i;
  return in.step(static_cast<Size>(entries.size()));
}

Result<ValueList> Mapping::elements(Interpreter&) {
  ValueList keys;
  for (const auto& [key, value] : entries) keys.push_back(key);
  return keys;
}

Result<bool> Mapping::contains(Interpreter&, Value value) {
  const auto found = find(value);
  if (!found) return std::unexpected(found.error());
  return *found != nullptr;
}

Result<std::optional<Value>> Mapping::binary(Interpreter& in, std::string_view symbol, Value other, bool reversed) {
  const auto* b = other.as<Mapping>();
  if (!b || reversed || b->is_set != is_set || (symbol != "|" && !(is_set && (symbol == "&" || symbol == "-"))))
    return std::nullopt;
  auto* made = in.make<Mapping>(is_set);
  made->is_frozen = is_frozen;
  made->is_ordered = is_ordered;
  for (const auto& [key, value] : entries) {
    const auto there = const_cast<Mapping*>(b)->contains(in, key);
    if (!there) return std::unexpected(there.error());
    if (symbol == "|" || *there == (symbol == "&"))
      if (auto s = made->put(in, key, value); !s) return pass(s);
  }
  if (symbol == "|")
    for (const auto& [key, value] : b->entries)
      if (auto s = made->put(in, key, value); !s) return pass(s);
  return Value::of(made);
}

Result<std::optional<Value>> Mapping::augmented(Interpreter& in, std::string_view symbol, Value other) {
  if (is_frozen) return std::nullopt;
  auto made = binary(in, symbol, other, false);
  if (!made || !*made) return made;
  auto* changed = (*made)->as<Mapping>();
  entries = std::move(changed->entries);
  places_ = std::move(changed->places_);
  return Value::of(this);
}

// ---- ranges

Size Range::count() const {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto low = static_cast<std::uint64_t>(step > 0 ? start : stop);
  const auto high = static_cast<std::uint64_t>(step > 0 ? stop : start);
  const std::uint64_t by = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  return static_cast<Size>(std::min<std::uint64_t>((high - low - 1) / by + 1, std::uint64_t{1} << 62));
}

Result<Value> Range::item(Interpreter& in, Value key) {
  if (const auto* cut = key.as<Cut>()) {
    const auto part = part_of(*cut, count());
    if (!part) return std::unexpected(part.error());
    const Size first = start + part->start * step, by = step * part->step;
    return Value::of(in.make<Range>(first, first + part->count * by, by));
  }
  const auto at = index_in(in, key, count(), "range");
  if (!at) return std::unexpected(at.error());
  return Value::of(start + static_cast<Size>(*at) * step);
}

Result<ValueList> Range::elements(Interpreter& in) {
  const Size n = count();
  if (n > Size{1} << 32) return fail(Fault::Limit, "a range of " + std::to_string(n) + " numbers");
  if (auto paid = in.charge(n * 16); !paid) return pass(paid);
  ValueList all;
  for (Size i = 0; i < n; ++i) all.push_back(Value::of(start + i * step));
  return all;
}

}  // namespace convoy::python
