#include "report/cost.h"

#include <algorithm>
#include <map>
#include <vector>

namespace convoy {
namespace {

constexpr Size most_counted = Size{1} << 62;

std::optional<Size> product(std::optional<Size> a, std::optional<Size> b) {
  if (!a || !b) return std::nullopt;
  return *b != 0 && *a > most_counted / *b ? most_counted : *a * *b;
}

std::optional<Size> sum(std::optional<Size> a, std::optional<Size> b) {
  if (!a || !b) return std::nullopt;
  return std::min(*a, most_counted - std::min(*b, most_counted)) + *b;
}

// The first size of a shape is the batch; free, it counts as 1.
std::optional<Size> size_at(const Shape& shape, std::size_t axis) {
  if (axis >= shape.size()) return Size{1};
  if (shape[axis].known()) return *shape[axis];
  return axis == 0 ? std::optional<Size>(1) : std::nullopt;
}

std::optional<Size> numbers_in(const Shape& shape) {
  std::optional<Size> count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) count = product(count, size_at(shape, i));
  return count;
}

std::optional<Size> quotient(std::optional<Size> a, std::optional<Size> b) {
  if (!a || !b || *b < 1) return std::nullopt;
  return *a / *b;
}

struct Operands {
  std::vector<const Shape*> inputs;  // null where absent
  const Shape* output;
  const Shape& at(std::size_t i) const {
    static const Shape none;
    return i < inputs.size() && inputs[i] ? *inputs[i] : none;
  }
};

std::optional<Size> last_of(const Shape& shape) { return shape.empty() ? 1 : size_at(shape, shape.size() - 1); }

// Every number of the output is a sum over one filter: the kernel's numbers, shared among the output's channels.
std::optional<Size> products(const Conv& conv, const Operands& o) {
  return product(numbers_in(*o.output),
                 quotient(numbers_in(o.at(1)), size_at(*o.output, static_cast<std::size_t>(conv.axes.channel()))));
}
// Every number of the input is scattered by its channel's share of the kernel.
std::optional<Size> products(const ConvTranspose& conv, const Operands& o) {
  return product(numbers_in(o.at(0)),
                 quotient(numbers_in(o.at(1)), size_at(o.at(0), static_cast<std::size_t>(conv.axes.channel()))));
}
std::optional<Size> products(const Linear&, const Operands& o) {
  return product(numbers_in(*o.output), last_of(o.at(0)));
}
std::optional<Size> products(const MatMul&, const Operands& o) {
  return product(numbers_in(*o.output), last_of(o.at(0)));
}
std::optional<Size> products(const Einsum& einsum, const Operands& o) {
  const auto letters = letters_of(einsum);
  if (!letters) return std::nullopt;
  std::map<char, std::optional<Size>> sizes;
  for (const auto& [word, shape] : {std::pair{&letters->a, &o.at(0)}, {&letters->b, &o.at(1)}})
    for (std::size_t i = 0; i < word->size(); ++i) sizes[(*word)[i]] = size_at(*shape, i);
  std::optional<Size> all = 1;
  for (const auto& [letter, size] : sizes) all = product(all, size);
  return all;
}
// At every step the input and the state go through their kernels.
template <class T>
  requires(one_of<Recurrent>::kind<T> < std::tuple_size_v<Recurrent>)
std::optional<Size> products(const T&, const Operands& o) {
  return product(quotient(numbers_in(o.at(0)), last_of(o.at(0))), sum(numbers_in(o.at(1)), numbers_in(o.at(2))));
}
template <class T>
std::optional<Size> products(const T&, const Operands&) {
  return 0;
}

}  // namespace

std::optional<Size> multiply_adds(const Graph& graph, const Node& node) {
  Operands operands;
  for (const ValueId v : node.inputs) operands.inputs.push_back(v ? &graph[v].type.shape : nullptr);
  if (node.outputs.empty()) return 0;
  operands.output = &graph[node.outputs[0]].type.shape;
  return node.op.visit([&](const auto& op) { return products(op, operands); });
}

std::optional<Size> bytes_given(const Graph& graph, const Node& node) {
  std::optional<Size> bytes = 0;
  for (const ValueId v : node.outputs)
    bytes = sum(bytes, product(numbers_in(graph[v].type.shape), bytes_of(graph[v].type.dtype)));
  return bytes;
}

Cost cost_of(const Graph& graph) {
  Cost cost{0, 0, 0, 0};
  for (const Value& value : graph.values)
    if (value.constant && !value.literal)
      cost.parameters += value.constant->count() * bytes_of(value.constant->dtype());
  std::vector<std::size_t> last_read(graph.values.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const ValueId v : graph.nodes[i].inputs)
      if (v) last_read[v.slot()] = i;
  for (const ValueId v : graph.outputs) last_read[v.slot()] = graph.nodes.size();
  const auto bytes_of_value = [&](ValueId v) {
    return graph[v].constant ? std::optional<Size>(0)
                             : product(numbers_in(graph[v].type.shape), bytes_of(graph[v].type.dtype));
  };
  std::optional<Size> held = 0;
  for (const ValueId v : graph.inputs) held = sum(held, bytes_of_value(v));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto given = bytes_given(graph, node);
    cost.multiply_adds = sum(cost.multiply_adds, multiply_adds(graph, node));
    cost.activations = sum(cost.activations, given);
    held = sum(held, given);
    if (held && cost.most_at_once) cost.most_at_once = std::max(*cost.most_at_once, *held);
    else cost.most_at_once.reset();
    std::vector<ValueId> gone;
    for (const auto* values : {&node.inputs, &node.outputs})
      for (const ValueId v : *values)
        if (v && last_read[v.slot()] <= i && std::ranges::find(gone, v) == gone.end()) gone.push_back(v);
    for (const ValueId v : gone)
      if (const auto bytes = bytes_of_value(v); held && bytes) *held -= *bytes;
  }
  return cost;
}

}  // namespace convoy
