#include "formats/counted_cells.h"

#include "formats/free_reshape.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace convoy {

namespace {

using TermKind = SizeTerm::Kind;

std::string computed_by(const std::string& what) {
  return "is computed from free sizes by " + what + "; give them with --shape";
}

// A term by itself.
SizeFormula alone(const std::string& text, const SizeTerm& term, Size count = 1) {
  return {0, {{text, {term, count}}}};
}

bool is_never_negative(const SizeFormula& formula) {
  const SizeBounds bounds = bounds_of(formula);
  return bounds.least && *bounds.least >= 0;
}

class CellCounter {
 public:
  CellCounter(Graph& graph, UnknownSizes& sizes, FunctionCall& call) : graph_(graph), sizes_(sizes), call_(call) {}

  Place place(const SizeFormula& formula) {
    const auto found = formula.is_constant() ? std::nullopt : owner(formula);
    return found ? *found : Place{ones(formula), 0};
  }

  ValueId number(const SizeFormula& formula) {
    if (formula.is_constant()) return whole(formula.constant);
    if (const auto found = owner(formula)) return length_along(call_, found->value, found->axis);
    SizeFormula more = SizeFormula::of(std::max<Size>(0, formula.constant)),
                less = SizeFormula::of(more.constant - formula.constant);
    ValueId all{};
    for (const auto& [text, entry] : formula.terms) {
      if (entry.first.kind != TermKind::Positive) {
        (entry.second > 0 ? more : less).terms.emplace(text, std::pair(entry.first, std::abs(entry.second)));
        continue;
      }
      const ValueId below = number(entry.first.of[0]), none = whole(0);
      if (call_.failed()) return {};
      const ValueId positive = call_.add(Binary{BinaryFunction::Maximum}, {below, none});
      const ValueId one =
          entry.second == 1 ? positive : call_.add(Binary{BinaryFunction::Multiply}, {positive, whole(entry.second)});
      all = all ? call_.add(Binary{BinaryFunction::Add}, {all, one}) : one;
    }
    const bool is_all = all && more == SizeFormula::of(0);
    const ValueId added = is_all ? ValueId{} : counted(more);
    all = is_all ? all : all ? call_.add(Binary{BinaryFunction::Add}, {all, added}) : added;
    return less == SizeFormula::of(0) ? all : call_.add(Binary{BinaryFunction::Subtract}, {all, counted(less)});
  }

 private:
  ValueId whole(Size n) { return call_.make_constant("number", Tensor::of({}, std::vector<std::int64_t>{n})); }
  // Of what is never negative.
  ValueId counted(const SizeFormula& formula) {
    if (formula.is_constant()) return whole(formula.constant);
    // Sums of no number are not 0 everywhere: where there may be none, one more is counted.
    const auto of_cells =
        replaced(formula, [](SizeId size) { return sum(SizeFormula::of_size(size), SizeFormula::of(1)); });
    const auto fewest = of_cells ? bounds_of(*of_cells).least : std::nullopt;
    const bool may_be_none = !fewest || *fewest < 1;
    const Place cells = may_be_none ? Place{joined({list(formula), one()}), 0} : place(formula);
    if (call_.failed()) return {};
    const ValueId all = length_along(call_, cells.value, cells.axis);
    return may_be_none ? call_.add(Binary{BinaryFunction::Subtract}, {all, whole(1)}) : all;
  }

  std::optional<Place> owner(const SizeFormula& formula) {
    const auto found = sizes_.axis_as_long(graph_, formula);
    return found ? std::optional(Place{found->first, static_cast<Size>(found->second)}) : std::nullopt;
  }

  ValueId refused(const std::string& what) {
    call_.refuse(Fault::Unsupported, computed_by(what));
    return {};
  }

  ValueId one() { return call_.make_constant("one", Tensor::of({1}, std::vector<std::int64_t>{1})); }

  ValueId known_ones(Size count) {
    constexpr Size most = 65536;
    if (count > most) return refused("a sum with " + std::to_string(count) + ", of which so many cells would be made");
    return call_.make_constant("ones",
                               Tensor::of({count}, std::vector<std::int64_t>(static_cast<std::size_t>(count), 1)));
  }
  ValueId repeated(ValueId list, Size count) {
    if (call_.failed() || count == 1) return list;
    return call_.add(Reshape{{-1}}, {call_.add(Tile{1, count}, {call_.add(Unsqueeze{{1}}, {list})})});
  }
  ValueId part(ValueId list, std::optional<Size> start, std::optional<Size> stop, Size step = 1) {
    if (call_.failed()) return {};
    return call_.add(Slice{.axis = 0, .start = start, .stop = stop, .step = step}, {list});
  }
  ValueId joined(const std::vector<ValueId>& lists) {
    if (call_.failed()) return {};
    return lists.size() == 1 ? lists.front() : call_.add(Concat{0}, lists);
  }

  // Ones, or an axis that is there, laid as a list.
  ValueId list(const SizeFormula& formula) {
    const auto found = formula.is_constant() ? std::nullopt : owner(formula);
    return found && !call_.failed() ? call_.add(ExpandLike{0, found->axis}, {one(), found->value}) : ones(formula);
  }

  ValueId ones(const SizeFormula& formula) {
    if (call_.failed()) return {};
    if (formula.is_constant()) return known_ones(std::max<Size>(0, formula.constant));
    const auto split = split_least(formula);
    if (!split || !only_adds(*split)) return apart(formula);
    const SizeFormula& rest = split->rest;
    std::vector<ValueId> lists;
    for (const auto& [text, entry] : rest.terms) {
      constexpr Size most = 4096;
      if (entry.second > most) return refused("a product with " + std::to_string(entry.second));
      lists.push_back(repeated(of_term(entry.first), entry.second));
    }
    for (const LeastOf& least : split->parts)
      lists.push_back(repeated(part(list(least.formula), {}, least.bound), least.count));
    if (lists.empty()) return known_ones(std::max<Size>(0, rest.constant));
    if (rest.constant > 0) lists.push_back(known_ones(rest.constant));
    const ValueId all = joined(lists);
    return rest.constant < 0 ? part(all, -rest.constant, {}) : all;
  }

  // Whether lists put side by side are as many cells. Alone, one below 0 is an empty list; beside others it would have to take
  // away from them.
  static bool only_adds(const SplitFormula& split) {
    const SizeFormula& rest = split.rest;
    const bool is_single = rest.constant == 0 && rest.terms.size() == 1 && split.parts.empty();
    const auto adds = [&](const auto& term) {
      const auto& [text, entry] = term;
      return entry.second > 0 && (is_single || is_never_negative(alone(text, entry.first)));
    };
    return std::ranges::all_of(rest.terms, adds) &&
           std::ranges::all_of(split.parts, [](const LeastOf& part) { return is_never_negative(part.formula); });
  }

  // What is taken away as a list of its own, which says where the other one is cut.
  ValueId apart(const SizeFormula& formula) {
    SizeFormula more, less;
    (formula.constant > 0 ? more : less).constant = std::abs(formula.constant);
    for (const auto& [text, entry] : formula.terms)
      (entry.second > 0 ? more : less).terms.emplace(text, std::pair(entry.first, std::abs(entry.second)));
    for (const SizeFormula* side : {&more, &less})
      for (const auto& [text, entry] : side->terms)
        if (!is_never_negative(alone(text, entry.first)))
          return refused(std::string(word_of(entry.first)) + " that may be below 0");
    if (more.is_constant() && more.constant == 0) return known_ones(0);
    const ValueId all = list(more), gone = list(less);
    return call_.failed() ? ValueId{} : call_.add(SliceBehind{}, {all, gone});
  }

  static std::string_view word_of(const SizeTerm& term) {
    switch (term.kind) {
      case TermKind::Single: return "a size";
      case TermKind::Quotient: return "a quotient";
      case TermKind::Positive: return "a difference";
      case TermKind::Product: return "a product";
    }
    return "a number";
  }

  ValueId of_term(const SizeTerm& term) {
    switch (term.kind) {
      case TermKind::Single: {
        const auto found = owner_of(graph_, sizes_, term.size);
        return found ? call_.add(ExpandLike{0, found->axis}, {one(), found->value}) : refused("one that no value has");
      }
      case TermKind::Quotient: return quotient(term.of[0], term.divisor);
      case TermKind::Product: return product_of(term.of);
      case TermKind::Positive: return list(term.of[0]);  // a list is empty where it would be shorter than that
    }
    return refused("an operation that is not counted");
  }

  // Every so many cells one is kept. Where there would be very many, in two steps: x / 441 is x / 21 / 21.
  ValueId quotient(const SizeFormula& formula, Size divisor) {
    constexpr Size few = 16, most = 128;
    Size cells = 0;
    for (const auto& [text, entry] : formula.terms) {
      if (entry.second < 1 || entry.second > divisor) return refused("a quotient of a number that may be below 0");
      cells += entry.second;
    }
    Size first = 1;
    const auto cost = [&](Size d) { return cells / d + std::min(cells, d); };
    if (cells > few)
      for (Size d = 2; d <= divisor / 2 && d <= most; ++d)
        if (divisor % d == 0 && (first == 1 || cost(d) < cost(first))) first = d;
    if (first == 1 && cells > most)
      return refused("a quotient of " + std::to_string(cells) + " sizes by " + std::to_string(divisor) +
                     ", of which so many cells would be made");
    const auto inner = first == 1 ? std::optional(formula) : floor_quotient(formula, first);
    if (!inner) return refused("a quotient of numbers beyond 64 bits");
    const Size step = divisor / first;
    return step == 1 ? list(*inner) : part(list(*inner), step - 1, {}, step);
  }

  // Rows of as many cells, side by side.
  ValueId product_of(const std::vector<SizeFormula>& all) {
    ValueId cells = list(all[0]);
    for (std::size_t i = 1; i < all.size(); ++i) {
      const Place row = place(all[i]);
      if (call_.failed()) return {};
      const ValueId rows = call_.add(ExpandLike{1, row.axis}, {call_.add(Unsqueeze{{1}}, {cells}), row.value});
      cells = merged_axes(call_, rows, 0);
    }
    return cells;
  }

  Graph& graph_;
  UnknownSizes& sizes_;
  FunctionCall& call_;
};

template <class Make>
auto made(Graph& graph, UnknownSizes& sizes, const SizeFormula& formula, const std::string& layer, Make make)
    -> Result<decltype(make(std::declval<CellCounter&>(), formula))> {
  sizes.follow(graph);
  const auto end = sizes.followed(graph, formula);
  const auto followed = end ? raised(*end) : std::nullopt;
  if (!followed)
    return fail(Fault::Unsupported, computed_by("more operations than are followed, or numbers beyond 64 bits"));
  const Json none = Json::object();
  FunctionCall call(graph, "Shape", none, {}, layer);
  CellCounter counter(graph, sizes, call);
  auto result = make(counter, *followed);
  if (auto done = call.done(); !done) return pass(done);
  sizes.follow(graph);
  return result;
}

}  // namespace

Result<Place> cells_counted(Graph& graph, UnknownSizes& sizes, const SizeFormula& formula, const std::string& layer) {
  // A size as it is said, before it is taken for what it follows from.
  if (const auto size = formula.single())
    if (const auto owner = owner_of(graph, sizes, *size)) return *owner;
  return made(graph, sizes, formula, layer,
              [](CellCounter& cells, const SizeFormula& one) { return cells.place(one); });
}

Result<Place> cells_counted(Graph& graph, UnknownSizes& sizes, const Number& number, const std::string& layer) {
  const auto formula = formula_of(number);
  if (!formula) return fail(Fault::Unsupported, "is as large as sizes that are not known beforehand");
  return cells_counted(graph, sizes, *formula, layer);
}

Result<ValueId> number_counted(Graph& graph, UnknownSizes& sizes, const SizeFormula& formula,
                               const std::string& layer) {
  return made(graph, sizes, formula, layer,
              [](CellCounter& cells, const SizeFormula& one) { return cells.number(one); });
}

namespace {

// A number that is no whole one: so many times a size, or a size divided, each of which one operation of floating numbers gives.
Result<ValueId> fraction_counted(Graph& graph, UnknownSizes& sizes, const Number& number, DType dtype,
                                 const std::string& layer) {
  const auto parts = fraction_of(number);
  if (!parts) return fail(Fault::Unsupported, computed_by("fractions that are no quotients of small numbers"));
  auto size = number_counted(graph, sizes, SizeFormula::of_size(number.size), layer);
  if (!size) return size;
  const Json none = Json::object();
  FunctionCall call(graph, "Shape", none, {}, layer);
  const auto with = [&](BinaryFunction function, ValueId x, double by) {
    const ValueId other = call.make_constant("number", Tensor::of({}, std::vector{by}).converted(dtype));
    return call.add(Binary{function}, {x, other});
  };
  ValueId all = call.add(Cast{dtype}, {*size});
  if (parts->first != 1) all = with(BinaryFunction::Multiply, all, static_cast<double>(parts->first));
  if (parts->second != 1) all = with(BinaryFunction::Divide, all, static_cast<double>(parts->second));
  if (number.whole != 0) all = with(BinaryFunction::Add, all, static_cast<double>(number.whole));
  if (auto done = call.done(); !done) return pass(done);
  sizes.follow(graph);
  return all;
}

}  // namespace

Result<ValueId> numbers_counted(Graph& graph, UnknownSizes& sizes, const Numbers& numbers, const std::string& layer) {
  std::vector<ValueId> parts;
  std::map<std::string, ValueId> made;  // by formula
  const bool is_single = numbers.shape.empty();
  for (const Number& n : numbers.all) {
    const auto formula = n.kind == Number::Kind::Real ? std::nullopt : formula_of(n);
    if (!formula && n.kind != Number::Kind::Real && !(n.kind == Number::Kind::Multiple && is_floating(numbers.dtype)))
      return fail(Fault::Unsupported, "is computed from sizes that are not known beforehand");
    const std::string text = formula ? formula->text() : "";
    if (const auto known = formula ? made.find(text) : made.end(); known != made.end()) {
      parts.push_back(known->second);
      continue;
    }
    const Json none = Json::object();
    Result<ValueId> one = ValueId{};
    if (formula && !formula->is_constant()) one = number_counted(graph, sizes, *formula, layer);
    else if (n.kind == Number::Kind::Multiple) one = fraction_counted(graph, sizes, n, numbers.dtype, layer);
    if (!one) return one;
    FunctionCall call(graph, "Shape", none, {}, layer);
    ValueId value = *one;
    if (!value) {
      auto tensor = Numbers{numbers.dtype, {}, {n}}.tensor();
      if (!tensor) return pass(tensor);
      value = call.make_constant("number", std::move(*tensor));
    } else if (call.type(value).dtype != numbers.dtype) {
      value = call.add(Cast{numbers.dtype}, {value});
    }
    if (!is_single) value = call.add(Unsqueeze{{0}}, {value});
    if (auto done = call.done(); !done) return pass(done);
    if (formula) made.emplace(text, value);
    parts.push_back(value);
  }
  sizes.follow(graph);
  if (is_single) return parts.front();
  const Json none = Json::object();
  FunctionCall call(graph, "Shape", none, {}, layer);
  ValueId all = parts.size() == 1 ? parts.front() : call.add(Concat{0}, parts);
  if (numbers.shape.size() > 1) all = call.add(Reshape{numbers.shape}, {all});
  if (auto done = call.done(); !done) return pass(done);
  sizes.follow(graph);
  return all;
}

}  // namespace convoy
