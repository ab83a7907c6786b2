#include "formats/free_reshape.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace convoy {

namespace {

struct Ones {
  ValueId one, all;  // [1], and as many as there are cells
};
Ones ones_along(FunctionCall& call, ValueId like, Size axis) {
  const ValueId one = call.make_constant("one", Tensor::of({1}, std::vector<std::int64_t>{1}));
  return {one, call.add(ExpandLike{0, axis}, {one, like})};
}

}  // namespace

ValueId counted_along(FunctionCall& call, ValueId like, Size axis) {
  const Ones ones = ones_along(call, like, axis);
  const ValueId counted = call.add(Accumulate{Reduction::Sum, 0, false, false}, {ones.all});
  return call.add(Binary{BinaryFunction::Subtract}, {counted, ones.one});
}

ValueId length_along(FunctionCall& call, ValueId like, Size axis) {
  return call.add(Reduce{Reduction::Sum, {0}, false}, {ones_along(call, like, axis).all});
}

namespace {

// Those on the right are brought to the left and back, so that one size may be left between them.
ValueId reshape_between(FunctionCall& call, ValueId x, const Sizes& to, Size left, Size right) {
  const Size rank = call.rank(x), wanted = std::ssize(to);
  const auto range = [](Sizes& axes, Size begin, Size end) {
    for (Size i = begin; i < end; ++i) axes.push_back(i);
  };
  Sizes there, sizes(static_cast<std::size_t>(left + right), 0), back;
  range(there, 0, left), range(there, rank - right, rank), range(there, left, rank - right);
  range(back, 0, left), range(back, left + right, wanted), range(back, left, left + right);
  sizes.insert(sizes.end(), to.begin() + left, to.end() - right);
  const auto turned = [&](ValueId v, const Sizes& order) {
    return std::ranges::is_sorted(order) ? v : call.add(Transpose{order}, {v});
  };
  return turned(call.add(Reshape{sizes}, {turned(x, there)}), back);
}

// The whole numbers from 0 on, as many as a new axis is long, and how many they are.
struct Count {
  ValueId numbers, length;
};
Count count_of(FunctionCall& call, Size known, ValueId like, Size from) {
  if (!like) {
    constexpr Size most = Size{1} << 24;
    if (known < 0)
      call.refuse(Fault::Unsupported, "has several sizes that are computed from free ones; give the input a size");
    if (known > most) call.refuse(Fault::Limit, "an axis of " + std::to_string(known));
    if (call.failed()) return {};
    std::vector<std::int64_t> all(static_cast<std::size_t>(known));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return {call.make_constant("numbers", Tensor::of({known}, std::move(all))),
            call.make_constant("length", Tensor::of({}, std::vector<std::int64_t>{known}))};
  }
  return {counted_along(call, like, from), length_along(call, like, from)};
}

// One axis becomes several whose sizes are those of other tensors: its cells are looked up row by row.
ValueId looked_up(FunctionCall& call, ValueId x, const Sizes& to, Size left, Size count) {
  const Sizes from = call.attrs.list("from");
  if (from.size() != to.size()) call.refuse(Fault::Format, "argument 'from' has other axes than the shape");
  ValueId places{};
  for (Size i = 0; i < count && !call.failed(); ++i) {
    const auto at = static_cast<std::size_t>(left + i);
    const Count axis = count_of(call, to[at], call.optional("like." + std::to_string(at)), from[at]);
    if (i == 0) {
      places = axis.numbers;
      continue;
    }
    const ValueId rows = call.add(Binary{BinaryFunction::Multiply}, {places, axis.length});
    places = call.add(Binary{BinaryFunction::Add}, {call.add(Unsqueeze{{i}}, {rows}), axis.numbers});
  }
  return call.add(Gather{left}, {x, places});
}

}  // namespace

ValueId merged_axes(FunctionCall& call, ValueId x, Size axis) {
  const Size rank = call.rank(x);
  if (call.failed()) return x;
  return reshape_between(call, x, Sizes(static_cast<std::size_t>(rank - 1), -1), axis, rank - axis - 2);
}

std::vector<ValueId> reshape_keeping(FunctionCall& call, ValueId x, const Sizes& to) {
  const Sizes kept = call.attrs.list("kept");
  const Size rank = call.rank(x), wanted = std::ssize(to);
  if (kept.size() != 2 || kept[0] < 0 || kept[1] < 0 || kept[0] > std::min(rank, wanted) ||
      kept[1] > std::min(rank, wanted) - kept[0])
    call.refuse(Fault::Format, "argument 'kept' is no two numbers of axes");
  if (call.failed()) return {};
  const Size left = kept[0], right = kept[1], between = wanted - left - right;
  const auto first = to.begin() + left;
  if (std::count(first, first + between, Size{-1}) > 1) {
    const Sizes flat(static_cast<std::size_t>(left + 1 + right), -1);
    if (rank - left - right != 1) x = reshape_between(call, x, flat, left, right);
    return {looked_up(call, x, to, left, between)};
  }
  return {reshape_between(call, x, to, left, right)};
}

}  // namespace convoy
