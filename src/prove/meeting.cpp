#include "prove/meeting.h"

#include "ops/expect.h"

#include "prove/compare.h"
#include "prove/stretch.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace convoy {

Names names_of(const Graph& graph) {
  Names names;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    names.emplace(graph.values[i].name, ValueId{static_cast<std::int32_t>(i)});
  }
  return names;
}

std::vector<ValueId> counterparts(const Names& names, const Graph& target) {
  std::vector<ValueId> all(target.values.size());
  for (std::size_t i = 0; i < target.values.size(); ++i) {
    const auto& origin = target.values[i].origin;
    if (!origin) continue;
    const auto it = names.find(origin->source);
    if (it != names.end()) all[i] = it->second;
  }
  return all;
}

ValueId source_of_input(const Names& names, const Graph& target, ValueId input) {
  const auto& origin = target[input].origin;
  const auto it = names.find(origin ? origin->source : target[input].name);
  return it == names.end() ? ValueId{} : it->second;
}

namespace {

// The input that a node hands on as it is, also where all that is laid beside it holds no number. Nothing: it does something.
ValueId handed_on(const Graph& graph, const Node& node) {
  const auto* cast = get_if<Cast>(&node.op);
  const bool keeps_type = cast && cast->to == graph[node.inputs[0]].type.dtype;
  if (holds_alternative<Identity>(node.op) || holds_alternative<Dropout>(node.op) || keeps_type) return node.inputs[0];
  const auto* concat = get_if<Concat>(&node.op);
  ValueId only{};
  for (std::size_t i = 0; concat && i < node.inputs.size(); ++i) {
    const Shape& shape = graph[node.inputs[i]].type.shape;
    if (shape[static_cast<std::size_t>(concat->axis)] == Dim(0)) continue;
    if (only) return {};
    only = node.inputs[i];
  }
  return only;
}

}  // namespace

ValueId canonical(const Graph& graph, ValueId v) {
  while (v && graph[v].producer) {
    const ValueId before = handed_on(graph, graph[graph[v].producer]);
    if (!before) break;
    v = before;
  }
  return v;
}

Origin origin_of(const Value& value) { return value.origin ? *value.origin : Origin{value.name, {}, {}}; }

Result<std::vector<Tensor>> target_inputs(const Graph& source, const Graph& target, const std::vector<Tensor>& inputs) {
  const Names names = names_of(source);
  std::vector<Tensor> result;
  for (const ValueId v : target.inputs) {
    const auto at = std::ranges::find(source.inputs, source_of_input(names, target, v));
    if (at == source.inputs.end()) {
      return fail(Fault::Proof, "input '" + target[v].name + "' of the port is no input of the source");
    }
    const Tensor& tensor = inputs[static_cast<std::size_t>(at - source.inputs.begin())];
    const Origin origin = origin_of(target[v]);
    Sizes shape;  // known sizes as declared, the first open one takes what is left
    Size rest = tensor.count();
    for (const Dim dim : target[v].type.shape) rest = dim.known() && *dim > 0 ? rest / *dim : rest;
    if (origin.permutation.size() == target[v].type.shape.size() && origin.split.empty()) {
      for (const Size axis : origin.permutation) {
        shape.push_back(axis >= 0 && axis < tensor.rank() ? tensor.shape()[static_cast<std::size_t>(axis)] : 1);
      }
    } else if (target[v].type.rank() == tensor.rank() && origin.permutation.empty()) {
      shape = tensor.shape();
    } else {
      for (const Dim dim : target[v].type.shape) shape.push_back(dim.known() ? *dim : std::exchange(rest, 1));
    }
    auto moved = within("input '" + target[v].name + "'", carried(tensor, origin, shape));
    if (!moved) return pass(moved);
    result.push_back(*std::move(moved));
  }
  return result;
}

std::vector<bool> meeting(const Graph& source, const Graph& target, const std::vector<ValueId>& counterparts) {
  std::vector<bool> all(source.values.size(), false);
  for (const Node& node : target.nodes) {
    for (const ValueId v : node.outputs) {
      const ValueId s = counterparts[v.slot()];
      if (s) all[s.slot()] = true;
    }
  }
  return all;
}

namespace {

// The largest of a constant's numbers; nothing where it is none of whole numbers from 0 on.
std::optional<Size> largest_whole(const Graph& graph, ValueId v) {
  const auto& known = graph[v].constant;
  if (!known || known->count() == 0 || is_floating(known->dtype())) return std::nullopt;
  const auto all = known->integers();
  if (*std::ranges::min_element(all) < 0) return std::nullopt;
  return *std::ranges::max_element(all);
}

// How far one operand may go so that the result stays below `range`: of row * c + column, rows to range / c and columns to c.
Size range_of_operand(const Graph& graph, const Node& node, std::size_t i, Size range) {
  const auto* op = get_if<Binary>(&node.op);
  if (!op || range <= 1) return range;
  const ValueId other = node.inputs[1 - i];
  const auto known = largest_whole(graph, other);
  if (op->function == BinaryFunction::Multiply && known && *known > 0) return (range - 1) / *known + 1;
  if (op->function != BinaryFunction::Add) return range;
  if (known) return *known < range ? range - *known : range;
  const NodeId maker = graph[other].producer;
  const auto* product = maker ? get_if<Binary>(&graph[maker].op) : nullptr;
  if (!product || product->function != BinaryFunction::Multiply) return range;
  for (const ValueId factor : graph[maker].inputs)
    if (const auto step = largest_whole(graph, factor); step && *step > 0) return std::min(range, *step);
  return range;
}

}  // namespace

// Following what leaves whole numbers as they are, and arithmetic on them: exporters wrap negative indices so. Readers stand behind
// producers, so one walk from the back sees every use before the value's own maker.
std::vector<Size> index_ranges(const Graph& graph) {
  constexpr Size free = std::numeric_limits<Size>::max();
  std::vector<Size> range(graph.values.size(), 0);
  const auto narrow = [&](ValueId v, Size n) {
    Size& now = range[v.slot()];
    if (n > 0 && (now == 0 || n < now)) now = n;
  };
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (holds_alternative<Embedding>(node.op)) {
      const Shape& table = graph[node.inputs[1]].type.shape;
      if (!table.empty() && table[0].known()) narrow(node.inputs[0], *table[0]);
      continue;
    }
    const auto along = [&](Size axis) {
      const Shape& shape = graph[node.inputs[0]].type.shape;
      const Dim size = shape[static_cast<std::size_t>(axis)];
      narrow(node.inputs[1], size.known() ? *size : free);
    };
    if (const auto* op = get_if<Gather>(&node.op)) along(op->axis);
    if (const auto* op = get_if<GatherElements>(&node.op)) along(op->axis);
    const bool passes_on = node.op.visit([]<class O>(const O&) {
      return O::traits.contents == Contents::Kept || O::traits.contents == Contents::Moved || std::is_same_v<O, Pad> ||
             std::is_same_v<O, Cast> || std::is_same_v<O, Binary> || std::is_same_v<O, Where>;
    });
    if (!passes_on) continue;
    for (const ValueId out : node.outputs) {
      const Size wanted = range[out.slot()];
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (!node.inputs[k]) continue;
        narrow(node.inputs[k], wanted == free ? free : range_of_operand(graph, node, k, wanted));
      }
    }
  }
  std::ranges::replace(range, free, Size{1});  // an axis of any length has the cell 0
  return range;
}

// Behind a layer that has learnt anything may come; a place that was searched for is one of its axis whatever is searched.
std::vector<bool> index_makers(const Graph& graph) {
  const auto ranges = index_ranges(graph);
  std::vector<bool> makes(graph.values.size());
  for (std::size_t i = 0; i < makes.size(); ++i) makes[i] = ranges[i] > 0;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const Traits& traits = traits_of(node.op);
    if (traits.learnt != Learnt::Nothing || traits.indices != Indices::None) continue;
    if (std::ranges::none_of(node.outputs, [&](ValueId v) { return makes[v.slot()]; })) continue;
    for (const ValueId in : node.inputs)
      if (in) makes[in.slot()] = true;
  }
  return makes;
}

namespace {

// What is computed from `from`, itself too.
std::vector<bool> behind(const Graph& graph, ValueId from) {
  std::vector<bool> is_behind(graph.values.size(), false);
  is_behind[from.slot()] = true;
  for (const Node& node : graph.nodes) {
    if (std::ranges::none_of(node.inputs, [&](ValueId v) { return v && is_behind[v.slot()]; })) continue;
    for (const ValueId v : node.outputs) is_behind[v.slot()] = true;
  }
  return is_behind;
}

// What `to` is computed from, itself too.
std::vector<bool> before(const Graph& graph, ValueId to) {
  std::vector<bool> is_before(graph.values.size(), false);
  const Reach reach = reach_back(graph, to, std::vector<bool>(graph.values.size(), false));
  for (const NodeId n : reach.nodes)
    for (const ValueId v : graph[n].outputs) is_before[v.slot()] = true;
  for (const ValueId v : reach.boundary) is_before[v.slot()] = true;  // inputs, which no node gives
  is_before[to.slot()] = true;
  return is_before;
}

// Of two values that a stretch reads, the one may be computed from the other, and one graph may read it where the other graph
// makes it anew: nothing on the way from `u` to what the stretch reads, or back, is replaced.
void keep_between(const Graph& graph, ValueId u, const std::set<ValueId>& reads, std::vector<bool>& fresh) {
  const auto behind_u = behind(graph, u), before_u = before(graph, u);
  const auto keep = [&](const std::vector<bool>& is_behind, const std::vector<bool>& is_before, ValueId from) {
    for (std::size_t i = 0; i < fresh.size(); ++i)
      if (is_behind[i] && is_before[i] && i != from.slot()) fresh[i] = false;
  };
  for (const ValueId read : reads) {
    if (read == u) continue;
    if (behind_u[read.slot()]) keep(behind_u, before(graph, read), u);
    if (before_u[read.slot()]) keep(behind(graph, read), before_u, read);
  }
}

}  // namespace

std::vector<bool> replaceable(const Graph& source, const Graph& target, const std::vector<ValueId>& counterparts) {
  auto fresh = meeting(source, target, counterparts);
  for (const Stretch& stretch : stretches_of(source, target, counterparts)) {
    for (const ValueId u : stretch.unlike) {
      fresh[u.slot()] = false;
      keep_between(source, u, stretch.source.boundary, fresh);
    }
  }
  const auto makes_index = index_makers(source);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    const Value& value = source.values[i];
    if (makes_index[i] || !value.producer || value.constant) fresh[i] = false;
  }
  return fresh;
}

}  // namespace convoy
