#include "formats/free_parts.h"

#include "formats/free_length.h"
#include "formats/free_reshape.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy {

namespace {

using Kind = Number::Kind;

constexpr std::string_view unfollowed = "is computed from sizes that are not known beforehand";

// The size of an axis, and how it follows from others.
MaybeFormula length_of(const FreeReading& in, ValueId x, Size axis) {
  const auto at = static_cast<std::size_t>(axis);
  const Dim size = in.graph[x].type.shape[at];
  if (size.known()) return SizeFormula::of(*size);
  const auto& mine = in.sizes.of(x);
  return at < mine.size() ? in.sizes.followed(in.graph, SizeFormula::of_size(mine[at])) : std::nullopt;
}

Result<SizeFormula> followed(const FreeReading& in, const Number& number) {
  const auto formula = formula_of(number);
  auto made = formula ? in.sizes.followed(in.graph, *formula) : std::nullopt;
  if (!made) return fail(Fault::Unsupported, std::string(unfollowed));
  return std::move(*made);
}

// What is added to a graph by one call.
template <class Make>
Result<ValueId> called(const FreeReading& in, Make make) {
  const Json none = Json::object();
  FunctionCall call(in.graph, "Range", none, {}, in.layer);
  const ValueId made = make(call);
  if (auto done = call.done(); !done) return pass(done);
  in.sizes.follow(in.graph);
  return made;
}

Result<ValueId> add_one(const FreeReading& in, Op op, std::vector<ValueId> inputs) {
  return called(in, [&](FunctionCall& call) { return call.add(std::move(op), std::move(inputs)); });
}

// 0, 1, ..., one for each of these cells.
Result<ValueId> counted(const FreeReading& in, const SizeFormula& count) {
  auto cells = cells_counted(in.graph, in.sizes, count, in.layer);
  if (!cells) return pass(cells);
  return called(in, [&](FunctionCall& call) { return counted_along(call, cells->value, cells->axis); });
}

// start + step * 0, 1, ...
Result<ValueId> stepped(const FreeReading& in, ValueId places, const SizeFormula& start, Size step) {
  const auto whole = [](FunctionCall& call, Size n) {
    return call.make_constant("number", Tensor::of({}, std::vector<std::int64_t>{n}));
  };
  std::optional<ValueId> first;
  if (!start.is_constant()) {
    auto number = number_counted(in.graph, in.sizes, start, in.layer);
    if (!number) return pass(number);
    first = *number;
  }
  return called(in, [&](FunctionCall& call) {
    if (step != 1) places = call.add(Binary{BinaryFunction::Multiply}, {places, whole(call, step)});
    if (!first && start.constant == 0) return places;
    return call.add(Binary{BinaryFunction::Add}, {places, first ? *first : whole(call, start.constant)});
  });
}

bool stays_from_0(const SizeFormula& formula) {
  const SizeBounds bounds = bounds_of(formula);
  return (bounds.least && *bounds.least >= 0) ||
         at_all_sizes({&formula}, [](const std::vector<Size>& v) { return v[0] >= 0; }).value_or(false);
}

// Where a place is below 0 it counts from the end, which so few cells lie behind, at any size, that lists of them stay short.
MaybeFormula counted_from_either_end(const SizeFormula& place, const SizeFormula& from_end) {
  constexpr Size most = 64;
  Size farthest = 0;
  const auto tells = at_all_sizes({&place, &from_end}, [&](const std::vector<Size>& v) {
    if (v[0] < 0) farthest = std::max(farthest, v[1]);
    return farthest <= most;
  });
  if (!tells.value_or(false)) return std::nullopt;
  const SizeFormula none = SizeFormula::of(0);
  const auto negative = times(place, -1);
  const auto below = negative ? greatest(*negative, none) : std::nullopt, from_front = greatest(place, none),
             behind = greatest(from_end, none);
  const auto room = below ? times(*below, farthest) : std::nullopt;
  const auto counted = room && behind ? least(*behind, *room) : std::nullopt;
  return counted && from_front ? sum(*from_front, *counted) : std::nullopt;
}

// The place that a bound of a part names, from 0 on, which may lie behind the last cell.
Result<SizeFormula> place_named(const FreeReading& in, const Number& bound, const SizeFormula& length) {
  auto formula = followed(in, bound);
  if (!formula) return formula;
  const auto from_end = sum(length, *formula);
  if (!from_end) return fail(Fault::Unsupported, std::string(unfollowed));
  const SizeBounds bounds = bounds_of(*formula);
  MaybeFormula named = *formula;
  if (bounds.most && *bounds.most < 0) {
    named = greatest(*from_end, SizeFormula::of(0));
  } else if (!stays_from_0(*formula)) {
    // Below 0 it may only mean the beginning, counted from the end as it is.
    const auto agrees =
        at_all_sizes({&*formula, &length}, [](const std::vector<Size>& v) { return v[0] >= 0 || v[0] + v[1] <= 0; });
    named =
        agrees.value_or(false) ? greatest(*formula, SizeFormula::of(0)) : counted_from_either_end(*formula, *from_end);
    if (!named)
      return fail(Fault::Unsupported,
                  "is cut at a place that is counted from the end at some sizes and not at others, of which many cells "
                  "may lie behind it; give them with --shape");
  }
  if (!named) return fail(Fault::Unsupported, std::string(unfollowed));
  return std::move(*named);
}

// The least of a place and the length.
Result<SizeFormula> within_axis(const SizeFormula& place, const SizeFormula& length) {
  const auto apart = difference(length, place);
  const SizeBounds bounds = apart ? bounds_of(*apart) : SizeBounds{};
  if (bounds.least && *bounds.least >= 0) return place;
  if (bounds.most && *bounds.most <= 0) return length;
  const auto always = [&](auto holds) {
    return at_all_sizes({&place, &length}, [&](const std::vector<Size>& v) { return holds(v[0], v[1]); });
  };
  if (always([](Size a, Size n) { return a <= n; }).value_or(false)) return place;
  if (always([](Size a, Size n) { return a >= n; }).value_or(false)) return length;
  auto made = least(place, length);
  if (!made) return fail(Fault::Unsupported, std::string(unfollowed));
  return std::move(*made);
}

}  // namespace

Result<ValueId> counted_range(const FreeReading& in, const Number& start, const Number& limit, const Number& step,
                              DType dtype) {
  const auto whole_of = [](const Number& n) {
    const bool is_whole = n.kind == Kind::Real && n.real == std::floor(n.real) && std::abs(n.real) < 0x1p24;
    return is_whole ? Number::of(static_cast<std::int64_t>(n.real)) : n;
  };
  const Number by = whole_of(step), from = whole_of(start), to = whole_of(limit);
  if (by.kind != Kind::Whole || by.whole == 0 || std::abs(static_cast<double>(by.whole)) > 0x1p24)
    return fail(Fault::Unsupported, "counts by steps that are computed by the model or no whole numbers");
  const auto first = followed(in, from), last = followed(in, to);
  if (!first || !last)
    return fail(Fault::Unsupported, "counts to a number that is computed from free sizes; give them with --shape");
  const Size size = std::abs(by.whole);
  const auto apart = by.whole > 0 ? difference(*last, *first) : difference(*first, *last);
  const auto raised = apart ? sum(*apart, SizeFormula::of(size - 1)) : std::nullopt;
  const auto count = raised ? floor_quotient(*raised, size) : std::nullopt;
  if (!count)
    return fail(Fault::Unsupported, "counts to a number that is computed from free sizes; give them with --shape");
  auto places = counted(in, *count);
  if (!places) return places;
  places = stepped(in, *places, *first, by.whole);
  return places && dtype != DType::I64 ? add_one(in, Cast{dtype}, {*places}) : places;
}

Result<ValueId> free_part(const FreeReading& in, ValueId x, const FreePart& part) {
  const auto is_known = [](const std::optional<Number>& n) { return !n || n->kind == Kind::Whole; };
  const auto whole = [](const std::optional<Number>& n) { return n ? std::optional<Size>(n->whole) : std::nullopt; };
  if (is_known(part.start) && is_known(part.stop)) {
    if (!part.start && !part.stop && part.step == 1) return x;
    return add_one(in, Slice{part.axis, whole(part.start), whole(part.stop), part.step}, {x});
  }
  if (part.step < 1)
    return fail(Fault::Unsupported, "goes backwards from or to a place that is computed from free sizes");
  const auto length = length_of(in, x, part.axis);
  if (!length) return fail(Fault::Unsupported, std::string(unfollowed));
  auto start = place_named(in, part.start.value_or(Number::of(std::int64_t{0})), *length);
  if (!start) return pass(start);
  auto stop = part.stop ? place_named(in, *part.stop, *length) : Result<SizeFormula>(*length);
  if (stop) stop = within_axis(*stop, *length);
  if (!stop) return pass(stop);
  if (start->is_constant() && (stop->is_constant() || *stop == *length)) {
    const auto end = *stop == *length ? std::nullopt : std::optional(stop->constant);
    const auto begin = start->constant == 0 ? std::nullopt : std::optional(start->constant);
    if (!begin && !end && part.step == 1) return x;
    return add_one(in, Slice{part.axis, begin, end, part.step}, {x});
  }
  const auto apart = difference(*stop, *start);
  const auto cells = apart ? raised(*apart) : std::nullopt;
  const auto raised = cells ? sum(*cells, SizeFormula::of(part.step - 1)) : std::nullopt;
  const auto count = raised ? floor_quotient(*raised, part.step) : std::nullopt;
  if (!count) return fail(Fault::Unsupported, std::string(unfollowed));
  auto places = counted(in, *count);
  if (places) places = stepped(in, *places, *start, part.step);
  return places ? add_one(in, Gather{part.axis}, {x, *places}) : places;
}

Result<ValueId> padded_by(const FreeReading& in, ValueId x, Size axis, const Number& before, const Number& after,
                          PadMode mode, double value) {
  const auto length = length_of(in, x, axis);
  const auto first = followed(in, before), last = followed(in, after);
  const auto front = length && first ? sum(*length, *first) : std::nullopt;
  const auto total = front && last ? sum(*front, *last) : std::nullopt;
  if (!total) return fail(Fault::Unsupported, std::string(unfollowed));
  const auto rank = static_cast<std::size_t>(in.graph[x].type.rank());
  const auto added = [&](Size begin, Size end) {
    Pad pad{.before = Sizes(rank, 0), .after = Sizes(rank, 0), .mode = mode, .value = value};
    pad.before[static_cast<std::size_t>(axis)] = begin;
    pad.after[static_cast<std::size_t>(axis)] = end;
    return add_one(in, std::move(pad), {x});
  };
  if (first->is_constant() && last->is_constant()) {
    const bool adds_none = first->constant == 0 && last->constant == 0;
    return adds_none ? Result<ValueId>(x) : added(first->constant, last->constant);
  }
  if (mode == PadMode::Constant && total->is_constant() && total->constant > 0) {
    // More than enough is added, and what is too much cut off: also where the cells are more than are wanted.
    const Size all = total->constant;
    if (first->is_constant() && first->constant >= 0) {
      auto padded = added(first->constant, all);
      return padded ? add_one(in, Slice{axis, std::nullopt, all, 1}, {*padded}) : padded;
    }
    if (last->is_constant() && last->constant >= 0) {
      auto padded = added(all, last->constant);
      return padded ? add_one(in, Slice{axis, -all, std::nullopt, 1}, {*padded}) : padded;
    }
  }
  if (mode != PadMode::Constant && (!stays_from_0(*first) || !stays_from_0(*last))) {
    // What is cut off is cut first: what is left repeats its own cells.
    const SizeFormula none = SizeFormula::of(0);
    const auto more_first = greatest(*first, none), more_last = greatest(*last, none);
    const auto start = more_first ? difference(*more_first, *first) : std::nullopt,
               gone = more_last ? difference(*more_last, *last) : std::nullopt;
    const auto stop = gone ? difference(*length, *gone) : std::nullopt;
    const auto end = stop ? greatest(*stop, none) : std::nullopt;
    if (!start || !end) return fail(Fault::Unsupported, std::string(unfollowed));
    auto part = free_part(in, x, FreePart{axis, number_of(*start), number_of(*end), 1});
    return part ? padded_by(in, *part, axis, number_of(*more_first), number_of(*more_last), mode, value) : part;
  }
  const bool known_mode = mode == PadMode::Constant || mode == PadMode::Reflect || mode == PadMode::Edge;
  if (!known_mode)
    return fail(Fault::Unsupported, "pads of this mode that are computed from free sizes; give them with --shape");
  auto cells = cells_counted(in.graph, in.sizes, *total, in.layer);
  if (!cells) return pass(cells);
  auto begin = number_counted(in.graph, in.sizes, *first, in.layer);
  if (!begin) return pass(begin);
  auto like = called(in, [&](FunctionCall& call) {
    const ValueId one = call.make_constant("one", Tensor::of({1}, std::vector<std::int64_t>{1}));
    return call.add(ExpandLike{0, cells->axis}, {one, cells->value});
  });
  if (!like) return like;
  const char* word = mode == PadMode::Constant ? "constant" : mode == PadMode::Reflect ? "reflect" : "replicate";
  const Json plain{{"dim", axis}, {"mode", word}, {"value", value}};
  FunctionCall call(in.graph, "Pad", plain, {{"input", x}, {"like", *like}, {"before", *begin}}, in.layer);
  const auto made = read_padded_to(call);
  if (auto done = call.done(); !done) return pass(done);
  in.sizes.follow(in.graph);
  return made.front();
}

Result<ValueId> repeated_by(const FreeReading& in, ValueId x, Size axis, const Number& times) {
  if (times.kind == Kind::Whole)
    return times.whole == 1 ? Result<ValueId>(x) : add_one(in, Tile{axis, times.whole}, {x});
  auto cells = cells_counted(in.graph, in.sizes, times, in.layer);
  if (!cells) return pass(cells);
  const bool is_one = in.graph[x].type.shape[static_cast<std::size_t>(axis)] == Dim(1);
  return called(in, [&](FunctionCall& call) {
    if (is_one) return call.add(ExpandLike{axis, cells->axis}, {x, cells->value});
    return merged_axes(call, call.add(ExpandLike{axis, cells->axis}, {call.add(Unsqueeze{{axis}}, {x}), cells->value}),
                       axis);
  });
}

Result<std::vector<ValueId>> largest_of(const FreeReading& in, ValueId x, Size axis, const Number& count,
                                        bool largest) {
  auto wanted = followed(in, count);
  if (!wanted) return pass(wanted);
  const auto rank = static_cast<std::size_t>(in.graph[x].type.rank());
  const DType dtype = in.graph[x].type.dtype;
  const SizeBounds bounds = bounds_of(*wanted);
  constexpr Size most = 65536;
  if (!bounds.most || *bounds.most > most)
    return fail(Fault::Unsupported,
                "takes as many of the largest as free sizes say, without a bound; give them with --shape");
  if (!is_floating(dtype))
    return fail(Fault::Unsupported,
                "takes as many of the largest whole numbers as free sizes say; give them with --shape");
  // As many as there may ever be, of cells that reach for them, and of these the first.
  const double none = largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  Pad pad{.before = Sizes(rank, 0), .after = Sizes(rank, 0), .mode = PadMode::Constant, .value = none};
  pad.after[static_cast<std::size_t>(axis)] = *bounds.most;
  const Json plain = Json::object();
  FunctionCall call(in.graph, "TopK", plain, {}, in.layer);
  const auto found = call.add_all(TopK{axis, *bounds.most, largest}, {call.add(std::move(pad), {x})});
  if (auto done = call.done(); !done) return pass(done);
  in.sizes.follow(in.graph);
  std::vector<ValueId> results;
  for (const ValueId one : found) {
    auto cut = free_part(in, one, FreePart{axis, std::nullopt, count, 1});
    if (!cut) return pass(cut);
    results.push_back(*cut);
  }
  return results;
}

Numbers with_rest(const Graph& graph, UnknownSizes& sizes, Numbers wanted, const Shaped& data) {
  const auto rest = std::ranges::find(wanted.all, Number::of(std::int64_t{-1}));
  if (rest == wanted.all.end() || wanted.known()) return wanted;
  MaybeFormula all = SizeFormula::of(1), others = SizeFormula::of(1);
  for (std::size_t i = 0; i < data.shape.size() && all; ++i) {
    const auto own = data.shape[i].known() ? std::optional(SizeFormula::of(*data.shape[i]))
                                           : sizes.followed(graph, SizeFormula::of_size(data.sizes[i]));
    all = own ? product(*all, *own) : std::nullopt;
  }
  for (auto n = wanted.all.begin(); n != wanted.all.end() && others; ++n) {
    if (n == rest) continue;
    if (n->kind == Kind::Whole && n->whole < 1) return wanted;  // 0 keeps a size, which its place would say
    const auto formula = formula_of(*n);
    const auto one = formula ? sizes.followed(graph, *formula) : std::nullopt;
    others = one ? product(*others, *one) : std::nullopt;
  }
  if (!all || !others || others->is_constant() || all->terms.empty() || others->terms.empty()) return wanted;
  const auto is_all = [&](const SizeFormula& left) {
    const auto made = product(*others, left);
    return made && *made == *all;
  };
  const Size top = all->terms.begin()->second.second, below = others->terms.begin()->second.second;
  if (below != 0 && top % below == 0 && is_all(SizeFormula::of(top / below))) {
    *rest = Number::of(std::int64_t{top / below});
    return wanted;
  }
  for (std::size_t i = 0; i < data.shape.size(); ++i) {
    if (data.shape[i].known()) continue;
    const auto own = sizes.followed(graph, SizeFormula::of_size(data.sizes[i]));
    if (own && is_all(*own)) {
      *rest = Number::multiple(1, data.sizes[i]);
      return wanted;
    }
  }
  return wanted;
}

}  // namespace convoy
