#include "formats/counted_cells.h"

#include "formats/free_reshape.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace convoy {

namespace {

using TermKind = SizeTerm::Kind;

constexpr std::string_view no_list =
    "is computed from free sizes in a way that no list of cells counts; give them with --shape";

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

  // The first axis that is as long, inputs before all others.
  std::optional<Place> owner(const SizeFormula& formula) {
    if (const auto size = formula.single()) return owner_of(graph_, sizes_, *size);
    sizes_.follow(graph_);
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId value{static_cast<std::int32_t>(i)};
      if (graph_[value].constant) continue;
      const auto mine = sizes_.of(value);
      for (std::size_t axis = 0; axis < mine.size(); ++axis) {
        if (mine[axis] < 0 || graph_[value].type.shape[axis].known()) continue;
        const auto its = sizes_.followed(graph_, SizeFormula::of_size(mine[axis]));
        const auto same = its ? raised(*its) : std::nullopt;
        if (same && *same == formula) return Place{value, static_cast<Size>(axis)};
      }
    }
    return std::nullopt;
  }

  ValueId refused() {
    call_.refuse(Fault::Unsupported, std::string(no_list));
    return {};
  }

  ValueId one() { return call_.make_constant("one", Tensor::of({1}, std::vector<std::int64_t>{1})); }

  ValueId known_ones(Size count) {
    constexpr Size most = 65536;
    if (count > most) return refused();
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
    if (!split) return refused();
    const SizeFormula& rest = split->rest;
    const bool is_single = rest.constant == 0 && rest.terms.size() == 1 && split->parts.empty();
    std::vector<ValueId> lists;
    for (const auto& [text, entry] : rest.terms) {
      // Alone, one below 0 is an empty list; beside others it would have to take away from them.
      if (entry.second < 1 || (!is_single && !is_never_negative(alone(text, entry.first)))) return refused();
      constexpr Size most = 4096;
      if (entry.second > most) return refused();
      lists.push_back(repeated(of_term(entry.first), entry.second));
    }
    for (const LeastOf& least : split->parts) {
      if (!is_never_negative(least.formula)) return refused();
      lists.push_back(repeated(part(list(least.formula), {}, least.bound), least.count));
    }
    if (lists.empty()) return known_ones(std::max<Size>(0, rest.constant));
    if (rest.constant > 0) lists.push_back(known_ones(rest.constant));
    const ValueId all = joined(lists);
    return rest.constant < 0 ? part(all, -rest.constant, {}) : all;
  }

  ValueId of_term(const SizeTerm& term) {
    switch (term.kind) {
      case TermKind::Single: {
        const auto found = owner_of(graph_, sizes_, term.size);
        return found ? call_.add(ExpandLike{0, found->axis}, {one(), found->value}) : refused();
      }
      case TermKind::Quotient: return quotient(term.of[0], term.divisor);
      case TermKind::Product: return product_of(term.of);
      case TermKind::Positive: return list(term.of[0]);  // a list is empty where it would be shorter than that
    }
    return refused();
  }

  // Every so many cells one is kept. Where there would be very many, in two steps: x / 441 is x / 21 / 21.
  ValueId quotient(const SizeFormula& formula, Size divisor) {
    constexpr Size few = 16, most = 128;
    Size cells = 0;
    for (const auto& [text, entry] : formula.terms) {
      if (entry.second < 1 || entry.second > divisor) return refused();
      cells += entry.second;
    }
    Size first = 1;
    const auto cost = [&](Size d) { return cells / d + std::min(cells, d); };
    if (cells > few)
      for (Size d = 2; d <= divisor / 2 && d <= most; ++d)
        if (divisor % d == 0 && (first == 1 || cost(d) < cost(first))) first = d;
    if (first == 1 && cells > most) return refused();
    const auto inner = first == 1 ? std::optional(formula) : floor_quotient(formula, first);
    if (!inner) return refused();
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
  if (!followed) return fail(Fault::Unsupported, std::string(no_list));
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

}  // namespace convoy
