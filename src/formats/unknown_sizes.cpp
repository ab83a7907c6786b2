// Equal unknown sizes, found by asking each operator's shape rule.
#include "formats/unknown_sizes.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

namespace convoy {
namespace {

// Shape rules are made of quotients, sums and least and largest values: one that hands all of these on hands on all.
constexpr Size trials[] = {48, 49, 50, 51, 52, 53, 54, 55, 60, 97, 211};

// The outputs' shapes where every input size with one of these identities is as said; nothing where the rule refuses it.
std::optional<TensorTypes> types_with(const Graph& graph, const Node& node, UnknownSizes& sizes,
                                      const std::map<SizeId, Size>& said) {
  TensorTypes types(node.inputs.size());
  std::vector<Input> inputs(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i]) continue;
    const auto& value = graph[node.inputs[i]];
    types[i] = value.type;
    const auto& mine = sizes.of(node.inputs[i]);
    for (std::size_t axis = 0; axis < mine.size(); ++axis)
      if (const auto at = said.find(mine[axis]); !types[i].shape[axis].known() && at != said.end())
        types[i].shape[axis] = at->second;
    inputs[i] = {&types[i], value.constant ? &*value.constant : nullptr};
  }
  auto out = infer(node.op, Inputs(inputs));
  return out ? std::optional(std::move(*out)) : std::nullopt;
}

}  // namespace

std::vector<SizeId>& UnknownSizes::room_for(ValueId value, std::size_t axes) {
  const auto at = value.slot();
  if (sizes_.size() <= at) sizes_.resize(at + 1);
  sizes_[at].resize(axes, -1);
  return sizes_[at];
}

const std::vector<SizeId>& UnknownSizes::of(ValueId value) {
  static const std::vector<SizeId> none;
  const auto at = value.slot();
  return value && at < sizes_.size() ? sizes_[at] : none;
}

void UnknownSizes::add_input(const Graph& graph, ValueId input, const std::vector<std::string>& words) {
  const Shape& shape = graph[input].type.shape;
  auto& mine = room_for(input, shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis].known()) continue;
    const std::string word = axis < words.size() ? words[axis] : "";
    if (word.empty()) {
      mine[axis] = next_++;
      continue;
    }
    const auto [found, added] = words_.emplace(word, next_);
    if (added) ++next_;
    mine[axis] = found->second;
  }
}

void UnknownSizes::follow_node(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  std::set<SizeId> known_before;
  for (const ValueId input : node.inputs)
    if (input && !graph[input].constant)
      for (const SizeId size : of(input))
        if (size >= 0) known_before.insert(size);
  for (const ValueId output : node.outputs) room_for(output, graph[output].type.shape.size());
  for (const SizeId identity : known_before) {
    // Axes of outputs that may carry this size, until a trial says otherwise.
    std::set<std::pair<std::size_t, std::size_t>> carries;
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      for (std::size_t axis = 0; axis < graph[node.outputs[o]].type.shape.size(); ++axis)
        if (!graph[node.outputs[o]].type.shape[axis].known() && of(node.outputs[o])[axis] < 0) carries.emplace(o, axis);
    for (const Size size : trials) {
      if (carries.empty()) break;
      const auto types = types_with(graph, node, *this, {{identity, size}});
      if (!types || types->size() != node.outputs.size()) carries.clear();
      std::erase_if(carries, [&](const auto& at) { return (*types)[at.first].shape[at.second] != Dim(size); });
    }
    // A size of 1 is stretched to another, which the rule then leaves open: x + y is as long as x only where x is no single row.
    if (const auto types = carries.empty() ? std::nullopt : types_with(graph, node, *this, {{identity, 1}}))
      std::erase_if(carries, [&](const auto& at) { return (*types)[at.first].shape[at.second] != Dim(1); });
    for (const auto& [o, axis] : carries)
      room_for(node.outputs[o], graph[node.outputs[o]].type.shape.size())[axis] = identity;
  }
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    const ValueId output = node.outputs[o];
    auto& mine = room_for(output, graph[output].type.shape.size());
    for (std::size_t axis = 0; axis < mine.size(); ++axis)
      if (!graph[output].type.shape[axis].known() && mine[axis] < 0) {
        made_.emplace(next_, Made{id, o, axis});
        mine[axis] = next_++;
      }
  }
}

namespace {

// An output's size as a function of those of the inputs, `left_open` where they do not decide it; nothing where the rule refuses them.
constexpr Size left_open = -(Size{1} << 40);  // no formula's
using SizeRule = std::function<std::optional<Size>(const std::vector<Size>&)>;

constexpr Size far = 65536;  // beyond every window

// times * size + added, or one more with every so many cells, as far out.
MaybeFormula straight(const SizeRule& rule, SizeId size) {
  constexpr Size most = 2048;
  const auto at = [&](Size n) { return rule({n}); };
  Size first = far;
  while (first < far + most && !at(first)) ++first;
  const auto begin = at(first);
  if (begin == left_open) return std::nullopt;
  Size next = first + 1;
  while (begin && next <= first + most && (!at(next) || *at(next) == *begin)) ++next;
  const auto n = SizeFormula::of_size(size);
  if (begin && next > first + most) return SizeFormula::of(*begin);
  const auto end = at(next);
  if (!begin || !end) return std::nullopt;
  if (next == first + 1 && at(next + 1) && *at(next + 1) - *end == *end - *begin) {
    const auto multiple = times(n, *end - *begin);
    const auto added = checked_multiply(*end - *begin, first);
    return multiple && added ? sum(*multiple, SizeFormula::of(*begin - *added)) : std::nullopt;
  }
  Size last = next + 1;
  while (last <= next + most && (!at(last) || *at(last) == *end)) ++last;
  const auto after = at(last);
  if (!after || *after - *end != *end - *begin) return std::nullopt;
  const auto shifted = sum(n, SizeFormula::of(-next));
  const auto quotient = shifted ? floor_quotient(*shifted, last - next) : std::nullopt;
  const auto multiple = quotient ? times(*quotient, *end - *begin) : std::nullopt;
  return multiple ? sum(*multiple, SizeFormula::of(*end)) : std::nullopt;
}

// Sums and products of up to three sizes: what the rule says where each is `base` or twice that tells the factor of every product.
MaybeFormula by_products(const SizeRule& rule, const std::vector<SizeId>& sizes) {
  constexpr Size base = 7 * 48, most = Size{1} << 50;
  const std::size_t count = std::size_t{1} << sizes.size();
  const auto sign = [](std::size_t bits) { return std::popcount(bits) % 2 == 0 ? Size{1} : Size{-1}; };
  std::vector<Size> changes(count, 0);  // by all sizes together whose bits are set
  for (std::size_t corner = 0; corner < count; ++corner) {
    std::vector<Size> at;
    for (std::size_t i = 0; i < sizes.size(); ++i) at.push_back((corner >> i) % 2 == 1 ? 2 * base : base);
    const auto value = rule(at);
    if (!value || *value > most) return std::nullopt;
    for (std::size_t bits = 0; bits < count; ++bits)
      if ((bits & corner) == corner) changes[bits] += sign(bits ^ corner) * *value;
  }
  MaybeFormula made = SizeFormula::of(0);
  for (std::size_t bits = 0; bits < count; ++bits) {
    Size factor = 0, scale = 1;
    for (std::size_t more = bits; more < count; ++more)
      if ((more & bits) == bits) factor += sign(more ^ bits) * changes[more];
    MaybeFormula term = SizeFormula::of(1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if ((bits >> i) % 2 == 0) continue;
      scale *= base;
      term = term ? product(*term, SizeFormula::of_size(sizes[i])) : std::nullopt;
    }
    if (factor % scale != 0) return std::nullopt;
    if (term) term = times(*term, factor / scale);
    made = made && term ? sum(*made, *term) : std::nullopt;
  }
  return made;
}

bool holds(const MaybeFormula& formula, const SizeRule& rule, const std::vector<SizeId>& sizes) {
  if (!formula) return false;
  constexpr Size beyond[] = {97, 211, 480, 960, 1000, 4095, 4096, 65537, 100800};
  std::vector<Size> tried;
  for (Size n = 0; n <= 48; ++n) tried.push_back(n);
  tried.insert(tried.end(), std::begin(beyond), std::end(beyond));
  bool any = false;
  for (std::size_t t = 0; t < tried.size(); ++t) {
    std::vector<Size> at;
    for (std::size_t i = 0; i < sizes.size(); ++i) at.push_back(tried[(t * (2 * i + 1) + 5 * i) % tried.size()]);
    const auto wanted = rule(at);
    if (!wanted) continue;
    any = true;
    const auto found = value_of(*formula, [&](SizeId size) {
      return at[static_cast<std::size_t>(std::ranges::find(sizes, size) - sizes.begin())];
    });
    if (found != wanted) return false;
  }
  return any;
}

}  // namespace

MaybeFormula UnknownSizes::fitted(const Graph& graph, const Made& made) {
  const Node& node = graph[made.node];
  if (holds_alternative<SliceBehind>(node.op)) {
    const auto length = [&](std::size_t i) {
      const Dim size = graph[node.inputs[i]].type.shape.front();
      return size.known() ? SizeFormula::of(*size) : SizeFormula::of_size(of(node.inputs[i]).front());
    };
    const auto apart = difference(length(0), length(1));
    return apart ? greatest(*apart, SizeFormula::of(0)) : std::nullopt;
  }
  std::set<SizeId> all;
  for (const ValueId input : node.inputs)
    if (input && !graph[input].constant)
      for (const SizeId size : of(input))
        if (size >= 0) all.insert(size);
  const auto rule_of = [&](const std::vector<SizeId>& sizes) -> SizeRule {
    return [&graph, &node, &made, this, sizes](const std::vector<Size>& at) -> std::optional<Size> {
      std::map<SizeId, Size> said;
      for (std::size_t i = 0; i < sizes.size(); ++i) said.emplace(sizes[i], at[i]);
      const auto types = types_with(graph, node, *this, said);
      if (!types || types->size() <= made.output) return std::nullopt;
      const Dim size = (*types)[made.output].shape[made.axis];
      return size.known() ? *size : left_open;
    };
  };
  for (const SizeId size : all) {
    const SizeRule rule = rule_of({size});
    const auto plain = straight(rule, size);
    if (!plain) continue;
    if (holds(plain, rule, {size})) return plain;
    if (const auto cut = greatest(*plain, SizeFormula::of(0)); holds(cut, rule, {size})) return cut;
    if (!plain->is_constant() || !rule({0})) continue;
    const auto all_of_it = sum(SizeFormula::of_size(size), SizeFormula::of(*rule({0})));
    if (const auto cut = all_of_it ? least(*all_of_it, *plain) : std::nullopt; holds(cut, rule, {size})) return cut;
  }
  constexpr std::size_t most = 3;
  const std::vector<SizeId> sizes(all.begin(), all.end());
  if (sizes.size() < 2 || sizes.size() > most) return std::nullopt;
  const SizeRule rule = rule_of(sizes);
  const auto products = by_products(rule, sizes);
  return holds(products, rule, sizes) ? products : std::nullopt;
}

MaybeFormula UnknownSizes::made_of(const Graph& graph, SizeId size) {
  const auto found = made_.find(size);
  if (found == made_.end()) return std::nullopt;
  if (!found->second.formula) {
    found->second.formula = MaybeFormula();
    const auto fit = fitted(graph, found->second);
    found->second.formula = fit ? followed(graph, *fit) : std::nullopt;
  }
  return *found->second.formula;
}

MaybeFormula UnknownSizes::followed(const Graph& graph, const SizeFormula& formula) {
  return replaced(formula, [&](SizeId size) { return made_of(graph, size); });
}

void UnknownSizes::follow(const Graph& graph) {
  nodes_ = std::min(nodes_, graph.nodes.size());  // steps whose results became constants are taken away
  for (; nodes_ < graph.nodes.size(); ++nodes_) follow_node(graph, NodeId{static_cast<std::int32_t>(nodes_)});
}

void UnknownSizes::find_axes(const Graph& graph) {
  follow(graph);
  for (; values_ < graph.values.size(); ++values_) {
    const ValueId value{static_cast<std::int32_t>(values_)};
    if (graph[value].constant) continue;
    const auto& mine = of(value);
    for (std::size_t axis = 0; axis < mine.size(); ++axis)
      if (mine[axis] >= 0 && !graph[value].type.shape[axis].known() &&
          by_size_.emplace(mine[axis], Axis{value, axis}).second)
        unnamed_.push_back(mine[axis]);
  }
}

std::optional<UnknownSizes::Axis> UnknownSizes::axis_of_size(const Graph& graph, SizeId size) {
  find_axes(graph);
  const auto found = by_size_.find(size);
  return found == by_size_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<UnknownSizes::Axis> UnknownSizes::axis_as_long(const Graph& graph, const SizeFormula& formula) {
  if (const auto size = formula.single()) return axis_of_size(graph, *size);
  find_axes(graph);
  for (const SizeId size : std::exchange(unnamed_, {})) {
    const auto its = followed(graph, SizeFormula::of_size(size));
    if (const auto same = its ? raised(*its) : std::nullopt) by_formula_.emplace(same->text(), by_size_.at(size));
  }
  const auto found = by_formula_.find(formula.text());
  return found == by_formula_.end() ? std::nullopt : std::optional(found->second);
}

bool UnknownSizes::are_equal(const Graph& graph, Axis a, Axis b) {
  follow(graph);
  const auto size_of = [&](const Axis& at) { return at.second < of(at.first).size() ? of(at.first)[at.second] : -1; };
  const SizeId first = size_of(a), second = size_of(b);
  if (first < 0 || second < 0) return false;
  if (first == second) return true;
  const auto one = followed(graph, SizeFormula::of_size(first)), two = followed(graph, SizeFormula::of_size(second));
  return one && two && *one == *two;
}

bool has_same_size(const Graph& graph, ValueId a, ValueId b, std::size_t axis) {
  UnknownSizes sizes;
  for (const ValueId input : graph.inputs) sizes.add_input(graph, input, {});
  return sizes.are_equal(graph, {a, axis}, {b, axis});
}

}  // namespace convoy
