// Parts of arrays: which cells an index means, how they are read, and how they are written.
#include "containers/python/vector_shapes.h"
#include "containers/python/vector_types.h"

#include <algorithm>
#include <set>

namespace convoy::python {
namespace {

using Made = Result<Value>;

struct Picked {
  Sizes shape;
  std::vector<std::pair<Vector*, std::size_t>> cells;
  bool is_copy = false;  // by a list or a mask: nobody's view
};

std::size_t axes_of(const Sequence& array) {
  const auto* inner = array.items.empty() ? nullptr : array.items[0].as<Sequence>();
  return inner ? axes_of(*inner) + 1 : 1;
}

bool names_an_axis(const Value& key) { return !key.is_none() && key.type() != Value::Type::Ellipsis; }

// One key for every axis, beside those that make one.
Result<ValueList> keys_of(Interpreter& in, const Vector& array, const Value& key) {
  const auto* several = key.as<Sequence>();
  const ValueList said = several && several->is_tuple ? several->items : ValueList{key};
  const auto named = static_cast<std::size_t>(std::ranges::count_if(said, names_an_axis));
  const std::size_t rank = axes_of(array);
  if (named > rank) return in.raises("IndexError", "an array has fewer axes than its index");
  const Value all = Value::of(in.make<Cut>(Value(), Value(), Value()));
  ValueList keys;
  bool is_filled = false;
  for (const Value& one : said) {
    if (one.type() != Value::Type::Ellipsis) {
      const auto all_of_range = one.as<Range>() ? in.elements(one) : Result<ValueList>();
      if (!all_of_range) return std::unexpected(all_of_range.error());
      keys.push_back(one.as<Range>() ? in.list(*all_of_range) : one);
      continue;
    }
    if (is_filled) return fail(Fault::Format, "an index with two '...'");
    keys.insert(keys.end(), rank - named, all);
    is_filled = true;
  }
  if (!is_filled) keys.insert(keys.end(), rank - named, all);
  return keys;
}

Result<std::size_t> place_along(Interpreter& in, const Value& at, std::size_t n) {
  const Size i = at.whole() < 0 ? at.whole() + static_cast<Size>(n) : at.whole();
  if (i < 0 || i >= static_cast<Size>(n))
    return in.raises("IndexError", "item " + std::to_string(at.whole()) + " of an array of " + std::to_string(n));
  return static_cast<std::size_t>(i);
}

// The places along one axis. Nothing: the key is one whole number.
Result<std::vector<std::size_t>> places_along(Interpreter& in, const Value& key, std::size_t n, Picked& into) {
  std::vector<std::size_t> all;
  if (const auto* cut = key.as<Cut>()) {
    const auto part = part_of(*cut, static_cast<Size>(n));
    if (!part) return std::unexpected(part.error());
    for (Size i = 0; i < part->count; ++i) all.push_back(static_cast<std::size_t>(part->start + i * part->step));
    return all;
  }
  const auto* list = key.as<Sequence>();
  if (!list || list->is_tuple || !std::ranges::all_of(list->items, &Value::is_whole))
    return fail(Fault::Unsupported, "a part of an array by a " + type_name(key));
  if (into.is_copy) return fail(Fault::Unsupported, "a part of an array by two lists");
  into.is_copy = true;
  const bool is_mask = !list->items.empty() && std::ranges::all_of(list->items, &Value::is_truth);
  if (is_mask && list->items.size() != n) return fail(Fault::Format, "a mask of another length than the array's");
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    if (is_mask) {
      if (list->items[i].whole() != 0) all.push_back(i);
      continue;
    }
    const auto at = place_along(in, list->items[i], n);
    if (!at) return std::unexpected(at.error());
    all.push_back(*at);
  }
  return all;
}

Status pick(Interpreter& in, Vector& from, std::span<const Value> keys, std::size_t axis, Picked& into) {
  if (auto paid = in.step(); !paid) return paid;
  while (!keys.empty() && keys.front().is_none()) {
    if (into.shape.size() <= axis) into.shape.push_back(1);
    ++axis;
    keys = keys.subspan(1);
  }
  if (keys.empty()) return fail(Fault::Format, "an array has fewer axes than its index");
  const bool is_one = keys.front().is_whole() && !keys.front().is_truth();
  const bool was_copy = into.is_copy;
  std::vector<std::size_t> all;
  if (is_one) {
    const auto at = place_along(in, keys.front(), from.items.size());
    if (!at) return std::unexpected(at.error());
    all = {*at};
  } else {
    auto several = places_along(in, keys.front(), from.items.size(), into);
    if (!several) return std::unexpected(several.error());
    all = std::move(*several);
    if (into.shape.size() <= axis) into.shape.push_back(static_cast<Size>(all.size()));
  }
  const bool copies = into.is_copy;
  const auto behind = keys.subspan(1);
  for (const std::size_t at : all) {
    auto* inner = from.items[at].as<Vector>();
    into.is_copy = copies;
    if (!inner) {
      for (std::size_t i = 0; i < behind.size(); ++i)  // axes of one cell behind the last
        if (into.shape.size() <= axis + (is_one ? 0 : 1) + i) into.shape.push_back(1);
      into.cells.emplace_back(&from, at);
    } else if (auto done = pick(in, *inner, behind, axis + (is_one ? 0 : 1), into); !done) {
      return done;
    }
  }
  into.is_copy = into.is_copy || copies || was_copy;
  return {};
}

bool masks_all(const Vector& array, const Value& key) {
  const auto* mask = key.as<Vector>();
  return mask && axes_of(*mask) > 1 && axes_of(*mask) == axes_of(array);
}

// By a mask of the array's own shape.
Status pick_masked(Interpreter& in, Vector& from, const Vector& mask, Picked& into) {
  if (from.items.size() != mask.items.size()) return fail(Fault::Format, "a mask of another shape than the array's");
  for (std::size_t i = 0; i < from.items.size(); ++i) {
    if (auto paid = in.step(); !paid) return paid;
    auto* inner = from.items[i].as<Vector>();
    const auto* below = mask.items[i].as<Vector>();
    if (inner && below) {
      if (auto done = pick_masked(in, *inner, *below, into); !done) return done;
      continue;
    }
    if (!mask.items[i].is_truth()) return fail(Fault::Unsupported, "a part of an array by an array of several axes");
    if (mask.items[i].whole() != 0) into.cells.emplace_back(&from, i);
  }
  return {};
}

bool is_list_of_places(const Value& key) {
  const auto* list = key.as<Sequence>();
  return list && !list->is_tuple &&
         std::ranges::all_of(list->items, [](const Value& one) { return one.is_whole() && !one.is_truth(); });
}

// a[[0, 1], [2, 0]]: lists in front that are gone through together. Nothing: fewer than two.
Result<bool> pick_together(Interpreter& in, Vector& from, const ValueList& keys, Picked& into) {
  const auto lists = static_cast<std::size_t>(std::ranges::find_if_not(keys, is_list_of_places) - keys.begin());
  if (lists < 2) return false;
  into.is_copy = true;
  const std::size_t count = keys[0].as<Sequence>()->items.size();
  into.shape.push_back(static_cast<Size>(count));
  for (std::size_t i = 0; i < count; ++i) {
    ValueList row = keys;
    for (std::size_t k = 0; k < lists; ++k) {
      const auto* list = keys[k].as<Sequence>();
      if (list->items.size() != count) return fail(Fault::Unsupported, "a part of an array by lists of unlike lengths");
      row[k] = list->items[i];
    }
    if (auto done = pick(in, from, row, 1, into); !done) return pass(done);
  }
  return true;
}

Result<Picked> picked(Interpreter& in, Vector& array, const Value& key) {
  Picked all;
  if (masks_all(array, key)) {
    if (auto done = pick_masked(in, array, *key.as<Vector>(), all); !done) return pass(done);
    all.shape = {static_cast<Size>(all.cells.size())};
    all.is_copy = true;
    return all;
  }
  const auto keys = keys_of(in, array, key);
  if (!keys) return std::unexpected(keys.error());
  const auto is_together = pick_together(in, array, *keys, all);
  if (!is_together) return std::unexpected(is_together.error());
  if (*is_together) return all;
  if (auto done = pick(in, array, *keys, 0, all); !done) return pass(done);
  return all;
}

// Whole numbers alone lead to a row, which is the array's own, or to a number.
bool is_way_down(const Value& key) {
  const auto* several = key.as<Sequence>();
  const auto plain = [](const Value& one) { return one.is_whole() && !one.is_truth(); };
  return several ? several->is_tuple && !several->items.empty() && std::ranges::all_of(several->items, plain)
                 : plain(key);
}

Made down(Interpreter& in, Vector& array, const Value& key) {
  const auto* several = key.as<Sequence>();
  Value at = Value::of(&array);
  for (const Value& one : several ? several->items : ValueList{key}) {
    const auto* here = at.as<Vector>();
    if (!here) return in.raises("IndexError", "an array has fewer axes than its index");
    const auto i = place_along(in, one, here->items.size());
    if (!i) return std::unexpected(i.error());
    at = here->items[*i];
  }
  return at;
}

// The numbers of what is written, and their shape.
Result<std::pair<ValueList, Sizes>> given_numbers(Interpreter& in, Value value) {
  if (value.is_number()) return std::pair{ValueList{value}, Sizes()};
  if (!value.as<Sequence>() && !value.as<Range>()) {
    const auto listed = in.find_attribute(value, "tolist");
    if (!listed) return std::unexpected(listed.error());
    if (!*listed) return fail(Fault::Unsupported, "a " + type_name(value) + " in an array of numbers");
    const auto numbers = in.call(**listed, ValueList{});
    if (!numbers) return std::unexpected(numbers.error());
    value = *numbers;
  }
  return numbers_and_shape(in, value);
}

}  // namespace

namespace {

Size writes_to(const std::vector<Vector*>& rows) {
  Size writes = 0;
  for (const Vector* row : rows) writes += row->version;
  return writes;
}

}  // namespace

Status Vector::expect_current() const {
  if (!is_outdated && (!sources || sources->seen == writes_to(sources->rows))) return {};
  return fail(Fault::Unsupported,
              "reads an array whose numbers were written under another name since; copy() it where it is made");
}

void Vector::derive_from(const std::shared_ptr<Sources>& from) {
  for (const Value& one : items)
    if (auto* inner = one.as<Vector>()) inner->derive_from(from);
  sources = from;
  sources->seen = writes_to(sources->rows);
}

void Vector::was_written() {
  ++version;
  if (!sources) return;
  for (Vector* row : sources->rows) {
    row->is_outdated = true;
    row->was_written();
  }
  sources->seen = writes_to(sources->rows);
}

void Vector::leaves(std::vector<Vector*>& into) {
  const bool is_leaf = items.empty() || !items[0].as<Vector>();
  if (is_leaf) return into.push_back(this);
  for (const Value& one : items)
    if (auto* inner = one.as<Vector>()) inner->leaves(into);
}

Made Vector::item(Interpreter& in, Value key) {
  if (auto current = expect_current(); !current) return pass(current);
  if (is_way_down(key)) return down(in, *this, key);
  if (key.as<Cut>() && !items.empty() && items[0].as<Vector>()) {  // the rows themselves
    auto part = Sequence::item(in, key);
    if (!part) return part;
    auto* rows = in.make<Vector>(part->as<Sequence>()->items);
    rows->element_type = element_type;
    return Value::of(rows);
  }
  const auto part = picked(in, *this, key);
  if (!part) return std::unexpected(part.error());
  ValueList numbers;
  auto from = std::make_shared<Sources>();
  for (const auto& [row, at] : part->cells) {
    numbers.push_back(row->items[at]);
    if (from->rows.empty() || from->rows.back() != row) from->rows.push_back(row);
  }
  auto made = nested(in, std::move(numbers), part->shape, name_of(type_of(in, Value::of(this))));
  if (auto* array = made ? made->as<Vector>() : nullptr; array && !part->is_copy) array->derive_from(from);
  return made;
}

Status Vector::set_item(Interpreter& in, Value key, Value value) {
  if (auto current = expect_current(); !current) return current;
  const auto part = picked(in, *this, key);
  if (!part) return std::unexpected(part.error());
  const auto given = given_numbers(in, value);
  if (!given) return std::unexpected(given.error());
  const auto& [numbers, shape] = *given;
  const auto order = stretched_places(shape, part->shape);
  if (!order) return std::unexpected(order.error());
  const ElementType type = type_of(in, Value::of(this));
  for (std::size_t i = 0; i < part->cells.size(); ++i) {
    if (auto paid = in.step(); !paid) return paid;
    const auto& [row, at] = part->cells[i];
    if (row->is_lent)
      return fail(Fault::Unsupported, "writes to an array whose numbers a tensor shares; copy() it first");
    const auto number = held(in, numbers[static_cast<std::size_t>((*order)[i])], type);
    if (!number) return std::unexpected(number.error());
    row->items[at] = *number;
  }
  std::set<Vector*> written;
  for (const auto& cell : part->cells)
    if (written.insert(cell.first).second) cell.first->was_written();
  return {};
}

Result<std::optional<Value>> Vector::augmented(Interpreter& in, std::string_view symbol, Value other) {
  auto made = binary(in, symbol, other, false);
  if (!made || !*made) return made;
  const ElementType own = type_of(in, Value::of(this)), result = type_of(in, **made);
  if (own.kind != 'f' && result.kind == 'f')
    return fail(Fault::Format, "whole numbers of an array cannot become floats in place");
  const Value all = Value::ellipsis();
  if (auto done = set_item(in, all, **made); !done) return pass(done);
  return Value::of(this);
}

}  // namespace convoy::python
