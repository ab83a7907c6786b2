#include "formats/stretch.h"

#include "formats/counted_cells.h"
#include "formats/free_reshape.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace convoy {

std::optional<Place> owner_of(const Graph& graph, UnknownSizes& sizes, SizeId size) {
  const auto found = sizes.axis_of_size(graph, size);
  return found ? std::optional(Place{found->first, static_cast<Size>(found->second)}) : std::nullopt;
}

std::optional<OwnedShape> shape_by_owners(Graph& graph, UnknownSizes& sizes, const Numbers& wanted, const Shaped& data,
                                          const std::string& layer) {
  auto kept = reshape_keeping(wanted, data);  // what follows may move `data`
  if (!kept) return std::nullopt;
  OwnedShape made{std::move(kept->to), {kept->left, kept->right}, Sizes(wanted.all.size(), 0), {}};
  const bool needs_all = std::ranges::count(made.to, Size{-1}) > 1;
  for (std::size_t i = 0; i < made.to.size(); ++i) {
    if (made.to[i] != -1) continue;
    const Number& n = wanted.all[i];
    if (needs_all && n.kind == Number::Kind::Whole) return std::nullopt;  // -1 itself: what is left of free ones
    std::optional<Place> owner = n.is_multiple(1) ? owner_of(graph, sizes, n.size) : std::nullopt;
    if (!owner && needs_all) {
      auto counted = cells_counted(graph, sizes, n, layer);
      if (!counted) return std::nullopt;
      owner = *counted;
    }
    if (!owner) continue;
    made.from[i] = owner->axis;
    made.likes.emplace("like." + std::to_string(i), owner->value);
  }
  if (made.likes.size() < 2) made.likes.clear(), made.from.clear();
  return made;
}

namespace {

Result<ValueId> add(Graph& graph, UnknownSizes& sizes, Op op, std::vector<ValueId> inputs, const std::string& layer) {
  auto made = graph.add(std::move(op), std::move(inputs), layer, "Expand");
  if (!made) return pass(made);
  sizes.follow(graph);
  return made->front();
}

// x beside so many truths along an axis, which choose it wherever: where its size there is 1 or theirs, or theirs is 1.
Result<ValueId> met_by(Graph& graph, UnknownSizes& sizes, ValueId x, Size axis, const Place& cells,
                       const std::string& layer) {
  const Json none = Json::object();
  FunctionCall call(graph, "Expand", none, {}, layer, {.sizes = &sizes});
  const ValueId places = counted_along(call, cells.value, cells.axis);
  ValueId truths = call.add(Binary{BinaryFunction::Equal}, {places, places});
  Sizes behind(static_cast<std::size_t>(call.rank(x) - axis - 1));
  std::iota(behind.begin(), behind.end(), Size{1});
  if (!behind.empty()) truths = call.add(Unsqueeze{behind}, {truths});
  const ValueId made = call.add(Where{}, {truths, x, x});
  if (auto done = call.done(); !done) return pass(done);
  sizes.follow(graph);
  return made;
}

// What is known of the size of an axis that is free.
MaybeFormula there_is(const Graph& graph, UnknownSizes& sizes, ValueId x, Size axis) {
  const auto& mine = sizes.of(x);
  const auto at = static_cast<std::size_t>(axis);
  if (at >= mine.size() || graph[x].type.shape[at].known()) return std::nullopt;
  return sizes.followed(graph, SizeFormula::of_size(mine[at]));
}

}  // namespace

Result<ValueId> stretch(Graph& graph, UnknownSizes& sizes, ValueId x, const Numbers& shape, const std::string& layer) {
  const auto wanted = static_cast<Size>(shape.all.size());
  if (const Size missing = wanted - graph[x].type.rank(); missing > 0) {
    Sizes front(static_cast<std::size_t>(missing));
    std::iota(front.begin(), front.end(), Size{0});
    auto made = add(graph, sizes, Unsqueeze{front}, {x}, layer);
    if (!made) return made;
    x = *made;
  }
  const Size skip = graph[x].type.rank() - wanted;
  for (Size i = 0; i < wanted; ++i) {
    const Number& n = shape.all[static_cast<std::size_t>(i)];
    const Size axis = i + skip;
    const Dim size = graph[x].type.shape[static_cast<std::size_t>(axis)];
    Result<ValueId> made = x;
    if (n.kind == Number::Kind::Whole) {
      if (n.whole == 1 || size == Dim(n.whole)) continue;
      if (size != Dim(1) || n.whole < 1)
        return fail(Fault::Unsupported,
                    "an axis of size " + text_of(Shape{size}) + " stretched to " + std::to_string(n.whole));
      made = add(graph, sizes, Tile{axis, n.whole}, {x}, layer);
    } else {
      const auto& mine = sizes.of(x);
      const bool there = !size.known() && static_cast<std::size_t>(axis) < mine.size() &&
                         mine[static_cast<std::size_t>(axis)] == n.size;
      if (n.is_multiple(1) && there) continue;
      if (size != Dim(1)) {
        const auto wanted_size = formula_of(n), own = there_is(graph, sizes, x, axis);
        const auto apart = wanted_size && own ? sizes.followed(graph, *wanted_size) : std::nullopt;
        if (apart && *apart == *own) continue;
      }
      auto owner = cells_counted(graph, sizes, n, layer);
      if (!owner) return pass(owner);
      if (size != Dim(1)) made = met_by(graph, sizes, x, axis, *owner, layer);
      else made = add(graph, sizes, ExpandLike{axis, owner->axis}, {x, owner->value}, layer);
    }
    if (!made) return made;
    x = *made;
  }
  return x;
}

}  // namespace convoy
