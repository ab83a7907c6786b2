// What moves numbers becomes strides, which whatever reads them follows or copies by; products of computed matrices follow them.
#include "run/plan/attention.h"
#include "run/plan/builder.h"
#include "run/plan/row_steps.h"

#include "base/permute.h"
#include "ops/expect.h"

#include <algorithm>
#include <span>

namespace convoy::plan {

// A value's numbers wherever they lie; they stay there as long as the plan has use for them.
Strided Builder::strided(ValueId v) {
  if (strided_[v.slot()] && !has_place(v, Layout::AsIs)) return *strided_[v.slot()];
  const Sizes shape = shape_of(v);
  if (usual_layout(v) == Layout::ChannelsLast) {
    const PlaceId place = places_of_[v.slot()][at(Layout::ChannelsLast)];
    if (places_.is_dense(place)) {
      places_[place].is_fixed = true;
      const Sizes last = laid(v, Layout::ChannelsLast);
      return permuted({place, 0, last, dense_strides(last), {}, {}},
                      to_channels_first(static_cast<Size>(shape.size()) - 2));
    }
  }
  return {dense(need(v, Layout::AsIs), graph_[v].name), 0, shape, dense_strides(shape), {}, {}};
}

void Builder::set_strided(ValueId v, Strided numbers, std::string what, std::string layer) {
  numbers.what = std::move(what), numbers.layer = std::move(layer);
  strided_[v.slot()] = std::move(numbers);
}

// A place for what is known by its strides.
PlaceId Builder::gather(ValueId v, Layout layout) {
  Strided numbers = *strided_[v.slot()];
  if (layout == Layout::ChannelsLast)
    numbers = permuted(std::move(numbers), to_channels_last(static_cast<Size>(numbers.shape.size()) - 2));
  if (numbers.is_dense() && places_[numbers.from].count() == *checked_count(numbers.shape)) {
    const PlaceId same = view(numbers.from, numbers.shape);
    set(v, layout, same);
    return same;
  }
  auto step = std::make_unique<CopyStrided>();
  step->layer = numbers.layer, step->what = numbers.what;
  step->x = numbers.from, step->y = make(v, layout);
  step->reads = {step->x}, step->writes = {step->y};
  step->numbers = std::move(numbers);
  const PlaceId y = step->y;
  steps_.push_back(std::move(step));
  return y;
}

bool Builder::try_permute(const Node& node) {
  const auto* transpose = get_if<Transpose>(&node.op);
  if (!transpose || !is_real(node.inputs[0]) || *checked_count(shape_of(node.inputs[0])) == 0) return false;
  set_strided(node.outputs[0], permuted(strided(node.inputs[0]), transpose->permutation), "transpose", node.layer);
  return true;
}

bool Builder::try_split(const Node& node) {
  const auto* split = get_if<Split>(&node.op);
  if (!split || !is_real(node.inputs[0])) return false;
  for (const ValueId v : node.outputs)
    if (*checked_count(shape_of(v)) == 0) return false;
  const auto axis = static_cast<std::size_t>(positive_axis(split->axis, graph_[node.inputs[0]].type.rank()));
  const Strided x = strided(node.inputs[0]);
  Size first = 0;
  for (const ValueId v : node.outputs) {
    const Size count = shape_of(v)[axis];
    set_strided(v, part_of(x, axis, first, count), "split", node.layer);
    first += count;
  }
  return true;
}

// One cell that is read again and again.
bool Builder::try_tile(const Node& node) {
  const auto* tile = get_if<Tile>(&node.op);
  if (!tile || !is_real(node.inputs[0]) || *checked_count(shape_of(node.outputs[0])) == 0) return false;
  const auto axis = static_cast<std::size_t>(positive_axis(tile->axis, graph_[node.inputs[0]].type.rank()));
  if (shape_of(node.inputs[0])[axis] != 1) return false;
  Strided numbers = strided(node.inputs[0]);
  numbers.shape[axis] = tile->times, numbers.strides[axis] = 0;
  set_strided(node.outputs[0], std::move(numbers), "tile", node.layer);
  return true;
}

// With the numbers of each row side by side.
Strided Builder::with_rows(ValueId v) {
  Strided numbers = strided(v);
  const Size rank = static_cast<Size>(numbers.shape.size()), length = numbers.shape.back();
  const bool are_apart = rank < 2 || numbers.shape[numbers.shape.size() - 2] == 1 || row_stride(numbers) >= length;
  if (are_apart && (length == 1 || numbers.strides.back() == 1)) return numbers;
  return {dense(need(v, Layout::AsIs), graph_[v].name), 0, numbers.shape, dense_strides(numbers.shape), {}, {}};
}

namespace {

// The axes before the last two of a product, where those of both spread over it.
std::optional<Sizes> outer_axes(const Sizes& a, const Sizes& b, const Sizes& y) {
  const std::size_t outer = y.size() - 2;
  const auto spreads = [&](const Sizes& shape) {
    for (std::size_t i = 0; i + 2 < shape.size(); ++i) {
      const Size there = y[outer - (shape.size() - 2) + i];
      if (shape[i] != 1 && shape[i] != there) return false;
    }
    return shape.size() >= 2 && shape.size() <= y.size();
  };
  if (!spreads(a) || !spreads(b)) return std::nullopt;
  return Sizes(y.begin(), y.end() - 2);
}

}  // namespace

bool Builder::is_computed_product(const Node& node) const {
  if (!holds_alternative<MatMul>(node.op) || !is_real(node.outputs[0])) return false;
  const ValueId left = node.inputs[0], right = node.inputs[1];
  if (!is_real(left) || !is_real(right) || graph_[left].constant || graph_[right].constant) return false;
  const Sizes a = shape_of(left), b = shape_of(right), y = shape_of(node.outputs[0]);
  if (a.size() < 2 || b.size() < 2 || *checked_count(y) == 0 || a.back() == 0) return false;
  return outer_axes(a, b, y) && fast::is_within_reach({{}, a[a.size() - 2], 1, a.back(), b.back()});
}

bool Builder::try_pair_products(const Node& node) {
  if (!is_computed_product(node)) return false;
  auto owned = std::make_unique<PairProducts>();
  PairProducts& step = *owned;
  step.layer = node.layer, step.what = "matmul";
  step.left = with_rows(node.inputs[0]), step.right = strided(node.inputs[1]);
  step.outer = *outer_axes(step.left.shape, step.right.shape, shape_of(node.outputs[0]));
  step.operations = 2.0 * static_cast<double>(*checked_count(shape_of(node.outputs[0]))) *
                    static_cast<double>(step.left.shape.back());
  step.y = make(node.outputs[0], Layout::AsIs);
  step.reads = {step.left.from, step.right.from}, step.writes = {step.y};
  steps_.push_back(std::move(owned));
  return true;
}

// What becomes of the products of queries and keys before the values are weighted with them.
std::optional<Builder::Attention> Builder::attention_of(const Node& product) const {
  if (!is_computed_product(product)) return std::nullopt;
  Attention found;
  found.product = &product;
  ValueId y = product.outputs[0];
  const Node* next = only_reader(y);
  if (const auto map = next ? map_of(*next) : std::nullopt; map && next->inputs[0] == y) {
    found.scale = *map;
    found.between.push_back(next);
    y = next->outputs[0], next = only_reader(y);
  }
  if (const auto* sum = next ? get_if<Binary>(&next->op) : nullptr;
      sum && sum->function == BinaryFunction::Add && next->inputs[0] != next->inputs[1]) {
    const ValueId other = next->inputs[0] == y ? next->inputs[1] : next->inputs[0];
    const Sizes own = shape_of(y);
    const Sizes more = shape_of(other);
    if (more.size() < 2 || more.back() != own.back() || !is_real(other) || shape_of(next->outputs[0]) != own)
      return std::nullopt;
    found.added = other;
    found.between.push_back(next);
    y = next->outputs[0], next = only_reader(y);
  }
  const auto* softmax = next ? get_if<Softmax>(&next->op) : nullptr;
  const Size rank = graph_[y].type.rank();
  if (!softmax || softmax->logarithm || softmax->axes.size() != 1 || positive_axis(softmax->axes[0], rank) != rank - 1)
    return std::nullopt;
  found.between.push_back(next);
  y = next->outputs[0], next = only_reader(y);
  if (!next || next->inputs[0] != y || !is_computed_product(*next)) return std::nullopt;
  if (shape_of(next->outputs[0]).size() != shape_of(y).size() || next->inputs[1] == y) return std::nullopt;
  const Sizes made = shape_of(next->outputs[0]), weights = shape_of(y);
  if (!std::ranges::equal(std::span(made).first(made.size() - 2), std::span(weights).first(made.size() - 2)))
    return std::nullopt;
  found.y = next->outputs[0];
  return found;
}

// The first of the two products; the step is made with the second one, when what is added and the values are there.
bool Builder::try_attention(const Node& node) {
  if (const auto waiting = std::ranges::find(attentions_, node.outputs[0], &Attention::y);
      waiting != attentions_.end()) {
    if (waiting->added) waiting->step->added = with_rows(waiting->added), --uses_[waiting->added.slot()];
    add_attention(node, std::move(waiting->step));
    attentions_.erase(waiting);
    return true;
  }
  auto found = attention_of(node);
  if (!found) return false;
  auto step = std::make_unique<Attend>();
  step->what = "attention", step->scale = found->scale;
  step->query = with_rows(node.inputs[0]), step->key = strided(node.inputs[1]);
  const Sizes shape = shape_of(node.outputs[0]);
  step->outer = *outer_axes(step->query.shape, step->key.shape, shape);
  step->operations = 2.0 * static_cast<double>(*checked_count(shape)) *
                     static_cast<double>(step->query.shape.back() + shape_of(found->y).back());
  for (const Node* one : found->between) finish(*one);
  if (found->added) ++uses_[found->added.slot()];  // until it is read
  found->step = std::move(step);
  attentions_.push_back(std::move(*found));
  return true;
}

// Written where the transposition that follows alone would put it.
void Builder::add_attention(const Node& node, std::unique_ptr<Attend> step) {
  step->layer = node.layer;
  step->value = strided(node.inputs[1]);
  ValueId y = node.outputs[0];
  const Node* const next = only_reader(y);
  const auto* transpose = next ? get_if<Transpose>(&next->op) : nullptr;
  const Sizes shape = shape_of(y);
  if (transpose && transpose->permutation.back() == static_cast<Size>(shape.size()) - 1) {
    y = next->outputs[0];
    const Sizes strides = dense_strides(shape_of(y));
    step->y_strides.resize(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i)
      step->y_strides[static_cast<std::size_t>(transpose->permutation[i])] = strides[i];
    step->what += " + transpose";
    finish(*next);
  } else {
    step->y_strides = dense_strides(shape);
  }
  step->y = make(y, Layout::AsIs);
  places_[step->y].is_fixed = true;
  step->reads = {step->query.from, step->key.from, step->value.from}, step->writes = {step->y};
  if (step->added) step->reads.push_back(step->added->from);
  steps_.push_back(std::move(step));
}

}  // namespace convoy::plan
