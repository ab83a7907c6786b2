// Cells picked by lists of indices, known beforehand or computed.
#include "formats/put.h"
#include "formats/torch/catalogue/arguments.h"
#include "formats/torch/catalogue/aten.h"
#include "formats/torch/catalogue/catalogue.h"
#include "ops/expect.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace convoy::torch {
namespace {

using Results = std::vector<ValueId>;

constexpr Size most_cells = Size{1} << 24;

// The list of indices of one axis.
struct List {
  Size axis = 0;
  ValueId value;
};
using Lists = std::vector<List>;

// A known list along one axis, which keeps its place; negative ones count from the end.
ValueId taken(FunctionCall& call, ValueId x, Size at, const Tensor& known) {
  Take take{at, known.integers()};
  for (Size& i : take.indices)
    if (i < 0) i += known_size(call, x, at);
  return call.add(take, {x});
}

// x[:, a, b] with a [n, 1] and b [m]: each list along its own axis. Nothing: the lists go together in another way.
std::optional<ValueId> taken_apart(FunctionCall& call, ValueId x, const Lists& lists) {
  const std::size_t count = lists.size();
  std::vector<Tensor> known;  // the graph's own move when it grows
  for (std::size_t k = 0; k < count; ++k) {
    const Tensor* list = call.constant(lists[k].value);
    if (!list || lists[k].axis != lists[0].axis + static_cast<Size>(k)) return std::nullopt;
    known.push_back(*list);
    const Sizes& shape = known[k].shape();
    const std::size_t place = count - 1 - k;  // counted from the last axis
    if (shape.size() <= place || shape.size() > count) return std::nullopt;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape.size() - 1 - i != place && shape[i] != 1) return std::nullopt;
  }
  for (std::size_t k = 0; k < count; ++k) x = taken(call, x, lists[k].axis, known[k].reshaped({known[k].count()}));
  return x;
}

ValueId whole(FunctionCall& call, Size number) {
  return call.make_constant("size", Tensor::of({}, std::vector<std::int64_t>{number}));
}

// Indices as int64 from 0 on: negative ones count from the end.
ValueId from_the_front(FunctionCall& call, ValueId list, Size size) {
  if (const Tensor* known = call.constant(list)) {
    auto indices = known->integers();
    for (auto& i : indices) {
      if (i < -size || i >= size)
        call.refuse(Fault::Format, "index " + std::to_string(i) + " of " + std::to_string(size));
      i += i < 0 ? size : 0;
    }
    if (call.failed()) return {};
    return call.make_constant("indices", Tensor::of(known->shape(), std::move(indices)));
  }
  if (call.type(list).dtype != DType::I64) list = call.add(Cast{DType::I64}, {list});
  const ValueId is_negative = call.add(Binary{BinaryFunction::Less}, {list, whole(call, 0)});
  return call.add(Where{}, {is_negative, call.add(Binary{BinaryFunction::Add}, {list, whole(call, size)}), list});
}

// Both as one list, if both are known: broadcast against each other, a * size + b.
std::optional<Tensor> joined_places(const Tensor& a, const Tensor& b, Size size) {
  const std::size_t rank = std::max(a.shape().size(), b.shape().size());
  Sizes shape(rank, 1);
  const auto length = [&](const Tensor& t, std::size_t i) {
    return i + t.shape().size() < rank ? Size{1} : t.shape()[i + t.shape().size() - rank];
  };
  for (std::size_t i = 0; i < rank; ++i) {
    const Size n = length(a, i), m = length(b, i);
    if (n != m && n != 1 && m != 1) return std::nullopt;
    shape[i] = n == 1 ? m : n;
  }
  const auto count = checked_count(shape);
  if (!count || *count > most_cells) return std::nullopt;
  const auto first = a.integers(), second = b.integers();
  std::vector<std::int64_t> all(static_cast<std::size_t>(*count));
  for (std::size_t cell = 0; cell < all.size(); ++cell) {
    std::size_t rest = cell, place_a = 0, place_b = 0, step_a = 1, step_b = 1;
    for (std::size_t i = rank; i-- > 0;) {
      const std::size_t at = rest % static_cast<std::size_t>(shape[i]);
      rest /= static_cast<std::size_t>(shape[i]);
      const auto n = static_cast<std::size_t>(length(a, i)), m = static_cast<std::size_t>(length(b, i));
      place_a += n == 1 ? 0 : at * step_a;
      place_b += m == 1 ? 0 : at * step_b;
      step_a *= n;
      step_b *= m;
    }
    all[cell] = first[place_a] * size + second[place_b];
  }
  return Tensor::of(shape, std::move(all));
}

ValueId joined_places(FunctionCall& call, ValueId a, ValueId b, Size size) {
  const Tensor *known_a = call.constant(a), *known_b = call.constant(b);
  if (known_a && known_b) {
    auto both = joined_places(*known_a, *known_b, size);
    if (both) return call.make_constant("indices", *std::move(both));
    call.refuse(Fault::Format, "lists of indices that do not go together, or too many cells");
    return {};
  }
  const ValueId rows = call.add(Binary{BinaryFunction::Multiply}, {a, whole(call, size)});
  return call.add(Binary{BinaryFunction::Add}, {rows, b});
}

// x with the axes of the lists side by side: at their place where they are, else in front of all others.
ValueId brought_together(FunctionCall& call, ValueId x, Lists& lists) {
  if (lists.back().axis - lists.front().axis + 1 == std::ssize(lists)) return x;
  Sizes order;
  for (const List& list : lists) order.push_back(list.axis);
  for (Size i = 0; i < call.rank(x); ++i)
    if (std::ranges::find(lists, i, &List::axis) == lists.end()) order.push_back(i);
  for (std::size_t k = 0; k < lists.size(); ++k) lists[k].axis = static_cast<Size>(k);
  return call.add(Transpose{order}, {x});
}

// Neighbouring axes become one, along which the place is counted row by row.
Results picked(FunctionCall& call, ValueId x, Lists lists) {
  x = brought_together(call, x, lists);
  const Size first = lists.front().axis, count = std::ssize(lists);
  ValueId indices = lists.front().value;
  const Dim outermost = call.dim(x, first);
  std::optional<Size> merged = outermost.size();
  if (outermost.known()) indices = from_the_front(call, indices, *outermost);
  else if (call.constant(indices)) call.refuse(Fault::Unsupported, "picks known cells of an axis whose size is free");
  else if (call.type(indices).dtype != DType::I64) indices = call.add(Cast{DType::I64}, {indices});
  for (Size k = 1; k < count && !call.failed(); ++k) {
    const Size size = known_size(call, x, first + k);
    if (merged) merged = checked_multiply(*merged, size);
    const ValueId list = from_the_front(call, lists[static_cast<std::size_t>(k)].value, size);
    if (!call.failed()) indices = joined_places(call, indices, list, size);
  }
  if (call.failed()) return {};
  Sizes to(static_cast<std::size_t>(first), 0);
  to.push_back(merged.value_or(-1));
  for (Size i = first + count; i < call.rank(x); ++i) to.push_back(call.dim(x, i).size().value_or(-1));
  if (std::ranges::count(to, Size{-1}) > 1)
    call.refuse(Fault::Unsupported, "several sizes beside the indices are free; give the input a size");
  const ValueId flat = call.add(Reshape{to}, {x});
  if (call.failed()) return {};
  if (const Tensor* known = call.constant(indices); known && known->rank() == 1)
    return {taken(call, flat, first, *known)};
  return {call.add(Gather{first}, {flat, indices})};
}

// A mask that picks along one axis: the places of what is true. A mask of bytes is one of truths, as in old programs.
std::optional<Tensor> places_of_truths(FunctionCall& call, ValueId x, Size at, ValueId mask) {
  const Tensor* known = call.constant(mask);
  if (!known || known->rank() != 1) {
    call.refuse(Fault::Unsupported, known ? "picks by a mask of several axes"
                                          : "picks by truth, so that the numbers say how many there are");
    return std::nullopt;
  }
  if (const Dim length = call.dim(x, at); length.known() && *length != known->count()) {
    call.refuse(Fault::Format, "picks by a mask of " + std::to_string(known->count()) + " along an axis of " +
                                   std::to_string(*length));
    return std::nullopt;
  }
  std::vector<std::int64_t> places;
  const auto truths = known->integers();
  for (std::size_t i = 0; i < truths.size(); ++i)
    if (truths[i] != 0) places.push_back(static_cast<std::int64_t>(i));
  const Sizes shape{std::ssize(places)};
  return Tensor::of(shape, std::move(places));
}

// x[:, indices]: lists of whole numbers, or masks.
Results index(FunctionCall& call) {
  const ValueId x = call.tensor("input");
  Lists lists;
  for (Size at = 0; at < call.rank(x); ++at) {
    const ValueId given = call.optional("indices." + std::to_string(at));
    if (!given) continue;
    if (!is_mask(call, given)) {
      lists.push_back({at, given});
      continue;
    }
    auto places = places_of_truths(call, x, at, given);
    if (!places) return {};
    lists.push_back({at, call.make_constant("places." + std::to_string(at), *std::move(places))});
  }
  if (lists.empty() || call.failed()) return {x};
  if (lists.size() == 1) {
    const Tensor* known = call.constant(lists[0].value);
    if (known && known->rank() == 1) return {taken(call, x, lists[0].axis, *known)};
    return {call.add(Gather{lists[0].axis}, {x, lists[0].value})};
  }
  if (const auto apart = taken_apart(call, x, lists)) return {*apart};
  return picked(call, x, std::move(lists));
}

Results index_select(FunctionCall& call) {
  const ValueId x = call.tensor("input"), given = call.tensor("index");
  const Size at = axis_of(call, call.attrs.integer("dim", 0), call.rank(x));
  if (call.rank(given) != 1) call.refuse(Fault::Unsupported, "argument 'index' is no list");
  if (call.failed()) return {};
  if (const Tensor* known = call.constant(given)) return {taken(call, x, at, *known)};
  return {call.add(Gather{at}, {x, given})};
}

Results gather(FunctionCall& call) {
  const ValueId x = call.tensor("input"), given = call.tensor("index");
  call.attrs.ignore({"sparse_grad"});
  const Size axis = axis_of(call, call.attrs.integer("dim", 0), call.rank(x));
  return {call.add(GatherElements{axis}, {reached_by(call, x, given, axis), given})};
}

// Where every bag begins, and the end of all, of `count` rows.
std::vector<Size> ends_of_bags(FunctionCall& call, ValueId offsets, Size count, bool includes_last) {
  const Tensor* known = call.constant(offsets);
  if (!known || known->rank() != 1) {
    call.refuse(Fault::Unsupported, "bags whose offsets are computed, or follow a free size; give the input a size");
    return {};
  }
  std::vector<Size> ends = known->integers();
  if (!includes_last) ends.push_back(count);
  constexpr std::size_t most = 65536;
  if (ends.size() > most) call.refuse(Fault::Limit, std::to_string(ends.size()) + " bags");
  if (ends.size() < 2 || ends.front() != 0 || ends.back() != count ||
      std::ranges::adjacent_find(ends, std::greater_equal{}) != ends.end())
    call.refuse(Fault::Unsupported, "bags that are empty, or leave rows out");
  return ends;
}

// Rows of a table, added up or averaged bag by bag.
Results embedding_bag(FunctionCall& call) {
  const ValueId table = call.tensor("weight"), indices = call.tensor("indices"), offsets = call.tensor("offsets");
  const ValueId weights = call.optional("per_sample_weights");
  const Size mode = call.attrs.integer("mode", 0), skipped = call.attrs.integer("padding_idx", -1);
  const bool includes_last = call.attrs.truth("include_last_offset", false);
  call.attrs.ignore({"scale_grad_by_freq", "sparse"});  // of the gradient
  if (mode < 0 || mode > 2) call.refuse(Fault::Format, "argument 'mode' is " + std::to_string(mode));
  if (skipped >= 0) call.refuse(Fault::Unsupported, "bags that leave out the row 'padding_idx'");
  if (call.rank(indices) != 1) call.refuse(Fault::Unsupported, "argument 'indices' is no list");
  const Size count = known_size(call, indices, 0);
  if (call.failed()) return {};
  const auto ends = ends_of_bags(call, offsets, count, includes_last);
  if (call.failed()) return {};
  constexpr Reduction folds[] = {Reduction::Sum, Reduction::Mean, Reduction::Maximum};
  ValueId rows = call.add(Embedding{}, {indices, table});
  if (weights) rows = call.add(Binary{BinaryFunction::Multiply}, {rows, call.add(Unsqueeze{{1}}, {weights})});
  const Size width = ends[1];
  const auto bags = std::ssize(ends) - 1;
  bool even = true;
  for (std::size_t i = 1; i < ends.size(); ++i) even = even && ends[i] - ends[i - 1] == width;
  if (even) {
    const ValueId apart = call.add(Reshape{{bags, width, call.dim(rows, 1).size().value_or(-1)}}, {rows});
    return {call.add(Reduce{folds[mode], {1}, false}, {apart})};
  }
  std::vector<ValueId> folded;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    const ValueId bag = call.add(Slice{.axis = 0, .start = ends[i - 1], .stop = ends[i]}, {rows});
    folded.push_back(call.add(Reduce{folds[mode], {0}, true}, {bag}));
  }
  return {call.add(Concat{0}, folded)};
}

// Here -1 is the last row, where ATen's own function below takes it for none.
Results embedding_bag_of_all(FunctionCall& call) {
  if (call.attrs.has("padding_idx")) {
    call.refuse(Fault::Unsupported, "bags that leave out the row 'padding_idx'");
    return {};
  }
  return embedding_bag(call);
}

constexpr std::array rows_of_picks{
    CatalogueRow{"aten.index aten._unsafe_index", "Tensor(input:T indices:L)", index},
    CatalogueRow{"torch.gather", "input:T dim:i index:T * sparse_grad:b=False", gather},
    CatalogueRow{"torch.index_select", "input:T dim:i index:T", index_select},
    CatalogueRow{"aten.embedding_bag",
                 "default(weight:T indices:T offsets:T scale_grad_by_freq:b=False mode:i=0 sparse:b=False "
                 "per_sample_weights:T?=None include_last_offset:b=False -> TTTT) "
                 "padding_idx(weight:T indices:T offsets:T scale_grad_by_freq:b mode:i sparse:b per_sample_weights:T? "
                 "include_last_offset:b padding_idx:i? -> TTTT)",
                 embedding_bag_of_all},
    CatalogueRow{"as.embedding_bag aten._embedding_bag aten._embedding_bag_forward_only",
                 "default(weight:T indices:T offsets:T scale_grad_by_freq:b=False mode:i=0 sparse:b=False "
                 "per_sample_weights:T?=None include_last_offset:b=False padding_idx:i=-1 -> TTTT)",
                 embedding_bag},
};

}  // namespace

std::span<const CatalogueRow> pick_operators() { return rows_of_picks; }

}  // namespace convoy::torch
