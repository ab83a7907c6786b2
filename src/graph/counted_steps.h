// Sequences some of whose steps do not count, walked by cells that know no mask: what counts is brought to the front, in its
// order, walked, and what stood behind each step taken from there.
#pragma once
#include "graph/filled_like.h"

#include <cstdint>
#include <utility>

namespace convoy {

struct CountedSteps {
  ValueId order;  // [N, T] whole numbers: the steps that count, in their order, then step 0 as often as needed
  ValueId last;  // [N, T]: which of them is the last one up to each step; -1 where none is
  ValueId end;  // [N, 1]: which one is the last of all
};

// `counts`: a truth for each step, [N, T]. `add` as of filled_like(); `number` gives 0 or 1, whole, of shape [1, 1].
//
// With c[t] steps that count up to step t, the s-th of them, from 1 on, stands behind as many steps as have c[t] < s.
template <class Add, class Number>
CountedSteps counted_steps(const Shape& shape, ValueId counts, Add add, Number number) {
  const auto one = [&](Op op, std::vector<ValueId> inputs) { return add(std::move(op), std::move(inputs)); };
  const ValueId zero = number(0), ones = filled_like({1, shape[1]}, number(1), counts, add);
  const ValueId places = one(Accumulate{Reduction::Sum, 1}, {ones});  // from 1 on
  const ValueId up_to = one(Accumulate{Reduction::Sum, 1}, {one(Cast{DType::I64}, {counts})});
  const ValueId whole = one(Reduce{Reduction::Maximum, {1}, true}, {up_to});
  const ValueId in_front =
      one(Binary{BinaryFunction::Less}, {one(Unsqueeze{{1}}, {up_to}), one(Unsqueeze{{2}}, {places})});
  const ValueId found = one(Reduce{Reduction::Sum, {2}, false}, {one(Cast{DType::I64}, {in_front})});
  return {one(Where{}, {one(Binary{BinaryFunction::LessOrEqual}, {places, whole}), found, zero}),
          one(Binary{BinaryFunction::Subtract}, {up_to, number(1)}),
          one(Binary{BinaryFunction::Subtract}, {whole, number(1)})};
}

// x [N, T, F] at `steps` [N, S], for a known F.
template <class Add>
ValueId at_steps(ValueId x, Size features, ValueId steps, Add add) {
  ValueId places = add(Op{Unsqueeze{{2}}}, std::vector<ValueId>{steps});
  if (features != 1) places = add(Op{Tile{2, features}}, std::vector<ValueId>{places});
  return add(Op{GatherElements{1}}, std::vector<ValueId>{x, places});
}

// What stands behind the steps `last` of what was walked, [N, T, units]; `before`, [N, 1, units] or as one number, where none is.
template <class Add, class Number>
ValueId behind_steps(ValueId walked, Size units, ValueId last, ValueId before, Add add, Number number) {
  const auto one = [&](Op op, std::vector<ValueId> inputs) { return add(std::move(op), std::move(inputs)); };
  const ValueId none = one(Binary{BinaryFunction::Less}, {last, number(0)});
  const ValueId taken = at_steps(walked, units, one(Where{}, {none, number(0), last}), add);
  return one(Where{}, {one(Unsqueeze{{2}}, {none}), before, taken});
}

// What is kept of [N, T, units] where the steps count; zeros elsewhere.
template <class Add>
ValueId at_counted(ValueId x, ValueId counts, ValueId zero, Add add) {
  return add(Op{Where{}}, std::vector<ValueId>{add(Op{Unsqueeze{{2}}}, std::vector<ValueId>{counts}), x, zero});
}

}  // namespace convoy
