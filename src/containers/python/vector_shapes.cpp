#include "containers/python/vector_shapes.h"

#include "containers/python/vector_types.h"

#include <algorithm>
#include <array>

namespace convoy::python {
namespace {

using Made = Result<Value>;

// All numbers in order, the last axis the quickest.
struct Cells {
  ValueList numbers;
  Sizes shape;
  std::string element_type;
};

Status gather(Interpreter& in, const Vector& array, std::size_t axis, Cells& into) {
  if (axis == into.shape.size()) into.shape.push_back(static_cast<Size>(array.items.size()));
  if (into.shape[axis] != static_cast<Size>(array.items.size()))
    return fail(Fault::Unsupported, "an array whose parts have unlike sizes");
  if (auto current = array.expect_current(); !current) return current;
  for (const Value& one : array.items) {
    if (auto paid = in.step(); !paid) return paid;
    const auto* inner = one.as<Vector>();
    if ((inner != nullptr) != (axis + 1 < into.shape.size()) && !into.numbers.empty())
      return fail(Fault::Unsupported, "an array whose parts have unlike sizes");
    if (!inner) into.numbers.push_back(one);
    else if (auto done = gather(in, *inner, axis + 1, into); !done) return done;
  }
  return {};
}

// Fails: what is no array of numbers.
Result<Cells> cells_of(Interpreter& in, const Value& value, std::string_view function) {
  const auto array = array_of(in, value);
  if (!array) return std::unexpected(array.error());
  Cells cells;
  if (const auto* held = array->as<Vector>()) {
    cells.element_type = held->element_type;
    if (auto done = gather(in, *held, 0, cells); !done) return pass(done);
  } else if (array->is_number()) {
    cells.numbers = {*array};
  } else {
    return fail(Fault::Unsupported, "numpy." + std::string(function) + "() of a " + type_name(value));
  }
  return cells;
}

Made nested_of(Interpreter& in, const Cells& cells) {
  if (cells.shape.empty()) return cells.numbers.front();
  constexpr Size most = 1'000'000;
  if (cells.shape.size() > 8 || std::ranges::find(cells.shape, Size{0}) != cells.shape.end() ||
      static_cast<Size>(cells.numbers.size()) > most)
    return fail(Fault::Limit, "an array of no numbers, of over a million or of over 8 axes");
  ValueList level = cells.numbers;
  for (std::size_t axis = cells.shape.size(); axis-- > 0;) {
    if (auto paid = in.charge(static_cast<Size>(level.size()) * 16); !paid) return pass(paid);
    const auto width = static_cast<std::size_t>(cells.shape[axis]);
    ValueList above;
    for (std::size_t i = 0; i < level.size(); i += width) {
      auto* part = in.make<Vector>(ValueList(level.begin() + static_cast<std::ptrdiff_t>(i),
                                             level.begin() + static_cast<std::ptrdiff_t>(i + width)));
      part->element_type = cells.element_type;
      above.push_back(Value::of(part));
    }
    level = std::move(above);
  }
  return level.front();
}

// Cells of another shape, each of them one of the cells that there are.
Result<Cells> chosen(Interpreter& in, const Cells& from, Sizes shape, const std::function<Size(const Sizes&)>& which) {
  Size count = 1;
  for (const Size n : shape)
    if (n < 0 || n > 1'000'000 || (count *= n) > 1'000'000)
      return fail(Fault::Limit, "an array of over a million numbers");
  Cells made{{}, shape, from.element_type};
  Sizes at(shape.size(), 0);
  for (Size i = 0; i < count; ++i) {
    if (auto paid = in.step(); !paid) return pass(paid);
    made.numbers.push_back(from.numbers[static_cast<std::size_t>(which(at))]);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return made;
}

Size place_in(const Sizes& shape, const Sizes& at) {
  Size place = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) place = place * shape[axis] + at[axis];
  return place;
}

Result<Sizes> whole_numbers(const ValueList& given, std::string_view function) {
  ValueList all = given;
  if (all.size() == 1 && all[0].as<Sequence>()) all = all[0].as<Sequence>()->items;
  Sizes sizes;
  for (const Value& one : all) {
    if (!one.is_whole())
      return fail(Fault::Unsupported,
                  "numpy." + std::string(function) + "() with a " + type_name(one) + " where a whole number is read");
    sizes.push_back(one.whole());
  }
  return sizes;
}

// An axis of so many, counted from behind where it is negative.
Result<std::size_t> axis_in(Size axis, std::size_t rank, std::string_view function) {
  const Size from_front = axis < 0 ? axis + static_cast<Size>(rank) : axis;
  if (from_front < 0 || from_front >= static_cast<Size>(rank))
    return fail(Fault::Format, "numpy." + std::string(function) + "(): there is no axis " + std::to_string(axis));
  return static_cast<std::size_t>(from_front);
}

using Shaped = Result<Cells> (*)(Interpreter& in, Cells cells, const ValueList& given);

Result<Cells> flat(Interpreter&, Cells cells, const ValueList& given) {
  if (!given.empty()) return fail(Fault::Unsupported, "an array is flattened in another order than its own");
  cells.shape = {static_cast<Size>(cells.numbers.size())};
  return cells;
}

Result<Cells> reshaped(Interpreter&, Cells cells, const ValueList& given) {
  auto shape = whole_numbers(given, "reshape");
  if (!shape) return pass(shape);
  const auto open = std::ranges::find(*shape, Size{-1});
  const auto count = static_cast<Size>(cells.numbers.size());
  if (open != shape->end()) {
    *open = 1;
    const Size known = checked_count(*shape).value_or(0);
    if (known > 0 && count % known == 0) *open = count / known;
  }
  if (std::ranges::any_of(*shape, [](Size n) { return n < 1; }) || checked_count(*shape) != count)
    return fail(Fault::Format, "an array of " + std::to_string(count) + " numbers in a shape that does not hold them");
  cells.shape = std::move(*shape);
  return cells;
}

Result<Cells> transposed(Interpreter& in, Cells cells, const ValueList& given) {
  const bool is_turned = given.empty() || (given.size() == 1 && given[0].is_none());
  auto order = is_turned ? Result<Sizes>(Sizes()) : whole_numbers(given, "transpose");
  if (!order) return pass(order);
  const std::size_t rank = cells.shape.size();
  for (std::size_t i = rank; is_turned && i-- > 0;) order->push_back(static_cast<Size>(i));
  Sizes seen, shape;
  for (Size& axis : *order) {
    const auto place = axis_in(axis, rank, "transpose");
    if (!place) return std::unexpected(place.error());
    axis = static_cast<Size>(*place);
    if (std::ranges::find(seen, axis) != seen.end())
      return fail(Fault::Format, "numpy.transpose(): an axis stands twice");
    seen.push_back(axis);
    shape.push_back(cells.shape[*place]);
  }
  if (seen.size() != rank) return fail(Fault::Format, "numpy.transpose(): not every axis stands in the order");
  return chosen(in, cells, shape, [&](const Sizes& at) {
    Sizes from(rank);
    for (std::size_t i = 0; i < rank; ++i) from[static_cast<std::size_t>((*order)[i])] = at[i];
    return place_in(cells.shape, from);
  });
}

Result<Cells> squeezed(Interpreter&, Cells cells, const ValueList& given) {
  const bool is_said = !given.empty() && !given[0].is_none();
  const auto axes = is_said ? whole_numbers(given, "squeeze") : Result<Sizes>(Sizes());
  if (!axes) return std::unexpected(axes.error());
  std::vector<bool> goes(cells.shape.size());
  for (const Size one : *axes) {
    const auto axis = axis_in(one, cells.shape.size(), "squeeze");
    if (!axis) return std::unexpected(axis.error());
    if (cells.shape[*axis] != 1) return fail(Fault::Format, "numpy.squeeze() of an axis of more than one cell");
    goes[*axis] = true;
  }
  Sizes left;
  for (std::size_t i = 0; i < cells.shape.size(); ++i)
    if (is_said ? !goes[i] : cells.shape[i] != 1) left.push_back(cells.shape[i]);
  cells.shape = std::move(left);
  return cells;
}

Result<Cells> expanded(Interpreter&, Cells cells, const ValueList& given) {
  if (given.size() != 1 || !given[0].is_whole())
    return fail(Fault::Unsupported, "numpy.expand_dims() at other than one axis");
  const auto axis = axis_in(given[0].whole(), cells.shape.size() + 1, "expand_dims");
  if (!axis) return std::unexpected(axis.error());
  cells.shape.insert(cells.shape.begin() + static_cast<std::ptrdiff_t>(*axis), 1);
  return cells;
}

Result<Cells> repeated(Interpreter& in, Cells cells, const ValueList& given) {
  if (given.empty() || !given[0].is_whole() || given[0].whole() < 1)
    return fail(Fault::Unsupported, "numpy.repeat() of other than as often for every cell");
  const bool is_flat = given.size() < 2 || given[1].is_none();
  if (is_flat) cells.shape = {static_cast<Size>(cells.numbers.size())};
  if (!is_flat && !given[1].is_whole()) return fail(Fault::Format, "numpy.repeat() along what is no axis");
  const auto axis = axis_in(is_flat ? 0 : given[1].whole(), cells.shape.size(), "repeat");
  if (!axis) return std::unexpected(axis.error());
  const Size times = given[0].whole();
  Sizes shape = cells.shape;
  if (times > 1'000'000) return fail(Fault::Limit, "an array of over a million numbers");
  shape[*axis] *= times;
  return chosen(in, cells, shape, [&](Sizes at) {
    at[*axis] /= times;
    return place_in(cells.shape, at);
  });
}

Result<Cells> tiled(Interpreter& in, Cells cells, const ValueList& given) {
  auto times = whole_numbers(given, "tile");
  if (!times) return pass(times);
  const std::size_t rank = std::max(times->size(), cells.shape.size());
  times->insert(times->begin(), rank - times->size(), 1);
  cells.shape.insert(cells.shape.begin(), rank - cells.shape.size(), 1);
  Sizes shape = cells.shape;
  for (std::size_t i = 0; i < rank; ++i) {
    if ((*times)[i] < 1 || (*times)[i] > 1'000'000)
      return fail(Fault::Limit, "numpy.tile() of none, or of over a million");
    shape[i] *= (*times)[i];
  }
  return chosen(in, cells, shape, [&](Sizes at) {
    for (std::size_t i = 0; i < rank; ++i) at[i] %= cells.shape[i];
    return place_in(cells.shape, at);
  });
}

// Functions of one array: their parameters behind it, and whether they are methods as well.
struct OfOne {
  std::string_view name, parameters;
  Shaped run;
  bool is_method, is_view;  // of the same memory, in NumPy
};
constexpr std::array of_one{OfOne{"flatten", "order", flat, true, false},
                            OfOne{"ravel", "order", flat, true, true},
                            OfOne{"reshape", "newshape order", reshaped, true, true},
                            OfOne{"transpose", "axes", transposed, true, true},
                            OfOne{"squeeze", "axis", squeezed, true, true},
                            OfOne{"repeat", "repeats axis", repeated, true, false},
                            OfOne{"expand_dims", "axis", expanded, false, true},
                            OfOne{"tile", "reps", tiled, false, false}};

Made shaped(Interpreter& in, const OfOne& one, const Value& array, Arguments given) {
  for (auto& [word, value] : given.named)
    if (word == "shape") word = "newshape";
  if (const auto order = given.take("order"))
    if (const auto* word = order->as<Text>(); !word || word->text != "C")
      return fail(Fault::Unsupported, "numpy." + std::string(one.name) + "() in another order than 'C'");
  // The axes of a method stand by themselves as well.
  const bool is_listed = given.named.empty() && (one.name == "reshape" || one.name == "transpose");
  if (!is_listed) {
    const auto taken = bound(given, one.parameters, 0, one.name);
    if (!taken) return std::unexpected(taken.error());
    given.placed.clear();
    for (const auto& value : *taken) given.placed.push_back(value.value_or(Value()));
    while (!given.placed.empty() && given.placed.back().is_none()) given.placed.pop_back();
  }
  auto cells = cells_of(in, array, one.name);
  if (!cells) return pass(cells);
  auto made = one.run(in, std::move(*cells), given.placed);
  if (!made) return pass(made);
  auto shaped = nested_of(in, *made);
  auto* from = array.as<Vector>();
  auto* view = shaped && from && one.is_view ? shaped->as<Vector>() : nullptr;
  if (!view) return shaped;
  auto sources = std::make_shared<Vector::Sources>();
  from->leaves(sources->rows);
  view->derive_from(sources);
  return shaped;
}

// The arrays of a list, in the type that all of them meet in.
Result<std::vector<Cells>> all_cells(Interpreter& in, const Value& list, std::string_view function) {
  const auto parts = in.elements(list);
  if (!parts) return std::unexpected(parts.error());
  std::vector<Cells> all;
  for (const Value& one : *parts) {
    auto cells = cells_of(in, one, function);
    if (!cells) return pass(cells);
    all.push_back(std::move(*cells));
  }
  if (all.empty()) return fail(Fault::Format, "numpy." + std::string(function) + "() of nothing");
  ElementType type = type_of(in, (*parts)[0]);
  for (const Value& one : *parts) type = meeting(type, type_of(in, one));
  for (Cells& one : all) {
    one.element_type = name_of(type);
    for (Value& number : one.numbers) {
      const auto same = held(in, number, type);
      if (!same) return std::unexpected(same.error());
      number = *same;
    }
  }
  return all;
}

// concatenate, and stack, which makes an axis of one cell first.
Made joined(Interpreter& in, const std::string& name, const Arguments& given) {
  const auto taken = bound(given, "arrays axis", 1, name);
  if (!taken) return std::unexpected(taken.error());
  auto all = all_cells(in, *(*taken)[0], name);
  if (!all) return pass(all);
  const Value said = (*taken)[1].value_or(Value::of(std::int64_t{0}));
  if (!said.is_whole()) return fail(Fault::Unsupported, "numpy." + name + "() along other than one axis");
  const std::size_t rank = all->front().shape.size() + (name == "stack" ? 1 : 0);
  const auto axis = axis_in(said.whole(), rank, name);
  if (!axis) return std::unexpected(axis.error());
  const auto behind = static_cast<std::ptrdiff_t>(*axis);
  Cells made;
  made.element_type = all->front().element_type;
  for (Cells& one : *all) {
    if (name == "stack" && one.shape.size() + 1 == rank) one.shape.insert(one.shape.begin() + behind, 1);
    if (one.shape.size() != rank) return fail(Fault::Format, "numpy." + name + "() of arrays of unlike axes");
    Sizes here = one.shape;
    here[*axis] = all->front().shape[*axis];
    if (here != all->front().shape) return fail(Fault::Format, "numpy." + name + "() of arrays of unlike sizes");
  }
  made.shape = all->front().shape;
  made.shape[*axis] = 0;
  for (const Cells& one : *all) made.shape[*axis] += one.shape[*axis];
  const Size outer = *checked_count(Sizes(made.shape.begin(), made.shape.begin() + behind));
  for (Size i = 0; i < outer; ++i)
    for (const Cells& one : *all) {
      const auto part = static_cast<std::ptrdiff_t>(static_cast<Size>(one.numbers.size()) / outer);
      if (auto paid = in.step(part); !paid) return pass(paid);
      const auto begin = one.numbers.begin() + part * i;
      made.numbers.insert(made.numbers.end(), begin, begin + part);
    }
  return nested_of(in, made);
}

Made meshgrid(Interpreter& in, Arguments& given) {
  const auto indexing = given.take("indexing");
  const auto* word = indexing ? indexing->as<Text>() : nullptr;
  given.take("copy");
  if (!given.named.empty() || given.placed.empty() ||
      (indexing && (!word || (word->text != "xy" && word->text != "ij"))))
    return fail(Fault::Unsupported, "numpy.meshgrid() with more than arrays and indexing='xy' or 'ij'");
  std::vector<Cells> all;
  Sizes shape;
  for (const Value& one : given.placed) {
    auto cells = cells_of(in, one, "meshgrid");
    if (!cells) return pass(cells);
    shape.push_back(static_cast<Size>(cells->numbers.size()));
    all.push_back(std::move(*cells));
  }
  const bool is_turned = all.size() > 1 && !(word && word->text == "ij");
  if (is_turned) std::swap(shape[0], shape[1]);
  ValueList grids;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t along = is_turned && i < 2 ? 1 - i : i;
    const auto cells = chosen(in, all[i], shape, [&](const Sizes& at) { return at[along]; });
    if (!cells) return std::unexpected(cells.error());
    auto grid = nested_of(in, *cells);
    if (!grid) return grid;
    grids.push_back(*grid);
  }
  return in.list(std::move(grids));
}

}  // namespace

Made nested(Interpreter& in, ValueList numbers, Sizes shape, std::string element_type) {
  return nested_of(in, Cells{std::move(numbers), std::move(shape), std::move(element_type)});
}

Result<std::pair<ValueList, Sizes>> numbers_and_shape(Interpreter& in, const Value& array) {
  auto cells = cells_of(in, array, "array");
  if (!cells) return pass(cells);
  return std::pair{std::move(cells->numbers), std::move(cells->shape)};
}

Result<Sizes> whole_sizes(const Value& given, std::string_view function) {
  auto sizes = whole_numbers({given}, function);
  if (sizes && std::ranges::any_of(*sizes, [](Size n) { return n < 0; }))
    return fail(Fault::Format, "numpy." + std::string(function) + "() of a size below 0");
  return sizes;
}

Result<Sizes> stretched_places(const Sizes& from, const Sizes& to) {
  const auto unfit = [] { return fail(Fault::Format, "an array in a part of another shape"); };
  Sizes own = from;
  while (own.size() > to.size() && own.front() == 1) own.erase(own.begin());
  if (own.size() > to.size()) return unfit();
  own.insert(own.begin(), to.size() - own.size(), 1);
  for (std::size_t i = 0; i < to.size(); ++i)
    if (own[i] != to[i] && own[i] != 1) return unfit();
  Sizes places(1, 0);
  for (std::size_t i = 0; i < to.size(); ++i) {
    Sizes longer;
    for (const Size place : places)
      for (Size n = 0; n < to[i]; ++n) longer.push_back(place * own[i] + (own[i] == 1 ? 0 : n));
    places = std::move(longer);
  }
  return places;
}

std::optional<Value> shape_method(Interpreter& in, Vector& array, const std::string& name) {
  const auto one = std::ranges::find(of_one, name, &OfOne::name);
  if (one == of_one.end() || !one->is_method) return std::nullopt;
  return in.native(name, [&array, one](Interpreter& with, Arguments& given) {
    return shaped(with, *one, Value::of(&array), given);
  });
}

void add_shape_functions(Interpreter& in, Module& numpy) {
  for (const OfOne& one : of_one)
    if (one.name != "flatten")  // a method alone
      add_function(in, numpy, std::string(one.name), 0, [&one](Interpreter& with, Arguments& given) -> Made {
        std::optional<Value> array = given.take("a");
        if (!array && given.placed.empty())
          return fail(Fault::Format, "numpy." + std::string(one.name) + "() of nothing");
        if (!array) {
          array = given.placed.front();
          given.placed.erase(given.placed.begin());
        }
        return shaped(with, one, *array, given);
      });
  for (const std::string name : {"stack", "concatenate"})
    add_function(in, numpy, name, 0, [name](Interpreter& with, Arguments& given) { return joined(with, name, given); });
  add_function(in, numpy, "meshgrid", 0, meshgrid);
}

}  // namespace convoy::python
