#include "formats/free_length.h"

#include "base/whole_tensor.h"
#include "formats/free_reshape.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace convoy {

namespace {

constexpr Size tried_in_a_row = 200, longest_period = 64;

struct TriedValues {
  std::vector<std::optional<Size>> of;  // by n; 0 has none
  Size first = 0;                       // from it on all have one
  Size last = 0;                        // that was tried

  Size at(Size n) const { return *of[static_cast<std::size_t>(n)]; }
};

std::optional<TriedValues> tried_values(const std::function<std::optional<Size>(Size)>& f, Size least) {
  TriedValues found;
  found.last = least - 1 + tried_in_a_row;
  found.first = least - 1;
  found.of.resize(static_cast<std::size_t>(found.last) + 1);
  for (Size n = least; n <= found.last; ++n) {
    found.of[static_cast<std::size_t>(n)] = f(n);
    if (!found.of[static_cast<std::size_t>(n)]) found.first = n;
  }
  ++found.first;
  // Enough is left to see every period twice.
  if (found.first + 2 * longest_period >= found.last) return std::nullopt;
  return found;
}

// Whether f grows by as much with every `period` further cells, from n on.
bool comes_round(const TriedValues& f, Size n, Size period) {
  const Size growth = f.at(n + period) - f.at(n);
  for (; n + period <= f.last; ++n)
    if (f.at(n + period) - f.at(n) != growth) return false;
  return true;
}

Size value_at(const Stepwise& length, Size n) {
  const auto period = static_cast<Size>(length.steps.size());
  const Size round = std::accumulate(length.steps.begin(), length.steps.end(), Size{0});
  return std::max<Size>(0, length.first + n / period * round +
                               std::accumulate(length.steps.begin(), length.steps.begin() + n % period, Size{0}));
}

// The steps of f from n on, as they come round; nothing: they do not, or f falls.
std::optional<Stepwise> steps_from(const TriedValues& values, Size n) {
  Size period = 1;
  while (period <= longest_period && !comes_round(values, n, period)) ++period;
  if (period > longest_period) return std::nullopt;
  Stepwise found;
  found.steps.resize(static_cast<std::size_t>(period));
  for (Size i = n; i < n + period; ++i) {
    const Size step = values.at(i + 1) - values.at(i);
    if (step < 0 || values.at(i) < 0) return std::nullopt;
    found.steps[static_cast<std::size_t>(i % period)] = step;
  }
  const Size round = std::accumulate(found.steps.begin(), found.steps.end(), Size{0});
  found.first = values.at(n) - n / period * round -
                std::accumulate(found.steps.begin(), found.steps.begin() + n % period, Size{0});
  return found;
}

}  // namespace

std::optional<Stepwise> stepwise(const std::function<std::optional<Size>(Size)>& f, Size apart, Size least) {
  constexpr Size most_least = 4096;
  if (least < 1 || least > most_least) return std::nullopt;
  const Size farthest = std::max<Size>(4096, 4 * least);
  const auto values = tried_values(f, least);
  if (!values) return std::nullopt;
  auto found = steps_from(*values, values->last - 2 * longest_period);
  if (!found) return std::nullopt;
  found->from = values->last;
  while (found->from > values->first && values->at(found->from - 1) == value_at(*found, found->from - 1)) --found->from;
  if (std::any_of(values->of.begin() + values->first, values->of.end(), [](const auto& n) { return *n < 0; }))
    return std::nullopt;
  if (found->from == values->first) found->from = 1;
  // Products of fractions come round until they are rounded to the other side of a whole number.
  const auto differs = [&](Size n) {
    const auto value = f(n);
    return value && *value != value_at(*found, n);
  };
  bool holds = !differs(farthest) && !differs(2 * farthest + 1);
  for (Size n = values->last + 1; holds && n < farthest; n += apart) holds = !differs(n);
  return holds ? found : std::nullopt;
}

std::optional<std::vector<RegroupedAxes>> axis_groups(const Sizes& from, const Sizes& to) {
  std::vector<RegroupedAxes> groups;
  std::size_t i = 0, k = 0;
  while (i < from.size() && k < to.size()) {
    const std::size_t first_from = i, first_to = k;
    std::optional<Size> before = from[i++], after = to[k++];
    while (before && after && *before != *after) {
      if (*before < *after && i < from.size()) before = checked_multiply(*before, from[i++]);
      else if (*after < *before && k < to.size()) after = checked_multiply(*after, to[k++]);
      else return std::nullopt;
    }
    if (!before || !after) return std::nullopt;
    groups.push_back({i - first_from, k - first_to});
  }
  return i == from.size() && k == to.size() ? std::optional(std::move(groups)) : std::nullopt;
}

bool Growth::is_constant() const {
  return std::ranges::all_of(steps.steps, [](Size step) { return step == 0; });
}

ValueId ones_of_length(FunctionCall& call, const Growth& growth) {
  constexpr Size most_parts = 16, most = 4096;
  const Stepwise& length = growth.steps;
  const auto parts = std::ranges::count_if(length.steps, [](Size step) { return step > 0; });
  if ((parts == 0 && length.first <= 0) || parts > most_parts ||
      std::ranges::any_of(length.steps, [](Size step) { return step > most; }) || std::abs(length.first) > most)
    call.refuse(Fault::Unsupported, "a length that grows with a free size in too many steps; give the input a size");
  if (call.failed()) return {};
  const auto ones = [&](Size count) {
    return call.make_constant("ones",
                              Tensor::of({count}, std::vector<std::int64_t>(static_cast<std::size_t>(count), 1)));
  };
  if (parts == 0) return ones(length.first);
  const ValueId all = call.add(ExpandLike{0, growth.axis}, {ones(1), growth.like});
  const auto period = static_cast<Size>(length.steps.size());
  std::vector<ValueId> pieces;
  for (Size i = 0; i < period; ++i) {
    const Size times = length.steps[static_cast<std::size_t>(i)];
    if (times == 0) continue;
    ValueId piece = period == 1 ? all : call.add(Slice{.axis = 0, .start = i, .stop = {}, .step = period}, {all});
    if (times > 1) piece = call.add(Reshape{{-1}}, {call.add(Tile{1, times}, {call.add(Unsqueeze{{1}}, {piece})})});
    pieces.push_back(piece);
  }
  if (length.first > 0) pieces.push_back(ones(length.first));
  const ValueId joined = pieces.size() == 1 ? pieces[0] : call.add(Concat{0}, pieces);
  return length.first < 0 ? call.add(Slice{.axis = 0, .start = -length.first, .stop = {}}, {joined}) : joined;
}

namespace {

ValueId whole_number(FunctionCall& call, std::int64_t n) {
  return call.make_constant("number", Tensor::of({}, std::vector<std::int64_t>{n}));
}

std::optional<Growth> growth_along(FunctionCall& call, ValueId x, Size axis,
                                   const std::function<std::optional<Size>(Size)>& f) {
  auto steps = stepwise(f);
  if (steps && steps->from > 1) steps.reset();
  if (!steps) call.refuse(Fault::Unsupported, "cuts up an axis whose size is free; give the input a size");
  return steps ? std::optional(Growth{x, axis, *std::move(steps)}) : std::nullopt;
}

}  // namespace

ValueId part_along(FunctionCall& call, ValueId x, Size axis, const std::function<std::optional<Size>(Size n)>& start,
                   const std::function<std::optional<Size>(Size n)>& length) {
  const auto begin = growth_along(call, x, axis, start), count = growth_along(call, x, axis, length);
  if (call.failed()) return {};
  ValueId places = counted_along(call, ones_of_length(call, *count), 0);
  if (begin->is_constant() && begin->steps.first != 0)
    places = call.add(Binary{BinaryFunction::Add}, {places, whole_number(call, begin->steps.first)});
  if (!begin->is_constant()) {
    const ValueId first = call.add(Reduce{Reduction::Sum, {0}, false}, {ones_of_length(call, *begin)});
    places = call.add(Binary{BinaryFunction::Add}, {places, first});
  }
  return call.add(Gather{axis}, {x, places});
}

ValueId windows_along(FunctionCall& call, ValueId x, Size axis, Size size, Size step) {
  const auto count = growth_along(
      call, x, axis, [&](Size n) { return n < size ? std::nullopt : std::optional((n - size) / step + 1); });
  if (call.failed()) return {};
  ValueId first = counted_along(call, ones_of_length(call, *count), 0);
  if (step != 1) first = call.add(Binary{BinaryFunction::Multiply}, {first, whole_number(call, step)});
  std::vector<std::int64_t> cells(static_cast<std::size_t>(size));
  std::iota(cells.begin(), cells.end(), std::int64_t{0});
  const ValueId places =
      call.add(Binary{BinaryFunction::Add},
               {call.add(Unsqueeze{{1}}, {first}), call.make_constant("cells", Tensor::of({size}, cells))});
  return call.add(Gather{axis}, {x, places});
}

std::vector<ValueId> read_length(FunctionCall& call) {
  const ValueId like = call.tensor("like");
  const Stepwise length{call.attrs.integer("first"), call.attrs.list("steps")};
  return {ones_of_length(call, {like, call.attrs.integer("from"), length})};
}

std::vector<ValueId> read_size(FunctionCall& call) {
  const ValueId ones = read_length(call)[0];
  return {call.add(Reduce{Reduction::Sum, {0}, false}, {ones})};
}

namespace {

// The cells of x that stand at these places, some of which lie before its first and behind its last one.
ValueId reached_places(FunctionCall& call, ValueId x, Size axis, ValueId wanted, const std::string& mode) {
  const auto number = [&](std::int64_t n) { return whole_number(call, n); };
  const auto with = [&](BinaryFunction function, ValueId a, ValueId b) { return call.add(Binary{function}, {a, b}); };
  const ValueId last = with(BinaryFunction::Subtract, length_along(call, x, axis), number(1));
  if (mode == "reflect") {  // back from the first cell, and from the last one
    const auto magnitude = [&](ValueId v) {
      return with(BinaryFunction::Maximum, v, with(BinaryFunction::Subtract, number(0), v));
    };
    wanted = with(BinaryFunction::Subtract, last, magnitude(with(BinaryFunction::Subtract, last, magnitude(wanted))));
    // Further than once back lies no cell: a place that no axis has.
    const ValueId is_none = with(BinaryFunction::Less, wanted, number(0));
    return call.add(Where{}, {is_none, with(BinaryFunction::Add, last, number(1)), wanted});
  }
  return with(BinaryFunction::Maximum, with(BinaryFunction::Minimum, wanted, last), number(0));
}

}  // namespace

std::vector<ValueId> read_padded_to(FunctionCall& call) {
  const ValueId x = call.tensor("input"), like = call.tensor("like"), before = call.tensor("before");
  const Size axis = call.attrs.integer("dim");
  const std::string mode = call.attrs.word("mode", "constant");
  const double value = call.attrs.number("value", 0.0);
  if (mode != "constant" && mode != "replicate" && mode != "reflect")
    call.refuse(Fault::Unsupported, "argument 'mode': pads in mode '" + mode + "' by a size that is free");
  if (call.failed()) return {};
  const ValueId wanted = call.add(Binary{BinaryFunction::Subtract}, {counted_along(call, like, 0), before});
  if (mode != "constant") return {call.add(Gather{axis}, {x, reached_places(call, x, axis, wanted, mode)})};
  // One cell more holds the value, and every place outside is that cell's: also where x has no other.
  Pad one_more{.before = Sizes(static_cast<std::size_t>(call.rank(x)), 0), .after = {}, .value = value};
  one_more.after = one_more.before;
  one_more.after[static_cast<std::size_t>(axis)] = 1;
  const ValueId last = length_along(call, x, axis);
  const ValueId outside = call.add(Binary{BinaryFunction::Less}, {wanted, whole_number(call, 0)});
  const ValueId nearest = call.add(Binary{BinaryFunction::Minimum}, {wanted, last});
  return {call.add(Gather{axis}, {call.add(one_more, {x}), call.add(Where{}, {outside, last, nearest})})};
}

std::vector<ValueId> read_cut_to(FunctionCall& call) {
  const ValueId x = call.tensor("input"), like = call.tensor("like"), start = call.optional("start");
  const Size axis = call.attrs.integer("dim");
  if (call.failed()) return {};
  ValueId places = counted_along(call, like, 0);
  if (start) places = call.add(Binary{BinaryFunction::Add}, {places, start});
  return {call.add(Gather{axis}, {x, places})};
}

}  // namespace convoy
